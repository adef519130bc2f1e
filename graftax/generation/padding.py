"""Padding of prompts that a step looks at, where no cache can tell: it gives other logits for other padding."""

from __future__ import annotations

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import StateError
from graftax.core.typedefs import Array
from graftax.generation import next_logits
from graftax.generation.prompts import Prompt
from graftax.generation.settings import Settings
from graftax.transforms.lifting.frames import Substitution
from graftax.variables.state.storage import frames


def is_ignored(settings: Settings, prompt: Prompt, cache: object) -> Array:
    """Return whether neither the prompts nor the tokens behind them are read otherwise with other padding.

    The step is run on trial: what it assigns is dropped. Attention of one's own that keeps to the mask gives the hidden
    tokens a weight of exactly 0, so that equal logits are no accident.

    Args:
        settings: Those of the run.
        prompt: Prompts with padding.
        cache: What the step takes.
    """
    assert prompt.mask is not None
    least = ops.min(ops.where(prompt.mask, prompt.tokens, 2**31 - 1))
    most = ops.max(ops.where(prompt.mask, prompt.tokens, -1))
    trials = [_trial(settings, prompt, cache, ops.where(prompt.mask, prompt.tokens, other)) for other in (least, most)]
    same = ops.asarray(True)
    for one, other in zip(*trials, strict=True):
        alike = ops.isclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
        same = ops.logical_and(same, ops.all(alike))
    return same


def _trial(settings: Settings, prompt: Prompt, cache: object, tokens: Array) -> list[Array]:
    """Return the logits behind prompts with this padding, and those behind one more token."""
    backend = registry.current()
    level = backend.tracing.level() if backend.has("tracing") else None
    with frames.entered(Substitution(frames.top, (), level)):
        logits, after = next_logits.of_prompt(settings, Prompt(tokens, prompt.mask), cache)
        if settings.max_new_tokens == 1:  # and the cache need have no more room
            return [logits]
        return [logits, next_logits.of_tokens(settings, prompt.tokens[:, -1], after, prompt.lengths)[0]]


def error() -> StateError:
    """Return the error for a step that looks at the padding of prompts."""
    return StateError(
        "prompts of different lengths, and a step whose logits change with their padding",
        "short prompts are padded on the left, the tokens carry a mask that says where, and the step does not use it: "
        "the result for a row differs from the result for that row alone",
        "prompts of one length in a call; or a layer whose call(self, x, cache, mask=None) hides what the mask hides, "
        "and keeps the mask in its cache for later tokens",
    )
