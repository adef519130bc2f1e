"""Calibration: the ranges that the values of products have on data, for rounding them in the same way in every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graftax.core import tree
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import unwrap
from graftax.export.signature import Signature, masked_input_error
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
            raise masked_input_error(f"batch {number} of calibration")
        parts = batch if isinstance(batch, tuple) else (batch,)
        arrays = [np.asarray(unwrap(leaf)) for leaf in tree.flatten(parts) if leaf is not None]
        kinds = [(spec.dtype, len(spec.shape)) for spec in signature.specs]
        if [(str(one.dtype), one.ndim) for one in arrays] != kinds:
            given = ", ".join(f"{one.dtype}{list(one.shape)}" for one in arrays)
            raise ArgumentError(
                f"batch {number} of calibration= is {given}",
                f"the function takes {', '.join(map(repr, signature.specs))}, and a batch is what it takes in one call",
                _line_for(arrays, kinds, isinstance(calibration, np.ndarray)),
            )
        found.append(arrays)
    if not found:
        raise ArgumentError(
            "calibration= without a batch",
            "the ranges of activations are measured on batches of data",
            "calibration=[x[:64], x[64:128]]",
        )
    return found


def _line_for(arrays: list[Numbers], kinds: list[tuple[str, int]], is_array: bool) -> str:
    """Return what to write for batches of another dtype, or with another number of axes or arrays."""
    found = [(str(one.dtype), one.ndim) for one in arrays]
    if len(found) != len(kinds):
        names = [f"x{number}[:64]" for number in range(1, len(kinds) + 1)]
        inputs = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"calibration=[{inputs}], with {len(kinds)} array{'s' if len(kinds) > 1 else ''} for each batch"
    if is_array and [rank + 1 for _, rank in found] == [rank for _, rank in kinds]:
        return "calibration=[x], a list of batches; an array alone is taken row by row"
    if [rank for _, rank in found] == [rank for _, rank in kinds]:
        return f'calibration=[x[:64].astype("{kinds[0][0]}")]'
    return "calibration=[x[:64]], batches with all axes of the input, the first one included"


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
