"""Calibration: the ranges that the values of products have on data, for rounding them in the same way in every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graftax.core import tree
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import unwrap
from graftax.export.signature import Signature, masked_input
from graftax.export.to_onnx.integers import Ranges
from graftax.export.to_onnx.messages import Numbers
from graftax.export.to_onnx.runtime import Session
from graftax.variables import masks


def batches_of(calibration: Iterable[Any], signature: Signature) -> list[list[Numbers]]:
    """Return inputs of the function, checked.

    Raises:
        ArgumentError: a batch has other arrays than the function takes, or there are none.
        ExportError: one carries a mask.
    """
    found = []
    for number, batch in enumerate(calibration):
        if masks.mask_of(batch) is not None:
            raise masked_input(f"batch {number} of calibration")
        parts = batch if isinstance(batch, tuple) else (batch,)
        arrays = [np.asarray(unwrap(leaf)) for leaf in tree.flatten(parts) if leaf is not None]
        kinds = [(spec.dtype, len(spec.shape)) for spec in signature.specs]
        if [(str(one.dtype), one.ndim) for one in arrays] != kinds:
            raise ArgumentError(
                f"batch {number} of calibration: {[f'{one.dtype}{list(one.shape)}' for one in arrays]}",
                f"the function takes {', '.join(map(repr, signature.specs))}",
                "calibration=[x[:64]], a list of inputs; of several inputs, tuples of them",
            )
        found.append(arrays)
    if not found:
        raise ArgumentError(
            "calibration has no batch", "ranges are measured on data", "calibration=[x[:64], x[64:128]]"
        )
    return found


def ranges_of(
    path: Path, observed: Mapping[int, tuple[str, str]], names: list[str], batches: list[list[Numbers]]
) -> dict[int, Ranges]:
    """Return the least and the greatest number of what products take and give, over all batches.

    Args:
        path: A file whose outputs the values are.
        observed: The names of both, by the number of the product.
        names: Those of the inputs.
        batches: The inputs.
    """
    session = Session(path)
    wanted = list(dict.fromkeys(name for pair in observed.values() for name in pair))
    seen: dict[str, tuple[float, float]] = {}
    for batch in batches:
        results = session.run(dict(zip(names, batch, strict=True)), wanted)
        for name, array in zip(wanted, results, strict=True):
            if array.size:
                low, high = seen.get(name, (0.0, 0.0))
                seen[name] = min(low, float(array.min())), max(high, float(array.max()))
    return {
        number: Ranges(seen[taken], seen[given])
        for number, (taken, given) in observed.items()
        if taken in seen and given in seen
    }
