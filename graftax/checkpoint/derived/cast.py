"""Arrays of a checkpoint in another dtype."""

from __future__ import annotations

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.derived.sheet import Sheet, Tensor
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.other_paths import other_node_paths
from graftax.checkpoint.subset import Spot, Subset
from graftax.core.dtypes import is_complex, is_inexact
from graftax.core.errors import ArgumentError


def cast(sheet: Sheet, subset: Subset, dtype: str) -> list[str]:
    """Convert the selected floating arrays to another dtype, and return their paths.

    Args:
        sheet: The checkpoint.
        subset: The arrays to convert. Integers among them stay as they are, and so do complex numbers, unless
            ``dtype`` is complex, and real numbers, if it is.
        dtype: A dtype of real or complex numbers.

    Raises:
        ArgumentError: ``dtype`` is not floating; or, when an array is written, some of its numbers are beyond it.
        SelectorError: a selector matches nothing.
    """
    if dtype not in DTYPES or not is_inexact(dtype):
        known = ", ".join(name for name in DTYPES if is_inexact(name))
        raise ArgumentError(f"--dtype {dtype}", "it is no dtype of fractions", f"one of {known}")
    done = []
    others = other_node_paths(sheet, sheet.paths())
    for path, node in sheet.variables().items():
        tensor = sheet.tensor_of(node)
        spot = Spot(path, sheet.nodes[node].payload[2], None, others.get(node, ()))
        alike = tensor is not None and is_inexact(tensor.dtype) and is_complex(tensor.dtype) == is_complex(dtype)
        if spot in subset and tensor is not None and alike and tensor.dtype != dtype:
            sheet.set_tensor(node, _cast_tensor(tensor, dtype, path))
            done.append(path)
    subset.check()
    return done


def _cast_tensor(tensor: Tensor, dtype: str, path: str) -> Tensor:
    def read() -> HostArray:
        before = tensor.array()
        with np.errstate(over="ignore"):
            after: HostArray = before.astype(host_dtype(dtype))
        lost = np.isfinite(before) & ~np.isfinite(after)
        if lost.any():
            largest = np.max(np.abs(before), where=np.isfinite(before), initial=0)
            raise ArgumentError(
                f"{path!r:.200} in {dtype}: {int(lost.sum()):,} of its numbers, the largest {float(largest):.3g}",
                "they are beyond the range of this dtype, and would be infinite or nan",
                f"--dtype bfloat16, which has the range of float32; or --skip {path!r:.200}",
            )
        return after

    return Tensor.of(dtype, tensor.shape, read, path)
