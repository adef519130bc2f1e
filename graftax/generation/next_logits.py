"""The next logits: one call of the step function, looked at and adjusted."""

from __future__ import annotations

from typing import Any

from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.generation.prompts import Prompt
from graftax.generation.settings import Settings
from graftax.variables import masks

_INSTEAD = "def step(tokens, cache): ...; return logits, cache"


def of_prompt(settings: Settings, prompt: Prompt, cache: Any) -> tuple[Array, Any]:
    """Return logits behind the prompts, and the cache that has seen them."""
    masks.set_mask(prompt.tokens, prompt.mask)
    return _step(settings, prompt.tokens, cache, prompt.positions)


def of_tokens(settings: Settings, tokens: Array, cache: Any, positions: Array) -> tuple[Array, Any]:
    """Return logits behind one more token in each row, ``(rows,)``, at these places of theirs."""
    return _step(settings, tokens[:, None], cache, positions[:, None])


def adjust(settings: Settings, logits: Array, tokens: Array, present: Array, count: Array) -> Array:
    """Return what the next tokens are chosen by.

    Args:
        settings: Those of the run.
        logits: As the model gave them, in float32.
        tokens: All so far, those of the prompt first.
        present: Which of them count.
        count: How many new ones there are.
    """
    if settings.adjust is not None:
        made = settings.adjust(logits, tokens, present)
        if tuple(getattr(made, "shape", ())) != tuple(logits.shape):
            raise ShapeError(
                f"adjust gave {_describe(made)} for logits of shape {tuple(logits.shape)}",
                "it returns as many logits as it was given",
                "def adjust(logits, tokens, present): ...; return logits",
            )
        logits = ops.cast(made, "float32")
    if settings.min_new_tokens:
        stops = ops.isin(ops.arange(logits.shape[1]), ops.asarray(settings.stop_tokens))
        early = ops.logical_and(count < settings.min_new_tokens, stops[None, :])
        logits = ops.where(early, float("-inf"), logits)
    return logits


def _step(settings: Settings, tokens: Array, cache: Any, positions: Array) -> tuple[Array, Any]:
    made = settings.step(tokens, cache, positions) if settings.with_positions else settings.step(tokens, cache)
    if not isinstance(made, tuple | list) or len(made) != 2:
        raise ArgumentTypeError(
            f"a step that returned {_describe(made)}", "it gives logits and the next cache", _INSTEAD
        )
    logits, after = made
    shape: Shape = tuple(getattr(logits, "shape", ()))
    if shape[:-1] not in ((tokens.shape[0],), tuple(tokens.shape)):
        raise ShapeError(
            f"a step that gave logits of shape {shape} for tokens of shape {tuple(tokens.shape)}",
            "they are (batch, vocabulary), of what follows the last token, or (batch, steps, vocabulary)",
            "return head(x[:, -1]), cache",
        )
    _check_tokens(settings, int(logits.shape[-1]))
    last = logits[:, -1] if len(shape) == 3 else logits
    return ops.cast(last, "float32"), after


def _check_tokens(settings: Settings, vocabulary: int) -> None:
    for name, token in (("pad_token", settings.pad_token), *(("stop_tokens", t) for t in settings.stop_tokens)):
        if token >= vocabulary:
            raise ArgumentError(
                f"{name} with the token {token}, and logits of {vocabulary} tokens",
                "the model does not know it",
                f"a token from 0 to {vocabulary - 1}",
            )


def _describe(value: Any) -> str:
    return f"an array of shape {tuple(value.shape)}" if hasattr(value, "shape") else f"{value!r:.60}"
