"""The stage of the rule: decays, `Rule.update` and constraints; one variable after another, or all of them at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError, ShapeError
from graftax.core.typedefs import Array
from graftax.optimizers.engine.grouping import can_group, groups, join, split
from graftax.optimizers.engine.numbers import cast_to, compute_dtype, dtype_name, is_on, number
from graftax.optimizers.engine.rule import Rule, RuleInput, check_decayed, has_update_all
from graftax.optimizers.engine.settings import Number
from graftax.optimizers.engine.slot import SlotValues
from graftax.optimizers.engine.sparse_rows import TouchedRows
from graftax.optimizers.engine.step import Step, StepFor
from graftax.optimizers.engine.update import Update
from graftax.variables.given_back import apply_constraint
from graftax.variables.state.storage import Frame, Storage, frames
from graftax.variables.streams import Drawn, without_draws
from graftax.variables.variable import Variable

_ASSIGNMENT = re.compile(r"(?:Array\w*|Tracer)'?(?: object)? has no attribute '?(assign(?:_add|_sub)?)\b")
_NAMED = 5  # variables in a message, where an update moves many


def apply_rule(rule: Rule, updates: list[Update], step_for: StepFor) -> None:
    """Assign every variable and its slots what the rule makes of them; the slots are there.

    Args:
        rule: An optimizer.
        updates: Those that it is to do itself.
        step_for: From `steps_from`.
    """
    updates = [update for update in updates if 0 not in update.variable.shape]  # of nothing there is no mean or norm
    group = updates
    try:
        if updates and has_update_all(rule):
            _update_all(rule, updates, step_for)
            return
        left = {id(update): update for update in updates}
        for group in [group for group in groups(updates) if len(group) > 1] if can_group(rule) else ():
            if not _update_joined(rule, group, step_for):
                break
            for update in group:
                del left[id(update)]
        for update in left.values():
            group = [update]
            variable, rows, declared = update.variable, update.rows, update.rule_slots()
            dtype = compute_dtype(variable.dtype)
            gradient, value = update.gradient, variable._gx_stored
            slots = {name: slot.value for name, slot in declared.items()}
            if rows is not None:  # other rows, and those of the slots, stay
                gradient, value = rows.share(gradient), rows.of(value)
                slots = {name: rows.of(slot) for name, slot in slots.items()}
            # as in `_rule_input`, in place: in eager code a function costs as much as the arithmetic of a small weight
            step, l2, decay = _numbers(rule, update, step_for)
            given = RuleInput(variable, gradient, cast_to(value, dtype), _cast_slots(slots, dtype), step)
            if l2 is not None or decay is not None:
                given = _decay(given, l2, decay)
            result = rule.update(given.gradient, given.value, given.slots, step)
            _check(rule, "update", declared, result)
            check_decayed(rule, "update", step)
            new, changes = result
            if dtype_name(new.dtype) != variable.dtype or rows is not None or variable.constraint is not None:
                new = _fit_to_variable(update, new)
            variable.assign(new)  # first: where the shape or the constraint raises, no slot has changed
            _assign_slots(declared, changes, rows)
    except GraftaxError as error:
        paths = ", ".join(repr(update.variable.path) for update in group[:_NAMED])
        more = f" and {len(group) - _NAMED} more" if len(group) > _NAMED else ""
        error.add_context(f"the update of {paths}{more} by {type(rule).__name__}")
        raise
    except AttributeError as error:
        if (found := _ASSIGNMENT.search(str(error))) is not None:
            raise ArgumentTypeError(
                f"{type(rule).__name__}.update calls {found[1]} of its value, an array",
                "an update gets the value of the variable and returns the new one; the optimizer assigns it",
                "return value - step.learning_rate * gradient, {}",
            ) from None
        raise


def _update_joined(rule: Rule, group: list[Update], step_for: StepFor) -> bool:
    """Update several variables that are alike as one array.

    Returns:
        Whether that was done: not if the rule draws random numbers or assigns to Variables of its own, which it does
        once for each variable in eager code.
    """
    first, frame = group[0], frames.top
    assert frame is not None  # see `can_group`
    value = join([update.variable._gx_stored for update in group])
    gradient = join([update.gradient for update in group])
    slots = {name: join([update.slots[name].value for update in group]) for name in first.rule_slots()}
    given = _rule_input(rule, first, gradient, value, slots, step_for)
    try:
        with without_draws.entered(True), frames.entered(_ReadOnly(frame)):
            result = rule.update(given.gradient, given.value, given.slots, given.step)
    except (Drawn, _Assigning):
        return False
    _check(rule, "update", slots, result)
    check_decayed(rule, "update", given.step)
    new, changes = result
    # the shapes of the variables are asked for where they are assigned
    _check_joined(rule, {"a value": (new, value)} | {f"a slot {n!r}": (changes[n], slots[n]) for n in changes})
    for name, change in changes.items():
        for update, part in zip(group, split(cast_to(change, first.slots[name].dtype), group), strict=True):
            update.slots[name].assign(part)
    for update, part in zip(group, split(cast_to(new, first.variable.dtype), group), strict=True):
        update.variable.assign(apply_constraint(update.variable, part))
    return True


def _update_all(rule: Rule, updates: list[Update], step_for: StepFor) -> None:
    """Update all variables, by a rule that sees them at once."""
    given = []
    for update in updates:
        slots = {name: slot.value for name, slot in update.rule_slots().items()}
        given.append(_rule_input(rule, update, update.gradient, update.variable._gx_stored, slots, step_for))
    results = rule.update_all(given)
    if not isinstance(results, list | tuple) or len(results) != len(given):
        got = f"{len(results)} results" if isinstance(results, list | tuple) else _describe(results)
        raise ArgumentError(
            f"{type(rule).__name__}.update_all returned {got} for {len(given)} variables",
            "it returns a list with the new value and a dict of the new slots for each of them",
            "return [(one.value - one.step.learning_rate * one.gradient, {}) for one in moving]",
        )
    for update, one, result in zip(updates, given, results, strict=True):
        _check(rule, "update_all", update.rule_slots(), result)
        check_decayed(rule, "update_all", one.step)
        new, changes = result
        update.variable.assign(_fit_to_variable(update, new))
        _assign_slots(update.rule_slots(), changes)


def _rule_input(
    rule: Rule, update: Update, gradient: Array, value: Array, slots: Mapping[str, Array], step_for: StepFor
) -> RuleInput:
    """Return what the rule gets: in the dtype of the update, with the decays that are not the rule's."""
    dtype = compute_dtype(update.variable.dtype)
    step, l2, decay = _numbers(rule, update, step_for)
    return _decay(
        RuleInput(update.variable, gradient, cast_to(value, dtype), _cast_slots(slots, dtype), step), l2, decay
    )


