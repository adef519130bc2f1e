"""Functions of images, ``(..., height, width, channels)``; every one accepts Variables.

Example:
    >>> from graftax import ops
    >>> ops.image.resize(ops.ones((2, 8, 8, 3)), (4, 6)).shape
    (2, 4, 6, 3)
"""

from typing import TYPE_CHECKING, Any

from graftax.core.later import import_later
from graftax.ops.dispatch import build
from graftax.ops.table import OPS

if TYPE_CHECKING:
    from graftax.ops import foreign_names
else:
    foreign_names = import_later("graftax.ops.foreign_names")

_NAMES = {name.removeprefix("image."): op for name, op in OPS.items() if name.startswith("image.")}
__all__ = [*_NAMES]  # pyright: ignore[reportUnsupportedDunderAll]  # the stub has them one by one


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return globals().setdefault(name, build(_NAMES[name]))
    if name.startswith("_"):  # what tools ask of any module
        raise AttributeError(f"module 'graftax.ops.image' has no attribute {name!r}")
    raise foreign_names.missing_op(f"image.{name}", OPS)


def __dir__() -> list[str]:
    return sorted(__all__)
