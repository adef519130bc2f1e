"""The columns that layers somewhere inside a model know: those adapted to a table, and trained models."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import DataError
from graftax.layers.column_names import Names, names_of, write_columns
from graftax.layers.table_columns import Known, KnowsColumns, has_the_columns, known_columns
from graftax.training.compiled_loss import walk_parts
from graftax.training.trainable_model import TrainableModel
from graftax.training.wired import Wired


def columns_inside(model: KnowsColumns, x: object) -> Known:
    """Return the columns of tables in the order that is known inside of a model; None where nothing knows them.

    A model with a ``call`` of its own does not say what its layers get. But a layer that was adapted to a table with
    just these columns has its statistics in one order, and that is the one to take.

    Args:
        model: The model, which does not know columns itself.
        x: Its inputs.

    Raises:
        DataError: two layers know the columns in different orders.
    """
    found = known_columns(x)
    if found is None:
        return None
    given: Any = x
    if isinstance(found, dict):
        each = {name: _order_inside(model, part, f"x[{name!r}]") for name, part in given.items()}
        return each if any(each.values()) else None
    if isinstance(found, list):
        listed = [_order_inside(model, part, f"x[{i}]") for i, part in enumerate(given)]
        return listed if any(listed) else None
    return _order_inside(model, x, "x")


def _order_inside(model: KnowsColumns, table: object, label: str) -> Names:
    """Return the columns of one table in the order that layers know; None where none knows just these."""
    if names_of(table) is None:
        return None
    known: list[tuple[Names, KnowsColumns]] = []
    says_what_they_get = isinstance(model, Wired) and (model._gx_graph is not None or model._gx_in_a_row)
    for part in walk_parts(model, of_root=False):
        if part is model or not isinstance(part, KnowsColumns) or not part._gx_requires_columns:
            continue
        columns = part._gx_columns.x
        is_given_others = says_what_they_get and isinstance(part, TrainableModel)
        if not is_given_others and isinstance(columns, tuple) and has_the_columns(table, columns):
            known.append((columns, part))
    if not known:
        return None
    first, one = known[-1]  # what is last there is first in the model
    for columns, other in known[-2::-1]:
        if columns != first:
            raise DataError(
                f"{label} is a {type(table).__name__} with columns that {_title(one)} knows in the order "
                f"{', '.join(map(repr, first or ()))}, and {_title(other)} in the order "
                f"{', '.join(map(repr, columns or ()))}",
                "one table cannot be in both orders, and each would take a column for another one",
                f"a new layer in place of {_title(other)}, which adapts to {write_columns(label, table, first or ())}; "
                f"or {label}.to_numpy(), where the model itself chooses the columns of each",
            )
    return first


def _title(part: Any) -> str:
    return f"{part._gx_title()}"
