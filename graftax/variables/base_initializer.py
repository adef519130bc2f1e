"""BaseInitializer: what all initializers are."""

from __future__ import annotations

from typing import Any, ClassVar

from graftax.backend.host import limits
from graftax.core.dtypes import is_complex, is_inexact
from graftax.core.errors import ArgumentError, DTypeError
from graftax.core.promises import withdraw
from graftax.core.typedefs import Array, Shape
from graftax.core.undefined import undefined_error
from graftax.variables.graph.structure import Adjustable, show_settings


class BaseInitializer(Adjustable):
    """The base: subclasses define ``__call__(key, shape, dtype)``; the repr shows their arguments.

    ``seed`` fixes the draws whatever the global seed is; the path of the weight still tells weights apart. So two
    layers that hang nowhere, whose kernels have one path, get equal kernels from one seed, and in a model different
    ones.
    ``draws = False`` on a class says that it needs no key, and is given None. A subclass with another ``__call__`` gets
    a key unless it says so itself.
    """

    seed: int | None = None
    draws: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        withdraw(cls, BaseInitializer, "draws", "__call__")

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        """Return values of that shape and dtype."""
        raise undefined_error(self, "__call__(key, shape, dtype)")

    def __repr__(self) -> str:
        return show_settings(self, with_none=False)


SIGMAS = 6
"""How many standard deviations from the mean a normal draw may lie: of a billion two lie further away."""


def require_real(initializer: BaseInitializer, dtype: str, or_complex: bool = False, reach: float = 0.0) -> None:
    """Raise if a variable cannot hold what is drawn for it.

    Args:
        initializer: What draws.
        dtype: The dtype of the variable.
        or_complex: Whether it draws complex numbers for complex dtypes. Defaults to False.
        reach: The largest magnitude among the numbers. Defaults to 0.0.

    Raises:
        DTypeError: They are of another kind.
        ArgumentError: They are too large, and would be infinite.
    """
    if not is_inexact(dtype):
        raise DTypeError(
            f"{initializer!r} for a variable of dtype {dtype}", "it draws real numbers", 'initializer="zeros"'
        )
    if is_complex(dtype) and not or_complex:
        raise DTypeError(
            f"{initializer!r} for a variable of dtype {dtype}",
            "its distribution is one of real numbers",
            'initializer="random_normal", which draws both parts',
        )
    require_held(initializer, dtype, reach)


def require_held(initializer: BaseInitializer, dtype: str, reach: float) -> None:
    """Raise if the largest magnitude that is made for a floating variable would be infinite there."""
    most = limits(dtype)[1]
    if reach > most:
        raise ArgumentError(
            f"{initializer!r} for a variable of dtype {dtype}",
            f"it makes numbers up to {reach:.4g}, and {dtype} holds up to {most:.4g}: they would be infinite",
            'smaller numbers, or dtype="float32"' if dtype != "float32" else "smaller numbers",
        )
