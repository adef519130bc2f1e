"""Generation of one sequence for each prompt: a token is chosen, and nothing is taken back."""

from __future__ import annotations

from typing import Any, NamedTuple

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentTypeError
from graftax.core.typedefs import Array
from graftax.generation import next_logits
from graftax.generation.generated import Generated
from graftax.generation.prompts import Prompt
from graftax.generation.sampler import Sampler
from graftax.generation.settings import Settings
from graftax.generation.token_history import token_history
from graftax.transforms.flow.while_loop import while_loop


class _State(NamedTuple):
    length: Array
    """How many tokens each row has, those of finished rows counted on."""
    last: Array
    """``(batch,)``: the tokens written last."""
    tokens: Array
    """``(batch, max_new_tokens)``."""
    lengths: Array
    scores: Array
    finished: Array
    key: Array | None
    cache: Any


def token_by_token(
    settings: Settings, sampler: Sampler, prompt: Prompt, logits: Array, cache: Any, key: Array | None
) -> Generated:
    """Return what follows the prompts.

    Args:
        settings: Those of the run.
        sampler: What chooses.
        prompt: What came before.
        logits: Those behind it.
        cache: What has seen it.
        key: From which all draws follow; None if there are none.
    """
    rows, room = prompt.tokens.shape[0], settings.max_new_tokens
    stops = ops.asarray(settings.stop_tokens or (-1,), "int32")

    def written(state: _State, logits: Array) -> _State:
        """Return the state with one more token in each row that goes on."""
        following, own = _two_keys(state.key)
        seen, present = token_history(settings, prompt, state.tokens, state.length)
        by = next_logits.adjust(settings, logits, seen, present, state.length)
        token = _check_tokens(sampler, sampler.sample(by, own), rows)
        gained = ops.take_along_axis(ops.log_softmax(by), token[:, None], axis=1)[:, 0]
        token = ops.where(state.finished, settings.pad_token, token)
        return state._replace(
            length=state.length + 1,
            last=token,
            tokens=ops.slice_update(state.tokens, ops.stack([0, state.length]), token[:, None]),
            lengths=state.lengths + ops.cast(ops.logical_not(state.finished), "int32"),
            scores=state.scores + ops.where(state.finished, 0.0, gained),
            finished=ops.logical_or(state.finished, ops.isin(token, stops)),
            key=following,
        )

    def goes_on(state: _State) -> Array:
        return ops.logical_and(state.length < room, ops.logical_not(ops.all(state.finished)))

    def turn(state: _State) -> _State:
        logits, cache = next_logits.of_tokens(settings, state.last, state.cache, prompt.lengths + state.length - 1)
        return written(state._replace(cache=cache), logits)

    start = _State(
        length=ops.asarray(0, "int32"),
        last=ops.zeros((rows,), "int32"),
        tokens=ops.full((rows, room), settings.pad_token, "int32"),
        lengths=ops.zeros((rows,), "int32"),
        scores=ops.zeros((rows,), "float32"),
        finished=ops.zeros((rows,), "bool"),
        key=key,
        cache=cache,
    )
    end = while_loop(goes_on, turn, written(start, logits))
    return Generated(end.tokens, end.lengths, end.scores)


def _check_tokens(sampler: Sampler, made: Any, rows: int) -> Array:
    """Return what a sampler gave, if that is a token for each row."""
    shape, dtype = tuple(getattr(made, "shape", ())), getattr(made, "dtype", None)
    if shape != (rows,) or dtype is None or dtype.kind not in "iu":
        raise ArgumentTypeError(
            f"{type(sampler).__name__}.sample gave "
            + (f"{made!r:.60}" if dtype is None else f"an array of {dtype}, shape {shape},")
            + f" for logits of {rows} rows",
            "it chooses one token for each row, an integer",
            "return ops.argmax(logits, axis=-1), or graftax.random.categorical(logits, seed=seed)",
        )
    return ops.cast(made, "int32")


def _two_keys(key: Array | None) -> tuple[Array | None, Array | None]:
    if key is None:
        return None, None
    pair = registry.current().random.split(key, 2)
    return pair[0], pair[1]