def _cast_slots(slots: Mapping[str, Array], dtype: str) -> SlotValues:
    return SlotValues({name: cast_to(slot, dtype) for name, slot in slots.items()})


def _numbers(rule: Rule, update: Update, step_for: StepFor) -> tuple[Step, Number | None, Number | None]:
    """Return the step of an update, its ``l2``, and its decay; None for one that is off, or that the rule takes."""
    dtype, settings = compute_dtype(update.variable.dtype), update.settings
    decay, l2 = settings.decays(rule.weight_decay, rule.l2)
    step = step_for(dtype, settings.learning_rate_multiplier, decay if rule.decays_inside else 0.0)
    return step, l2 if is_on(l2) else None, decay if is_on(decay) and not rule.decays_inside else None


def _decay(inputs: RuleInput, l2: Number | None, decay: Number | None) -> RuleInput:
    """Return what a rule gets with the decays done that are not None."""
    dtype = dtype_name(inputs.value.dtype)
    if l2 is not None:
        inputs = inputs._replace(gradient=inputs.gradient + number(l2, dtype) * inputs.value)
    if decay is not None:
        inputs = inputs._replace(value=inputs.value - inputs.step.learning_rate * number(decay, dtype) * inputs.value)
    return inputs


def _fit_to_variable(update: Update, new: Array) -> Array:
    """Return a new value as its variable takes it: in its dtype, whole, and as its constraint projects it."""
    variable, new = update.variable, cast_to(new, update.variable.dtype)
    rows = update.rows
    if rows is None:
        return apply_constraint(variable, new)
    whole: Array = rows.put(variable._gx_stored, new)
    if variable.constraint is None:
        return whole
    # the others stay, within the bounds or not
    kept: Array = rows.put(variable._gx_stored, rows.of(apply_constraint(variable, whole)))
    return kept


def _assign_slots(slots: Mapping[str, Variable], changes: Mapping[str, Array], rows: TouchedRows | None = None) -> None:
    """Give slots their new values, in their own dtypes; of some rows, where an update is of these alone."""
    for name, change in changes.items():
        slot = slots[name]
        change = cast_to(change, slot.dtype)
        slot.assign(change if rows is None else rows.put(slot.value, change))


def _check(rule: Rule, method: str, slots: Mapping[str, object], result: object) -> None:
    """Raise unless a method of a rule returned a value and new values of slots that there are."""
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], Mapping):
        raise ArgumentError(
            f"{type(rule).__name__}.{method} returned {_describe(result)}",
            "an update returns the new value and a dict of the new slots",
            'return value - step.learning_rate * gradient, {"momentum": momentum}',
        )
    if unknown := [name for name in result[1] if name not in slots]:
        raise ArgumentError(
            f"{type(rule).__name__}.{method} returned a slot {unknown[0]!r}",
            f"create_slots declares {', '.join(slots) or 'none'}",
            "declare it there, or leave it out",
        )


def _check_joined(rule: Rule, arguments: Mapping[str, tuple[Any, Array]]) -> None:
    """Raise unless each thing has the shape of the one beside it: a number for each element of several variables."""
    for what, (new, old) in arguments.items():
        shape = tuple(getattr(new, "shape", ()))
        if shape != tuple(old.shape):
            name = type(rule).__name__
            raise ShapeError(
                f"{name}.update returned {what} of shape {shape} for one of shape {tuple(old.shape)}",
                "an elementwise rule gives a number for each element, and small variables are joined for it",
                f"{name}.elementwise = False, for a rule that looks at whole variables",
            )


def _describe(result: Any) -> str:
    return f"one array of shape {tuple(result.shape)}" if hasattr(result, "shape") else f"{result!r:.60}"


class _Assigning(BaseException):
    """Raised by an assignment where a caller must know of it before; no error, and none that a user's code catches."""


class _ReadOnly(Frame):
    """Passes reads on to the frame around it, and raises `_Assigning` at the first assignment.

    Args:
        parent: The frame around it.
    """

    def __init__(self, parent: Frame) -> None:
        super().__init__()
        self.parent, self._around = parent, parent
        self.memo, self.level, self.allows_callback = parent.memo, parent.level, parent.allows_callback

    def read(self, storage: Storage) -> Array:
        """Return the value in the frame around it."""
        return self._around.read(storage)

    def write(self, storage: Storage, value: Array) -> None:
        """Raise `_Assigning`."""
        raise _Assigning
