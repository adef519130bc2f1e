"""Transforms in the call of a layer of mixed precision: weights are kept in their own dtype, and so are gradients."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops

FINE, STEP = 2.0**-10, 2.0**-12  # bfloat16 rounds both away beside 1


class Net(gx.Layer):
    """A transform of what moves a weight and reads it."""

    def __init__(self, transform):
        super().__init__(dtype="mixed_bfloat16")
        self.w = gx.Variable(1.0 + FINE)
        self.transform = transform

    def call(self, x):
        def moving(*_):
            self.w.assign_add(STEP)
            return ops.sum(self.w * self.w * x)

        return self.transform(moving, self.w, x)


def taped(fn, w):
    with gx.GradientTape() as tape:
        value = fn()
    return tape.gradient(value, w)


OF_WEIGHTS = {
    "value_and_grad": lambda fn, w, x: gx.value_and_grad(fn, wrt=w)()[1],
    "grad": lambda fn, w, x: gx.grad(fn, wrt=[w])()[0],
    "jacobian": lambda fn, w, x: gx.jacobian(fn, wrt=w),
    "hessian": lambda fn, w, x: gx.hessian(fn, wrt=w),
    "implicit_gradients": lambda fn, w, x: gx.implicit_gradients(fn)()[0][0],
    "GradientTape": lambda fn, w, x: taped(fn, w),
}
OTHERS = {
    "jvp": lambda fn, w, x: gx.jvp(fn, (w,), (1.0,))[0],
    "remat": lambda fn, w, x: gx.remat(fn)(x),
    "jit": lambda fn, w, x: gx.jit(fn)(x),
    "scan": lambda fn, w, x: gx.scan(lambda c, _: (c, fn()), 0.0, length=1)[1],
    "cond": lambda fn, w, x: gx.cond(ops.sum(x) > 0, fn, fn, x),
    "custom_gradient": lambda fn, w, x: gx.custom_gradient(lambda y: (fn(), lambda dy, variables=None: (dy * y, [dy])))(
        x
    ),
}


@pytest.mark.in_turn(12)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", [*OF_WEIGHTS, *OTHERS])
def test_what_is_assigned_inside_is_computed_from_all_of_the_weight(name, compiled):
    net = Net({**OF_WEIGHTS, **OTHERS}[name])
    found = (gx.jit(net) if compiled else net)(np.ones(1, "float32"))
    assert float(net.w) == 1.0 + FINE + STEP
    assert str(found.dtype) == ("float32" if name in OF_WEIGHTS else "bfloat16")


def test_gradcheck_leaves_a_weight_as_it_is():
    net = Net(lambda fn, w, x: [gx.gradcheck(lambda: ops.sum(w * w), variables=w, step=0.25, atol=0.1), x][1])
    net(np.ones(1, "float32"))
    assert float(net.w) == 1.0 + FINE


class Counting(gx.Layer):
    """Moves a weight of its own at each call."""

    def build(self, input_shape):
        self.w = self.add_weight((), initializer=lambda key, shape, dtype: ops.full(shape, 1.0 + FINE, dtype))

    def call(self, x):
        self.w.assign_add(STEP)
        return x * self.w


def test_the_state_of_a_layer_inside_goes_in_and_out_as_it_is_kept():
    class Around(gx.Layer):
        def __init__(self):
            super().__init__(dtype="mixed_bfloat16")
            self.inner = Counting()
            self.inner(np.ones(1, "float32"))

        def call(self, x):
            return gx.functional_call(self.inner, gx.state(self.inner), x)[1]["w"]

    around = Around()
    for call in (around, gx.jit(around)):
        found = call(np.ones(1, "float32"))
        assert (str(found.dtype), float(found)) == ("float32", 1.0 + FINE + 2 * STEP)
    assert float(around.inner.w) == 1.0 + FINE + STEP
