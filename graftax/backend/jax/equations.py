"""Equations of JAX, for whoever writes programs down in another language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.core
import numpy as np

from graftax.backend.jax import checks, replaying, tracing
from graftax.core.culprit import Culprit

_WHOLE = {
    *("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint"),
    *("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"),
}
_PROGRAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr")


class JaxEquations:
    """Questions about equations of JAX."""

    def evaluate(self, equations: Sequence[Any], known_values: dict[Any, Any], outputs: Sequence[Any]) -> list[Any]:
        """Return what variables are after these equations, compiled as one."""
        names = list(known_values)

        def run(values: list[Any]) -> list[Any]:
            known = dict(zip(names, values, strict=True))

            def read(atom: Any) -> Any:
                return atom.val if isinstance(atom, tracing.Literal) else known[atom]

            for equation in equations:
                known.update(zip(equation.outvars, _evaluate(equation, list(map(read, equation.invars))), strict=True))
            return [known[one] for one in outputs]

        with tracing.eagerly():
            results = jax.jit(run)(list(known_values.values()))
        return [np.asarray(one) for one in results]

    def inline(self, equation: Any) -> Any | None:
        """Return the program that an equation stands for; None for an operation."""
        if equation.primitive.name not in _WHOLE:
            return None
        return next(equation.params[name] for name in _PROGRAMS if name in equation.params)

    def open_program(self, program: Any) -> tuple[Any, list[np.ndarray[Any, Any]]]:
        """Return a program and its constants."""
        jaxpr, constants = checks.open_program(program)
        return jaxpr, [np.asarray(one) for one in constants]

    def scan_counts(self, parameters: dict[str, Any]) -> tuple[int, int]:
        """Return how many constants and how much carry a loop over rows has."""
        return tracing.scan_counts(parameters)

    def locate(self, around: Sequence[Any]) -> Culprit:
        """Return what the last of these equations is, and where in the layers and the user's lines."""
        return replaying.locate(around)


def _evaluate(equation: Any, values: list[Any]) -> list[Any]:
    program = JaxEquations().inline(equation)
    if program is None:
        return tracing.bind(equation, values)
    jaxpr, constants = checks.open_program(program)
    return list(jax.core.eval_jaxpr(jaxpr, constants, *values))
