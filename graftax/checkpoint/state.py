"""Converting the Python state of Modules (`get_state`) to and from the index: arrays, enums, named tuples.

Arrays are saved like those of Variables. No class that a file names is ever looked up: named tuples and enum members
get the classes that the present state of the Module has in the same place.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.values import (
    MAX_DEPTH,
    MAX_LENGTH,
    NumpyScalar,
    SavedArray,
    SavedEnum,
    SavedNamedTuple,
    encode,
)
from graftax.core.errors import UnsupportedValue

AddArray = Callable[[HostArray, str], int]


def freeze_value(value: object, path: str, add: AddArray) -> Any:
    """Return an immutable copy of Python state, in the form of the index.

    Args:
        value: The result of `get_state`.
        path: Its path, for errors and for the names of arrays.
        add: A function of a copy of an array and its path that returns the number of the array.

    Raises:
        UnsupportedValue: it has a value that the format does not support.
    """
    kept = _freeze(value, path, add, 0)
    encode(kept, path)
    return kept


def _freeze(value: Any, path: str, add: AddArray, depth: int) -> Any:
    kind = type(value)
    if isinstance(value, Enum):
        return SavedEnum(_name(kind), value.name, _freeze(value.value, path, add, depth + 1))
    if isinstance(value, SavedEnum):  # its class was unknown when it was restored
        return SavedEnum(value.type, value.name, _freeze(value.value, path, add, depth + 1))
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise UnsupportedValue(
                f"a masked array at {path}",
                "a checkpoint keeps its elements, the hidden ones among them, and no mask",
                '{"values": x.filled(0), "mask": np.ma.getmaskarray(x)}, from which set_state makes it again',
            )
        return SavedArray(add(np.array(value, order="C", subok=False), path))
    if depth > MAX_DEPTH or (isinstance(value, list | tuple | dict) and len(value) > MAX_LENGTH):
        return value  # the code after this raises the error
    fields: tuple[str, ...] | None = getattr(value, "_fields", None) if isinstance(value, tuple) else None
    if fields is not None:
        items = [_freeze(item, f"{path}/{name}", add, depth + 1) for name, item in zip(fields, value, strict=True)]
        return SavedNamedTuple(_name(kind), tuple(fields), tuple(items))
    if kind is list:
        return [_freeze(item, f"{path}/{i}", add, depth + 1) for i, item in enumerate(value)]
    if kind is tuple:
        return tuple([_freeze(item, f"{path}/{i}", add, depth + 1) for i, item in enumerate(value)])
    if isinstance(value, dict) and kind is dict:
        pairs: list[tuple[Any, Any]] = list(value.items())
        return {
            _freeze_key(key, path): _freeze(item, f"{path}/{str(key)[:100]}", add, depth + 1) for key, item in pairs
        }
    return value


def _freeze_key(key: object, path: str) -> Any:
    if isinstance(key, Enum) or hasattr(key, "_fields"):
        raise UnsupportedValue(
            f"the key {key!r:.100} of type {_name(type(key))} at {path}",
            "keys are None, bool, numbers, text, bytes, and tuples of these",
            "its name or value in get_state(), and the member again in set_state()",
        )
    return key


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def revive(value: Any, arrays: Mapping[int, HostArray]) -> Any:
    """Return a decoded Python value, with its NumPy scalars, arrays and named tuples.

    Named tuples are of classes made for them; members of enums stay `graftax.checkpoint.values.SavedEnum`, with a name
    and a value; see `with_live_classes`.

    Args:
        value: The value in the index.
        arrays: The arrays that it refers to, by their numbers.
    """
    kind = type(value)
    if kind is NumpyScalar:
        return np.frombuffer(value.data, host_dtype(value.dtype))[0]
    if kind is SavedArray:
        return arrays[value.number]
    if kind is SavedEnum:
        return SavedEnum(value.type, value.name, revive(value.value, arrays))
    if kind is SavedNamedTuple:
        made = namedtuple(value.type.rpartition(".")[2], value.fields, rename=True)  # type: ignore[misc]
        return made(*[revive(item, arrays) for item in value.items])
    if kind is list or kind is tuple:
        return kind([revive(item, arrays) for item in value])
    if kind is dict:
        return {revive(key, arrays): revive(item, arrays) for key, item in value.items()}
    return value


def with_live_classes(value: Any, live: Any) -> Any:
    """Return Python state with the classes of named tuples and enums that the receiving object uses.

    Args:
        value: The result of `revive`.
        live: The present state of the object, which has the classes.
    """
    if isinstance(value, SavedEnum):
        known = type(live).__members__.get(value.name) if isinstance(live, Enum) else None
        return value if known is None else known
    fields = getattr(value, "_fields", None) if isinstance(value, tuple) else None
    if fields is not None:
        if not isinstance(live, tuple) or getattr(live, "_fields", None) != fields:
            return value
        return type(live)(*map(with_live_classes, value, live))
    if type(value) is list or type(value) is tuple:
        examples = live if type(live) is type(value) else ()
        last = examples[-1] if examples else None
        return type(value)(
            [with_live_classes(v, examples[i] if i < len(examples) else last) for i, v in enumerate(value)]
        )
    if type(value) is dict:
        by_key = live if type(live) is dict else {}
        other = next(iter(by_key.values()), None)
        return {key: with_live_classes(item, by_key.get(key, other)) for key, item in value.items()}
    return value


def renumber_arrays(value: Any, numbers: Mapping[int, int]) -> Any:
    """Return a value of an index with other numbers for its arrays."""
    kind = type(value)
    if kind is SavedArray:
        return SavedArray(numbers[value.number])
    if kind is SavedEnum:
        return SavedEnum(value.type, value.name, renumber_arrays(value.value, numbers))
    if kind is SavedNamedTuple:
        return value._replace(items=tuple([renumber_arrays(item, numbers) for item in value.items]))
    if kind is list or kind is tuple:
        return kind([renumber_arrays(item, numbers) for item in value])
    if kind is dict:
        return {key: renumber_arrays(item, numbers) for key, item in value.items()}
    return value
