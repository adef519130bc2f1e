"""Samples of a data set that become one batch: their parts are stacked, by name where they have names."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.core import tree
from graftax.core.errors import DataError
from graftax.training.arrays import as_arrays
from graftax.training.batch import NAMES
from graftax.training.sources.named_columns import is_table_of_rows
from graftax.training.sources.named_rows import NamedRow, NamedRows, as_named_row


def collate(data: Any, rows: list[int]) -> Any:
    """Return the samples of these rows as one batch.

    Args:
        data: Returns a sample for an index, or a batch of columns for several.
        rows: The indices.

    Raises:
        DataError: the samples are not alike: other parts, keys, names or shapes.
    """
    if is_table_of_rows(data):
        columns = data[rows]
        return {name: _stack_samples([as_arrays(one, name) for one in columns[name]], name, rows) for name in columns}
    several = getattr(data, "__getitems__", None)
    samples = [_as_sample(one) for one in (several(rows) if several is not None else map(data.__getitem__, rows))]
    first = tree.flatten_with_paths(samples[0])
    parts = [[leaf] for _, leaf in first]
    for sample, row in zip(samples[1:], rows[1:], strict=True):
        for stack, leaf in zip(parts, _leaves_as_in(sample, samples[0], first, row), strict=True):
            stack.append(leaf)
    stacked = (_stack_samples(leaves, path, rows) for (path, _), leaves in zip(first, parts, strict=True))
    return tree.rebuild(samples[0], stacked)


def _as_sample(sample: Any) -> Any:
    if isinstance(sample, list | tuple):  # parts of a sample may be lists of numbers
        if not 1 <= len(sample) <= len(NAMES):
            raise DataError(
                f"a sample that is a {type(sample).__name__} of {len(sample)}",
                "a sample is x, (x, y) or (x, y, sample_weight)",
                "several inputs go into a dict: ({'a': ..., 'b': ...}, y); numbers into an array: np.asarray(sample)",
            )
        return tuple(_as_part(part, name) for part, name in zip(sample, NAMES, strict=False))
    return _as_part(sample, "x")


def _as_part(part: Any, name: str) -> Any:
    row = as_named_row(part, name)
    if row is not None:
        return row
    if type(part) is dict:
        return {key: _as_part(one, f"{name}[{key!r}]") for key, one in part.items()}
    return as_arrays(part, name, name.startswith("y"))


def _leaves_as_in(sample: Any, first: Any, known: list[tuple[str, Any]], row: int) -> list[Any]:
    """Return the leaves of a sample in the order of those of the first one of its batch, by the keys of dicts."""
    found = tree.flatten_with_paths(sample)
    if [path for path, _ in found] == [path for path, _ in known]:
        return [leaf for _, leaf in found]
    found = tree.flatten_with_paths(tree.reorder(sample, first))
    here, there = ([path for path, _ in leaves] for leaves in (found, known))
    if len(here) != len(there):
        raise DataError(
            f"sample {row} has {len(here)} parts, and the first one of its batch {len(there)}",
            "a batch is made of samples that are alike",
            "the same parts in each sample, for example (x, y)",
        )
    if here != there:
        other, mine = next((a, b) for a, b in zip(here, there, strict=True) if a != b)
        raise DataError(
            f"sample {row} has the part {other or 'x'!r}, and the first one of its batch {mine or 'x'!r}",
            "the parts of samples are stacked by their keys",
            "the same keys in each sample, for example ({'a': ..., 'b': ...}, y)",
        )
    return [leaf for _, leaf in found]


def _stack_samples(leaves: list[Any], path: str, rows: list[int]) -> Any:
    if any(isinstance(leaf, NamedRow) for leaf in leaves):
        return NamedRows.of(leaves, path or "x", rows)
    shapes = [np.shape(leaf) for leaf in leaves]
    if len(set(shapes)) > 1:
        other = next(i for i, shape in enumerate(shapes) if shape != shapes[0])
        raise DataError(
            f"{path or 'x'} has shape {shapes[0]} in sample {rows[0]}, {shapes[other]} in sample {rows[other]}",
            "the samples of a batch become one array, and all of their sizes must agree",
            "one size for all, as by cropping or padding; sequences of different lengths: gx.data.bucket(x, y)",
        )
    return np.stack(leaves)
