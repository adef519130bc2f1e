"""Members of enumerations that are texts or numbers, too, as the texts and numbers that they are."""

from __future__ import annotations

from enum import Enum
from typing import Any


def unwrap_member(value: Any) -> Any:
    """Return the text or number that a member of a `StrEnum` or `IntEnum` is; anything else as it is.

    Args:
        value: Anything.

    Example:
        >>> from enum import Enum, IntEnum
        >>> class Side(str, Enum):
        ...     LEFT = "left"
        >>> str(Side.LEFT), unwrap_member(Side.LEFT)
        ('Side.LEFT', 'left')
        >>> class Size(IntEnum):
        ...     TWO = 2
        >>> unwrap_member(Size.TWO)
        2
    """
    kinds: tuple[Any, ...] = (int, float, complex)
    if not isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    return next((kind(value) for kind in kinds if isinstance(value, kind)), value)
