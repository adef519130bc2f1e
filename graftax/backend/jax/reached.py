"""Which arguments of a function its result depends on, as the program of its derivative tells."""

from __future__ import annotations

from typing import Any

from graftax.backend.jax.tracing import dce_jaxpr


def reached_by(pull: Any, count: int) -> list[bool]:
    """Tell, for each of the ``count`` arrays that `jax.vjp` was given, whether the result depends on it.

    Args:
        pull: What `jax.vjp` returned beside the result.
        count: How many arrays the function takes.
    """
    program = pull.jaxpr  # of the derivative; its last inputs are the tangents of the arguments
    used: list[bool] = dce_jaxpr(program, [True] * len(program.outvars))[1]
    return used[len(used) - count :]
