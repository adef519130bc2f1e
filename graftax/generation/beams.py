"""The loop of a beam search."""

from __future__ import annotations

from typing import Any, NamedTuple

from graftax import ops
from graftax.core.typedefs import Array
from graftax.generation import caches, next_logits
from graftax.generation.beam_search import BeamSearch
from graftax.generation.generated import Generated
from graftax.generation.prompts import Prompt
from graftax.generation.settings import Settings
from graftax.generation.token_history import token_history
from graftax.transforms.flow.while_loop import while_loop

_NEVER = float("-inf")


class _State(NamedTuple):
    length: Array
    tokens: Array
    """``(batch, beams, max_new_tokens)`` of the beams that go on."""
    chances: Array
    """``(batch, beams)``: the logarithms of their probabilities; -inf for a beam that is none."""
    done: Generated
    """The best of those that have ended, best first; a score of -inf where there are fewer."""
    cache: Any
    """With ``batch * beams`` rows."""


def beams(settings: Settings, search: BeamSearch, prompt: Prompt, logits: Array, cache: Any) -> Generated:
    """Return what follows the prompts.

    Args:
        settings: Those of the run.
        search: How many beams, and what counts.
        prompt: What came before.
        logits: Those behind it.
        cache: What has seen it.
    """
    batch, width, room = prompt.tokens.shape[0], search.num_beams, settings.max_new_tokens
    rows, vocabulary = batch * width, logits.shape[1]
    mask = None if prompt.mask is None else ops.repeat(prompt.mask, width, axis=0)
    wide = Prompt(ops.repeat(prompt.tokens, width, axis=0), mask)
    stops = ops.asarray(settings.stop_tokens or (-1,), "int32")
    # a beam has as many ways to end as there are stop tokens, and so many more must go on
    candidates = min(width * (1 + len(settings.stop_tokens)), width * vocabulary)

    def extended(state: _State, logits: Array) -> _State:
        """Return the state with one more token in each beam."""
        seen, present = token_history(settings, wide, ops.reshape(state.tokens, (rows, room)), state.length)
        gained = ops.log_softmax(next_logits.adjust(settings, logits, seen, present, state.length))
        chances = state.chances[:, :, None] + ops.reshape(gained, (batch, width, vocabulary))
        found, places = ops.top_k(ops.reshape(chances, (batch, width * vocabulary)), candidates)
        parents, token = places // vocabulary, ops.cast(places % vocabulary, "int32")
        tokens = ops.take_along_axis(state.tokens, parents[:, :, None], axis=1)
        tokens = ops.slice_update(tokens, ops.stack([0, 0, state.length]), token[:, :, None])
        length = state.length + 1
        ends = ops.isin(token, stops)
        scores = ops.where(ends, search.score(found, ops.cast(length, "float32")), _NEVER)
        ended = Generated(tokens, ops.broadcast_to(length, scores.shape), scores)
        going, order = ops.top_k(ops.where(ends, _NEVER, found), width)
        parents = ops.take_along_axis(parents, order, axis=1)
        return _State(
            length=length,
            tokens=ops.take_along_axis(tokens, order[:, :, None], axis=1),
            chances=going,
            done=best_of(state.done, ended, width),
            cache=caches.select_rows(state.cache, ops.reshape(parents + ops.arange(batch)[:, None] * width, (rows,))),
        )

    def goes_on(state: _State) -> Array:
        kept = state.done.scores[:, -1 if search.return_all else 0]  # the lowest of those that are asked for
        hope = search.score(ops.max(state.chances, axis=1), float(room))  # what is longest divides most
        return ops.logical_and(state.length < room, ops.any(hope > kept))

    def turn(state: _State) -> _State:
        last = ops.reshape(ops.slice(state.tokens, ops.stack([0, 0, state.length - 1]), (batch, width, 1)), (rows,))
        logits, cache = next_logits.of_tokens(settings, last, state.cache, wide.lengths + state.length - 1)
        return extended(state._replace(cache=cache), logits)

    start = _State(
        length=ops.asarray(0, "int32"),
        tokens=ops.full((batch, width, room), settings.pad_token, "int32"),
        chances=ops.broadcast_to(ops.where(ops.equal(ops.arange(width), 0), 0.0, _NEVER), (batch, width)),
        done=Generated(
            ops.full((batch, width, room), settings.pad_token, "int32"),
            ops.zeros((batch, width), "int32"),
            ops.full((batch, width), _NEVER, "float32"),
        ),
        cache=caches.repeat_rows(cache, batch, width),
    )
    end = while_loop(goes_on, turn, extended(start, ops.repeat(logits, width, axis=0)))
    # what has no stop token yet competes with what has
    open_scores = search.score(end.chances, ops.cast(end.length, "float32"))
    unfinished = ops.logical_and(ops.equal(end.length, room), ops.isfinite(open_scores))
    still = Generated(
        end.tokens,
        ops.broadcast_to(end.length, open_scores.shape),
        ops.where(unfinished, open_scores, _NEVER),
    )
    done = best_of(end.done, still, width)
    found = ops.isfinite(done.scores)  # a small vocabulary has not so many sequences
    # nan where logits were, so that whoever reads the scores sees it: no comparison above holds for such
    lost = ops.logical_and(ops.any(ops.isnan(end.chances), axis=1), ops.logical_not(found[:, 0]))
    scores = ops.where(lost[:, None], float("nan"), done.scores)
    tokens = ops.where(found[:, :, None], done.tokens, settings.pad_token)
    done = Generated(tokens, ops.where(found, done.lengths, 0), scores)
    return done if search.return_all else Generated(*(part[:, 0] for part in done))


def best_of(some: Generated, others: Generated, count: int) -> Generated:
    """Return the ``count`` best of two sets of sequences, the best one first."""
    scores, order = ops.top_k(ops.concatenate([some.scores, others.scores], axis=1), count)
    tokens = ops.concatenate([some.tokens, others.tokens], axis=1)
    lengths = ops.concatenate([some.lengths, others.lengths], axis=1)
    return Generated(
        ops.take_along_axis(tokens, order[:, :, None], axis=1), ops.take_along_axis(lengths, order, axis=1), scores
    )
