"""The mean of several checkpoints, as for model soups."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.derived.sheet import Sheet, Tensor
from graftax.checkpoint.expression_records import adapters_among, is_expression
from graftax.checkpoint.index import Kind, NodeRecord
from graftax.checkpoint.other_paths import wholes_above
from graftax.checkpoint.report import Conflict
from graftax.checkpoint.values import encode
from graftax.core.dtypes import is_complex, is_inexact
from graftax.core.errors import DTypeMismatch, MatchError, MissingInCheckpoint, ShapeMismatch

_LINEAR = {
    "graftax.reparam.adapted.Adapted",
    "graftax.reparam.fake_quant.FakeQuantizedWeight",
    "graftax.reparam.mask.MaskedWeight",
}
"""Expressions whose weight is the mean if the parts of their own are."""
_ADDITIVE = "graftax.reparam.lora.LoRAAdapter"  # it adds something; of a user's adapter, nothing is known


class Averaged(NamedTuple):
    """What is no mean: integers that are those of the first checkpoint, and expressions whose parts are averaged.

    Of such an expression, as of LoRA, the mean of the parts makes another weight than the mean of the weights.
    """

    kept: list[str]
    of_parts: list[str]


def average(sheets: Sequence[Sheet], names: Sequence[str], weights: Sequence[float] | None = None) -> Averaged:
    """Average the Variables of all checkpoints into the first; return what differs and is no mean.

    Sums are computed in float64. Integers, such as counters, are taken from the first checkpoint; integers of weights,
    whose meaning depends on scales, must be equal. The step, and each value of ``meta``, is kept only if it is equal in
    all of them.

    Args:
        sheets: Two or more checkpoints.
        names: What they are called, for messages.
        weights: How much each counts, such that the sum is 1. Defaults to None: all the same.

    Raises:
        MatchError: a Variable is missing in one of them, or has another shape there; or weights that are stored as
            integers, the columns of a table, or the adapters that a weight uses, differ.
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
            elif _kind(mine) != _kind(other):
                conflicts.append(Conflict(DTypeMismatch, path, f"is {mine.dtype}, and {other.dtype} in {name}"))
            elif _is_stored_as_integers(first.nodes[node], mine) and not np.array_equal(mine.array(), other.array()):
                reason = f"is a weight of integers, and has others in {name}, which no mean of scales would fit"
                conflicts.append(Conflict(MatchError, path, reason))
        strange = [path for path in theirs if path not in variables[0]]
        conflicts += [Conflict(MissingInCheckpoint, path, f"is in {name}, not in {names[0]}") for path in strange]
        conflicts += _other_columns(first, sheet, name)
        conflicts += _other_adapters(first, sheet, (names[0], name))
    if conflicts:
        shown = "".join(f"\n    {one.path}: {one.reason}" for one in conflicts[:20])
        kind: type[MatchError] = conflicts[0].error
        raise kind(
            f"{len(conflicts)} without a mean:{shown}",
            "it is one of equal shapes and meanings",
            "--only SELECTOR, or --skip SELECTOR, which leave these out",
        )
    kept = []
    parts: dict[str, None] = {}
    expressions = _expressions(first)
    for path, node in variables[0].items():
        tensors = [sheet.tensor_of(known[path]) for sheet, known in zip(sheets, variables, strict=True)]
        held = [tensor for tensor in tensors if tensor is not None]
        if is_inexact(held[0].dtype):
            above = _find_expression(path, expressions, is_of_adapter="adapter" in first.nodes[node].payload[3])
            if above is not None and any(not np.array_equal(held[0].array(), t.array()) for t in held[1:]):
                parts[above] = None
            first.set_tensor(node, _mean(held, path, weights))
        elif any(not np.array_equal(held[0].array(), tensor.array()) for tensor in held[1:]):
            kept.append(path)
    first.step = first.step if all(sheet.step == first.step for sheet in others) else None
    first.meta = {
        key: value for key, value in first.meta.items() if all(_has_meta(sheet, key, value) for sheet in others)
    }
    return Averaged(kept, list(parts))


