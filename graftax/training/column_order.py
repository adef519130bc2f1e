"""Later tables are put into the column order of the training, by name: inputs, targets, and data of validations."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, NamedTuple

from graftax.checkpoint.facts import facts_of_root
from graftax.checkpoint.manager import CheckpointManager
from graftax.checkpoint.reader import Reader
from graftax.core.errors import GraftaxError
from graftax.layers.foreign_tables import refuse_unread
from graftax.layers.table_columns import (
    Columns,
    KnowsColumns,
    columns_in,
    has_the_columns,
    in_known_order,
    learn,
)
from graftax.objectives.row_labels import require_rows_in_one_order
from graftax.training.batch import Parts, is_list_of_batches
from graftax.training.columns_inside import columns_inside
from graftax.training.named_weights import refuse_name_of_weights
from graftax.training.sources.indexed_source import IndexedSource
from graftax.training.sources.iterable_source import IterableSource
from graftax.training.sources.named_columns import with_all_columns
from graftax.training.sources.source import Source


class Ordered(NamedTuple):
    """Data with their columns in order, and the names that are known from now on."""

    x: Any
    y: Any
    sample_weight: Any
    validation_data: Any
    columns: Columns


def columns_of(model: KnowsColumns, x: object) -> Columns:
    """Return the columns that a model was trained on, or else those known to what its inputs go into first.

    Args:
        model: The model, or a layer.
        x: The inputs: a single layer that was trained as a part of another model knows those of such tables only.
    """
    known = model._gx_columns
    if known.x is not None:
        return known if model._gx_requires_columns or _is_trained_on(model, x) else Columns(None, known.y)
    for part in model._gx_takers():
        if (inside := columns_of(part, x)).x is not None:
            return Columns(inside.x, known.y)
    return known


def _is_trained_on(layer: KnowsColumns, x: object) -> bool:
    """Tell whether a single layer has weights, whose rows belong to the columns of this table."""
    return has_the_columns(x, layer._gx_columns.x) and any(v.role in ("weight", "state") for v in layer.variables)


def remember(model: KnowsColumns, columns: Columns) -> None:
    """Let a model know the columns that it is trained on, and what its inputs go into first.

    A part that requires columns keeps those that it knows; a single layer knows the latest.
    """
    if model._gx_columns != columns:
        model._gx_columns = columns
    if columns.x is None:
        return
    for part in model._gx_takers():
        if part._gx_tells_columns_apart and not (part._gx_requires_columns and part._gx_columns.x is not None):
            remember(part, Columns(columns.x, part._gx_columns.y))


def order_inputs(model: KnowsColumns, x: object) -> Any:
    """Return inputs with the columns of tables in the order of the training.

    Raises:
        DataError: a table has other columns; or two tables have the same rows in different orders.
    """
    refuse_unread(x, "x")
    found = in_known_order(x, _columns_to_take(model, x).x, "x")
    require_rows_in_one_order(x=_unless_batches(found))
    return found


def _columns_to_take(model: KnowsColumns, x: object) -> Columns:
    """Return the columns that a model, its first layers or, where these know none, layers inside of it know."""
    known = columns_of(model, x)
    return known if known.x is not None else Columns(columns_inside(model, x), known.y)


def _columns_of_run(where: object, columns: Columns) -> Columns:
    """Return the columns of the run that ``resume=`` continues, if it knows any.

    What is wrong with the argument, or with the checkpoint, is told when the run is restored.
    """
    if not isinstance(where, CheckpointManager | str | os.PathLike):
        return columns
    try:
        manager = where if isinstance(where, CheckpointManager) else CheckpointManager(where)
        latest = manager.latest()
        if latest is None:
            return columns
        with Reader(latest.path) as reader:
            return columns_in(facts_of_root(reader.index, "model")) or columns
    except GraftaxError:
        return columns


def in_each_batch(model: KnowsColumns, source: Source | None, learns: bool = False) -> None:
    """Put tables in batches into the order of the training, batch by batch.

    Args:
        model: The model that knows the order.
        source: The source of the batches; others have their columns in order.
        learns: Whether the model is trained on them, so that the first table says what is not known yet.
    """
    if isinstance(source, IterableSource | IndexedSource):
        source.put_in_order(partial(_batch_in_order, model, learns))


def _batch_in_order(model: KnowsColumns, learns: bool, parts: Parts) -> Parts:
    found = sort_columns(model, *parts)
    if learns and found.columns != model._gx_columns:
        remember(model, found.columns)
    return found.x, found.y, found.sample_weight


def sort_columns(
    model: KnowsColumns,
    x: object,
    y: object = None,
    sample_weight: object = None,
    validation_data: object = None,
    resume: object = None,
) -> Ordered:
    """Return inputs, targets, weights and validation data with columns in order, and what is known from now on.

    Args:
        model: The model, which knows the columns that it was trained on.
        x: The inputs.
        y: The targets, or the name of their column, or of several. Defaults to None.
        sample_weight: The weights. Defaults to None.
        validation_data: A tuple, a table with those columns, or batches. Defaults to None.
        resume: What ``fit(resume=)`` got: the columns of that run go before. Defaults to None.

    Raises:
        DataError: a table has other columns, or must be read first; the weights are a text; or two tables have the
            same rows in different orders.
    """
    for label, part in (("x", x), ("y", y), ("sample_weight", sample_weight), ("validation_data", validation_data)):
        refuse_unread(part, label)
    refuse_name_of_weights(sample_weight, x, y)
    given, targets, against = with_all_columns(x, y, validation_data)
    known = _columns_to_take(model, given)
    if resume is not None:
        known = _columns_of_run(resume, known)
    given, targets = in_known_order(given, known.x, "x"), in_known_order(targets, known.y, "y")
    found = Columns(learn(known.x, given), learn(known.y, targets))
    weights = _weights(sample_weight, found, "sample_weight")
    require_rows_in_one_order(x=_unless_batches(given), y=targets, sample_weight=weights)
    if isinstance(against, tuple) and against:
        parts = [
            in_known_order(against[0], found.x, "validation_data[0]"),
            *(in_known_order(part, found.y, "validation_data[1]") for part in against[1:2]),
            *(_weights(part, found, "validation_data[2]") for part in against[2:3]),
        ]
        require_rows_in_one_order(**{f"validation_data[{i}]": part for i, part in enumerate(parts)})
        return Ordered(given, targets, weights, (*parts, *against[3:]), found)
    return Ordered(given, targets, weights, in_known_order(against, found.x, "validation_data"), found)


def _unless_batches(x: object) -> object:
    """Return inputs, or None for a list of batches: each of these has rows of its own, and is looked at when read."""
    return None if is_list_of_batches(x) else x


def _weights(weights: object, columns: Columns, label: str) -> Any:
    """Return weights in the order of the targets if they have their columns: one weight for each."""
    return in_known_order(weights, columns.y, label) if has_the_columns(weights, columns.y) else weights
