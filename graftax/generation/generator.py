"""Generator: tokens that follow a prompt, by any step function with a cache, in one compiled program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.backend.traced_checks import RANGES
from graftax.core import hyperparameters
from graftax.core.errors import ArgumentError, ArgumentTypeError, IndexRangeError, NumericsError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike
from graftax.core.user_functions import check_functions, check_takes
from graftax.generation import caches, next_logits, padding, prompts
from graftax.generation.beam_search import BeamSearch
from graftax.generation.beams import beams
from graftax.generation.generated import Generated
from graftax.generation.greedy_sampler import GreedySampler
from graftax.generation.sampler import Sampler
from graftax.generation.settings import Adjust, Settings
from graftax.generation.token_by_token import token_by_token
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.variables.streams import Seed, key_of

_PLAIN = bool | int | float | str | None


class Generator:
    r"""Writes what follows prompts, token by token, with a step function and its cache.

    ``step(tokens, cache)`` takes integers ``(batch, steps)`` and a cache, and returns logits of what follows, of shape
    ``(batch, vocabulary)`` or ``(batch, steps, vocabulary)``, and the next cache: any structure of arrays that keeps
    its shapes and dtypes, such as a list of `layers.AttentionCache` or the state of an LSTM. It sees the prompts at
    once, and then one token of each row.

    A call is one compiled program. It is traced once for each shape of prompt and cache, and again for other numbers in
    attributes of ``sampler`` and ``adjust``. It reads Variables as they are at the call, and ends as soon as every row
    has its stop token.

    Args:
        step: The function.
        max_new_tokens: How many tokens there are at most.
        sampler: What chooses: `GreedySampler`, `RandomSampler`, `BeamSearch`, or a `Sampler` of your own. Defaults to
            None, `GreedySampler()`.
        stop_tokens: Tokens that end a row: one integer, or several. Defaults to none.
        pad_token: What stands behind the end of a row, and in front of short prompts. Defaults to 0.
        min_new_tokens: No stop token comes before there are so many tokens. Defaults to 0.
        adjust: A function of ``(logits, tokens, present)``, all tokens so far and which of them count, that returns
            other logits to choose by, such as a `RepetitionPenalty`. Defaults to None.
        with_positions: Whether the function is ``step(tokens, cache, positions)``, with the place of each token in its
            own row, of the shape of the tokens: for learned positions and prompts of different lengths. Defaults to
            False.

    Shorter prompts are padded on the left, and the tokens carry a mask, which layers hand on: nobody looks at padding.

    Raises:
        ArgumentError: a number is out of range.
        ArgumentTypeError: ``step``, ``sampler`` or ``adjust`` is something else.

    Example:
        >>> import numpy as np, graftax as gx
        >>> def step(tokens, count):  # counts up, and its cache how often
        ...     return gx.ops.one_hot((tokens + 1) % 8, 8), count + 1
        >>> write = Generator(step, max_new_tokens=5, stop_tokens=6)
        >>> result = write([[2, 3], [1]], np.int32(0))
        >>> result.tokens.tolist(), result.lengths.tolist()
        ([[4, 5, 6, 0, 0], [2, 3, 4, 5, 6]], [3, 5])
    """

    @door
    def __init__(
        self,
        step: Callable[..., Any],
        max_new_tokens: int,
        sampler: Sampler | BeamSearch | None = None,
        stop_tokens: int | Sequence[int] = (),
        pad_token: int = 0,
        min_new_tokens: int = 0,
        adjust: Adjust | None = None,
        with_positions: bool = False,
    ) -> None:
        check_functions("Generator", "graftax.generation.Generator(step, max_new_tokens=32)", step)
        given = ["tokens", "cache", *["positions"] * hyperparameters.check_flag("with_positions", with_positions)]
        check_takes("Generator", "step", step, given, f"def step({', '.join(given)}): return logits, cache")
        self._sampler = _check_sampler(sampler)
        stops = _stop_tokens(stop_tokens)
        least = _check_count("min_new_tokens", min_new_tokens)
        most = hyperparameters.check_positive("max_new_tokens", max_new_tokens, "it counts tokens, from 1 up", 32)
        if least > most or (least and not stops):
            raise ArgumentError(
                f"min_new_tokens={least}, max_new_tokens={most}, stop_tokens={stops}",
                "it keeps stop tokens away at first" if not stops else "the least is not above the most",
                "stop_tokens=2, the token that ends a row" if not stops else f"min_new_tokens={most}",
            )
        if adjust is not None:
            check_functions("Generator", "adjust=graftax.generation.RepetitionPenalty(1.2)", adjust)
            check_takes("Generator", "adjust", adjust, ["logits", "tokens", "present"])
        self._settings = Settings(
            step=step,
            max_new_tokens=most,
            stop_tokens=stops,
            pad_token=_check_count("pad_token", pad_token),
            min_new_tokens=least,
            adjust=adjust,
            with_positions=with_positions,
        )
        self._programs = self._fresh_programs()
        self._traced_before = 0
        self._seen = self._attributes()

    def _fresh_programs(self) -> tuple[CompiledFunction[..., _Outcome], CompiledFunction[..., _Outcome]]:
        """Return the program for caches whose room is known, and the one that looks at where it writes."""
        return CompiledFunction(self._run), CompiledFunction(self._run, looks=RANGES)

    @property
    def trace_count(self) -> int:
        """Return how often the step was traced: once for each shape of prompt and cache, and other attributes."""
        return self._traced_before + sum(program.trace_count for program in self._programs)

    def _attributes(self) -> list[dict[str, Any]]:
        """Return the numbers and texts that sampler and ``adjust`` have as attributes: programs keep what they were."""
        objects = self._sampler, self._settings.adjust
        return [{k: v for k, v in getattr(one, "__dict__", {}).items() if isinstance(v, _PLAIN)} for one in objects]

    @door
    def __call__(
        self, prompt: ArrayLike, cache: Any, prompt_mask: ArrayLike | None = None, seed: Seed = None
    ) -> Generated:
        """Return what follows the prompts.

        Args:
            prompt: Integers ``(batch, steps)``, or a list of lists of different lengths.
            cache: What ``step`` takes, with room for the prompt and all but the last new token.
            prompt_mask: True where a token of an array counts, wherever the padding stands. Defaults to None, the mask
                that the array carries, if any.
            seed: An integer or key (the same draws every time), or a `SeedGenerator`. Defaults to None, the global
                stream.

        Raises:
            ArgumentError: a prompt is empty, a cache has no room, or there is a seed and nothing to draw.
            ArgumentTypeError: the prompt, or what ``step`` returned, is something else.
            ShapeError: the shape of prompt, mask or logits does not fit, or that of the cache changes.
            DTypeError: tokens are no integers.
            StateError: the mask of the prompts did not reach the attention, or the step looks at their padding.
            IndexRangeError: a cache of your own has no room.
            NumericsError: the logits of a row are no numbers, as where a token of its prompt is none of the vocabulary.
        """
        tokens, mask = prompts.as_arrays(prompt, prompt_mask, self._settings.pad_token)
        caches.check_room(cache, tokens.shape[1], self._settings.max_new_tokens)
        if (seen := self._attributes()) != self._seen:
            self._traced_before, self._programs, self._seen = self.trace_count, self._fresh_programs(), seen
        compiled = self._programs[caches.has_own_arrays(cache)]
        try:
            run = compiled if registry.current().has("compiling") else self._run
            outcome = run(tokens, mask, cache, self._key(seed))
        except IndexRangeError as error:
            needed = tokens.shape[1] + self._settings.max_new_tokens - 1
            error.add_context(f"generation; a cache of your own needs room for {needed} positions")
            raise
        known = caches.only_attention_caches(cache)
        if registry.current().arrays.is_concrete(outcome.mask_was_used) and not bool(outcome.mask_was_used):
            raise caches.lost_mask_error() if known else padding.error()
        _check_scores(outcome.generated)
        return outcome.generated

    def _key(self, seed: Seed) -> Array | None:
        if isinstance(self._sampler, Sampler) and self._sampler.draws:
            return key_of(seed)
        if seed is not None:
            raise ArgumentError(
                f"seed={seed!r:.40} with {self._sampler!r:.60}",
                "nothing is drawn: the same tokens come each time",
                "the call without seed=, or sampler=graftax.generation.RandomSampler()",
            )
        return None

    def _run(self, tokens: Array, mask: Array | None, cache: Any, key: Array | None) -> _Outcome:
        prompt = prompts.on_the_right(tokens, mask, self._settings.pad_token)
        logits, after = next_logits.of_prompt(self._settings, prompt, cache)
        seen = ops.asarray(True)
        if prompt.mask is not None:
            seen = caches.mask_was_used(cache, after, prompt.mask)
            if not caches.only_attention_caches(cache):
                seen = ops.logical_and(seen, padding.is_ignored(self._settings, prompt, cache))
        if isinstance(self._sampler, BeamSearch):
            return _Outcome(beams(self._settings, self._sampler, prompt, logits, after), seen)
        return _Outcome(token_by_token(self._settings, self._sampler, prompt, logits, after, key), seen)

    _run.__qualname__ = "Generator.__call__"  # the log of traces names what users call


class _Outcome(NamedTuple):
    generated: Generated
    mask_was_used: Array


def _check_scores(generated: Generated) -> None:
    arrays = registry.current().arrays
    if not arrays.is_concrete(generated.scores):
        return
    unknown = np.isnan(arrays.to_numpy(generated.scores))
    if unknown.any():
        rows = np.flatnonzero(unknown.reshape(len(unknown), -1).any(axis=1)).tolist()
        raise NumericsError(
            f"logits that are nan, or all -inf, for {'rows' if len(rows) > 1 else 'row'} {', '.join(map(str, rows))}",
            "no token can be chosen by them: a token of the prompt may be none of the vocabulary, or a weight nan",
            "prompts whose tokens are from 0 to the vocabulary less 1; a look at step(prompt, cache) for these rows",
        )


def _check_sampler(sampler: object) -> Sampler | BeamSearch:
    if sampler is None:
        return GreedySampler()
    if not isinstance(sampler, Sampler | BeamSearch):
        raise ArgumentTypeError(
            f"sampler={sampler!r:.60}",
            "it is an object that chooses tokens",
            "GreedySampler(), RandomSampler(top_p=0.9), BeamSearch(4), or a Sampler of your own",
        )
    if isinstance(sampler, Sampler):
        given, instead = ["logits", "seed"], "def sample(self, logits, seed): return tokens"
        check_takes("Generator", f"sampler={type(sampler).__name__}(), whose sample", sampler.sample, given, instead)
    return sampler


def _stop_tokens(tokens: object) -> tuple[int, ...]:
    listed = list(tokens) if isinstance(tokens, list | tuple | set | frozenset) else [tokens]
    return tuple(sorted({_check_count("stop_tokens", token) for token in listed}))


def _check_count(name: str, value: object) -> int:
    found = hyperparameters.check_integer(name, value, "it is an integer from 0 up", 2)
    if found < 0:
        raise ArgumentError(f"{name}={value!r}", "it is an integer from 0 up", f"{name}=2")
    return found
