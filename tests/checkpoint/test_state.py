"""Python state: arrays, enums and named tuples there and back, and what no reader would take is refused at the save."""

from collections import namedtuple
from enum import Enum, IntEnum

import ml_dtypes
import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.values import SavedEnum
from graftax.checkpoint.verify import verify
from graftax.core.errors import UnsupportedValue

Cursor = namedtuple("Cursor", "file row")


class Phase(Enum):
    WARM = "warm"
    LONG = (1, 2)


class Level(IntEnum):
    LOW = 1
    HIGH = 2


def there_and_back(tmp_path, toys, state, live):
    Checkpoint(data=toys.Position(state)).save(tmp_path / "c")
    assert not verify(tmp_path / "c").problems
    other = toys.Position(live)
    Checkpoint(data=other).restore(tmp_path / "c").assert_consumed()
    return other.position


@pytest.mark.parametrize("dtype", ["float64", "int4", "bool", "complex128", "uint16", "bfloat16", "float8_e5m2"])
def test_arrays_come_back_bit_for_bit(tmp_path, toys, dtype):
    kind = getattr(ml_dtypes, dtype, dtype)
    array = np.arange(6).reshape(2, 3).astype(kind)
    back = there_and_back(tmp_path, toys, {"order": [array, array.T], 1: array, "1": array[0]}, {"order": []})
    assert back["order"][0].dtype == array.dtype
    np.testing.assert_array_equal(back["order"][0], array)
    np.testing.assert_array_equal(back["order"][1], array.T)
    np.testing.assert_array_equal(back[1], array)
    np.testing.assert_array_equal(back["1"], array[0])


def test_an_array_is_saved_as_it_was_at_the_call(tmp_path, toys):
    array = np.zeros(3)
    state = {"a": array, "list": [1]}
    Checkpoint(data=toys.Position(state)).save(tmp_path / "c")
    array += 1
    state["list"].append(2)
    other = toys.Position(None)
    Checkpoint(data=other).restore(tmp_path / "c")
    assert (other.position["a"].tolist(), other.position["list"]) == ([0, 0, 0], [1])


def test_named_tuples_and_enums_take_the_classes_of_the_present_state(tmp_path, toys):
    state = {"at": Cursor("a", 3), "phase": Phase.LONG, "levels": [Level.HIGH, Level.LOW]}
    live = {"at": Cursor("", 0), "phase": Phase.WARM, "levels": [Level.LOW]}
    back = there_and_back(tmp_path, toys, state, live)
    assert back == state
    assert type(back["at"]) is Cursor
    assert back["phase"] is Phase.LONG
    assert back["levels"][0] is Level.HIGH


def test_without_an_example_they_keep_names_and_values(tmp_path, toys):
    back = there_and_back(tmp_path, toys, {"at": Cursor("a", (3, None)), "phase": Phase.LONG}, None)
    assert back["at"] == ("a", (3, None))
    assert (back["at"].row, type(back["at"]).__name__) == ((3, None), "Cursor")
    assert isinstance(back["phase"], SavedEnum)
    assert (back["phase"].name, back["phase"].value) == ("LONG", (1, 2))
    (tmp_path / "again").mkdir()
    assert there_and_back(tmp_path / "again", toys, back, {"phase": Phase.WARM})["phase"] is Phase.LONG


@pytest.mark.parametrize(
    ("state", "match"),
    [
        (np.array(["text"]), "dtype str"),
        (np.array([object()]), "dtype object"),
        ({Phase.LONG: 1}, "the key <Phase.LONG"),
        ({"a": {1, 2}}, r"builtins.set at data/get_state\(\)\['a'\]"),
        pytest.param([0] * ((1 << 22) + 1), "4,194,305 items at", marks=pytest.mark.slow),
        ({"x": lambda: 0}, "function"),
    ],
    ids=["text", "object", "key", "set", "long", "function"],
)
def test_what_no_reader_takes_is_refused_at_the_save(tmp_path, toys, state, match):
    with pytest.raises(UnsupportedValue, match=match):
        Checkpoint(data=toys.Position(state)).save(tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_keys_and_ranks_that_no_reader_takes(tmp_path, toys):
    one = toys.number(1)
    for roots, match in (
        ({"d": {"k" * 5000: one}}, "a key of 5,000 characters"),
        ({"d": {"ü" * 2049: one}}, "a key of 2,049 characters"),
        ({"d": {1 << 71: one}}, "at most 64 bits"),
        ({"v": gx.Variable(np.zeros((1,) * 33, "float32"))}, "rank 33"),
    ):
        with pytest.raises(UnsupportedValue, match=match):
            Checkpoint(**roots).save(tmp_path / "c")
    assert list(tmp_path.iterdir()) == []
    Checkpoint(d={"k" * 4096: one}).save(tmp_path / "c")


def test_the_writer_is_recorded(tmp_path, toys):
    Checkpoint(v=toys.number(1)).save(tmp_path / "c")
    writer = verify(tmp_path / "c").contents.writer
    assert {"graftax", "python", "host", "pid", "started", "processes", "backend"} <= set(writer)


@pytest.mark.parametrize("dtype", [">i2", ">f4", ">f8", ">c8", ">u8"])
def test_numbers_of_the_other_byte_order_come_back(saved, toys, dtype):
    held = {"line": np.arange(5, dtype=dtype), "point": np.array(7, dtype), "none": np.zeros((0, 2), dtype)}
    path = saved(data=toys.Position(held))
    data = toys.Position({})
    Checkpoint(data=data).restore(path)
    for name, array in held.items():
        np.testing.assert_array_equal(data.position[name], array)
        assert data.position[name].shape == array.shape
