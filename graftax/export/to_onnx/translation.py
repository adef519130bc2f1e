"""Programs into graphs: equation by equation; what is known already is computed now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.backend.equations import Equations
from graftax.core.errors import ExportError
from graftax.export.to_onnx import (  # noqa: F401  # the files of rules
    blocks,
    elementwise,
    indexing,
    loops,
    products,
    randomness,
    reductions,
    shapes,
    windows,
)
from graftax.export.to_onnx.graph import Graph
from graftax.export.to_onnx.integers import Integers
from graftax.export.to_onnx.step import RULES, Step
from graftax.export.to_onnx.unwritable import Unwritable
from graftax.export.to_onnx.values import Known, Operand, are_fixed

_SMALL = 64 * 1024
"""Bytes up to which a result is computed when the file is written, whatever it is computed from."""


class Translation:
    """Writes programs into graphs.

    Args:
        equations: What the backend tells of equations.
        integers: Which products are of integers.
    """

    def __init__(self, equations: Equations, integers: Integers) -> None:
        self.integers = integers
        self._equations = equations
        self._around: list[Any] = []

    def counts(self, parameters: dict[str, Any]) -> tuple[int, int]:
        """Return how many constants and how much carry a loop over rows has."""
        return self._equations.scan_counts(parameters)

    def write(self, graph: Graph, program: Any, operands: Sequence[Operand]) -> list[Operand]:
        """Write a program into a graph, and return its results."""
        jaxpr, constants = self._equations.open_program(program)
        env: dict[Any, Operand] = dict(zip(jaxpr.constvars, map(Known, constants), strict=True))
        env.update(zip(jaxpr.invars, operands, strict=True))

        def read(atom: Any) -> Operand:
            return Known(np.asarray(atom.val, atom.aval.dtype)) if hasattr(atom, "val") else env[atom]

        self._fold(jaxpr, env)
        for equation in jaxpr.eqns:
            if not all(one in env for one in equation.outvars):
                results = self._write_equation(graph, equation, [read(atom) for atom in equation.invars])
                env.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _fold(self, jaxpr: Any, env: dict[Any, Operand]) -> None:
        """Compute what follows from what is known, in one piece, unless it would only be larger.

        A value is kept if it is small, or no larger than all that it was made from together, or if no node could
        compute it. What only leads to one that is kept is computed on the way.
        """
        sources = {one: {one: _room(operand.array)} for one, operand in env.items() if isinstance(operand, Known)}
        follows: list[Any] = []
        kept: set[Any] = set()
        for equation in jaxpr.eqns:
            atoms = _variables(equation.invars)
            if not all(atom in sources for atom in atoms) or not self._may_fold(equation):
                continue
            roots = {root: size for atom in atoms for root, size in sources[atom].items()}
            size = sum(_bytes(one.aval) for one in equation.outvars)
            follows.append(equation)
            sources.update(dict.fromkeys(equation.outvars, roots))
            if size <= max(sum(roots.values()), _SMALL) or not self._can_write(equation):
                kept.update(equation.outvars)
        used = [*jaxpr.outvars, *(atom for e in jaxpr.eqns if not kept.issuperset(e.outvars) for atom in e.invars)]
        wanted = list(dict.fromkeys(atom for atom in _variables(used) if atom in kept))
        needed, steps = set(wanted), []
        for equation in reversed(follows):
            if not needed.isdisjoint(equation.outvars):
                steps.append(equation)
                needed.update(_variables(equation.invars))
        if steps:
            given = {one: _broadcast_known(env[one], one.aval) for one in needed if one in env}
            results = self._equations.evaluate(steps[::-1], given, wanted)
            env.update(zip(wanted, map(Known, results), strict=True))
        env.update(dict.fromkeys(kept - set(wanted), _GONE))

    def _may_fold(self, equation: Any) -> bool:
        name = equation.primitive.name
        outputs_fixed = all(are_fixed(one.aval.shape) for one in equation.outvars)
        inputs_fixed = all(are_fixed(one.aval.shape) for one in equation.invars)
        if not outputs_fixed or not inputs_fixed or name in _NEVER or "callback" in name or equation.effects:
            return False
        program = self._equations.inline(equation)
        if program is not None:
            return all(map(self._may_fold, self._equations.open_program(program)[0].eqns))
        return name not in ("scan", "while", "cond") or not equation.effects

    def _can_write(self, equation: Any) -> bool:
        program = self._equations.inline(equation)
        if program is not None:
            return all(map(self._can_write, self._equations.open_program(program)[0].eqns))
        return equation.primitive.name in RULES

    def _write_equation(self, graph: Graph, equation: Any, operands: list[Operand]) -> list[Operand]:
        self._around.append(equation)
        before = graph.within
        try:
            program = self._equations.inline(equation)
            if program is not None:
                return self.write(graph, program, operands)
            graph.within = self._equations.locate(self._around).layer
            graph.file.halves |= any(str(one.aval.dtype) == "float16" for one in equation.outvars)
            write = RULES.get(equation.primitive.name)
            if write is None:
                raise Unwritable(
                    "ONNX has no operator for this operation, and graftax has no rule that writes it with others",
                    "other functions of graftax.ops in its place; or gx.export.save, which exports every operation",
                )
            results = write(Step(graph, equation, operands, self))
            return results if isinstance(results, list) else [results]
        except Unwritable as error:
            raise self._unwritable_error(error, equation) from None
        finally:
            graph.within = before
            self._around.pop()

    def _unwritable_error(self, error: Unwritable, equation: Any) -> ExportError:
        at = self._equations.locate(self._around)
        kinds = ", ".join(f"{one.aval.dtype}[{', '.join(map(str, one.aval.shape))}]" for one in equation.invars)
        name = at.op if at.op == at.primitive else f"{at.op} ({at.primitive})"
        told = ExportError(f"{name} of {kinds} cannot be written as ONNX", error.why, error.instead)
        told.place = at.place or told.place
        if at.layer:
            told.add_context(f"the layer {at.layer}")
        return told


_NEVER = {*randomness.DRAWS, "dim_as_value", "graftax_check"}
_GONE = Known(np.zeros(0))
"""Stands for what was computed on the way and is used no more."""


def _variables(atoms: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(atom for atom in atoms if not hasattr(atom, "val")))


def _room(array: np.ndarray[Any, Any]) -> int:
    """Return the bytes that an array would have as numbers with fractions; a byte may hold two codes."""
    return array.nbytes * (8 if array.dtype.itemsize == 1 else 1)


def _bytes(aval: Any) -> int:
    return int(np.prod(aval.shape)) * int(getattr(aval.dtype, "itemsize", 8))


def _broadcast_known(operand: Operand, aval: Any) -> Any:
    assert isinstance(operand, Known)
    return np.broadcast_to(operand.array, aval.shape)
