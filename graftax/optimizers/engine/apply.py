"""The update loop: one variable after another, each through the rule of its optimizer, or all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from graftax.core.errors import ArgumentError, GraftaxError, ShapeError
from graftax.core.typedefs import Array
from graftax.optimizers.engine.gradients import Pair, cast_to
from graftax.optimizers.engine.grouping import Work, groups, joined, split
from graftax.optimizers.engine.learning_rate import current, identity, is_on, number
from graftax.optimizers.engine.rule import Moved, Moving, moves_together
from graftax.optimizers.engine.slot import Row, SlotValues, compute_dtype
from graftax.optimizers.engine.sparse_rows import Touched
from graftax.variables.given_back import constrained
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.optimizers.optimizer import Optimizer

T = TypeVar("T")
_NAMED = 5  # variables in a message, where an update moves many


class Step:
    """What a rule may know of the step; all are scalars.

    Args:
        learning_rate: The rate now, in the dtype of ``value``; schedule and rules are in it.
        iterations: How many updates came before, int32; 0 in the first.
        count: The number of this update, from 1 on, in the dtype of ``value``.
        weight_decay: The decay that a rule with ``decays_inside`` has to take itself; a number.
    """

    def __init__(self, learning_rate: Array, iterations: Array, count: Array, weight_decay: float = 0.0) -> None:
        self.learning_rate = learning_rate
        self.iterations = iterations
        self.count = count
        self.weight_decay = weight_decay
        self._known: dict[Callable[[Step], Any], Any] = {}

    def once(self, function: Callable[[Step], T]) -> T:
        """``function(step)``, computed once for all variables that share this step."""
        if function not in self._known:
            self._known[function] = function(self)
        return self._known[function]  # type: ignore[no-any-return]


class Steps:
    """The `Step` of each dtype, multiplier and decay."""

    def __init__(self, learning_rate: Any, iterations: Array) -> None:
        self._rate = learning_rate  # a schedule is computed in the dtype of the variables that it is for
        self._iterations = iterations
        self._made: dict[Hashable, Step] = {}

    def step(self, dtype: str, multiplier: Any, weight_decay: Any = 0.0) -> Step:
        """The one for a variable that is updated in this dtype."""
        key = dtype, identity(multiplier), identity(weight_decay)
        if key not in self._made:
            rate = current(self._rate, self._iterations, dtype)
            count = cast_to(self._iterations + 1, dtype)
            rate = rate if identity(multiplier) == 1 else rate * number(multiplier, dtype)
            self._made[key] = Step(rate, self._iterations, count, number(weight_decay, dtype))
        return self._made[key]


def apply(optimizer: Optimizer, steps: Steps, work: list[tuple[Pair, Row]], touched: Mapping[int, Touched]) -> None:
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
def _context(optimizer: Optimizer, group: list[Work]) -> Iterator[None]:
    try:
        yield
    except GraftaxError as error:
        paths = ", ".join(repr(variable.path) for (variable, _), _ in group[:_NAMED])
        more = f" and {len(group) - _NAMED} more" if len(group) > _NAMED else ""
        error.add_context(f"the update of {paths}{more} by {type(optimizer).__name__}")
        raise


def _update(optimizer: Optimizer, group: list[Work], steps: Steps) -> None:
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


def _update_all(optimizer: Optimizer, work: list[Work], steps: Steps) -> None:
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


def _update_rows(
    optimizer: Optimizer, variable: Variable, sums: Array, row: Row, touched: Touched, steps: Steps
) -> None:
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
    optimizer: Optimizer,
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


def _checked(optimizer: Optimizer, method: str, slots: Mapping[str, Any], result: Any) -> Moved:
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


def _check_joined(optimizer: Optimizer, found: Mapping[str, tuple[Any, Array]]) -> None:
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
