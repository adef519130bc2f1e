"""Schedule: a learning rate as a function of the number of updates so far, which is 0 at the first update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.optimizers.arguments.describe import call_of
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, Checked, Kinds
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

    def __call__(self, step: ArrayLike) -> Array:
        """The learning rate after so many updates, in the dtype of ``step`` if that is one of 32 or 64 bits."""
        storage.touch(self)
        arrays = registry.current().arrays
        given = arrays.asarray(unwrap(step))
        exact = arrays.is_array(step) and str(given.dtype) in ("float32", "float64")
        return self.rate(given if exact else ops.cast(given, arrays.canonical_dtype("float64")))

    def rate(self, step: Array) -> Array:
        """The learning rate; for subclasses to define."""
        raise NotImplementedError(f"{type(self).__name__} must define rate(step)")

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
        """``value``."""
        return ops.full_like(step, self.value)


def as_schedule(given: ScheduleLike) -> Schedule:
    """A schedule of it, if it is a number."""
    return given if isinstance(given, Schedule) else Constant(given)


def ascending(boundaries: Sequence[float], pieces: int, what: str, first: float) -> tuple[float, ...]:
    """Boundaries between so many pieces, if they are.

    Args:
        boundaries: Steps.
        pieces: How many pieces there are.
        what: What they are called.
        first: The least that a boundary can be: below, the first piece is never seen.

    Raises:
        ArgumentError: they do not ascend, come before the first step, or are too many or too few.
        ArgumentTypeError: one is no number.
    """
    found = tuple(NOT_NEGATIVE.checked("boundaries", f"boundaries[{i}]", one) for i, one in enumerate(boundaries))
    if len(found) != pieces - 1 or list(found) != sorted(set(found)) or (found and found[0] < first):
        raise ArgumentError(
            f"boundaries={list(boundaries)!r} for {pieces} {what}",
            f"boundaries ascend, from {first} on, and there is one between two pieces",
            f"{max(pieces - 1, 0)} ascending boundaries",
        )
    return found
