"""Why a compiled function was traced once more, and what helps."""

from __future__ import annotations

from graftax.transforms.compile.guard import BY_ITSELF


def why_again(reason: str) -> tuple[str, str]:
    """Return why there was one more trace, and what helps; from what was different."""
    if reason.endswith(BY_ITSELF):
        return (
            "the function changes an attribute that it depends on, so that each call compiles anew",
            "keep what changes in a Variable (self.count.assign_add(1)), and decide by it with graftax.cond",
        )
    return (
        "each new shape, dtype or setting compiles anew",
        "keep shapes and settings the same (ops.pad, with a mask for what is real)",
    )
