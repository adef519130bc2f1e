"""The stage of the rule: decays, `Rule.update` and constraints; one variable after another, or all of them at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.core.errors import ArgumentError, GraftaxError, ShapeError
from graftax.core.typedefs import Array
from graftax.optimizers.engine.grouping import groups, join, split
from graftax.optimizers.engine.numbers import cast_to, compute_dtype, is_on, number
from graftax.optimizers.engine.rule import Rule, RuleInput, RuleOutput, sees_all
from graftax.optimizers.engine.slot import SlotValues
from graftax.optimizers.engine.step import StepFor
from graftax.optimizers.engine.update import Update
from graftax.variables.given_back import constrained

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
        if updates and sees_all(rule):
            _update_all(rule, updates, step_for)
            return
        for group in groups(rule, updates):
            if len(group) == 1:
                _update_one(rule, group[0], step_for)
            else:
                _update_joined(rule, group, step_for)
    except GraftaxError as error:
        paths = ", ".join(repr(update.variable.path) for update in group[:_NAMED])
        more = f" and {len(group) - _NAMED} more" if len(group) > _NAMED else ""
        error.add_context(f"the update of {paths}{more} by {type(rule).__name__}")
        raise


def _update_one(rule: Rule, update: Update, step_for: StepFor) -> None:
    """Update one variable, or the rows of it that its gradient touches; other rows, and those of its slots, stay."""
    kept, rows = update.rule_slots(), update.rows
    gradient, value = update.gradient, update.variable.value
    slots = {name: slot.value for name, slot in kept.items()}
    if rows is not None:
        gradient, value = rows.share(gradient), rows.of(value)
        slots = {name: rows.of(slot) for name, slot in slots.items()}
    given = _rule_input(rule, update, gradient, value, slots, step_for)
    _assign(rule, "update", update, rule.update(given.gradient, given.value, given.slots, given.step))


def _update_joined(rule: Rule, group: list[Update], step_for: StepFor) -> None:
    """Update several variables that are alike as one array."""
    first = group[0]
    value = join([update.variable.value for update in group])
    gradient = join([update.gradient for update in group])
    slots = {name: join([update.slots[name].value for update in group]) for name in first.rule_slots()}
    given = _rule_input(rule, first, gradient, value, slots, step_for)
    new, changes = _checked(rule, "update", slots, rule.update(given.gradient, given.value, given.slots, given.step))
    # the shapes of the variables are asked for where they are assigned
    _check_joined(rule, {"a value": (new, value)} | {f"a slot {n!r}": (changes[n], slots[n]) for n in changes})
    for name, change in changes.items():
        for update, part in zip(group, split(cast_to(change, first.slots[name].dtype), group), strict=True):
            update.slots[name].assign(part)
    for update, part in zip(group, split(cast_to(new, first.variable.dtype), group), strict=True):
        update.variable.assign(constrained(update.variable, part))


def _update_all(rule: Rule, updates: list[Update], step_for: StepFor) -> None:
    """Update all variables, by a rule that sees them at once."""
    given = []
    for update in updates:
        slots = {name: slot.value for name, slot in update.rule_slots().items()}
        given.append(_rule_input(rule, update, update.gradient, update.variable.value, slots, step_for))
    results = rule.update_all(given)
    if not isinstance(results, list | tuple) or len(results) != len(given):
        got = f"{len(results)} results" if isinstance(results, list | tuple) else _described(results)
        raise ArgumentError(
            f"{type(rule).__name__}.update_all returned {got} for {len(given)} variables",
            "it returns a list with the new value and a dict of the new slots for each of them",
            "return [(one.value - one.step.learning_rate * one.gradient, {}) for one in moving]",
        )
    for update, result in zip(updates, results, strict=True):
        _assign(rule, "update_all", update, result)


def _assign(rule: Rule, method: str, update: Update, result: Any) -> None:
    """Give the slots and the variable of an update their new values, in their own dtypes; of rows, where it has some.

    Args:
        rule: What computed them.
        method: By which of its methods, for messages.
        update: Whose slots and variable.
        result: What the method returned for them.
    """
    variable, slots, rows = update.variable, update.rule_slots(), update.rows
    new, changes = _checked(rule, method, slots, result)
    for name, change in changes.items():
        slot, change = slots[name], cast_to(change, slots[name].dtype)
        slot.assign(change if rows is None else rows.put(slot.value, change))
    new = cast_to(new, variable.dtype)
    variable.assign(constrained(variable, new if rows is None else rows.put(variable.value, new)))


def _rule_input(
    rule: Rule, update: Update, gradient: Array, value: Array, slots: Mapping[str, Array], step_for: StepFor
) -> RuleInput:
    """Return what the rule gets: in the dtype of the update, with the decays that are not the rule's."""
    dtype, settings = compute_dtype(update.variable.dtype), update.settings
    decay, l2 = settings.decays(rule.weight_decay, rule.l2)
    step = step_for(dtype, settings.learning_rate_multiplier, decay if rule.decays_inside else 0.0)
    value = cast_to(value, dtype)
    if is_on(l2):
        gradient = gradient + number(l2, dtype) * value
    if is_on(decay) and not rule.decays_inside:
        value = value - step.learning_rate * number(decay, dtype) * value
    seen = SlotValues({name: cast_to(slot, dtype) for name, slot in slots.items()})
    return RuleInput(update.variable, gradient, value, seen, step)


def _checked(rule: Rule, method: str, slots: Mapping[str, Any], result: Any) -> RuleOutput:
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], Mapping):
        raise ArgumentError(
            f"{type(rule).__name__}.{method} returned {_described(result)}",
            "an update returns the new value and a dict of the new slots",
            'return value - step.learning_rate * gradient, {"momentum": momentum}',
        )
    if unknown := [name for name in result[1] if name not in slots]:
        raise ArgumentError(
            f"{type(rule).__name__}.{method} returned a slot {unknown[0]!r}",
            f"create_slots declares {', '.join(slots) or 'none'}",
            "declare it there, or leave it out",
        )
    return result


def _check_joined(rule: Rule, found: Mapping[str, tuple[Any, Array]]) -> None:
    """Raise unless each thing has the shape of the one beside it: a number for each element of several variables."""
    for what, (new, old) in found.items():
        shape = tuple(getattr(new, "shape", ()))
        if shape != tuple(old.shape):
            name = type(rule).__name__
            raise ShapeError(
                f"{name}.update returned {what} of shape {shape} for one of shape {tuple(old.shape)}",
                "an elementwise rule gives a number for each element, and small variables are joined for it",
                f"{name}.elementwise = False, for a rule that looks at whole variables",
            )


def _described(result: Any) -> str:
    return f"one array of shape {tuple(result.shape)}" if hasattr(result, "shape") else f"{result!r:.60}"
