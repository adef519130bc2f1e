"""Which axes of an array are those of another one, by the equations of JAX between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.core

from graftax.backend.axis_origins import AxisOrigin, AxisQuestion
from graftax.backend.jax import checks, replaying, tracing
from graftax.backend.jax.axis_rules import Axes, carry_axes, first_axes, has_any, strange


class _Trail(NamedTuple):
    """The axes that an array has of a marked one."""

    mark: int
    axes: Axes
    around: tuple[Any, ...]  # the first equation after the mark, in those that it is inside of


_Trails: TypeAlias = list[_Trail | None]


def axis_origins(function: Callable[[list[Any]], AxisQuestion], arrays: Sequence[Any]) -> list[AxisOrigin | None]:
    """Return, for each array asked of, the marked one whose first axes are its own."""
    counts: list[int] = []
    numbers: list[int] = []
    places: list[list[int]] = []

    def run(given: list[Any]) -> list[Any]:
        level = tracing.current_level()

        def is_here(array: object) -> bool:  # constants are none of these, and what lives further in is gone
            return isinstance(array, jax.core.Tracer) and tracing.level_of(array) is level

        question = function(given)
        found: list[Any] = []
        counts.extend(count for _, count in question.marks)
        numbers.append(len(question.asked))
        for group in ([array for array, _ in question.marks], question.ends, question.asked):
            places.append([i for i, array in enumerate(group) if is_here(array)])
            found += [array for array in group if is_here(array)]
        return found

    with tracing.apart():
        jaxpr = jax.make_jaxpr(run)(list(arrays)).jaxpr
    outputs = list(jaxpr.outvars)
    marks, ends = len(places[0]), len(places[1])
    follower = _Follower(
        {variable: (number, counts[number]) for variable, number in zip(outputs, places[0], strict=False)},
        frozenset(outputs[marks : marks + ends]),
    )
    trails = follower.follow(jaxpr, [None] * len(jaxpr.invars), (), outputs)[marks + ends :]
    origins: list[AxisOrigin | None] = [None] * numbers[0]
    for place, trail in zip(places[2], trails, strict=True):
        if trail is not None:
            first = trail.axes[: counts[trail.mark]]
            if [[number for number, _ in axis] for axis in first] == [[i] for i in range(counts[trail.mark])]:
                origins[place] = _origin(trail)
    return origins


def _origin(trail: _Trail) -> AxisOrigin:
    if not trail.around:
        return AxisOrigin(trail.mark, "", None)
    found = replaying.locate(trail.around)
    return AxisOrigin(trail.mark, found.op, found.place)


class _Follower:
    """Follows axes through a program, and through those inside of it.

    Args:
        marks: Variables whose axes are followed: their numbers, and how many axes.
        ends: Variables at which that is over.
    """

    def __init__(self, marks: dict[Any, tuple[int, int]], ends: frozenset[Any]) -> None:
        self._marks = marks
        self._ends = ends

    def follow(self, jaxpr: Any, given: _Trails, around: tuple[Any, ...], outputs: Sequence[Any]) -> _Trails:
        """Return the trails of outputs, for those of the inputs."""
        known: dict[Any, _Trail] = {}

        def note(variable: Any, trail: _Trail | None) -> None:
            if variable in self._marks:
                number, count = self._marks[variable]
                known[variable] = _Trail(number, first_axes(tuple(variable.aval.shape), count), ())
            elif trail is not None and variable not in self._ends:
                known[variable] = trail

        def read(atom: Any) -> _Trail | None:
            return None if isinstance(atom, tracing.Literal) else known.get(atom)

        for variable, trail in zip(jaxpr.invars, given, strict=True):
            note(variable, trail)
        for equation in jaxpr.eqns:
            trails = [read(atom) for atom in equation.invars]
            if any(trails) or (self._marks and any(one in self._marks for one in equation.outvars)):
                results = self._step(equation, trails, (*around, equation))
                for variable, trail in zip(equation.outvars, results, strict=True):
                    note(variable, trail)
        return [read(atom) for atom in outputs]

    def _step(self, equation: Any, trails: _Trails, around: tuple[Any, ...]) -> _Trails:
        name, params = equation.primitive.name, equation.params
        if name in checks.WHOLE:
            return self._inside(checks.inner(params), trails, around)
        if name == "cond":
            branches = [self._inside(branch, trails[1:], around) for branch in params["branches"]]
            return [_fullest(found) for found in zip(*branches, strict=True)]
        if name == "scan":
            return self._scan(equation, trails, around)
        results: _Trails = []
        for out in equation.outvars:
            found: _Trails = []
            for place, trail in enumerate(trails):
                if trail is not None:
                    axes = carry_axes(name, params, place, trail.axes, tuple(out.aval.shape))
                    if has_any(axes):
                        found.append(_Trail(trail.mark, axes, trail.around or around))
            results.append(_fullest(found))
        return results

    def _inside(self, program: object, trails: _Trails, around: tuple[Any, ...]) -> _Trails:
        jaxpr, _ = checks.open_program(program)
        return self.follow(jaxpr, trails, around, jaxpr.outvars)

    def _scan(self, equation: Any, trails: _Trails, around: tuple[Any, ...]) -> _Trails:
        fixed, carried = tracing.scan_counts(equation.params)
        steps = {trail.mark: trail.axes[0] for trail in reversed(trails[fixed + carried :]) if trail is not None}
        rows = [trail and trail._replace(axes=trail.axes[1:]) for trail in trails[fixed + carried :]]
        carry = trails[fixed : fixed + carried]
        results: _Trails = []
        for _ in range(2):  # what the rows give the carry reaches the results in the second round
            results = self._inside(equation.params["jaxpr"], [*trails[:fixed], *carry, *rows], around)
            carry = [_fullest(pair) for pair in zip(carry, results[:carried], strict=True)]
        length = strange(equation.params["length"])
        stacked = [
            trail and trail._replace(axes=(steps.get(trail.mark, length), *trail.axes)) for trail in results[carried:]
        ]
        return [*results[:carried], *stacked]


def _fullest(trails: Sequence[_Trail | None]) -> _Trail | None:
    """Return the trail with the most axes, the first one of equals."""
    found = [trail for trail in trails if trail is not None]
    return max(found, key=lambda trail: has_any(trail.axes), default=None)
