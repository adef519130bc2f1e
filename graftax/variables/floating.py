"""Numbers wide enough for sums over a batch, and real: for losses, metrics and penalties of weights."""

from typing import TypeVar

from graftax import ops
from graftax.core import tree
from graftax.core.dtypes import is_complex, is_half
from graftax.core.errors import DTypeError
from graftax.core.typedefs import Array, ArrayLike

T = TypeVar("T")


def widen_half(value: T) -> T:
    """Return a structure of arrays with float32 in place of half precision; as it is where there is none of that.

    Example:
        >>> pair = ops.ones((2,), "bfloat16"), ops.ones((2,), "int8")
        >>> [str(one.dtype) for one in widen_half(pair)]
        ['float32', 'int8']
    """
    if not any(map(_is_half, tree.flatten(value))):
        return value
    widened: T = tree.map_structure(lambda leaf: ops.cast(leaf, "float32") if _is_half(leaf) else leaf, value)
    return widened


def _is_half(leaf: object) -> bool:
    return is_half(str(getattr(leaf, "dtype", "object")))


def to_floating(x: ArrayLike, name: str = "y_pred") -> Array:
    """Widen integers and half precision to float32 at least, so that sums over a batch keep their digits.

    Raises:
        DTypeError: the values are complex.
    """
    array = ops.asarray(x)
    dtype = array.dtype.name
    if is_complex(dtype):
        raise DTypeError(f"{name} of dtype {dtype}", "losses, metrics and penalties are real", f"ops.abs({name})")
    return array if dtype in ("float32", "float64") else ops.cast(array, "float32")