def _find_expression(path: str, expressions: Collection[str], is_of_adapter: bool) -> str | None:
    """Return the innermost expression that a Variable is in, or what holds it in an adapter; None for neither."""
    above = path.rpartition("/")[0]
    return above if is_of_adapter else next(iter(wholes_above(path, expressions)), None)


def _expressions(sheet: Sheet) -> set[str]:
    """Return the paths of expressions whose weight is no mean if their parts are."""
    records = {path: sheet.nodes[node] for node, path in sheet.paths().items()}
    return {path for path, one in records.items() if is_expression(one) and not _is_linear(sheet, one)}


def _is_linear(sheet: Sheet, record: NodeRecord) -> bool:
    adapters = [sheet.nodes[one].type for one in adapters_among([record], sheet.nodes)]
    return record.type in _LINEAR and all(kind == _ADDITIVE for kind in adapters)


def _other_columns(first: Sheet, sheet: Sheet, name: str) -> list[Conflict]:
    """Return the objects whose weights have another meaning in a checkpoint, such as columns in another order."""
    mine, theirs = ({path: node for node, path in one.paths().items()} for one in (first, sheet))
    found = []
    for path in mine:
        if path in theirs:
            one, other = first.facts_of(mine[path]), sheet.facts_of(theirs[path])
            if one and other and encode(one, path) != encode(other, path):
                reason = f"has {one!r:.200}, and {other!r:.200} in {name}, so that its weights have other meanings"
                found.append(Conflict(MatchError, path, reason))
    return found


def _other_adapters(first: Sheet, sheet: Sheet, names: tuple[str, str]) -> list[Conflict]:
    """Return the weights that use other adapters in a checkpoint, or the same ones in another order."""
    mine, theirs = ({path: node for node, path in one.paths().items()} for one in (first, sheet))
    found = []
    for path in mine:
        uses = [_uses(first, mine[path]), _uses(sheet, theirs[path])] if path in theirs else []
        if len(uses) == 2 and None not in uses and uses[0] != uses[1]:
            used = [f"uses the adapters {use} in {name}" for use, name in zip(uses, names, strict=True)]
            found.append(
                Conflict(MatchError, path, f"{used[0]}, and {used[1]}, so that its values have other meanings")
            )
    return found


def _uses(sheet: Sheet, node: int) -> list[str] | None:
    """Return the adapters that a weight uses; None if it has none, or if they are there without it.

    Adapters without their weight are a file of their own: the program that they are restored into says which it uses.
    """
    record = sheet.nodes[node]
    adapters = sheet.child(node, "adapters")
    if record.kind is not Kind.OBJECT or not isinstance(record.payload, dict) or adapters is None:
        return None
    if len(record.edges) == 1 or not sheet.nodes[adapters[1]].edges:
        return None
    names = record.payload.get("active")  # missing in older files
    return names if isinstance(names, list) else None


def _kind(tensor: Tensor) -> str:
    return "complex" if is_complex(tensor.dtype) else "floating" if is_inexact(tensor.dtype) else "integer"


def _is_stored_as_integers(node: NodeRecord, tensor: Tensor) -> bool:
    return node.payload[2] == "weight" and _kind(tensor) == "integer" and tensor.dtype != "bool"


def _has_meta(sheet: Sheet, key: str, value: object) -> bool:
    return key in sheet.meta and encode(sheet.meta[key], key) == encode(value, key)


def _mean(tensors: Sequence[Tensor], path: str, weights: Sequence[float] | None) -> Tensor:
    dtype = tensors[0].dtype
    wide = "complex128" if is_complex(dtype) else "float64"

    def read() -> HostArray:
        total = np.zeros(tensors[0].shape, wide)
        equal = weights is None or len(set(weights)) == 1  # then each sum is as exact as it can be
        for tensor, weight in zip(tensors, weights or [1.0] * len(tensors), strict=True):
            if equal:
                total += tensor.array().astype(wide)
            elif weight:  # a nan in what does not count is none of the mean
                total += weight * tensor.array().astype(wide)
        found: HostArray = (total / (len(tensors) if equal else 1)).astype(host_dtype(dtype))
        return found

    return Tensor.of(dtype, tensors[0].shape, read, path)
