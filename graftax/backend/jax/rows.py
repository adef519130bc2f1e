"""Programs whose state comes and goes in rows: what takes a row apart and puts it together again is left out.

Variables that share a buffer are one input, a row of all their elements. Each is a part of the row, and who wants them
all at once, an update or a loop over layers, joins them again: hundreds of equations that compute nothing, which the
compiler finds out one by one. They are found here, by where in which row the elements of each array stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple, Protocol

import jax

from graftax.backend.jax import packing, tracing
from graftax.backend.jax.row_parts import with_hidden_places


class Equation(Protocol):
    """What is asked of an equation of JAX."""

    invars: list[Any]
    outvars: list[Any]
    params: dict[str, Any]
    primitive: Any
    replace: Any


class Stretch(NamedTuple):
    """Elements that stand one after the other in another array, both read row by row."""

    whole: Any
    """The variable of the program in which they are."""
    start: int
    size: int


def with_rows(
    program: Any, groups: Sequence[Sequence[Any]], in_places: Sequence[int], out_places: Sequence[int], results: int
) -> Any:
    """Return a program that takes some of its inputs, and returns some of its outputs, joined to rows.

    Args:
        program: Without constants.
        groups: Shapes of the arrays in each row.
        in_places: The inputs of the rows, in their order, as places among the inputs of the program.
        out_places: The outputs of the rows, likewise.
        results: How many outputs come before the rows; others come after them.

    Returns:
        A program that takes the rows and the other inputs, and gives ``results`` outputs, the rows and the others.
    """
    sizes = [sum(map(prod, shapes)) for shapes in groups]
    kinds = [program.invars[in_places[sum(map(len, groups[:i]))]].aval.dtype for i in range(len(groups))]
    rows = [jax.ShapeDtypeStruct((size,), kind) for size, kind in zip(sizes, kinds, strict=True)]
    parts = [jax.ShapeDtypeStruct(shape, kind) for shapes, kind in zip(groups, kinds, strict=True) for shape in shapes]

    def split(*rows: Any) -> list[Any]:
        return [part for row, shapes in zip(rows, groups, strict=True) for part in packing.split(row, shapes)]

    def join(*parts: Any) -> list[Any]:
        ends = [0, *accumulate(map(len, groups))]
        return [packing.join(parts[start:end]) for start, end in pairwise(ends)]

    before, after = (jax.make_jaxpr(one)(*inputs).jaxpr for one, inputs in ((split, rows), (join, parts)))
    stands_for = dict(zip([program.invars[i] for i in in_places], before.outvars, strict=True))
    stands_for |= dict(zip(after.invars, [program.outvars[i] for i in out_places], strict=True))
    chosen_in, chosen_out = set(in_places), set(out_places)
    others = [variable for i, variable in enumerate(program.outvars) if i not in chosen_out]
    whole = program.replace(
        invars=[*before.invars, *(variable for i, variable in enumerate(program.invars) if i not in chosen_in)],
        outvars=[*others[:results], *after.outvars, *others[results:]],
        eqns=[*before.eqns, *program.eqns, *after.eqns],
        debug_info=program.debug_info.with_unknown_names(),
    )
    return with_hidden_places(_without_detours(whole, stands_for))


def _without_detours(program: Any, stands_for: dict[Any, Any]) -> Any:
    """Return the program without joins of what was split, and without what nobody needs then."""
    seen = _Seen(stands_for)
    equations = [seen.equation(equation) for equation in program.eqns]
    outputs = [seen.now(atom) for atom in program.outvars]
    needed = {atom for atom in outputs if not isinstance(atom, tracing.Literal)}
    kept = []
    for equation in reversed(equations):
        if equation.effects or not needed.isdisjoint(equation.outvars):
            kept.append(equation)
            needed.update(atom for atom in equation.invars if not isinstance(atom, tracing.Literal))
    return program.replace(eqns=kept[::-1], outvars=outputs)


class _Seen:
    """What is known of the variables of a program, from its equations so far."""

    def __init__(self, stands_for: dict[Any, Any]) -> None:
        self._stands_for = stands_for
        self._stretches: dict[Any, Stretch] = {}
        self._equal: dict[tuple[Stretch, Any], Any] = {}
        """Variables by their elements and kind."""

    def now(self, atom: object) -> Any:
        """Return what stands in the place of a variable."""
        while not isinstance(atom, tracing.Literal) and atom in self._stands_for:
            atom = self._stands_for[atom]
        return atom

    def equation(self, equation: Equation) -> Any:
        """Return the equation of what stands in the place of its operands."""
        operands = [self.now(atom) for atom in equation.invars]
        equation = equation.replace(invars=operands)
        if any(isinstance(atom, tracing.Literal) for atom in operands):
            return equation
        found = _STRETCHES.get(equation.primitive.name, lambda *_: ())([self._of(one) for one in operands], equation)
        for variable, stretch in zip(equation.outvars, found, strict=False):
            same = self._equal.setdefault((stretch, variable.aval), variable)
            self._stretches[variable] = stretch
            if same is not variable:
                self._stands_for[variable] = same
        return equation

    def _of(self, variable: Any) -> Stretch:
        if variable not in self._stretches:
            own = self._stretches[variable] = Stretch(variable, 0, variable.aval.size)
            self._equal[own, variable.aval] = variable
        return self._stretches[variable]


def _reshape(stretches: list[Stretch], equation: Equation) -> list[Stretch]:
    return stretches if equation.params["dimensions"] is None and len(stretches) == 1 else []


def _split(stretches: list[Stretch], equation: Equation) -> list[Stretch]:
    shape, sizes = equation.invars[0].aval.shape, equation.params["sizes"]
    if equation.params["axis"] != 0:
        return []
    [(whole, start, _)] = stretches
    row = prod(shape[1:])
    ends = accumulate(sizes)
    return [Stretch(whole, start + (end - size) * row, size * row) for size, end in zip(sizes, ends, strict=True)]


def _concatenate(stretches: list[Stretch], equation: Equation) -> list[Stretch]:
    if equation.params["dimension"] != 0:
        return []
    whole, start, size = stretches[0]
    for stretch in stretches[1:]:
        if stretch.whole is not whole or stretch.start != start + size:
            return []
        size += stretch.size
    return [Stretch(whole, start, size)]


_STRETCHES: Any = {"reshape": _reshape, "split": _split, "concatenate": _concatenate}
