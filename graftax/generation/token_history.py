"""All tokens so far, for those who adjust logits by them."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array
from graftax.generation.prompts import Prompt
from graftax.generation.settings import Settings


def token_history(settings: Settings, prompt: Prompt, tokens: Array, count: Array) -> tuple[Array, Array]:
    """Return the tokens of prompt and result, and which count; the result alone where nobody looks at them."""
    if settings.adjust is None:
        return tokens, ops.ones(tokens.shape, "bool")
    before = ops.ones(prompt.tokens.shape, "bool") if prompt.mask is None else prompt.mask
    new = ops.broadcast_to(ops.arange(tokens.shape[1])[None, :] < count, tokens.shape)
    return ops.concatenate([prompt.tokens, tokens], axis=1), ops.concatenate([before, new], axis=1)
