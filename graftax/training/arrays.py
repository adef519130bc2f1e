"""Training data as arrays on the host, in their original structure."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.backend.host import no_plain_numbers
from graftax.core import tree
from graftax.core.errors import DataError
from graftax.core.typedefs import VariableLike
from graftax.training.missing_values import refuse_missing
from graftax.training.narrowing import narrow, narrow_dtype, require_narrow
from graftax.training.not_numbers import error_of_array
from graftax.training.sources.row_taking import rows_of
from graftax.training.sources.stored_rows import StoredRows, is_stored
from graftax.training.table_values import array_of_table, kind_of

_READY = frozenset(map(np.dtype, "bool int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64".split()))
_SHOWN = 4


def is_arrays(x: object) -> bool:
    """Tell whether it is an array, or nested containers of arrays and numbers."""
    if isinstance(x, list | tuple | dict):
        leaves = tree.flatten(x)
        return bool(leaves) and all(is_array(leaf) or isinstance(leaf, bool | int | float) for leaf in leaves)
    return is_array(x)


def is_array(x: object) -> bool:
    """Tell whether it is an array of any library, or a table that can be converted to one."""
    if is_stored(x):
        return True
    return hasattr(x, "shape") and (hasattr(x, "dtype") or hasattr(x, "__array__")) and not isinstance(x, type)


def is_numbers(x: object) -> bool:
    """Tell whether it is a number, or lists and tuples of numbers, however nested."""
    if isinstance(x, list | tuple):
        return all(map(is_numbers, x))
    return isinstance(x, bool | int | float | np.number | np.bool_)


def as_arrays(data: Any, name: str, keeps_integers: bool = False, follows: bool = False) -> Any:
    """Return host arrays of 32 bits at most, in the same structure; a list of numbers becomes one array.

    Args:
        data: The data.
        name: What they are called in messages.
        keeps_integers: Whether tables of integers stay integers, as labels do. Defaults to False, float32.
        follows: Whether arrays of 64 bits become `StoredRows`, which see what is written to the arrays later, as those
            of 32 bits do. Defaults to False, a copy.

    Raises:
        DataError: a part is not an array of numbers, or rows of numbers have different lengths.
        ArgumentTypeError: a part is a masked or a structured array of NumPy.
    """
    if data is None or _is_ready(data):
        return data
    if isinstance(data, list | tuple) and data and is_numbers(data):
        try:
            return _host(np.asarray(data), name, keeps_integers, False)
        except ValueError as error:
            raise _ragged_error(data, name, error) from None
    if type(data) is dict:
        return {key: as_arrays(part, f"{name}[{key!r}]", keeps_integers, follows) for key, part in data.items()}
    if type(data) in (list, tuple):
        return type(data)(
            as_arrays(part, f"{name}[{place}]", keeps_integers, follows) for place, part in enumerate(data)
        )
    return tree.map_structure(lambda leaf: None if leaf is None else _host(leaf, name, keeps_integers, follows), data)


def _ragged_error(data: Any, name: str, error: ValueError) -> Exception:
    if isinstance(error, DataError):
        return error
    sizes = {len(row) if isinstance(row, list | tuple) else 0 for row in data}
    lengths = f", of {min(sizes)} to {max(sizes)} numbers" if len(sizes) > 1 else ""
    return DataError(
        f"{name} is a list of {len(data)} rows of different lengths{lengths}",
        "an array has one length for all of its rows",
        f"{name} = np.stack([np.pad(row, (0, longest - len(row))) for row in {name}]), with longest = max(map(len, "
        f"{name})); a mask says what is padding: layers.Embedding(..., mask_zero=True)",
    )


def _host(leaf: Any, name: str, keeps_integers: bool, follows: bool) -> Any:
    if _is_ready(leaf):
        return leaf
    is_shared = _is_shared(leaf)
    if isinstance(leaf, VariableLike):
        leaf = leaf.value
    if isinstance(leaf, StoredRows):
        return leaf
    if is_stored(leaf):
        return StoredRows(leaf, name)
    if hasattr(leaf, "columns") and hasattr(leaf, "dtypes"):
        leaf = array_of_table(leaf, name, keeps_integers)
    elif hasattr(leaf, "dtype") and hasattr(leaf, "to_numpy") and kind_of(leaf.dtype):  # a column by itself
        refuse_missing(leaf, name)
    if _is_of_torch(leaf):
        if str(leaf.layout) != "torch.strided":
            raise DataError(
                f"{name} is a tensor of layout {leaf.layout}", "models compute with dense arrays", f"{name}.to_dense()"
            )
        leaf = leaf.detach().cpu()
        leaf = leaf.resolve_conj().resolve_neg()
        leaf = (leaf.float() if str(leaf.dtype) == "torch.bfloat16" else leaf).numpy()
    if (unfit := no_plain_numbers(leaf, name)) is not None:
        raise unfit
    arrays = registry.current().arrays
    array = arrays.to_numpy(leaf) if arrays.is_array(leaf) else np.asarray(leaf)
    if array.dtype.kind not in "biufcV":  # kind V: bfloat16 and similar dtypes
        raise error_of_array(leaf, array, name)
    if follows and is_shared and narrow_dtype(array.dtype) != array.dtype:
        require_narrow(array, name)
        return StoredRows(array, name)
    return narrow(array, name)


def _is_shared(leaf: object) -> bool:
    """Tell whether what is written to it later can be seen in an array that NumPy makes of it."""
    return isinstance(leaf, np.ndarray) or _is_of_torch(leaf)


def _is_ready(leaf: object) -> bool:
    return type(leaf) is np.ndarray and leaf.dtype in _READY


def _is_of_torch(leaf: object) -> bool:
    """Tell whether it is a tensor of torch, or of a subclass, without importing torch."""
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in type(leaf).__mro__)


def take_rows(data: object, rows: Any) -> Any:
    """Return the same rows of every array of a structure."""
    if type(data) is np.ndarray:  # at each batch: there is nothing to look for in an array
        return rows_of(data, rows) if type(rows) is np.ndarray else data[rows]
    if type(data) is StoredRows:
        return data[rows]
    if data is None:
        return None
    return tree.map_structure(lambda array: None if array is None else rows_of(array, rows), data)


def cut_rows(data: object, rows: slice) -> Any:
    """Return the same rows of every array of a structure; arrays on disk are not read yet."""
    if data is None:
        return None
    return tree.map_structure(
        lambda array: None if array is None else array.cut(rows) if isinstance(array, StoredRows) else array[rows], data
    )


def count_rows(**parts: Any) -> int:
    """Return the number of rows, which must be equal in all arrays of the parts; keys are names for messages.

    Raises:
        DataError: the numbers of rows differ, or there are no rows.
    """
    sizes: dict[str, int] = {}
    for name, part in parts.items():
        for path, leaf in tree.flatten_with_paths(part):
            if leaf is None:
                continue
            if not leaf.shape:
                raise DataError(
                    f"{name}{f'/{path}' if path else ''} is a single number",
                    "rows are counted along the first axis",
                    f"one for each row: np.full(len(x), {name})"
                    if name == "sample_weight" and not path
                    else f"an array with an axis of rows: np.asarray([{path_expression(name, path)}])",
                )
            sizes[f"{name}/{path}" if path else name] = leaf.shape[0]
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {rows}" for name, rows in _differing_sizes(sizes))
        more = f", and {len(sizes) - _SHOWN} more" if len(sizes) > _SHOWN else ""
        raise DataError(
            f"different numbers of rows: {listed}{more}",
            "row i of each array belongs to the same sample",
            "cut them to one length"
            + ("; predict(iter(x)) if x is a list of batches" if _is_list_alone(parts) else "")
            + ("; np.stack(x) if x is a list of rows" if len(sizes) > _SHOWN else ""),
        )
    rows = next(iter(sizes.values()), 0)
    if rows == 0:
        raise DataError("no rows at all", "there is nothing to compute", "data with at least one row")
    return rows


def _is_list_alone(parts: dict[str, Any]) -> bool:
    """Return whether there is only ``x``, a list: the inputs of a model with several, or meant as batches."""
    return isinstance(parts.get("x"), list) and all(part is None for name, part in parts.items() if name != "x")


def path_expression(name: str, path: str) -> str:
    """Return the Python expression for the part at a path."""
    keys = [key if key.isdigit() else repr(key) for key in path.split("/")] if path else []
    return name + "".join(f"[{key}]" for key in keys)


def _differing_sizes(sizes: dict[str, int]) -> list[tuple[str, int]]:
    """Choose a few entries, in order, including the first that differs from the one before."""
    if len(sizes) <= _SHOWN:
        return list(sizes.items())
    first = next(iter(sizes.values()))
    other = next(item for item in sizes.items() if item[1] != first)
    return list(dict([*islice(sizes.items(), _SHOWN - 1), other]).items())
