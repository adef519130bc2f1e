"""Every optimizer whose class says `elementwise` gives the same whether its variables share buffers or not.

That its `update` treats each element alone is shown bit for bit, op by op, in `test_optimizers.py`. A compiler may
contract a product and a sum in a loop of one length and not in one of another, which moves the last bit.
"""

import numpy as np
import pytest

import graftax as gx
from graftax.optimizers import schedules
from graftax.variables.state import pack
from tests.conformance.optimizer_rows import ROWS, param

pytestmark = pytest.mark.optimized
SHAPES = [(3,), (4, 5), (), (2, 3, 2), (7,), (5, 4), (16, 16), (1,), (33,), (8, 3)]

elementwise_rows = pytest.mark.parametrize(
    "row", [param(name, row) for name, row in ROWS.items() if type(row.make()).elementwise]
)


def after_steps(make, dtype="float32", steps=4):
    """All values after some compiled steps, and how many buffers hold them."""
    rng = np.random.default_rng(0)
    variables = [gx.Variable(rng.normal(size=shape).astype("float32"), dtype=dtype) for shape in SHAPES]
    optimizer = make()
    step = gx.jit(lambda gradients: optimizer.apply(gradients, variables))
    for _ in range(steps):
        step([gx.ops.cast(rng.normal(size=shape).astype("float32"), dtype) for shape in SHAPES])
    buffers = {id(v._storage.place[0]) for v in variables if isinstance(v._storage.place[0], pack.Pack)}
    assert step.trace_count == 1
    return [np.asarray(v.numpy(), "float64") for v in [*variables, *optimizer.variables]], len(buffers)


def assert_the_same(monkeypatch, make, dtype="float32"):
    packed, count = after_steps(make, dtype)
    assert count == 1
    monkeypatch.setattr(pack, "_SMALL", -1)
    apart, count = after_steps(make, dtype)
    assert count == 0
    for a, b in zip(packed, apart, strict=True):
        np.testing.assert_allclose(a, b, rtol=5e-6, atol=5e-7)


@pytest.mark.in_turn(5)
@elementwise_rows
def test_packed_as_apart(row, monkeypatch):
    assert_the_same(monkeypatch, row.make)


@pytest.mark.broad
def test_with_every_setting_that_a_rule_is_wrapped_in(monkeypatch):
    rate = schedules.CosineDecay(0.1, 10)
    assert_the_same(
        monkeypatch, lambda: gx.optimizers.AdamW(rate, weight_decay=0.1, l2=0.01, clipvalue=0.5, global_clipnorm=1.0)
    )


def test_weights_of_16_bits(monkeypatch):
    assert_the_same(monkeypatch, lambda: gx.optimizers.Adam(0.1), "bfloat16")
