"""Averages of weights over the updates, to evaluate with."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from graftax import ops
from graftax.backend import registry
from graftax.core import user_line
from graftax.core.errors import ArgumentError, StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.optimizers.engine.arithmetic import moving_average
from graftax.optimizers.engine.keeper import SlotKeeper
from graftax.optimizers.engine.numbers import cast_to, compute_dtype, number
from graftax.optimizers.engine.slot import Slot
from graftax.variables.given_back import apply_constraint
from graftax.variables.graph.following import Follower, follow, followers
from graftax.variables.graph.module import structure
from graftax.variables.variable import Variable

SLOT = "moving_average"


def slot_for(variable: Variable) -> Slot:
    """Return the average of a variable, which starts as its value."""

    def start(key: object, shape: object, dtype: str) -> Array:
        return cast_to(variable._gx_stored, dtype)

    return Slot(dtype=compute_dtype(variable.dtype), initializer=start)


def slot_beside(rule: Averaging, variable: Variable) -> Slot:
    """Return the same, unless the optimizer that updates the variable averages it by itself."""
    if rule.averages_itself:
        raise two_averages(rule)
    return slot_for(variable)


def two_averages(rule: Averaging) -> ArgumentError:
    """Return the error for `ema_momentum` where the rule has an average of its own."""
    kind = type(rule).__name__
    return ArgumentError(
        f"ema_momentum for what {kind} moves",
        f"{kind} keeps an average by itself, and only one of two could be evaluated with",
        "no ema_momentum; `with optimizer.averaged():` gives the average of the rule",
    )


@contextmanager
def swap_values(pairs: list[tuple[Variable, Array]]) -> Iterator[None]:
    """Give each variable the value beside it for the block, and at the end its own again, whatever happens.

    What somebody else assigned meanwhile, such as a restore, is lost by that: it is warned of.
    """
    following = followers(variable for variable, _ in pairs)
    moved = [*(variable for variable, _ in pairs), *(v for above in following for v in above._gx_state_about_base())]
    before = [(variable, variable._gx_stored) for variable in moved]
    lost: list[str] = []
    try:
        _assign(pairs, following)
        given = [(variable, variable._gx_stored) for variable in moved]
        yield
        lost = [variable.path for variable, value in given if _is_changed(variable._gx_stored, value)]
    finally:
        for variable, value in before:
            variable.assign(value)
    if lost:
        user_line.warn(
            f"{', '.join(lost[:5])}: values that were assigned inside of averaged() are lost, since variables get "
            "their own values back at its end. Instead: assign, or restore a checkpoint, before the block or after it"
        )


def _is_changed(now: Array, before: Array) -> bool:
    """Return True if an array has other values; False inside of a compiled program, where nobody can tell."""
    if now is before or any(map(registry.current().tracing.is_tracer, (now, before))):
        return False
    same = ops.logical_or(ops.equal(now, before), ops.logical_and(ops.isnan(now), ops.isnan(before)))
    return not bool(ops.all(same))


def _assign(pairs: list[tuple[Variable, Array]], following: list[Follower]) -> None:
    for variable, average in pairs:
        variable.assign(average)
    for expression in following:
        follow(expression)


_swapped: weakref.WeakSet[Averaging] = weakref.WeakSet()
"""Those whose averages are in place; a copy that is made meanwhile has them as its values, and is not one of these."""


def project_moved(variable: Variable, here: Array, there: Array) -> Array:
    """Return another value for a variable, as its constraint projects it; as it is, where it is none."""
    if variable.constraint is None:
        return there
    stays = ops.all(ops.equal(here, there))  # what no update has moved is not projected, either
    return ops.where(stays, there, cast_to(apply_constraint(variable, there), str(there.dtype)))


class Averaging(SlotKeeper):
    """The part of an optimizer that keeps averages of the variables."""

    averages_itself: ClassVar[bool] = False
    """Whether the rule has an average of its own, which `_gx_own_averages` gives."""

    ema_momentum: float | None
    averaged_updates: Variable
    others: tuple[Any, ...]

    def _gx_fingerprint(self) -> dict[str, Any]:
        """Return what a trace may depend on; whether the averages are in place, too."""
        return {**super()._gx_fingerprint(), "averages in place": ("bool", self in _swapped)}

    def _gx_average(self) -> None:
        """Bring all averages nearer to the values; with the first update they become these.

        Those of variables that this update leaves alone follow, too: what is frozen, or has no gradient, has arrived
        somewhere, and its average is on the way there.
        """
        first = ops.equal(self.averaged_updates, 0)
        for variable, state in self._gx_slots.items():
            if (average := state.slots.get(SLOT)) is None:
                continue
            value = cast_to(variable._gx_stored, average.dtype)
            nearer = moving_average(number(self.ema_momentum, average.dtype), average.value, value)
            # also where the update is differentiated
            average.assign(ops.stop_gradient(ops.where(first, value, nearer)))
        self.averaged_updates.assign_add(1)

    @door
    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Give the variables the averages of their values for the block, to evaluate with; afterwards their own again.

        Where a variable has a constraint, it projects the average, too.

        Raises:
            StateError: this optimizer keeps no averages, or none yet.

        Example:
            >>> import graftax as gx
            >>> w = gx.Variable([0.0])
            >>> optimizer = gx.optimizers.SGD(1.0, ema_momentum=0.5)
            >>> for _ in range(3):
            ...     optimizer.apply([[-1.0]], [w])
            >>> with optimizer.averaged():
            ...     w.numpy().tolist()
            [2.25]
            >>> w.numpy().tolist()
            [3.0]
        """
        pairs = self._gx_averages()
        if self._gx_is_swapped():
            raise StateError("averaged() inside of averaged()", "the averages are in place", "one `with` is enough")
        _swapped.add(self)
        structure.bump()  # compiled steps look at fingerprints again
        try:
            with swap_values(pairs):
                yield
        finally:
            _swapped.discard(self)
            structure.bump()

    @door
    def assign_averages(self) -> None:
        """Give the variables their averages for good, at the end of training."""
        pairs = self._gx_averages()
        _assign(pairs, followers(variable for variable, _ in pairs))
        self._gx_averages_assigned()

    def _gx_averages_assigned(self) -> None:
        """Note that `assign_averages` is done, here or in the optimizer around."""
        for other in self.others:
            other._gx_averages_assigned()

    def _gx_averages(self) -> list[tuple[Variable, Array]]:
        """Return the variables that have an average, here or in an optimizer that a rule names, and what it is now."""
        found = list(self._gx_all_averages())
        if not found:
            keeps = self._gx_keeps_averages()
            raise StateError(
                f"{type(self).__name__} has no averages",
                "nothing has been updated yet" if keeps else "it keeps none",
                f"{type(self).__name__}(..., ema_momentum=0.999), and a step"
                if not keeps
                else "a step before; or optimizer.build(model.trainable_variables), with which the averages are the "
                "values themselves until a step, as where weights were loaded",
            )
        return found

    def _gx_keeps_averages(self) -> bool:
        """Tell whether there will be averages once there are updates, here or in optimizers that rules name."""
        here = self.ema_momentum is not None or self.averages_itself
        return here or any(other._gx_keeps_averages() for other in self.others)

    def _gx_all_averages(self) -> Iterator[tuple[Variable, Array]]:
        yield from self._gx_own_averages()
        for other in self.others:
            yield from other._gx_all_averages()

    def _gx_own_averages(self) -> Iterator[tuple[Variable, Array]]:
        """Yield the averages of `ema_momentum`; the values themselves before the first update."""
        for variable, state in self._gx_slots.items() if self.ema_momentum is not None else ():
            if SLOT in state.slots:
                here, average = variable._gx_stored, cast_to(state.slots[SLOT].value, variable.dtype)
                average = project_moved(variable, here, average)
                yield variable, ops.where(ops.equal(self.averaged_updates, 0), here, average)

    def _gx_is_swapped(self) -> bool:
        return self in _swapped or any(other._gx_is_swapped() for other in self.others)

    def _gx_refuse_swapped(self) -> None:
        if self._gx_is_swapped():
            raise StateError(
                f"{type(self).__name__}.apply inside of averaged()",
                "the variables have their averages there, and get their own values back at its end",
                "train outside of `with optimizer.averaged():`",
            )
