"""Python values in msgpack, with exact types: tuples, big integers, complex, NumPy scalars, maps with any keys.

Decoding accepts untrusted input: unknown extensions, timestamps, duplicate keys and deep nesting are errors, and no
type named in a file is ever looked up. NumPy is not imported here, so scalars are decoded as `NumpyScalar`, and arrays,
enums and named tuples as records that `graftax.checkpoint.state` converts.
"""

import struct
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import msgpack  # type: ignore[import-untyped]

from graftax.checkpoint.damaged import FORGED, corrupt_error
from graftax.checkpoint.dtypes import DTYPES
from graftax.core.errors import CorruptMetadata, LimitExceeded, UnsupportedValue

MAX_DEPTH = 64
MAX_LENGTH = 1 << 22
TUPLE, BIG_INTEGER, COMPLEX, NUMPY_SCALAR, PAIRS, ARRAY, ENUM, NAMED_TUPLE = 1, 2, 3, 4, 5, 6, 7, 8

_CODES = {"bool": "?", "float16": "<e", "float32": "<f", "float64": "<d"}
_CODES |= {f"int{8 << i}": f"<{code}" for i, code in enumerate("bhiq")}
_CODES |= {f"uint{8 << i}": f"<{code}" for i, code in enumerate("BHIQ")}
_ATOMS = frozenset((type(None), bool, int, float, str, bytes, complex))


class NumpyScalar(NamedTuple):
    """A NumPy scalar as it was saved: the name of its dtype and its little-endian bytes."""

    dtype: str
    data: bytes

    def __repr__(self) -> str:
        code = _CODES.get(self.dtype)
        return f"{self.dtype}({struct.unpack(code, self.data)[0] if code else self.data.hex()})"


class SavedArray(NamedTuple):
    """An array inside of Python state: its number in the index."""

    number: int


class SavedEnum(NamedTuple):
    """A member of an enum: the name of its class, for display, its name and its value."""

    type: str
    name: str
    value: Any


class SavedNamedTuple(NamedTuple):
    """A named tuple: the name of its class, for display, its fields and its items."""

    type: str
    fields: tuple[str, ...]
    items: tuple[Any, ...]


