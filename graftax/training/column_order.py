"""Later tables are put into the column order of the training, by name: inputs, targets, and data of validations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from graftax.layers.table_columns import Columns, KnowsColumns, has_the_columns, in_known_order, known_columns
from graftax.training.row_labels import require_rows_in_one_order
from graftax.training.sources.named_columns import with_all_columns

if TYPE_CHECKING:
    from graftax.training.trainable_model import TrainableModel


class Ordered(NamedTuple):
    """Data with their columns in order, and the names that are known from now on."""

    x: Any
    y: Any
    sample_weight: Any
    validation_data: Any
    columns: Columns


def columns_of(model: KnowsColumns) -> Columns:
    """Return the columns that a model was trained on, or else those known to what its inputs go into first."""
    known = model._gx_columns
    if known.x is not None:
        return known
    for part in model._gx_takers():
        if (inside := columns_of(part)).x is not None:
            return Columns(inside.x, known.y)
    return known


def remember(model: KnowsColumns, columns: Columns) -> None:
    """Let a model know the columns that it is trained on, and what its inputs go into first, if that knows none."""
    if model._gx_columns != columns:
        model._gx_columns = columns
    for part in model._gx_takers():
        if part._gx_columns.x is None and part._gx_tells_columns_apart:
            remember(part, Columns(columns.x, part._gx_columns.y))


def ordered_inputs(model: TrainableModel, x: object) -> Any:
    """Return inputs with the columns of tables in the order of the training.

    Raises:
        DataError: a table has other columns.
    """
    return in_known_order(x, columns_of(model).x, "x")


def ordered_columns(
    known: Columns, x: object, y: object = None, sample_weight: object = None, validation_data: object = None
) -> Ordered:
    """Return inputs, targets, weights and validation data with columns in order, and what is known from now on.

    Args:
        known: What is known so far.
        x: The inputs.
        y: The targets, or the name of their column, or of several. Defaults to None.
        sample_weight: The weights. Defaults to None.
        validation_data: A tuple, a table with those columns, or batches. Defaults to None.

    Raises:
        DataError: a table has other columns, or two tables have the same rows in different orders.
    """
    given, targets, against = with_all_columns(x, y, validation_data)
    given, targets = in_known_order(given, known.x, "x"), in_known_order(targets, known.y, "y")
    found = Columns(
        known_columns(given) if known.x is None else known.x, known_columns(targets) if known.y is None else known.y
    )
    weights = _weights(sample_weight, found, "sample_weight")
    require_rows_in_one_order(x=given, y=targets, sample_weight=weights)
    if isinstance(against, tuple) and against:
        parts = [
            in_known_order(against[0], found.x, "validation_data[0]"),
            *(in_known_order(part, found.y, "validation_data[1]") for part in against[1:2]),
            *(_weights(part, found, "validation_data[2]") for part in against[2:3]),
        ]
        require_rows_in_one_order(**{f"validation_data[{i}]": part for i, part in enumerate(parts)})
        return Ordered(given, targets, weights, (*parts, *against[3:]), found)
    return Ordered(given, targets, weights, in_known_order(against, found.x, "validation_data"), found)


def _weights(weights: object, known: Columns, what: str) -> Any:
    """Return weights in the order of the targets if they have their columns: one weight for each."""
    return in_known_order(weights, known.y, what) if has_the_columns(weights, known.y) else weights
