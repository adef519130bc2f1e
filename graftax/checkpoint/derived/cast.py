"""Arrays of a checkpoint in another dtype."""

from __future__ import annotations

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.derived.sheet import Sheet, Tensor
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.subset import Spot, Subset
from graftax.core.dtypes import is_inexact
from graftax.core.errors import ArgumentError


def cast(sheet: Sheet, subset: Subset, dtype: str) -> list[str]:
    """Convert the selected floating arrays to another dtype, and return their paths.

    Args:
        sheet: The checkpoint.
        subset: The arrays to convert; integers among them stay as they are.
        dtype: A floating dtype.

    Raises:
        ArgumentError: ``dtype`` is not floating.
        SelectorError: a selector matches nothing.
    """
    if dtype not in DTYPES or not is_inexact(dtype):
        known = ", ".join(name for name in DTYPES if is_inexact(name))
        raise ArgumentError(f"--dtype {dtype}", "it is no dtype of fractions", f"one of {known}")
    done = []
    for path, node in sheet.variables().items():
        tensor = sheet.tensor_of(node)
        spot = Spot(path, sheet.nodes[node].payload[2])
        if spot in subset and tensor is not None and is_inexact(tensor.dtype) and tensor.dtype != dtype:
            sheet.set_tensor(node, _converted(tensor, dtype, path))
            done.append(path)
    subset.check()
    return done


def _converted(tensor: Tensor, dtype: str, path: str) -> Tensor:
    def read() -> HostArray:
        return tensor.array().astype(host_dtype(dtype))

    return Tensor.of(dtype, tensor.shape, read, path)
