"""Lookahead: an optimizer whose weights come back, every few updates, towards where they set out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.optimizers.arguments.describe import call_of
from graftax.optimizers.arguments.kinds import COUNT, PART, Kinds
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.engine import averaging
from graftax.optimizers.engine.averaging import project_moved
from graftax.optimizers.engine.explain import Explanation
from graftax.optimizers.engine.gradients import Variables, flat_variables
from graftax.optimizers.engine.numbers import cast_to
from graftax.optimizers.engine.pure_updates import PureUpdates
from graftax.optimizers.engine.slot import Slot
from graftax.optimizers.optimizer import Optimizer
from graftax.transforms.flow.branches import cond
from graftax.variables.graph.trained_model import seen_from
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class Lookahead(AroundOptimizer, PureUpdates):
    """Updates of another optimizer; after each ``every`` of them the weights go back to a part of the way.

    ``slow = slow + rate * (fast - slow);  fast = slow``, where ``fast`` are the weights themselves and ``slow``, which
    starts as their value, is a slot. What a weight comes back to is projected by its constraint, too. It goes by the
    updates of the other one, not by calls: accumulated or skipped gradients are none. What the other one remembers
    (momentum) stays as it is; the paper names this as one choice of three, and optax leaves it, too. Numbers here are
    plain: a change makes a compiled step anew.

    Args:
        optimizer: The one that takes the steps, in all its options.
        every: Updates between two returns (the paper's ``k``). Defaults to 5.
        rate: What part of the way is kept, in (0, 1] (the paper's ``alpha``). Defaults to 0.5.
        name: Its name. Defaults to None.

    Raises:
        ArgumentError: ``every`` or ``rate`` is out of range; the optimizer is one of those without a schedule.
        ArgumentTypeError: the optimizer is none.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([0.0])
        >>> optimizer = Lookahead(gx.optimizers.SGD(1.0), every=2)
        >>> for _ in range(3):
        ...     optimizer.apply([[-1.0]], [w])
        ...     w.numpy().tolist()
        [1.0]
        [1.0]
        [2.0]

    Source: Zhang et al., arXiv:1907.08610, algorithm 1.
    """

    arguments: ClassVar[Kinds] = {"every": COUNT, "rate": PART}

    def __init__(self, optimizer: Optimizer, every: int = 5, rate: float = 0.5, name: str | None = None) -> None:
        super().__init__(None, name)
        self.optimizer = self._gx_taken(optimizer)
        if optimizer.averages_itself:
            raise ArgumentError(
                f"Lookahead got {type(optimizer).__name__}",
                "it keeps an average by itself, and would lose it where the weights come back",
                f"{type(optimizer).__name__} alone",
            )
        self.every = every
        self.rate = rate

    @door
    def assign_averages(self) -> None:
        """Assign the averages of the optimizer inside; training that goes on sets out from there."""
        self.optimizer.assign_averages()
        self._set_out([(variable, state.slots["slow"]) for variable, state in self._gx_slots.items() if state.slots])

    @door
    def explain(self, variables: Variables) -> Explanation:
        """Explain what the optimizer inside does with each variable, and what is kept here; see `Optimizer.explain`."""
        found = self.optimizer.explain(variables)
        return Explanation(repr(self), tuple(replace(row, slots=(*row.slots, "slow")) for row in found.rows))

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the slow weights."""
        return {"slow": averaging.slot_for(variable)}

    @door
    def named_variables(self) -> dict[str, Variable]:
        """Return its Variables by path, and those of the optimizer inside; slots are at ``slots/<variable>/<name>``."""
        inside = {f"optimizer/{path}": variable for path, variable in self.optimizer.named_variables().items()}
        return super().named_variables() | inside

    def build(self, variables: Variables) -> None:
        """Make the slots of those that are trainable, also those of the other one."""
        for keeper in (self, self.optimizer):
            keeper._gx_slots.note_model(variables)
        with seen_from(variables):
            for variable in self.optimizer._gx_build(flat_variables(variables)):
                self._gx_make_slots(variable)
        self._gx_leave_scopes()

    def _gx_find_variables(self, values: Mapping[str, Any]) -> dict[str, Variable]:
        return self.optimizer._gx_find_variables(values)  # it knows those, too, that a rule freezes

    @door
    def apply(self, gradients: Any, variables: Variables) -> None:
        """Apply gradients with the optimizer inside, and return to the slow weights when it is due."""
        self._step_around(variables, lambda: self.optimizer.apply(gradients, variables))

    @door
    def minimize(self, loss_fn: Callable[[], Any], variables: Variables, has_aux: bool = False) -> Any:
        """Take one step with the optimizer inside, and return to the slow weights when it is due."""
        return self._step_around(variables, lambda: self.optimizer.minimize(loss_fn, variables, has_aux))

    def _step_around(self, variables: Variables, step: Callable[[], Any]) -> Any:
        storage.touch(self)
        with seen_from(variables):
            trainable = self.optimizer._gx_build(flat_variables(variables))
        pairs = [(variable, self.slot(variable, "slow")) for variable in trainable]
        self._gx_leave_scopes()
        before = self.optimizer.iterations.value
        cond(ops.equal(before, 0), lambda: self._set_out(pairs), lambda: None)
        result = step()
        after = self.optimizer.iterations.value
        due = ops.logical_and(after > before, ops.equal(after % self.every, 0))
        cond(due, lambda: self._synchronize(pairs), lambda: None)
        return result

    def _set_out(self, pairs: list[tuple[Variable, Variable]]) -> None:
        for fast, slow in pairs:  # again: values may have been loaded, or assigned in this trace, since it was made
            slow.assign(cast_to(fast._gx_stored, slow.dtype))

    def _synchronize(self, pairs: list[tuple[Variable, Variable]]) -> None:
        for fast, slow in pairs:
            here = cast_to(fast._gx_stored, slow.dtype)
            back = slow.value + self.rate * (here - slow.value)
            slow.assign(project_moved(fast, here, back))
            fast.assign(cast_to(slow.value, fast.dtype))

    def __repr__(self) -> str:
        return call_of(self)
