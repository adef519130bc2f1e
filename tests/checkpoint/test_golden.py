"""Checkpoints written by released versions must load for ever. They lie in ``tests/golden`` and are never made anew."""

from collections import namedtuple
from enum import Enum
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.arrays import to_bytes
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.commit import Draft, commit
from graftax.checkpoint.index import Kind, NodeRecord
from graftax.checkpoint.layout import Item
from graftax.checkpoint.loading import load
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.verify import verify
from graftax.core.errors import FormatTooOld

GOLDEN = Path(__file__).parents[1] / "golden"

Cursor = namedtuple("Cursor", "file row")


class Phase(Enum):
    WARM = "warm"
    LONG = "long"


def program(toys, seed):
    """The program behind the golden checkpoints; equal seeds give equal values."""
    counter = iter(range(seed, 1000))

    def numbers(*shape, dtype="float32"):  # exact in every dtype, and the same in every version of NumPy
        return ((np.arange(np.prod(shape, dtype=int)) * 37 + next(counter) * 11) % 101 / 4).reshape(shape).astype(dtype)

    model = toys.Stack(3, 2, inputs=4)
    optimizer = toys.Optimizer()
    for v in model.variables:
        v.assign(numbers(*v.shape))
        optimizer._gx_ensure_slot("momentum", v).assign(numbers(*v.shape))
    shared = gx.Variable(numbers(2, 3, dtype=ml_dtypes.bfloat16))
    odd = toys.Box(
        table={"a/b": gx.Variable(numbers(5, dtype="int32")), 7: shared},
        pair=(shared, gx.Variable(numbers() > 12)),
        empty=gx.Variable(np.zeros((0, 3), "float32")),
        complex=gx.Variable(numbers(2, dtype="complex64") * (1 + 2j)),
        half=gx.Variable(numbers(3, dtype="float16"), trainable=False, role="state"),
        byte=gx.Variable(numbers(3, dtype="uint8"), trainable=False, role="counter"),
        seeds=gx.SeedGenerator(seed=seed),
    )
    odd.seeds.build()
    state = {"epoch": seed, "big": 2**70 + seed, "pair": (1.5, None, True), "bytes": b"\0\1", "keys": {1: 2j}}
    state |= {
        "order": numbers(5, dtype="int64"),
        "at": Cursor("a", seed),
        "phase": Phase.LONG if seed == 1 else Phase.WARM,
    }
    odd.tiny = {
        name: gx.Variable(numbers(3, dtype=name), trainable=False)
        for name in ("int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "int16", "uint32")
    }
    return {"model": model, "optimizer": optimizer, "odd": odd, "data": toys.Position(state)}


def values(roots):
    return {
        f"{name}/{path}": np.asarray(v.numpy())
        for name in ("model", "optimizer", "odd")
        for path, v in roots[name].named_variables().items()
    }


@pytest.mark.broad
@pytest.mark.parametrize("version", ["1.0"])
def test_a_released_checkpoint_loads(version, toys):
    path = GOLDEN / f"checkpoint-{version}"
    found = verify(path)
    assert (found.problems, found.strangers) == ((), ())
    expected, roots = program(toys, 1), program(toys, 2)
    report = Checkpoint(**roots).restore(path).assert_consumed()
    assert (report.step, report.meta) == (12, {"note": "golden", "numbers": (1, np.float32(2.5))})
    wanted, got = values(expected), values(roots)
    assert list(wanted) == list(got)
    for name, array in wanted.items():
        assert got[name].dtype == array.dtype
        np.testing.assert_array_equal(got[name], array, err_msg=name)
    for a, b in zip(expected["optimizer"].slots(), roots["optimizer"].slots(), strict=True):
        np.testing.assert_array_equal(a.slot.numpy(), b.slot.numpy())
    found, wanted = roots["data"].position, expected["data"].position
    np.testing.assert_array_equal(found.pop("order"), wanted.pop("order"))
    assert found == wanted
    assert type(found["at"]) is Cursor


@pytest.mark.parametrize("version", ["1.0"])
def test_a_released_checkpoint_loads_that_refers_to_another(version, toys):
    path = GOLDEN / f"checkpoint-{version}-adapters"
    found = verify(path)
    assert (found.problems, found.strangers, found.contents.targets) == ((), (), (f"checkpoint-{version}",))
    roots = program(toys, 2)
    Checkpoint(model=roots["model"], extra=toys.number(0)).restore(path).assert_consumed()
    wanted, got = values(program(toys, 1)), values(roots)
    for name in wanted:
        if name.startswith("model/"):
            np.testing.assert_array_equal(got[name], wanted[name], err_msg=name)


@pytest.mark.parametrize("version", ["1.0"])
def test_a_released_checkpoint_of_several_processes_loads(version):
    path = GOLDEN / f"checkpoint-{version}-sharded"
    found = verify(path)
    assert (found.problems, found.strangers) == ((), ())
    assert (len(found.contents.files), len(found.contents.tables)) == (4, 4)
    with Reader(path) as reader:
        loaded = load(reader, range(2))
    for i in range(2):
        np.testing.assert_array_equal(loaded[i], sharded_value(i))


def test_the_draft_that_0_1_0_wrote_is_refused_by_name():
    for look in (verify, Reader):
        with pytest.raises(FormatTooOld, match=r"graftax 0\.1\.0"):
            look(GOLDEN / "checkpoint-0.1.0")


def sharded_value(i):
    return (np.arange(48, dtype="float32") + i).reshape(8, 6)


def sharded():
    """Two arrays, each over four processes."""
    items = [
        Item("float32", (4, 3), f"values/{i}", to_bytes(sharded_value(i)[r : r + 4, c : c + 3], ""), (r, c), (8, 6), p)
        for i in range(2)
        for p, (r, c) in enumerate([(0, 0), (0, 3), (4, 0), (4, 3)])
    ]
    leaves = [NodeRecord(Kind.VARIABLE, "Variable", (), (i, True, "weight", {})) for i in range(2)]
    nodes = [NodeRecord(Kind.DICT, "dict", (("0", 1), ("1", 2))), *leaves]
    return Draft(items, nodes, {"values": 0})


def make(toys):
    """How they were made; run once for each version of the format."""
    roots = program(toys, 1)
    meta = {"note": "golden", "numbers": (1, np.float32(2.5))}
    Checkpoint(**roots).save(GOLDEN / "checkpoint-1.0", step=12, meta=meta)
    adapters = Checkpoint(model=roots["model"], extra=toys.number(7))
    adapters.save(GOLDEN / "checkpoint-1.0-adapters", base=GOLDEN / "checkpoint-1.0")
    commit(GOLDEN / "checkpoint-1.0-sharded", sharded(), inline=0)
