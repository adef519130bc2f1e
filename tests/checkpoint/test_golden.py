"""Checkpoints written by released versions must load for ever. They lie in ``tests/golden`` and are never made anew."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.verify import verify

GOLDEN = Path(__file__).parents[1] / "golden"


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
    return {"model": model, "optimizer": optimizer, "odd": odd, "data": toys.Position(state)}


def values(roots):
    return {
        f"{name}/{path}": np.asarray(v.numpy())
        for name in ("model", "optimizer", "odd")
        for path, v in roots[name].named_variables().items()
    }


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
    assert roots["data"].position == expected["data"].position
