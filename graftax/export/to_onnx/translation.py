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
from graftax.export.to_onnx.step import RULES, Step, Unwritable
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
        jaxpr, constants = self._equations.opened(program)
        env: dict[Any, Operand] = dict(zip(jaxpr.constvars, map(Known, constants), strict=True))
        env.update(zip(jaxpr.invars, operands, strict=True))

        def read(atom: Any) -> Operand:
            return Known(np.asarray(atom.val, atom.aval.dtype)) if hasattr(atom, "val") else env[atom]

        self._fold(jaxpr, env)
        for equation in jaxpr.eqns:
            if not all(one in env for one in equation.outvars):
                results = self._written(graph, equation, [read(atom) for atom in equation.invars])
                env.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _fold(self, jaxpr: Any, env: dict[Any, Operand]) -> None:
        """Compute what follows from what is known, in one piece, unless it would only be larger.

        A value is worth keeping if it is small, or no larger than what it was made from; what is only passed on within
        does not count.
        """
        sizes = {one: operand.array.nbytes for one, operand in env.items() if isinstance(operand, Known)}
        folded: list[Any] = []
        made: set[Any] = set()
        for equation in jaxpr.eqns:
            atoms = [atom for atom in equation.invars if not hasattr(atom, "val")]
            if not self._may_fold(equation) or not all(atom in sizes or atom in made for atom in atoms):
                continue
            given = sum(sizes[atom] for atom in set(atoms))
            new = {one: _bytes(one.aval) for one in equation.outvars}
            if sum(new.values()) > max(given, _SMALL) and self._can_write(equation):
                continue
            folded.append(equation)
            made.update(new)
            sizes.update(new)
        if not folded:
            return
        inside = {id(equation) for equation in folded}
        used = [a for e in jaxpr.eqns if id(e) not in inside for a in e.invars] + list(jaxpr.outvars)
        wanted = list(dict.fromkeys(a for a in used if not hasattr(a, "val") and a in made))
        given_to = dict.fromkeys(a for e in folded for a in e.invars if not hasattr(a, "val") and a not in made)
        values = {one: _full(env[one], one.aval) for one in given_to}
        try:
            results = self._equations.evaluate(folded, values, wanted)
        except NotImplementedError:  # an operation that exists in programs only
            return
        env.update(zip(wanted, map(Known, results), strict=True))
        for one in made - set(wanted):
            env[one] = _GONE

    def _may_fold(self, equation: Any) -> bool:
        name = equation.primitive.name
        outputs_fixed = all(are_fixed(one.aval.shape) for one in equation.outvars)
        inputs_fixed = all(are_fixed(one.aval.shape) for one in equation.invars)
        if not outputs_fixed or not inputs_fixed or name in _NEVER or "callback" in name or equation.effects:
            return False
        program = self._equations.inlined(equation)
        if program is not None:
            return all(map(self._may_fold, self._equations.opened(program)[0].eqns))
        return name not in ("scan", "while", "cond") or not equation.effects

    def _can_write(self, equation: Any) -> bool:
        program = self._equations.inlined(equation)
        if program is not None:
            return all(map(self._can_write, self._equations.opened(program)[0].eqns))
        return equation.primitive.name in RULES

    def _written(self, graph: Graph, equation: Any, operands: list[Operand]) -> list[Operand]:
        self._around.append(equation)
        before = graph.within
        try:
            program = self._equations.inlined(equation)
            if program is not None:
                return self.write(graph, program, operands)
            graph.within = self._equations.located(self._around).layer
            write = RULES.get(equation.primitive.name)
            if write is None:
                raise Unwritable("ONNX has no operator for it", "other functions of graftax.ops, or gx.export.save")
            results = write(Step(graph, equation, operands, self))
            return results if isinstance(results, list) else [results]
        except Unwritable as error:
            raise self._refused(error, equation) from None
        finally:
            graph.within = before
            self._around.pop()

    def _refused(self, error: Unwritable, equation: Any) -> ExportError:
        at = self._equations.located(self._around)
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


def _bytes(aval: Any) -> int:
    return int(np.prod(aval.shape)) * int(getattr(aval.dtype, "itemsize", 8))


def _full(operand: Operand, aval: Any) -> Any:
    assert isinstance(operand, Known)
    return np.broadcast_to(operand.array, aval.shape)
