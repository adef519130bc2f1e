"""The array functions: checked, on any backend, and every one accepts Variables.

Each function is made from its row in `graftax.ops.table` when it is first used; importing this module starts no
backend. Names and meanings are NumPy's, with the primitives of neural networks added. Two arrays of different dtypes
are never promoted silently (`cast` does it), Python numbers adapt to the array they meet, and indices out of range
raise at once where the values are at hand.

Example:
    >>> from graftax import ops
    >>> ops.matmul(ops.ones((2, 3)), ops.ones((3, 4))).shape
    (2, 4)
"""

from typing import TYPE_CHECKING, Any

from graftax.core.later import import_later
from graftax.ops import image as image
from graftax.ops.dispatch import op_function
from graftax.ops.table import ALIASES, OPS

if TYPE_CHECKING:
    from graftax.ops import foreign_names
else:
    foreign_names = import_later("graftax.ops.foreign_names")

__all__ = [*(name for name in OPS if "." not in name), *ALIASES, "image"]  # pyright: ignore[reportUnsupportedDunderAll]  # the stub has them one by one


def __getattr__(name: str) -> Any:
    if name in ALIASES:
        return globals().setdefault(name, __getattr__(ALIASES[name]))
    if name.startswith("image."):
        return getattr(image, name.removeprefix("image."))
    if name in OPS:
        return globals().setdefault(name, op_function(name))
    if name.startswith("_"):  # what tools ask of any module
        raise AttributeError(f"module 'graftax.ops' has no attribute {name!r}")
    raise foreign_names.missing_op(name, OPS)


def __dir__() -> list[str]:
    return sorted(__all__)
