"""How a program takes parts out of rows: from places that the compiler does not know.

XLA compiles equal loops once. The loops that read a weight of a row differ by where it begins, and so each is compiled
by itself, at 20 ms and more, where as many weights in arrays of their own would share a few loops. On CPUs, the places
are therefore numbers that come out of a branch, of which nobody knows before it runs that it is always the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from graftax.backend.jax import tracing

_FEW = 8  # parts; to compile their loops takes no longer than what is done here


class _Part(NamedTuple):
    """Some elements of an array along its first axis; ``variable`` stands for them."""

    array: Any
    start: int
    size: int
    variable: Any


def with_hidden_places(program: Any) -> Any:
    """Return a program of rows in which parts are taken out from places that are known when it runs.

    Args:
        program: Its first equations split inputs, reshaped or not, along their first axis.
    """
    if jax.devices()[0].platform != "cpu":
        return program
    inputs = set(program.invars)
    shaped = [one for one in program.eqns if one.primitive.name == "reshape" and _is_one_of(inputs, one.invars[0])]
    arrays = {one.outvars[0] for one in shaped} | inputs
    splits = [one for one in program.eqns if _splits_rows(one) and _is_one_of(arrays, one.invars[0])]
    parts = _parts_in_use(program, splits)
    told_by = next((part.array for part in parts if part.array.aval.dtype.kind in "fiu"), None)
    if len(parts) <= _FEW or told_by is None:
        return program
    before = [one for one in shaped if any(one.outvars[0] is split.invars[0] for split in splits)]
    cut = _cut(parts, told_by)
    done = {id(one) for one in (*before, *splits)}
    return program.replace(eqns=[*before, *cut, *(one for one in program.eqns if id(one) not in done)])


def _splits_rows(equation: Any) -> bool:
    return bool(equation.primitive.name == "split" and equation.params["axis"] == 0)


def _is_one_of(variables: set[Any], atom: object) -> bool:
    return not isinstance(atom, tracing.Literal) and atom in variables


def _parts_in_use(program: Any, splits: Sequence[Any]) -> list[_Part]:
    atoms = [atom for one in program.eqns for atom in one.invars] + list(program.outvars)
    used = {atom for atom in atoms if not isinstance(atom, tracing.Literal)}
    found = []
    for split in splits:
        start = 0
        for size, variable in zip(split.params["sizes"], split.outvars, strict=True):
            if variable in used:
                found.append(_Part(split.invars[0], start, size, variable))
            start += size
    return found


def _cut(parts: Sequence[_Part], told_by: Any) -> list[Any]:
    """Return equations that give the variables of the parts."""
    arrays = list(dict.fromkeys([told_by, *(part.array for part in parts)]))
    starts = sorted({part.start for part in parts})

    def cut(*values: Any) -> list[Any]:
        of = dict(zip(arrays, values, strict=True))
        found: tuple[Any, ...] = lax.cond(
            _never(of[told_by]),
            lambda: tuple(np.uint32(start + 1) for start in starts),
            lambda: tuple(np.uint32(start) for start in starts),
        )
        place = dict(zip(starts, found, strict=True))
        return [_taken(of[part.array], place[part.start], part.size) for part in parts]

    closed = jax.make_jaxpr(cut)(*(jax.ShapeDtypeStruct(one.aval.shape, one.aval.dtype) for one in arrays))
    traced = closed.jaxpr
    stands_for = dict(zip(traced.invars, arrays, strict=True))
    stands_for |= dict(zip(traced.outvars, (part.variable for part in parts), strict=True))

    def now(atom: Any) -> Any:
        return atom if isinstance(atom, tracing.Literal) else stands_for.get(atom, atom)

    return [
        one.replace(invars=[*map(now, one.invars)], outvars=[stands_for.get(out, out) for out in one.outvars])
        for one in traced.eqns
    ]


def _taken(array: Any, start: Any, size: int) -> Any:
    """Return elements from a place along the first axis; as it is unsigned, nobody asks whether it is negative."""
    rest = array.shape[1:]
    return lax.dynamic_slice(array, [start, *(np.uint32(0) for _ in rest)], [size, *rest])


def _never(array: Any) -> Any:
    """Return False, for a reason that no compiler looks for: no number has more than 64 bits that are set."""
    first = lax.reshape(lax.slice(array, [0] * array.ndim, [1] * array.ndim), ())
    if first.dtype.kind == "f":
        first = lax.bitcast_convert_type(first, jnp.dtype(f"uint{8 * first.dtype.itemsize}"))
    return lax.population_count(first) > 64
