"""Rule: the part of an optimizer that a subclass writes, which says how variables move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from graftax.core.errors import ArgumentError, ArgumentTypeError, AssignmentError
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.variables.variable import Variable

RuleOutput: TypeAlias = "tuple[Array, Mapping[str, Array]]"
"""The new value of a variable, and those of its slots by name."""


class RuleInput(NamedTuple):
    """One variable of this update, with what `Rule.update` gets for it.

    Args:
        variable: Whose path may be asked for; its value before the update is ``value``.
        gradient: See `Rule.update`, as for the others.
        value: The value.
        slots: The slots.
        step: The step, which differs between variables where rules set a multiplier.
    """

    variable: Variable
    gradient: Array
    value: Array
    slots: SlotValues
    step: Step

    def __setattr__(self, name: str, value: object) -> None:
        raise AssignmentError(
            f"RuleInput.{name} = ... in an update_all",
            "what an update gets is not changed in place: the optimizer would not look at it",
            f"super().update_all([one._replace({name}=...) for one in moving])",
        )


class Rule:
    """How variables change: `update` for each of them, or `update_all` where a rule has to see all at once.

    The stages of an update take a `Rule`, which is all that they know of an optimizer.
    """

    elementwise: ClassVar[bool] = False
    """Promise that `update` treats each element alone, so that it may be given several variables in one array.

    A rule that draws random numbers is given one variable after another: compiled code draws what eager code does.
    The promise is of one `update`. A subclass with another one has it only if it says so itself.
    """

    decays_inside: ClassVar[bool] = False
    """Whether the rule takes ``step.weight_decay`` into its step by itself; else the value has decayed before.

    A subclass inherits it. If weights decay, and its own `update` does not read ``step.weight_decay``, an error asks it
    to say what it does.
    """

    _gx_decay_in_doubt: ClassVar[bool] = False
    """Whether a base class says that its rule decays inside, and this one has another rule and says nothing."""

    # What stages read besides; every optimizer has it as an argument. Any: a number, a Variable, a schedule.
    learning_rate: Any
    weight_decay: Any
    l2: Any
    lazy: bool

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Return what to keep for a variable, by name; nothing unless a subclass says so."""
        return {}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> RuleOutput:
        """Return the new value of a variable and of its slots. Pure: arrays in, arrays out, with `graftax.ops` only.

        Args:
            gradient: The clipped gradient, in the shape and dtype of the value.
            value: The value, decayed already.
            slots: The slots as attributes; those without a new value stay as they are.
            step: ``learning_rate``, ``iterations`` and ``count``; see `Step`.
        """
        raise undefined_error(self, "update(gradient, value, slots, step)")

    def update_all(self, moving: Sequence[RuleInput]) -> Sequence[RuleOutput]:
        """Return what `update` returns for each of the variables, in order; by `update` unless a subclass defines it.

        It is called once in an update, unless nothing moves, with those variables that this optimizer moves in it:
        those that are frozen or have no gradient are left out. Pure, except that it may assign Variables of the
        optimizer itself, such as a distance that it estimates. They are then not packed, and `IndexedRows` are dense.

        Args:
            moving: The variables, with what `update` would get. Arrays have the dtype in which the variable is
                updated: float32, or float64 beside it.

        Example:
            >>> import graftax as gx
            >>> class NormalizedAdam(gx.optimizers.Adam):
            ...     def update_all(self, moving):
            ...         squares = [gx.ops.sum(one.gradient**2) for one in moving]
            ...         norm = gx.ops.sqrt(gx.ops.sum(gx.ops.stack(squares)))
            ...         return super().update_all([one._replace(gradient=one.gradient / norm) for one in moving])
            >>> a, b = gx.Variable([1.0, 2.0]), gx.Variable([3.0, 4.0])
            >>> adam = NormalizedAdam(beta_1=0.5)
            >>> adam.apply([[1.0, 1.0], [1.0, 1.0]], [a, b])
            >>> adam.slot(a, "momentum").numpy().tolist()
            [0.25, 0.25]
        """
        check_moving(self, moving)
        return [self.update(one.gradient, one.value, one.slots, one.step) for one in moving]


def check_moving(rule: Rule, moving: object) -> None:
    """Raise unless these are the variables of an update, as `Rule.update_all` gets them.

    Raises:
        ArgumentTypeError: they are something else, such as gradients.
    """
    got = f"an argument of type {type(moving).__name__}"
    if isinstance(moving, list | tuple) and not isinstance(moving, RuleInput):
        wrong = [type(one).__name__ for one in moving if not isinstance(one, RuleInput)]
        if not wrong:
            return
        got = f"a {type(moving).__name__} with an element of type {wrong[0]}"
    name = type(rule).__name__
    raise ArgumentTypeError(
        f"{name}.update_all got {got}",
        "an optimizer calls update_all by itself, in apply, with a list of RuleInput: one for each variable, with "
        "gradient, value, slots and step",
        "optimizer.apply(gradients, variables) to update; in your own update_all: "
        "super().update_all([one._replace(gradient=...) for one in moving])",
    )


def has_update_all(rule: Rule) -> bool:
    """Tell whether a rule has an `update_all` of its own."""
    return type(rule).update_all is not Rule.update_all


def check_decayed(rule: Rule, method: str, step: Step) -> None:
    """Raise if nobody decays: a base class says that its rule does, and the rule of this class has not read the decay.

    Raises:
        ArgumentError: there is a decay, and nothing has become of it.
    """
    if rule._gx_decay_in_doubt and step.ignores_decay:
        name = type(rule).__name__
        base = next(one.__name__ for one in type(rule).__mro__ if "decays_inside" in vars(one))
        raise ArgumentError(
            f"{name}.{method} with weight_decay={rule.weight_decay!r:.40}, which it does not read",
            f"{base} says decays_inside = True, so that nothing else decays the weights",
            f"decays_inside = False in the class {name}; or step.weight_decay in {method}, as super().{method} has it",
        )
