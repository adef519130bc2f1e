"""Schedule: a learning rate as a function of the number of updates so far, which is 0 at the first update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from graftax import ops
from graftax.backend import registry
from graftax.core.checked_calls import checked_call
from graftax.core.errors import ArgumentError, GraftaxError
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.core.undefined import undefined_error
from graftax.optimizers.arguments.describe import call_of
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, Checked, Kind, Kinds
from graftax.variables.state import storage

ScheduleLike: TypeAlias = "float | Schedule"


class Schedule(Checked):
    """The base of schedules: subclasses define ``rate(step)``, pure, with ``step`` a floating scalar.

    It is float32, or float64 for variables that are: then the rate is computed in 64 bits, too.

    Example:
        >>> class InverseRoot(Schedule):
        ...     def rate(self, step):
        ...         return 0.1 / ops.sqrt(step + 1)
        >>> InverseRoot()(3).tolist()
        0.05000000074505806
    """

    @checked_call
    def __call__(self, step: ArrayLike) -> Array:
        """Return the learning rate after so many updates, in the dtype of ``step`` if that is one of 32 or 64 bits."""
        storage.touch(self)
        self._gx_check_together()
        arrays = registry.current().arrays
        given = arrays.asarray(unwrap(step))
        exact = arrays.is_array(step) and str(given.dtype) in ("float32", "float64")
        return self.rate(given if exact else ops.cast(given, arrays.canonical_dtype("float64")))

    def rate(self, step: Array) -> Array:
        """Compute the learning rate; for subclasses to define."""
        raise undefined_error(self, "rate(step)")

    def __repr__(self) -> str:
        return call_of(self)


class Constant(Schedule):
    """Always the same number; the way to put a number in place of another schedule.

    Args:
        value: The rate.

    Example:
        >>> Constant(0.5)(7).tolist()
        0.5
    """

    arguments: ClassVar[Kinds] = {"value": NOT_NEGATIVE}

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def rate(self, step: Array) -> Array:
        """Return ``value``."""
        return ops.full_like(step, self.value)


def as_schedule(schedule: ScheduleLike) -> Schedule:
    """Return a schedule: the one that is given, or `Constant` of a number."""
    return schedule if isinstance(schedule, Schedule) else Constant(schedule)


def _is_schedule_like(value: object) -> bool:
    if isinstance(value, Schedule):
        return True
    try:
        NOT_NEGATIVE.check("", "", value)
    except GraftaxError:
        return False
    return True


def check_boundaries(boundaries: tuple[float, ...], pieces: int, name: str, first: float) -> None:
    """Raise unless boundaries part so many pieces.

    Args:
        boundaries: Steps.
        pieces: How many pieces there are.
        name: What they are called.
        first: The least that a boundary can be: below, the first piece is never seen.

    Raises:
        ArgumentError: they do not ascend, come before the first step, or are too many or too few.
    """
    ascending = list(boundaries) == sorted(set(boundaries))
    if len(boundaries) != pieces - 1 or not ascending or (boundaries and boundaries[0] < first):
        raise ArgumentError(
            f"boundaries={list(boundaries)!r} for {pieces} {name}",
            f"boundaries ascend, from {first} on, and there is one between two pieces",
            f"{max(pieces - 1, 0)} ascending boundaries",
        )


def _is_sequence(value: object) -> bool:
    return isinstance(value, list | tuple | range) or len(getattr(value, "shape", ())) == 1


def _numbers(name: str) -> Callable[[Any], tuple[float, ...]]:
    return lambda given: tuple(NOT_NEGATIVE.check(name, f"{name}[{i}]", one) for i, one in enumerate(given))


def _as_schedules(schedules: Sequence[ScheduleLike]) -> list[Schedule]:
    return [as_schedule(one) for one in schedules]


def _are_schedule_like(values: Any) -> bool:
    return _is_sequence(values) and all(_is_schedule_like(one) for one in values)


_ONE = "a schedule, or a number that is not negative; another function of the step can only be a whole learning rate"
SCHEDULE = Kind(f"it is {_ONE}", "1e-3", _is_schedule_like, number=False, kept=as_schedule)
SCHEDULES = Kind(f"each is {_ONE}", "[1e-2, 1e-3]", _are_schedule_like, number=False, kept=_as_schedules)
BOUNDARIES = Kind("they are steps, in a list", "[100, 200]", _is_sequence, number=False, kept=_numbers("boundaries"))
RATES = Kind("they are rates, in a list", "[1e-2, 1e-3]", _is_sequence, number=False, kept=_numbers("values"))
