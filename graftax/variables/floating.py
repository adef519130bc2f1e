"""Numbers wide enough for sums over a batch, and real: for losses, metrics and penalties of weights."""

from graftax import ops
from graftax.core.dtypes import is_complex
from graftax.core.errors import DTypeError
from graftax.core.typedefs import Array, ArrayLike


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
