"""Batches as arrays on the host."""

from __future__ import annotations

from typing import Any

from graftax.core import tree
from graftax.core.errors import DataError
from graftax.objectives.row_labels import require_rows_in_one_order
from graftax.objectives.sample_weights import check_weights
from graftax.training.arrays import as_arrays, path_expression, take_rows
from graftax.training.batch import NAMES, Batch, pack
from graftax.training.class_weights import ClassWeights
from graftax.training.sources.stored_rows import StoredRows


def host_batch(
    x: object, y: object = None, sample_weight: object = None, class_weights: ClassWeights | None = None
) -> Batch:
    """Return the parts of a batch as arrays on the host, with class weights if there are any."""
    require_rows_in_one_order(x=x, y=y, sample_weight=sample_weight)
    x, y = (_view_part(as_arrays(part, name, name == "y"), name) for part, name in ((x, "x"), (y, "y")))
    sample_weight = finite_weights(sample_weight)
    if class_weights is not None:
        sample_weight = class_weights.times(y, sample_weight)
    return pack(x, y, sample_weight)


def _view_part(part: Any, name: str) -> Any:
    """Return a part as views, so that changes of the shape of the original arrays have no effect.

    Raises:
        DataError: an array has no axis of rows.
    """
    try:
        return take_rows(part, slice(None))
    except IndexError:
        where = next(path for path, leaf in tree.flatten_with_paths(part) if leaf is not None and not leaf.shape)
        raise DataError(
            f"{path_expression(name, where)} of a batch is a single number",
            "a batch has rows along the first axis of each array; this looks like one sample",
            "batches in place of samples: dataset.batch(32) in tf.data and grain, batch_size=32 for a DataLoader",
        ) from None


def finite_weights(sample_weight: object, follows: bool = False) -> Any:
    """Return sample weights as arrays on the host.

    Args:
        sample_weight: The weights.
        follows: As for `as_arrays`. Defaults to False.

    Raises:
        ArgumentError: a weight is nan or infinite; the message names its row.
    """
    if sample_weight is None:
        return None
    found = as_arrays(sample_weight, "sample_weight", follows=follows)
    for path, leaf in tree.flatten_with_paths(found):
        if leaf is not None:
            check_weights(leaf[:] if isinstance(leaf, StoredRows) else leaf, path_expression("sample_weight", path))
    return found


class Alike:
    """The check that all batches of a source have the same parts, structure and number of axes.

    Example:
        >>> import numpy as np
        >>> alike = Alike()
        >>> batch = alike.take((np.ones((2, 3)), np.ones(2)), 0)
        >>> alike.take((np.ones((4, 3)), np.ones(4)), 1)[0].shape
        (4, 3)
    """

    def __init__(self) -> None:
        self._first: list[tuple[str, int]] | None = None
        self._form: Any = None

    def take(self, batch: Batch, number: int) -> Batch:
        """Return a batch, with the keys of its dicts in the order of the first one's.

        Raises:
            DataError: it differs in kind; the message names the batch, counted from 0, and the difference.
        """
        kind = _kind_of(batch)
        if self._first is None:
            self._first, self._form = kind, tree.map_structure(lambda leaf: 0, batch)
        elif kind != self._first:
            batch = tree.reorder(batch, self._form)
            if _kind_of(batch) != self._first:
                raise DataError(
                    f"batch {number} is {_describe_axes(kind)}, and those before it are {_describe_axes(self._first)}",
                    "all batches of a source have the same parts, with the same number of axes",
                    "a loader that yields one kind of batch, for example (x, y) each time",
                )
        return batch


def _kind_of(batch: Batch) -> list[tuple[str, int]]:
    return [(path, getattr(leaf, "ndim", 0)) for path, leaf in tree.flatten_with_paths(batch)]


def _describe_axes(kind: list[tuple[str, int]]) -> str:
    names = []
    for path, axes in kind:
        part, _, inside = path.partition("/")
        name = path_expression(NAMES[int(part)], inside) if part.isdigit() and int(part) < len(NAMES) else path
        names.append(f"{name} of {axes} axes" if axes != 1 else f"{name} of 1 axis")
    return f"({', '.join(names)})"
