"""The mean of several checkpoints, as for model soups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.derived.sheet import Sheet, Tensor
from graftax.checkpoint.report import Conflict
from graftax.checkpoint.values import encode
from graftax.core.dtypes import is_complex, is_inexact
from graftax.core.errors import MatchError, MissingInCheckpoint, ShapeMismatch


def average(sheets: Sequence[Sheet], names: Sequence[str]) -> list[str]:
    """Average the Variables of all checkpoints into the first; return the paths that differ and are not floating.

    Sums are computed in float64. Integers, such as counters, are taken from the first checkpoint. The step, and each
    value of ``meta``, is kept only if it is equal in all of them.

    Args:
        sheets: Two or more checkpoints.
        names: What they are called, for messages.

    Raises:
        MatchError: a Variable is missing in one of them, or has another shape there.
    """
    first, *others = sheets
    variables = [sheet.variables() for sheet in sheets]
    conflicts = []
    for theirs, sheet, name in zip(variables[1:], others, names[1:], strict=True):
        for path, node in variables[0].items():
            mine, other = first.tensor_of(node), sheet.tensor_of(theirs[path]) if path in theirs else None
            if other is None or mine is None:
                conflicts.append(Conflict(MissingInCheckpoint, path, f"is not in {name}"))
            elif mine.shape != other.shape:
                conflicts.append(Conflict(ShapeMismatch, path, f"is {mine.shape}, and {other.shape} in {name}"))
        strange = [path for path in theirs if path not in variables[0]]
        conflicts += [Conflict(MissingInCheckpoint, path, f"is in {name}, not in {names[0]}") for path in strange]
    if conflicts:
        shown = "".join(f"\n    {one.path}: {one.reason}" for one in conflicts[:20])
        kind: type[MatchError] = conflicts[0].error
        raise kind(f"{len(conflicts)} without a mean:{shown}", "it is one of equal shapes", "--only SELECTOR")
    kept = []
    for path, node in variables[0].items():
        tensors = [sheet.tensor_of(known[path]) for sheet, known in zip(sheets, variables, strict=True)]
        held = [tensor for tensor in tensors if tensor is not None]
        if is_inexact(held[0].dtype):
            first.set_tensor(node, _mean(held, path))
        elif any(not np.array_equal(held[0].array(), tensor.array()) for tensor in held[1:]):
            kept.append(path)
    first.step = first.step if all(sheet.step == first.step for sheet in others) else None
    first.meta = {key: value for key, value in first.meta.items() if all(_has(sheet, key, value) for sheet in others)}
    return kept


def _has(sheet: Sheet, key: str, value: object) -> bool:
    return key in sheet.meta and encode(sheet.meta[key], key) == encode(value, key)


def _mean(tensors: Sequence[Tensor], path: str) -> Tensor:
    dtype = tensors[0].dtype
    wide = "complex128" if is_complex(dtype) else "float64"

    def read() -> HostArray:
        total = np.zeros(tensors[0].shape, wide)
        for tensor in tensors:
            total += tensor.array().astype(wide)
        found: HostArray = (total / len(tensors)).astype(host_dtype(dtype))
        return found

    return Tensor.of(dtype, tensors[0].shape, read, path)
