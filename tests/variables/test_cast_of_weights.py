"""A weight that is cast by `ops.cast` is cast from what is stored, whatever the layer that reads it computes in."""

from contextlib import nullcontext

import numpy as np
import pytest

import graftax as gx
from graftax import ops

THIRD = np.float32(1 / 3)


class Average(gx.Layer):
    """Follows the mean of its inputs, in a weight that it casts itself."""

    def build(self, input_shape):
        self.average = self.add_weight((input_shape[-1],), "zeros", name="average", trainable=False)

    def call(self, x):
        now = ops.cast(ops.mean(x, axis=0), "float32")
        self.average.assign(0.999 * ops.cast(self.average, "float32") + 0.001 * now)
        return x


class Read(gx.Layer):
    """Returns its weight, cast to a dtype."""

    def __init__(self, to, **options):
        super().__init__(**options)
        self.to = to

    def build(self, input_shape):
        self.weight = self.add_weight((2,), gx.initializers.Constant(float(THIRD)), name="weight")

    def call(self, x):
        return ops.cast(self.weight, self.to)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.broad
def test_an_average_that_is_cast_does_not_stand_still(compiled):
    layer = Average(dtype="mixed_bfloat16")
    run = gx.jit(lambda x: layer(x)) if compiled else layer
    for _ in range(600):
        run(np.ones((4, 2), "float32"))
    np.testing.assert_allclose(layer.average.numpy(), 1 - 0.999**600, rtol=1e-3)


@pytest.mark.parametrize("expression", [False, True])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_float32_is_what_is_stored(policy, expression):
    layer = Read("float32", dtype=policy)
    with gx.variable_creator_scope(gx.reparam.Positive()) if expression else nullcontext():
        found = layer(np.ones((1, 2), "float32"))
    np.testing.assert_array_equal(found, layer.weight.numpy())
    assert layer.weight.dtype == "float32"


def test_another_dtype_is_rounded_once():
    layer = Read("bfloat16", dtype="mixed_float16")
    found = layer(np.ones((1, 2), "float32"))
    np.testing.assert_array_equal(found, ops.cast(np.full(2, THIRD), "bfloat16"))


def test_the_gradient_passes():
    layer = Read("float32", dtype="mixed_bfloat16")
    layer.build_for(np.ones((1, 2), "float32"))
    gradient = gx.grad(lambda: ops.sum(layer(np.ones((1, 2), "float32")) * np.float32([THIRD, 2])), layer.weight)()
    np.testing.assert_array_equal(gradient, np.float32([THIRD, 2]))
