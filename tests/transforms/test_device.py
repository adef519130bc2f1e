"""device; names carry the ids of the semantics notes. Two devices are simulated in a process of their own."""

import os
import subprocess
import sys

import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, CompileError

TWO_DEVICES = """
import numpy as np
import graftax as gx
from graftax import layers, ops

def where(x):
    (found,) = getattr(x, "value", x).devices()
    return found.id

x = np.ones((2, 3), "float32")
with gx.device("cpu:1"):  # DV1
    v = gx.Variable([1.0, 2.0])
    assert where(v) == 1 and where(ops.ones((2,))) == 1 and where(ops.asarray(x) * 2) == 1
    assert where(gx.jit(lambda a: a + 1)(x)) == 1
    dense = layers.Dense(2)
    with gx.device("cpu:0"):  # DV3
        assert where(gx.Variable(1.0)) == 0 and where(ops.ones(())) == 0
    with gx.device(None):
        assert where(gx.Variable(1.0)) == 0 and where(ops.ones(())) == 0
    assert where(ops.ones(())) == 1
assert where(ops.ones(())) == 0 and where(gx.Variable(1.0)) == 0
assert where(dense(x)) == 1 and {where(w) for w in dense.variables} == {1}
step = gx.jit(lambda a: v.assign_add(a) * 2)
assert where(step(np.float32([1, 1]))) == 1 and where(v) == 1  # what was placed stays
assert where(v * 2) == 1
with gx.variable_creator_scope(gx.reparam.LoRA(rank=2), where="**/kernel"):
    with gx.device("cpu:1"):
        adapted = layers.Dense(2)
        adapted(x)
assert len(adapted.variables) == 4 and {where(w) for w in adapted.variables} == {1}
with gx.device("cpu:0"):
    other = layers.Dense(3)
    other(x)
with gx.variable_creator_scope(gx.reparam.Shared(other.kernel), where="**/kernel"):
    with gx.device("cpu:1"):
        tied = layers.Dense(3, use_bias=False)
tied(x)
assert where(other.kernel) == 0  # what was there before stays where it is
print("ok")
"""


@pytest.mark.broad
def test_dv1_dv3_two_devices():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    env = {**os.environ, "XLA_FLAGS": flags, "NPROC": "32", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-W", "error", "-c", TWO_DEVICES]
    run = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert run.stdout.strip() == "ok", run.stderr


@pytest.mark.parametrize("name", ["gpu:7", "cpu:99", "tpu"])
def test_dv2_an_unknown_device_is_an_error_that_lists_what_there_is(name):
    with pytest.raises(ArgumentError, match="cpu:0"), gx.device(name):
        pass


def test_names_in_any_case():
    for name in "CPU:0", "cpu":
        with gx.device(name):
            assert gx.Variable(1.0).value.devices().pop().id == 0


def test_dv4_refused_inside_a_compiled_function():
    def step(x):
        with gx.device("cpu:0"):
            return x * 2

    with pytest.raises(CompileError, match="around the call"):
        gx.jit(step)(1.0)
    with pytest.raises(CompileError, match="around the call"):
        gx.scan(lambda c, x: (step(c), None), 1.0, length=2)
    with gx.device("cpu:0"):
        assert float(gx.jit(lambda x: x * 2)(1.0)) == 2.0


def test_on_the_numpy_backend_there_is_the_host():
    with gx.backend.use("numpy"):
        with gx.device("cpu:0"):
            assert gx.Variable([1.0, 2.0]).numpy().tolist() == [1.0, 2.0]
        with pytest.raises(ArgumentError, match="host only"), gx.device("gpu:0"):
            pass
