"""Operators that assign, and writes to places: the object stays, and threads lose nothing of each other."""

import operator
import sys
import threading

import numpy as np
import pytest

import graftax as gx
from graftax import ops

REALS = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"]
BITS = ["iand", "ior", "ixor"]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("name", "start", "other"),
    [
        *((name, np.float32([5, 7]), np.float32([2, 3])) for name in REALS),
        *((name, np.int32([5, 6]), np.int32([3, 12])) for name in BITS),
        *((name, np.array([True, False]), np.array([True, True])) for name in BITS),
        ("imatmul", np.float32([[1, 2], [3, 4]]), np.float32([[0, 1], [1, 0]])),
    ],
    ids=lambda one: one if isinstance(one, str) else one.dtype.name,
)
def test_the_variable_stays_and_has_the_result(name, start, other, compiled):
    variable = gx.Variable(start)

    def change():
        assert getattr(operator, name)(variable, gx.Variable(other) if not compiled else ops.asarray(other)) is variable

    (gx.jit(change) if compiled else change)()
    expected = getattr(operator, name[1:] if name[1:] not in ("and", "or") else name[1:] + "_")(start, other)
    np.testing.assert_allclose(variable.numpy(), expected, rtol=1e-6)
    assert variable.dtype == start.dtype.name


@pytest.mark.broad
@pytest.mark.parametrize("how", ["+=", "|=", "[...] ="])
def test_threads_lose_nothing_of_each_other(how):
    variable = gx.Variable(np.zeros(2, "int32"))
    parts = [np.int32([1, 0]), np.int32([0, 1])]

    def work(i):
        nonlocal variable
        for k in range(40):
            if how == "+=":
                variable += parts[i]
            elif how == "|=":
                variable |= parts[i] << (k % 30)
            else:
                variable[i] = k + 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    finally:
        sys.setswitchinterval(before)
    assert variable.numpy().tolist() == [{"+=": 40, "|=": 2**30 - 1}.get(how, 40)] * 2


def test_a_weight_of_mixed_precision_is_moved_as_it_is_kept():
    class Net(gx.Layer):
        def build(self, input_shape):
            self.w = self.add_weight((), initializer="ones")

        def call(self, x):
            self.w += 2.0**-12
            self.w[...] = self.w._gx_stored + 2.0**-12
            return x * self.w

    net = Net(dtype="mixed_bfloat16")
    net(np.ones(1, "float32"))
    assert float(net.w) == 1 + 2.0**-11
