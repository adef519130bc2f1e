"""A look at a compiled function before it runs."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import CompileError, StateError


@pytest.fixture(scope="module")
def lowered():
    class Net(gx.Module):
        def __init__(self):
            super().__init__()
            self.kernel = gx.Variable(np.ones((8, 4), "float32"))
            self.count = gx.Variable(0.0, role="counter", trainable=False)
            self.unused = gx.Variable(np.ones(100, "float32"))

        @gx.jit
        def __call__(self, x):
            self.count.assign_add(1.0)
            return ops.matmul(x, self.kernel)

    net = Net()
    found = net.__call__.lower(np.ones((2, 8), "float32"))
    return net, found


def test_says_which_variables(lowered):
    net, found = lowered
    assert found.read == [net.count, net.kernel]
    assert found.written == found.donated == [net.count]


def test_runs_nothing_and_traces_once(lowered):
    net, found = lowered
    assert found.trace_count == 1
    assert float(net.count) == 0.0
    net(np.ones((2, 8), "float32"))
    assert net.__call__.trace_count == 1
    assert float(net.count) == 1.0
    assert net.__call__.lower(np.ones((3, 8), "float32")).trace_count == 2
    assert float(net.count) == 1.0


def test_memory_and_cost_are_those_of_jax(lowered):
    _, found = lowered
    jitted = jax.jit(lambda count, kernel, x: (x @ kernel, count + 1), donate_argnums=0)
    theirs = jitted.lower(np.float32(0), np.ones((8, 4), "float32"), np.ones((2, 8), "float32")).compile()
    assert found.memory.arguments == theirs.memory_analysis().argument_size_in_bytes == 4 + 128 + 64
    assert found.memory.results >= 4 * 2 * 4 + 4
    assert found.memory.donated == 4
    assert found.memory.peak == sum(found.memory) - 2 * found.memory.donated
    assert found.cost.flops == pytest.approx(theirs.cost_analysis()["flops"], rel=0.2)
    assert found.cost.intensity == found.cost.flops / found.cost.bytes_accessed


def test_reads_as_a_page(lowered):
    _, found = lowered
    text = str(found)
    assert "Net.__call__, compiled" in text
    assert "2: count float32[], kernel float32[8, 4]" in text
    assert "1: count float32[]" in text
    assert "flops" in text
    assert "dot" in found.text
    assert "2 Variables read, 1 assigned" in repr(found)


def test_errors():
    with pytest.raises(CompileError):
        gx.jit(lambda x: x if x > 0 else -x).lower(1.0)
    inner = gx.jit(lambda x: x)
    with pytest.raises(StateError, match="lower"):
        gx.jit(lambda x: inner.lower(x))(1.0)
