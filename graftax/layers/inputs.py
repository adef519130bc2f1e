"""What a layer is called with: as its `call` gets it, in the dtype that it computes in, and as messages show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentTypeError
from graftax.core.later import import_later
from graftax.core.typedefs import unwrap
from graftax.ops.symbolic import MetSymbolic, Symbolic
from graftax.variables import masks

if TYPE_CHECKING:
    from graftax.layers import foreign_tables
else:
    foreign_tables = import_later("graftax.layers.foreign_tables")


def inputs_in(
    dtype: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with floating arrays in a dtype, None for any; a list of numbers becomes an array.

    Raises:
        ArgumentTypeError: there is a table among them, whose columns would count by position.
    """
    arrays = registry.current().arrays
    if len(args) == 1 and not kwargs and arrays.is_array(args[0]) and args[0].dtype == dtype:
        return args, kwargs

    def convert(leaf: Any) -> Any:
        leaf = unwrap(leaf)
        if not hasattr(leaf, "dtype"):
            foreign_tables.refuse_unread(leaf, "x")
            if is_table(leaf):
                raise _by_position(leaf)
            return leaf
        if isinstance(leaf, Symbolic):
            raise MetSymbolic
        array = leaf if arrays.is_array(leaf) else arrays.asarray(leaf)
        kind = str(array.dtype)
        if dtype is not None and kind != dtype and is_floating(kind):
            array = array.astype(dtype)
        if array is not leaf:
            masks.carry_over(leaf, array)
        return array

    if args and isinstance(args[0], list | tuple) and all_numbers(args[0]):
        args = (arrays.asarray(args[0]), *args[1:])
    return (
        tuple(tree.map_structure(convert, a) for a in args),
        {name: tree.map_structure(convert, value) for name, value in kwargs.items()},
    )


def is_table(x: object) -> bool:
    """Return whether it is a table of pandas, polars or a similar library."""
    if not (hasattr(type(x), "columns") or hasattr(x, "columns")) or foreign_tables.is_unread(
        x
    ):  # whose columns take time to find
        return False
    return hasattr(x, "dtypes") and hasattr(x, "to_numpy")


def _by_position(table: Any) -> ArgumentTypeError:
    columns = [str(name) for name in table.columns]
    arrays = "to_numpy()" if type(table).__module__.startswith("polars") else 'to_numpy("float32")'
    return ArgumentTypeError(
        f"a {type(table).__name__} with the columns {', '.join(map(repr, columns)):.100}",
        "a call takes arrays, whose columns have no names: in another order than that of the training they would give "
        "other numbers",
        f"table[columns].{arrays}, with columns in the order of the training; model.predict(table) knows it by itself",
    )


def all_numbers(value: object) -> bool:
    """Return True for nested lists of Python numbers, at least one."""
    leaves = tree.flatten(value)
    return bool(leaves) and all(isinstance(leaf, bool | int | float) for leaf in leaves)


def describe_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return dtypes and shapes of arrays, short forms of the rest."""
    parts = [_describe(a) for a in args] + [f"{name}={_describe(value)}" for name, value in kwargs.items()]
    return ", ".join(parts) or "nothing"


def _describe(value: object) -> str:
    if not tree.is_leaf(value):
        shown = ", ".join(f"{path}: {_describe(leaf)}" for path, leaf in tree.flatten_with_paths(value)[:4])
        return f"({shown})"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is not None and shape is not None:
        return f"{dtype}{list(shape)}"
    if shape is not None and (foreign_tables.is_unread(value) or hasattr(value, "columns")):
        return f"{type(value).__name__}{list(shape)}"
    text = f"{value!r}"
    return text if len(text) <= 40 else text[:37] + "..."
