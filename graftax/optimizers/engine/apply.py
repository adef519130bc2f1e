"""The update loop: one variable after another, each through the rule of its optimizer, or all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graftax.core.errors import ArgumentError, GraftaxError, ShapeError
from graftax.core.typedefs import Array
from graftax.optimizers.engine.gradients import Pair
from graftax.optimizers.engine.grouping import Work, groups, joined, split
from graftax.optimizers.engine.numbers import cast_to, compute_dtype, is_on, number
from graftax.optimizers.engine.rule import Moved, Moving, Rule, moves_together
from graftax.optimizers.engine.slot import SlotValues
from graftax.optimizers.engine.slot_table import Row
from graftax.optimizers.engine.sparse_rows import Touched
from graftax.optimizers.engine.step import Steps
from graftax.variables.given_back import constrained
from graftax.variables.variable import Variable

_NAMED = 5  # variables in a message, where an update moves many


def apply(optimizer: Rule, steps: Steps, work: list[tuple[Pair, Row]], touched: Mapping[int, Touched]) -> None:
    """Update every variable with its gradient; the slots are there.

    Args:
        optimizer: Whose rule it is.
        steps: What the rule may know of the step.
        work: Variables with gradients, and their rows.
        touched: For variables, by identity, whose gradients are those of some rows: which ones.
    """
    work = [one for one in work if 0 not in one[0][0].shape]  # of nothing there is no mean, and no norm
    whole = [one for one in work if id(one[0][0]) not in touched]
    if whole and moves_together(optimizer):
        with _context(optimizer, whole):
            _update_all(optimizer, whole, steps)
        return
    for group in groups(optimizer, whole):
        with _context(optimizer, group):
            _update(optimizer, group, steps)
    for one in work if touched else ():
        (variable, gradient), row = one
        if id(variable) in touched:
            with _context(optimizer, [one]):
                _update_rows(optimizer, variable, gradient, row, touched[id(variable)], steps)


@contextmanager
def _context(optimizer: Rule, group: list[Work]) -> Iterator[None]:
    try:
        yield
    except GraftaxError as error:
        paths = ", ".join(repr(variable.path) for (variable, _), _ in group[:_NAMED])
        more = f" and {len(group) - _NAMED} more" if len(group) > _NAMED else ""
        error.add_context(f"the update of {paths}{more} by {type(optimizer).__name__}")
        raise


def _update(optimizer: Rule, group: list[Work], steps: Steps) -> None:
    """Move one variable, or several as one array."""
    (variable, _), row = group[0]
    value = joined([variable.value for (variable, _), _ in group])
    gradient = joined([gradient for (_, gradient), _ in group])
    slots = {name: joined([row.slots[name].value for _, row in group]) for name in row.of_the_rule()}
    one = _moving(optimizer, steps, row, variable, gradient, value, slots)
    new, changes = _checked(optimizer, "update", slots, optimizer.update(one.gradient, one.value, one.slots, one.step))
    if len(group) > 1:  # the shapes of the variables are asked for where they are assigned
        _check_joined(optimizer, {"a value": (new, value)} | {f"a slot {n!r}": (changes[n], slots[n]) for n in changes})
    for name, change in changes.items():
        for (_, other), part in zip(group, split(cast_to(change, row.slots[name].dtype), group), strict=True):
            other.slots[name].assign(part)
    for ((moved, _), _), part in zip(group, split(cast_to(new, variable.dtype), group), strict=True):
        moved.assign(constrained(moved, part))


def _update_all(optimizer: Rule, work: list[Work], steps: Steps) -> None:
    """Move all variables, by a rule that sees them at once."""
    moving = []
    for (variable, gradient), row in work:
        slots = {name: slot.value for name, slot in row.of_the_rule().items()}
        moving.append(_moving(optimizer, steps, row, variable, gradient, variable.value, slots))
    results = optimizer.update_all(moving)
    if not isinstance(results, list | tuple) or len(results) != len(moving):
        got = f"{len(results)} results" if isinstance(results, list | tuple) else _described(results)
        raise ArgumentError(
            f"{type(optimizer).__name__}.update_all returned {got} for {len(moving)} variables",
            "it returns a list with the new value and a dict of the new slots for each of them",
            "return [(one.value - one.step.learning_rate * one.gradient, {}) for one in moving]",
        )
    for ((variable, _), row), result in zip(work, results, strict=True):
        kept = row.of_the_rule()
        new, changes = _checked(optimizer, "update_all", kept, result)
        for name, change in changes.items():
            kept[name].assign(cast_to(change, kept[name].dtype))
        new = cast_to(new, variable.dtype)
        variable.assign(constrained(variable, new))


def _update_rows(optimizer: Rule, variable: Variable, sums: Array, row: Row, touched: Touched, steps: Steps) -> None:
    """Move some rows of a variable; the others, and those of its slots, stay."""
    kept = row.of_the_rule()
    slots = {name: touched.of(slot.value) for name, slot in kept.items()}
    gradient, value = touched.share(sums), touched.of(variable.value)
    one = _moving(optimizer, steps, row, variable, gradient, value, slots)
    new, changes = _checked(optimizer, "update", slots, optimizer.update(one.gradient, one.value, one.slots, one.step))
    for name, change in changes.items():
        kept[name].assign(touched.put(kept[name].value, cast_to(change, kept[name].dtype)))
    whole = touched.put(variable.value, cast_to(new, variable.dtype))
    variable.assign(constrained(variable, whole))


def _moving(
    optimizer: Rule,
    steps: Steps,
    row: Row,
    variable: Variable,
    gradient: Array,
    value: Array,
    slots: Mapping[str, Array],
) -> Moving:
    """What the rule gets: in the dtype of the computation, with the decays that are not the rule's."""
    dtype = compute_dtype(variable.dtype)
    decay, l2 = row.settings.decays(optimizer.weight_decay, optimizer.l2)
    inside = decay if optimizer.decays_inside else 0.0
    step = steps.step(dtype, row.settings.learning_rate_multiplier, inside)
    value = cast_to(value, dtype)
    if is_on(l2):
        gradient = gradient + number(l2, dtype) * value
    if is_on(decay) and not optimizer.decays_inside:
        value = value - step.learning_rate * number(decay, dtype) * value
    seen = SlotValues({name: cast_to(slot, dtype) for name, slot in slots.items()})
    return Moving(variable, gradient, value, seen, step)


