"""The choice of a source for the data of a user."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from graftax.backend.rendezvous import process_group
from graftax.core.errors import DataError
from graftax.distribution.processes import process_count
from graftax.distribution.rows import Rows
from graftax.training.arrays import as_arrays, count_rows, cut_rows, is_arrays, take_rows
from graftax.training.batch import NAMES, Parts, is_list_of_batches, parts_of_validation, weighing_arguments
from graftax.training.class_weights import ClassWeights
from graftax.training.copied_data import CopiedData
from graftax.training.not_numbers import non_numeric_error
from graftax.training.sources.array_source import ArraySource
from graftax.training.sources.indexed_source import IndexedSource, gives_batches, has_index
from graftax.training.sources.iterable_source import IterableSource
from graftax.training.sources.named_columns import names_columns, with_columns
from graftax.training.sources.source import Source
from graftax.training.sources.wrapper import warn_of_random_order


def make_source(
    x: Any,
    y: Any,
    sample_weight: object,
    batch_size: int | None,
    shuffle: bool,
    steps: int | None,
    class_weights: ClassWeights | None = None,
    is_one_pass: bool = False,
    copied: CopiedData | None = None,
) -> Source:
    """Return the source for the data of a user: arrays, or an iterable of batches.

    With ``steps``, an epoch goes on in the data where the one before ended, unless each is to be one pass from the
    start.

    Raises:
        DataError: an iterable is given together with ``y`` or ``sample_weight``, or the data have an unknown type.
    """
    rows: Any = x if isinstance(x, Rows) else None
    x = x if rows is None else rows.batches
    if names_columns(x, y):
        x, y = with_columns(x, y)
    if x is None:
        raise DataError("x is None", "there is nothing to iterate over", "model.fit(x, y), or model.fit(batches)")
    if rows is None and is_arrays(x) and not (is_list_of_batches(x) and (y is None or isinstance(x[0], tuple))):
        weighted_by = weighing_arguments(sample_weight, class_weights)
        if class_weights is not None:
            labels = take_rows(as_arrays(y, "y", keeps_integers=True), slice(None))
            class_weights.require_all(labels)
            class_weights.times(labels, take_rows(as_arrays(sample_weight, "sample_weight"), slice(None)))
        source = ArraySource(x, y, sample_weight, batch_size or 32, shuffle, steps, weighted_by, class_weights)
        source.copied = source.copied if copied is None else copied
        return source
    if rows is None and has_index(x):
        by_batch = gives_batches(x, batch_size)
        _refuse_beside(x, y, sample_weight, batch_size if by_batch else None)
        return IndexedSource(x, None if by_batch else batch_size or 32, shuffle, steps, class_weights)
    if not isinstance(x, Iterable) or isinstance(x, str | bytes | PathLike | Mapping | set | frozenset):
        raise _no_data(x)
    none_here = (
        rows is not None and isinstance(x, list | tuple) and not x
    )  # the others must learn that this process has none
    if isinstance(x, list | tuple) and not none_here and not is_list_of_batches(x):
        raise _no_data(x)
    _refuse_beside(x, y, sample_weight, batch_size)
    if rows is None and process_group() is not None:
        raise DataError(
            f"a {type(x).__name__} of batches, in {process_count()} processes",
            "each has an iterable of its own, and nothing says whether their rows are the same",
            "gx.distribution.LocalRows(batches) where each process yields its own rows, GlobalRows(batches) where each "
            "yields all of them",
        )
    return IterableSource(x, steps, class_weights, rows is not None and rows.are_local, carries_on=not is_one_pass)


def _refuse_beside(x: object, y: object, sample_weight: object, batch_size: int | None) -> None:
    """Raise for arguments that an iterable of batches already determines.

    Raises:
        DataError: such an argument is given; the message names it.
    """
    if y is not None or sample_weight is not None:
        raise DataError(
            f"x is a {type(x).__name__} that yields batches, and y or sample_weight was given as well",
            "each batch brings its own targets and weights",
            "yield (x, y) or (x, y, sample_weight)",
        )
    if batch_size is not None:
        raise DataError(
            f"batch_size={batch_size} for a {type(x).__name__} that yields batches",
            "its batches have their size already",
            "leave batch_size out",
        )


def single_pass_source(
    x: object, y: object, sample_weight: object, batch_size: int | None, steps: int | None
) -> Source:
    """Return the source for one pass over the data of a user, in their order.

    Raises:
        DataError: as for `make_source`, or there are more steps than batches.
    """
    source = make_source(x, y, sample_weight, batch_size, shuffle=False, steps=steps, is_one_pass=True)
    if isinstance(source, ArraySource | IndexedSource):
        source.require_one_pass()
    return source


def in_order(x: object, batch_size: int | None, steps: int | None) -> Source:
    """The source for one pass whose results belong to rows in their order: it warns of a loader that shuffles.

    Raises:
        DataError: as `single_pass_source`.
    """
    warn_of_random_order(x)
    return single_pass_source(x, None, None, batch_size, steps)


def _no_data(x: object) -> DataError:
    kind = type(x).__name__
    if isinstance(x, str | bytes):
        return DataError(
            f"x is of type {kind}: {x!r:.40}",
            "data are arrays, not the name of a file, nor one text",
            "what np.load(path) or pandas.read_csv(path) reads from the file; texts go through a TextVectorization",
        )
    if _holds_text(x):
        return non_numeric_error(f"x is a {kind} of text")
    if callable(x) and not isinstance(x, Iterable):
        name = getattr(x, "__name__", "")
        name = name if name.isidentifier() else "data"
        return DataError(
            f"the data are of type {kind}: {name}",
            "it is to be called for what yields batches",
            f"{name}() in its place: model.fit({name}()), validation_data={name}()",
        )
    inside = " with something in it that is no array" if isinstance(x, list | tuple | dict) else ""
    return DataError(
        f"x is of type {kind}{inside}",
        "it is neither an array, nor a nest of arrays, nor an iterable of batches",
        "np.asarray(x), or a list of (x, y)",
    )


def _holds_text(x: object) -> bool:
    parts = x.values() if isinstance(x, Mapping) else x if isinstance(x, list | tuple) else ()
    return isinstance(x, str | bytes) or any(map(_holds_text, parts))


ANEW = "a list of batches, list(batches), or an object whose __iter__ starts anew; an iterator runs once"
"""The advice for an iterator that has ended."""


def is_iterator(source: Source) -> bool:
    """Return whether a source is an iterator, which runs only once."""
    return isinstance(source, IterableSource) and source.goes_on


def require_enough(source: Source | None, validations: int) -> None:
    """Raise if more than one validation would run an iterator to its end.

    Args:
        source: The source for validation.
        validations: The number of validations.

    Raises:
        DataError: the second validation would have no batches.
    """
    if validations > 1 and source is not None and is_iterator(source) and source.steps is None:
        raise DataError(
            f"validation_data is an iterator, for {validations} validations",
            "it runs once: the first validation would use it up, and the next one have no batch",
            "validation_data=list(batches); or validation_steps=..., with an iterator that has enough for all",
        )


def validation_source(
    validation_data: object,
    batch_size: int | None,
    fallback: int | None,
    steps: int | None,
    needs_targets: bool = False,
) -> Source | None:
    """Return the source for ``validation_data``: a tuple or list of arrays, an iterable of batches, or None.

    Args:
        validation_data: The argument of the user.
        batch_size: ``validation_batch_size``, for arrays.
        fallback: The number of rows in a batch if that is None.
        steps: The number of batches in a validation; None for all.
        needs_targets: Whether arrays without targets are of no use. Defaults to False.

    Raises:
        DataError: they are needed, and missing.
    """
    if validation_data is None:
        return None
    parts = parts_of_validation(validation_data)
    if parts is None and is_arrays(validation_data) and not is_list_of_batches(validation_data):
        parts = validation_data, None, None
    if parts is None:
        by_row = (
            batch_size is None
            and fallback is not None
            and has_index(validation_data)
            and not gives_batches(validation_data, fallback)
        )
        return single_pass_source(validation_data, None, None, fallback if by_row else batch_size, steps)
    if needs_targets and parts[1] is None:
        raise DataError(
            f"validation_data is {'a tuple of x alone' if isinstance(validation_data, tuple) else 'x alone'}",
            "the loss compares targets with predictions, in the validation as in the training",
            "validation_data=(x_val, y_val)",
        )
    return single_pass_source(*parts, fallback if batch_size is None else batch_size, steps)


def split_validation(x: object, y: object, sample_weight: object, fraction: float) -> tuple[Parts, Parts, CopiedData]:
    """Split off the last part of the rows, before any shuffle, for validation; return what was copied for that, too.

    Raises:
        DataError: the data are not arrays, or one part would have no rows.
    """
    if not is_arrays(x) or (y is None and is_list_of_batches(x)):
        raise DataError(
            f"validation_split={fraction} for a {type(x).__name__}{' of batches' if isinstance(x, list) else ''}",
            "only arrays can be split",
            "validation_data=(x_val, y_val), or batches of their own: validation_data=batches",
        )
    data = (
        as_arrays(x, "x", follows=True),
        as_arrays(y, "y", keeps_integers=True, follows=True),
        as_arrays(sample_weight, "sample_weight", follows=True),
    )
    rows = count_rows(**dict(zip(NAMES, data, strict=True)))
    cut = math.floor(rows * (1 - fraction))
    if not 0 < fraction < 1 or cut < 1 or cut >= rows:
        raise DataError(
            f"validation_split={fraction} of {rows} rows", "both parts need a row", "a fraction such as 0.2"
        )
    given: tuple[tuple[str, Any], ...] = tuple(zip(NAMES, (x, y, sample_weight), strict=True))
    copied = CopiedData(dict(given), dict(zip(NAMES, data, strict=True)))
    head, tail = slice(0, cut), slice(cut, rows)
    x, y, sample_weight = (cut_rows(part, head) for part in data)
    x_val, y_val, weight_val = (cut_rows(part, tail) for part in data)
    return (x, y, sample_weight), (x_val, y_val, weight_val), copied
