"""Python values through msgpack: what comes back is what went in, to the bit and to the type; the rest is refused."""

import enum
import math
import struct

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graftax.checkpoint import values
from graftax.checkpoint.state import revive
from graftax.core.errors import CheckpointError, CorruptMetadata, LimitExceeded, UnsupportedValue

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.binary()
)
keys = st.text() | st.integers() | st.booleans() | st.tuples(st.integers(), st.text())
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=12,
)


def there_and_back(value):
    decoded = values.unpack(values.pack(values.encode(value, "v")))
    values.check(decoded, "v")
    return decoded


def typed(value):
    """The value with the type of every part, since 1 == 1.0 == True."""
    if isinstance(value, list | tuple):
        return type(value), [typed(item) for item in value]
    if isinstance(value, dict):
        return dict, [(typed(key), typed(item)) for key, item in value.items()]
    return type(value), value


@pytest.mark.broad
@given(trees)
def test_round_trip(value):
    assert typed(there_and_back(value)) == typed(value)


def test_nan_bits_and_negative_zero_survive():
    odd_nan = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF))[0]
    back = there_and_back([odd_nan, -0.0, complex(-0.0, math.inf)])
    assert struct.pack("<d", back[0]) == struct.pack("<d", odd_nan)
    assert math.copysign(1, back[1]) == -1
    assert math.copysign(1, back[2].real) == -1


@pytest.mark.parametrize("scalar", [np.float32(1.5), np.int64(-7), np.bool_(True), np.complex64(1j), np.float64(2.0)])
def test_numpy_scalars_keep_their_dtype(scalar):
    back = revive(there_and_back({"x": (scalar,)}), {})["x"][0]
    assert type(back) is type(scalar)
    assert back == scalar


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    "value", [Colour.RED, {1, 2}, print, np.zeros(2), np.str_("x"), "\ud800", {"\ud800": 1}, object(), bytearray(b"x")]
)
def test_unsupported_values_are_named_with_their_place(value):
    with pytest.raises(UnsupportedValue, match="state\\['a'\\]\\[1\\]"):
        values.encode({"a": [0, value]}, "state")


def test_a_value_that_holds_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(UnsupportedValue, match="64 deep"):
        values.encode(loop, "state")


def nested(depth, code):
    data = msgpack.packb([])
    for _ in range(depth):
        data = msgpack.packb(msgpack.ExtType(code, b"\x91" + data))
    return data


@pytest.mark.parametrize(
    "data",
    [
        msgpack.packb({"a": 1}) + b"\x00",
        b"\x82\xa1a\x01\xa1a\x02",  # the key a twice
        b"\x81\x01\x02",  # a key that is a number
        b"\x81\xc4\x01a\x02",  # a key that is bytes
        msgpack.packb(msgpack.ExtType(99, b"")),
        msgpack.packb(msgpack.ExtType(values.COMPLEX, b"short")),
        msgpack.packb(msgpack.ExtType(values.BIG_INTEGER, b"")),
        msgpack.packb(msgpack.ExtType(values.TUPLE, b"\x81\xa1a\x01")),
        msgpack.packb(msgpack.ExtType(values.PAIRS, b"\x91\x01")),
        msgpack.packb(msgpack.ExtType(values.PAIRS, b"\x92\x92\x01\x02\x92\x01\x03")),  # the key 1 twice
        msgpack.packb(msgpack.ExtType(values.PAIRS, b"\x91\x92\x90\x02")),  # a list as key
        msgpack.packb(msgpack.ExtType(values.NUMPY_SCALAR, msgpack.packb(["float32", b"abc"]))),
        msgpack.packb(msgpack.ExtType(values.NUMPY_SCALAR, msgpack.packb(["object", b"abcdefgh"]))),
        b"\xdd\x7f\xff\xff\xff",  # claims two thousand million items
        b"\xd9\x02\xff\xff",  # text that is no UTF-8
        b"\x91" * 100_000,
        b"",
    ],
)
def test_what_pack_never_writes_is_corrupt(data):
    with pytest.raises(CorruptMetadata):
        values.unpack(data)


def test_timestamps_are_corrupt():
    with pytest.raises(CorruptMetadata, match="Timestamp"):
        values.check(values.unpack(msgpack.packb(msgpack.Timestamp(1))), "meta")


@pytest.mark.parametrize("code", [values.TUPLE, 77])
def test_deep_extensions_do_not_eat_the_stack(code):
    with pytest.raises(CheckpointError):
        values.unpack(nested(5000, code))


def test_deep_lists_are_beyond_the_limit():
    with pytest.raises(LimitExceeded):
        values.check(values.unpack(b"\x91" * 100 + b"\xc0"), "meta")