def _checked(optimizer: Rule, method: str, slots: Mapping[str, Any], result: Any) -> Moved:
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], Mapping):
        raise ArgumentError(
            f"{type(optimizer).__name__}.{method} returned {_described(result)}",
            "an update returns the new value and a dict of the new slots",
            'return value - step.learning_rate * gradient, {"momentum": momentum}',
        )
    if unknown := [name for name in result[1] if name not in slots]:
        raise ArgumentError(
            f"{type(optimizer).__name__}.{method} returned a slot {unknown[0]!r}",
            f"create_slots declares {', '.join(slots) or 'none'}",
            "declare it there, or leave it out",
        )
    return result


def _check_joined(optimizer: Rule, found: Mapping[str, tuple[Any, Array]]) -> None:
    """Raise unless each thing has the shape of the one beside it: a number for each element of several variables."""
    for what, (new, old) in found.items():
        shape = tuple(getattr(new, "shape", ()))
        if shape != tuple(old.shape):
            name = type(optimizer).__name__
            raise ShapeError(
                f"{name}.update returned {what} of shape {shape} for one of shape {tuple(old.shape)}",
                "an elementwise rule gives a number for each element, and small variables are joined for it",
                f"{name}.elementwise = False, for a rule that looks at whole variables",
            )


def _described(result: Any) -> str:
    return f"one array of shape {tuple(result.shape)}" if hasattr(result, "shape") else f"{result!r:.60}"
