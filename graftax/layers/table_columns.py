"""The columns of tables by name: those that a model or a layer was trained on, or adapted to, in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from graftax.core.errors import DataError
from graftax.core.later import import_later
from graftax.layers.inputs import is_table
from graftax.variables.graph.module import Module

if TYPE_CHECKING:
    from graftax.layers import column_names
    from graftax.layers.column_names import Names
else:
    column_names = import_later("graftax.layers.column_names")

Known: TypeAlias = "Names | dict[Any, Names] | list[Names]"


class Columns(NamedTuple):
    """The names of the columns of inputs and of targets; None for what came without names."""

    x: Known = None
    y: Known = None


class KnowsColumns(Module):
    """What remembers the columns of the tables that it was trained on, or adapted to, and keeps them in checkpoints."""

    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_columns"})
    _gx_columns: Columns = Columns()
    _gx_requires_columns: ClassVar[bool] = False
    """Whether tables with other columns are refused, as by a model; a single layer only puts those that it knows, all
    of them, in order, and may be trained on others next."""

    def _gx_takers(self) -> Sequence[KnowsColumns]:
        """Return what its inputs go into just as they come, such as a first layer, if that knows columns."""
        return ()

    @property
    def _gx_tells_columns_apart(self) -> bool:
        """Return whether the order of columns makes a difference."""
        return True

    def _gx_facts(self) -> dict[str, Any]:
        """Return the columns in the form of files, if there are any."""
        if self._gx_columns == Columns():
            return {}
        known = {part: _form(names) for part, names in self._gx_columns._asdict().items() if names is not None}
        return {"columns": known}

    def _gx_take_facts(self, facts: Mapping[str, Any]) -> None:
        """Take the columns that a file has; one without any changes nothing."""
        found = columns_in(facts)
        if found is not None:
            self._gx_columns = found

    def _gx_point_of_return(self) -> Any:
        """Return a function that takes back what `_gx_take_facts` changes."""
        before = self._gx_columns

        def take_back() -> None:
            self._gx_columns = before

        return take_back


def known_columns(x: object) -> Known:
    """Return the names of the columns of a table, or of each table in a dict or a list; None where there are none.

    Example:
        >>> known_columns([[1.0, 2.0]]) is None
        True
    """
    if isinstance(x, Mapping):
        each = {name: _names_of(part) for name, part in x.items()}
        return each if any(each.values()) else None
    if isinstance(x, list | tuple) and x and len(x) <= 64 and any(map(is_table, x)):
        return [_names_of(part) for part in x]
    return _names_of(x)


def in_known_order(x: object, columns: Known, label: str, whose: str = "the model was trained on") -> Any:
    """Return data with the columns of each table in the known order.

    Args:
        x: The data.
        columns: The known columns, as `known_columns` returned them.
        label: How the data are called in messages.
        whose: Words before the known columns in messages. Defaults to ``"the model was trained on"``.

    Raises:
        DataError: a table has other columns.
    """
    if isinstance(columns, dict):
        if not isinstance(x, Mapping) or set(x) != set(columns):
            return x
        return {name: _order_columns(part, columns[name], f"{label}[{name!r}]", whose) for name, part in x.items()}
    if isinstance(columns, list):
        if not isinstance(x, list | tuple) or len(x) != len(columns):
            return x
        parts = [
            _order_columns(part, one, f"{label}[{i}]", whose)
            for i, (part, one) in enumerate(zip(x, columns, strict=True))
        ]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return _order_columns(x, columns, label, whose)


def learn(known: Known, x: object) -> Known:
    """Return the columns to know after a training on data: the known ones, or those of the data where none have names.

    Example:
        >>> learn(("a", "b"), [[1.0, 2.0]])
        ('a', 'b')
    """
    found = known_columns(x)
    if known is None or type(found) is not type(known):
        return found if known is None else known
    if isinstance(known, dict) and isinstance(found, dict):
        return {name: _named(names, found.get(name)) for name, names in known.items()}
    if isinstance(known, list) and isinstance(found, list):
        return [_named(*pair) for pair in zip(known, found, strict=True)] if len(known) == len(found) else known
    return _named(known, found) if isinstance(known, tuple) and isinstance(found, tuple) else known


def _named(known: Names, names: Names) -> Names:
    """Return known columns, or those of a later table if only that has names."""
    return names if names is not None and (known is None or column_names.is_numbered(known)) else known


def has_the_columns(x: object, columns: Known) -> bool:
    """Return whether it is a table with the known columns, in any order, and no others."""
    names = _names_of(x)
    return names is not None and isinstance(columns, tuple) and Counter(names) == Counter(columns)


def _order_columns(x: object, columns: Names, label: str, whose: str) -> Any:
    if (
        columns is None
        or (names := _names_of(x)) is None
        or names == columns
        or column_names.go_by_place(names, columns)
    ):
        return x
    here, wanted = Counter(names), Counter(columns)
    missing = [name for name in columns if name not in here]
    added = [name for name in names if name not in wanted]
    twice = [name for name, count in (here | wanted).items() if count > 1]
    if missing or added or twice:
        told = [f"without {', '.join(map(repr, missing))}"] if missing else []
        told += [f"with {', '.join(map(repr, added))}"] if added else []
        what = " and ".join(told) or "with the columns " + ", ".join(map(repr, names))
        raise DataError(
            f"{label} is a {type(x).__name__} {what}",
            f"{whose} the columns {', '.join(map(repr, columns))}"
            + (f", and the name {twice[0]!r} does not say which of several it is" if twice else ""),
            f"{label}.to_numpy(), if its columns are these in this order"
            if missing or twice
            else column_names.write_columns(label, x, columns),
        )
    places = {name: place for place, name in enumerate(names)}
    return column_names.take_columns(x, [places[name] for name in columns])


def _names_of(x: object) -> Names:
    return column_names.names_of(x) if is_table(x) else None


# --- in files ---------------------------------------------------------------------------------------------------------


def columns_in(facts: Mapping[str, Any]) -> Columns | None:
    """Return the columns that a file tells of; None where it tells of none.

    Args:
        facts: What `KnowsColumns._gx_facts` gave, from a file, so that anything may be in it.

    Example:
        >>> columns_in({"columns": {"x": ["table", ["a", "b"]]}}).x
        ('a', 'b')
    """
    told = facts.get("columns")
    if not isinstance(told, dict):
        return None
    x, y = (_of_form(told.get(part)) for part in Columns._fields)
    return None if x is None and y is None else Columns(x, y)


def _form(columns: Known) -> list[Any]:
    if isinstance(columns, dict):
        return ["dict", [[name, column_names.as_list(names)] for name, names in columns.items()]]
    if isinstance(columns, list):
        return ["list", [column_names.as_list(names) for names in columns]]
    return ["table", column_names.as_list(columns)]


def _of_form(form: object) -> Known:
    if not isinstance(form, list | tuple) or len(form) != 2:
        return None
    kind, held = form
    if kind == "table":
        return column_names.read_names(held)
    if not isinstance(held, list | tuple):
        return None
    if kind == "list":
        return [column_names.read_names(one) for one in held]
    if kind == "dict" and all(isinstance(one, list | tuple) and len(one) == 2 for one in held):
        return {name: column_names.read_names(names) for name, names in held if isinstance(name, str | int)}
    return None