def encode(value: Any, path: str, depth: int = 0) -> Any:
    """Return a value in the form that `pack` accepts.

    Args:
        value: None, bool, int, float, complex, str, bytes, a NumPy scalar, or list, tuple, dict of these; and the
            records of arrays, enums and named tuples.
        path: The path of the value, for the error.
        depth: The present depth of nesting.

    Raises:
        UnsupportedValue: it is, or contains, something else.
    """
    kind = type(value)
    if kind is str:
        return _text(value, path)
    if kind is int:
        if -(1 << 63) <= value < 1 << 64:
            return value
        return msgpack.ExtType(BIG_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    if kind is complex:
        return msgpack.ExtType(COMPLEX, struct.pack("<dd", value.real, value.imag))
    if kind in _ATOMS:
        return value
    if depth >= MAX_DEPTH:
        raise UnsupportedValue(
            f"a value nested more than {MAX_DEPTH} deep at {path}",
            "readers stop there, and a structure that contains itself never ends",
            "fewer levels: values side by side in one dict",
        )
    if kind is NumpyScalar:
        return msgpack.ExtType(NUMPY_SCALAR, pack([value.dtype, value.data]))
    if kind is SavedArray:
        return msgpack.ExtType(ARRAY, pack(value.number))
    if kind is SavedEnum:
        return msgpack.ExtType(ENUM, pack([value.type, value.name, encode(value.value, path, depth + 1)]))
    if kind is SavedNamedTuple:
        held = [encode(item, f"{path}.{name}", depth + 1) for name, item in zip(*value[1:], strict=True)]
        return msgpack.ExtType(NAMED_TUPLE, pack([value.type, list(value.fields), held]))
    if (kind is list or kind is tuple or kind is dict) and len(value) > MAX_LENGTH:
        raise UnsupportedValue(
            f"a {kind.__name__} of {len(value):,} items at {path}",
            f"readers accept at most {MAX_LENGTH:,} items",
            "a NumPy array, which may have any length",
        )
    if kind is list or kind is tuple:
        items = [encode(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
        return items if kind is list else msgpack.ExtType(TUPLE, pack(items))
    if kind is dict:
        if all(type(key) is str for key in value):
            return {_text(k, path): encode(item, f"{path}[{k!r}]", depth + 1) for k, item in value.items()}
        pairs = [
            [encode(key, f"{path} key", depth + 2), encode(item, f"{path}[{key!r}]", depth + 2)]
            for key, item in value.items()
        ]
        return msgpack.ExtType(PAIRS, pack(pairs))
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic) and value.dtype.name in DTYPES:
        return msgpack.ExtType(NUMPY_SCALAR, pack([value.dtype.name, value.tobytes()]))
    raise UnsupportedValue(
        f"a value of type {kind.__module__}.{kind.__qualname__} at {path}",
        "it can be None, bool, int, float, complex, str, bytes, NumPy scalars, and list, tuple, dict of these",
        "let get_state() return such values, or keep arrays in a Variable",
    )


def _text(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnsupportedValue(
            f"the text {text!r} at {path}", "it is not valid Unicode", "bytes, or other text"
        ) from error
    return text


def pack(encoded: object) -> bytes:
    """Return the msgpack bytes of a result of `encode`."""
    return cast(bytes, msgpack.packb(encoded, use_bin_type=True))


def list_head(count: int) -> bytes:
    """Return the msgpack bytes of a list before its ``count`` items."""
    return cast(bytes, msgpack.Packer().pack_array_header(count))


def map_head(count: int) -> bytes:
    """Return the msgpack bytes of a map before its ``count`` entries."""
    return cast(bytes, msgpack.Packer().pack_map_header(count))


def unpack(data: bytes | memoryview) -> Any:
    """Decode untrusted msgpack bytes.

    Raises:
        CorruptMetadata: `pack` does not write such bytes.
        LimitExceeded: it is nested too deep.
    """
    return _Decoder().unpack(data)


def unpack_some(data: bytes | memoryview, keys: Collection[str], counted: str) -> dict[str, Any]:
    """Decode some entries of a map, and the length of another one; all others are skipped quickly.

    Args:
        data: The map.
        keys: The keys of the entries to decode.
        counted: The key of a list whose length is returned.

    Raises:
        CorruptMetadata: `pack` does not write such bytes; only decoded parts are checked.
        LimitExceeded: it is nested too deep.
    """
    return _Decoder().unpack_some(data, keys, counted)


def unpack_lazily(data: bytes | memoryview, lists: Collection[str]) -> tuple[dict[str, Any], dict[str, Sequence[int]]]:
    """Decode a map, except for some lists, of which only the offsets of their elements are found.

    Args:
        data: The map.
        lists: The keys of these entries.

    Returns:
        The other entries; and, by key, the offset of each element of a list and the end of the last one.

    Raises:
        CorruptMetadata: `pack` does not write such bytes; only decoded parts are checked.
        LimitExceeded: it is nested too deep.
    """
    return _Decoder().unpack_lazily(data, lists)


def unpack_stream(data: bytes | memoryview) -> Iterator[Any]:
    """Decode msgpack values that follow one another.

    Raises:
        CorruptMetadata: `pack` does not write such bytes.
        LimitExceeded: they are nested too deep.
    """
    decoder = _Decoder()
    stream = msgpack.Unpacker(max_buffer_size=max(len(data), 1), **decoder.options())
    stream.feed(data)
    try:
        yield from stream
    except CorruptMetadata:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise _no_msgpack(error) from error


class _Decoder:
    """The state of one decoding, which limits the nesting of extensions, since each level uses the C stack."""

    def __init__(self) -> None:
        self.depth = 0

    def unpack(self, data: bytes | memoryview) -> Any:
        try:
            return msgpack.unpackb(data, **self.options())
        except CorruptMetadata:
            raise
        except (ValueError, TypeError, RecursionError) as error:  # msgpack's own errors are ValueErrors
            raise _no_msgpack(error) from error

    def options(self) -> dict[str, Any]:
        """Return the options of msgpack."""
        return {
            "strict_map_key": True,
            "timestamp": 0,
            "ext_hook": self.extension,
            "object_pairs_hook": _unique_dict,
            "max_array_len": MAX_LENGTH,
            "max_map_len": MAX_LENGTH,
        }

    def unpack_some(self, data: bytes | memoryview, keys: Collection[str], counted: str) -> dict[str, Any]:
        found: list[tuple[str, Any]] = []
        try:
            stream = msgpack.Unpacker(max_buffer_size=len(data), **self.options())
            stream.feed(data)
            for _ in range(stream.read_map_header()):
                key = stream.unpack()
                if key == counted:
                    found.append((key, stream.read_array_header()))
                    for _ in range(found[-1][1]):
                        stream.skip()
                elif key in keys:
                    found.append((key, stream.unpack()))
                else:
                    found.append((key, None))
                    stream.skip()
        except CorruptMetadata:
            raise
        except (ValueError, TypeError, RecursionError, msgpack.OutOfData) as error:
            raise _no_msgpack(error) from error
        return _unique_dict(found)

    def unpack_lazily(
        self, data: bytes | memoryview, lists: Collection[str]
    ) -> tuple[dict[str, Any], dict[str, Sequence[int]]]:
        found: list[tuple[str, Any]] = []
        places: dict[str, Sequence[int]] = {}
        try:
            stream = msgpack.Unpacker(max_buffer_size=max(len(data), 1), **self.options())
            stream.feed(data)
            skip, tell = stream.skip, stream.tell
            for _ in range(stream.read_map_header()):
                key = stream.unpack()
                if key in lists and key not in places:
                    count = stream.read_array_header()
                    here = places[key] = array("Q", [tell()])
                    for _ in range(count):
                        skip()
                        here.append(tell())
                else:
                    found.append((key, stream.unpack()))
            if stream.tell() != len(data):
                raise corrupt_error("bytes after the last value", "nothing follows the last value")
            return _unique_dict([*found, *dict.fromkeys(places).items()]), places
        except CorruptMetadata:
            raise
        except (ValueError, TypeError, RecursionError, msgpack.OutOfData) as error:
            raise _no_msgpack(error) from error

    def extension(self, code: int, data: bytes) -> Any:
        if code == BIG_INTEGER and data:
            return int.from_bytes(data, "big", signed=True)
        if code == COMPLEX and len(data) == 16:
            return complex(*struct.unpack("<dd", data))
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep("a value of the index")
        content = self.unpack(data) if code == TUPLE or NUMPY_SCALAR <= code <= NAMED_TUPLE else None
        self.depth -= 1
        if code == ARRAY and type(content) is int and content >= 0:
            return SavedArray(content)
        if type(content) is list:
            if code == TUPLE:
                return tuple(content)
            if code == NUMPY_SCALAR and len(content) == 2 and _is_scalar(*content):
                return NumpyScalar(*content)
            if code == PAIRS and all(type(pair) is list and len(pair) == 2 for pair in content):
                return _unique_dict(content, any_key=True)
            if code == ENUM and [type(field) for field in content[:2]] == [str, str] and len(content) == 3:
                return SavedEnum(*content)
            if code == NAMED_TUPLE and [type(field) for field in content] == [str, list, list]:
                return _named_tuple(*content)
        raise corrupt_error(f"a value of the msgpack extension {code} with {len(data)} bytes", _NEVER)


_NEVER = "no save writes such a value"


def _too_deep(label: str) -> LimitExceeded:
    return LimitExceeded(f"{label} is nested more than {MAX_DEPTH} levels deep", _NEVER, FORGED)


def _no_msgpack(error: Exception) -> CorruptMetadata:
    return CorruptMetadata(
        "the index of the checkpoint is not valid msgpack", f"{type(error).__name__}: {error}", FORGED
    )


def _named_tuple(kind: str, fields: list[Any], items: list[Any]) -> SavedNamedTuple:
    named = all(type(name) is str and name.isidentifier() for name in fields)
    if not named or len(set(fields)) != len(fields) or len(items) != len(fields):
        raise corrupt_error(
            f"a named tuple with the fields {fields!r:.100}", "each field must have its own name and one value"
        )
    return SavedNamedTuple(kind, tuple(fields), tuple(items))


def _is_scalar(dtype: object, data: object) -> bool:
    if type(dtype) is not str or type(data) is not bytes or dtype not in DTYPES:
        return False
    return len(data) == DTYPES[dtype].scalar_bytes


def _unique_dict(pairs: list[Any], any_key: bool = False) -> dict[Any, Any]:
    if not pairs:
        return {}
    result = dict(pairs)
    if len(result) != len(pairs):
        raise corrupt_error("a map with the same key twice", "a key must have one value")
    if not any_key and not all(type(key) is str for key in result):
        raise corrupt_error("a map with a key that is not text", "the keys of this map must be text")
    return result


def check(value: Any, label: str, arrays: int = 0) -> None:
    """Raise unless a decoded value consists of the known types, at most `MAX_DEPTH` deep.

    Args:
        value: The value.
        label: What it is called in the error.
        arrays: The number of arrays that it may refer to.
    """
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        deeper: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is SavedArray:
                if item.number >= arrays:
                    raise corrupt_error(
                        f"{label}, which refers to array {item.number},", f"there are {arrays} arrays, counted from 0"
                    )
            elif kind not in _ATOMS and kind is not NumpyScalar:
                deeper += _children(item, label)
        if not deeper:
            return
        level = deeper
    raise _too_deep(label)


def _children(item: Any, label: str) -> Iterable[Any]:
    kind = type(item)
    if kind is list or kind is tuple:
        return cast("Iterable[Any]", item)
    if kind is dict:
        return [*item, *item.values()]
    if kind is SavedEnum:
        return (item.value,)
    if kind is SavedNamedTuple:
        return cast("Iterable[Any]", item.items)
    raise corrupt_error(f"{label} with an object of type {kind.__name__}", _NEVER)


def arrays_in(value: object) -> Iterator[SavedArray]:
    """Yield the arrays that a checked value refers to."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if type(item) is SavedArray:
            yield item
        elif type(item) not in _ATOMS and type(item) is not NumpyScalar:
            waiting += _children(item, "a value")
