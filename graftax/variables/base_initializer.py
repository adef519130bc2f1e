"""BaseInitializer: what all initializers are."""

from __future__ import annotations

from typing import ClassVar

from graftax.core.dtypes import is_complex, is_inexact
from graftax.core.errors import DTypeError
from graftax.core.typedefs import Array, Shape
from graftax.core.undefined import undefined
from graftax.variables.graph.adjustable import Adjustable


class BaseInitializer(Adjustable):
    """The base: subclasses define ``__call__(key, shape, dtype)``; the repr shows their arguments.

    ``seed`` fixes the draws whatever the global seed is; the path of the weight still tells weights apart. So two
    layers that hang nowhere, whose kernels have one path, get equal kernels from one seed, and in a model different
    ones.
    ``draws = False`` on a class says that it needs no key, and is given None.
    """

    seed: int | None = None
    draws: ClassVar[bool] = True

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        """Return values of that shape and dtype."""
        raise undefined(self, "__call__(key, shape, dtype)")

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({arguments})"


def require_real(initializer: BaseInitializer, dtype: str, or_complex: bool = False) -> None:
    """Raise if a variable cannot hold what is drawn for it.

    Args:
        initializer: What draws.
        dtype: The dtype of the variable.
        or_complex: Whether it draws complex numbers for complex dtypes. Defaults to False.
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
