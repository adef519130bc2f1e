"""The messages of ONNX as bytes: the few kinds of its protocol that a model needs.

Source: https://onnx.ai/onnx/repo-docs/IR.html and the encoding of protocol buffers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = "np.ndarray[Any, Any]"
"""An array on the host."""
Size: TypeAlias = int | str
"""A number, or the name of a size that is free."""
Attribute: TypeAlias = "bool | int | float | str | bytes | Sequence[int]"
"""What a setting of a node may be; bytes are a graph."""

KINDS = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
}
"""Numbers of the dtypes."""

_IR_VERSION = 8


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append((number & 127) | (128 if number > 127 else 0))
        number >>= 7
        if not number:
            return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(int(value))


def _text(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def tensor(name: str, array: Numbers) -> bytes:
    """Return an array with its numbers inside."""
    return _header(name, array) + _text(9, np.ascontiguousarray(array).tobytes())


def tensor_elsewhere(name: str, array: Numbers, file: str, offset: int) -> bytes:
    """Return an array whose numbers lie in a file beside the model, from a byte on."""
    entries = {"location": file, "offset": str(offset), "length": str(array.nbytes)}
    places = b"".join(_text(13, _text(1, key) + _text(2, value)) for key, value in entries.items())
    return _header(name, array) + places + _number(14, 1)


def _header(name: str, array: Numbers) -> bytes:
    sizes = b"".join(_number(1, size) for size in array.shape)
    return sizes + _number(2, KINDS[array.dtype.name]) + _text(8, name)


def _attribute(name: str, value: Attribute) -> bytes:
    out = _text(1, name)
    if isinstance(value, int | np.integer):
        return out + _number(3, int(value)) + _number(20, 2)
    if isinstance(value, float):
        return out + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, str):
        return out + _text(4, value) + _number(20, 3)
    if isinstance(value, bytes):
        return out + _text(6, value) + _number(20, 5)
    return out + b"".join(_number(8, one) for one in value) + _number(20, 7)


def node(
    operator: str, inputs: Iterable[str], outputs: Iterable[str], name: str, settings: Mapping[str, Attribute]
) -> bytes:
    """Return one operation."""
    values = b"".join(_text(1, one) for one in inputs) + b"".join(_text(2, one) for one in outputs)
    return (
        values + _text(3, name) + _text(4, operator) + b"".join(_text(5, _attribute(*one)) for one in settings.items())
    )


def value(name: str, dtype: str, shape: Sequence[Size]) -> bytes:
    """Return what is said of an input or a result."""
    sizes = b"".join(_text(1, _text(2, one) if isinstance(one, str) else _number(1, one)) for one in shape)
    return _text(1, name) + _text(2, _text(1, _number(1, KINDS[dtype]) + _text(2, sizes)))


def value_of_any_size(name: str, dtype: str) -> bytes:
    """Return what is said of a value whose shape follows from the rest."""
    return _text(1, name) + _text(2, _text(1, _number(1, KINDS[dtype])))


def graph(
    nodes: Iterable[bytes], name: str, arrays: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    """Return a graph; all parts are messages."""
    parts = [_text(1, one) for one in nodes] + [_text(2, name)] + [_text(5, one) for one in arrays]
    return b"".join(parts + [_text(11, one) for one in inputs] + [_text(12, one) for one in outputs])


def model(content: bytes, opset: int, writer: str, notes: Mapping[str, str]) -> bytes:
    """Return the whole file around a graph."""
    said = b"".join(_text(14, _text(1, key) + _text(2, text)) for key, text in notes.items())
    operators = _text(8, _text(1, "") + _number(2, opset))
    return _number(1, _IR_VERSION) + _text(2, "graftax") + _text(3, writer) + _text(7, content) + operators + said
