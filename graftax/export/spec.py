"""Spec: the shape and dtype of an input of an exported program, with names for the sizes that are free."""

from __future__ import annotations

from collections.abc import Sequence

from graftax.backend.exporting import Size
from graftax.backend.host import dtype_name
from graftax.core.dtypes import is_complex
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.export.sizes import names_in, parse


class Spec:
    """The shape and dtype of an input. A name is a free size; the same name is the same size in a signature.

    Args:
        shape: The sizes, in one string separated by blanks, or as a sequence. A number is a fixed size, a name a free
            one; an expression such as ``2*batch`` is computed from names; ``""`` is a single number.
        dtype: Its dtype. Defaults to ``"float32"``.
        bounds: The least and the greatest valid value of an element, which are checked before each run. Without them,
            indices beyond a table give wrong numbers without an error. Defaults to None: any value.

    Raises:
        ArgumentError: a size cannot be parsed; the bounds are in the wrong order, or the dtype has no order.
        ArgumentTypeError: it is not a shape.

    Example:
        >>> Spec("batch 8").shape, Spec(("batch", "2*time"), "int32", bounds=(0, 49))
        (('batch', 8), Spec("batch 2*time", "int32", bounds=(0, 49)))
    """

    def __init__(
        self, shape: str | Sequence[str | int], dtype: str = "float32", bounds: tuple[float, float] | None = None
    ) -> None:
        said = f"Spec({shape!r})"
        if isinstance(shape, str):
            parts: Sequence[str | int] = shape.split()
        elif isinstance(shape, Sequence):
            parts = shape
            if None in parts:
                raise with_none(said, parts)
        else:
            raise ArgumentTypeError(said, "a shape is a text of sizes, or a tuple of them", 'Spec("batch 8")')
        self.shape: tuple[Size, ...] = tuple(parse(one, said) for one in parts)
        self.dtype = dtype_name(dtype)
        self.bounds = _check_bounds(bounds, self.dtype)

    @property
    def names(self) -> list[str]:
        """Return the names of its free sizes."""
        return list(
            dict.fromkeys(name for size in self.shape if isinstance(size, str) for name in names_in(size, repr(self)))
        )

    def __repr__(self) -> str:
        text = f'Spec("{" ".join(map(str, self.shape))}", "{self.dtype}"'
        return f"{text})" if self.bounds is None else f"{text}, bounds={self.bounds})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec):
            return NotImplemented
        return (self.shape, self.dtype, self.bounds) == (other.shape, other.dtype, other.bounds)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.bounds))


Spec.__init__ = door(Spec.__init__)  # type: ignore[method-assign]


def with_none(said: str, shape: Sequence[object]) -> ArgumentError:
    """Return the error for a shape with None, which stands for a free size in other places.

    Example:
        >>> with_none("Spec((None, 8))", (None, 8)).instead
        'graftax.export.Spec("batch 8")'
    """
    names = iter(["batch", *(f"size{number}" for number in range(2, len(shape) + 2))])
    text = " ".join(next(names) if size is None else str(size) for size in shape)
    return ArgumentError(
        said,
        "a free size has a name here, and two sizes with one name are always equal",
        f'graftax.export.Spec("{text}")',
    )


def _check_bounds(bounds: object, dtype: str) -> tuple[float, float] | None:
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2 or not all(isinstance(b, int | float) for b in bounds):
        raise ArgumentError(f"bounds={bounds!r}", "bounds are the least and the greatest value", "bounds=(0, 49)")
    low, high = bounds
    if not low <= high or dtype == "bool" or is_complex(dtype):
        raise ArgumentError(
            f"bounds={bounds!r} of {dtype}",
            "no value lies between them" if dtype[0] in "iuf" else "such values have no order",
            "bounds=(0, 49)" if dtype[0] in "iuf" else "no bounds",
        )
    return low, high
