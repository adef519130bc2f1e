"""Selecting columns of batches by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.training.sources.named_columns import IndexedColumns, as_list, columns_of, is_table_of_rows, require_name


@door
def columns(
    batches: Any,
    x: str | Sequence[str] | None = None,
    y: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
) -> Iterable[tuple[Any, ...]]:
    """Return batches that are dicts as ``(x, y)`` or ``(x, y, sample_weight)``, for fit.

    ``fit(batches, y="label")`` is short for ``fit(columns(batches, y="label"))``.

    Args:
        batches: An iterable of dicts of arrays, or a data set of Hugging Face.
        x: The name of the input, or several for a dict of inputs. Defaults to None: all columns that are not named.
        y: The name of the targets, or several for a dict of targets. Defaults to None.
        sample_weight: The name of the weights of rows. Defaults to None.

    Raises:
        ArgumentError: a name is given twice.
        DataError: a batch does not have such a column.

    Example:
        >>> import numpy as np
        >>> batches = [{"image": np.zeros((2, 4)), "label": np.zeros(2), "file": np.zeros(2)}]
        >>> x, y = next(iter(columns(batches, x="image", y="label")))
        >>> x.shape, y.shape
        ((2, 4), (2,))
    """
    given = [name for part in (x, y, sample_weight) for name in as_list(part)]
    if len(set(given)) < len(given):
        raise ArgumentError(
            f"columns got x={x!r}, y={y!r}, sample_weight={sample_weight!r}",
            "a column is an input, a target or a weight",
            'x="image", y="label"',
        )
    if is_table_of_rows(batches):
        for name in given:
            require_name(name, list(batches.column_names), f"the {type(batches).__name__}")
        return IndexedColumns(batches, x, y, sample_weight)
    return columns_of(batches, x, y, sample_weight)
