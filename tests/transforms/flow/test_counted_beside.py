"""The body of a loop may count beside its program; where the program depends on what it counts, it is refused."""

import types

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.transforms.flow.attribute_changes import ChangingBodyError

X = np.ones((3, 2, 4), "float32")


def dense():
    layer = layers.Dense(4)
    layer(X[0])
    return lambda carry, x, n: layer(x) + carry


def normalized():
    layer = layers.BatchNormalization()
    layer(X[0])
    return lambda carry, x, n: layer(x, training=True) + carry


def layer_normalized():
    layer = layers.LayerNormalization()
    layer(X[0])
    return lambda carry, x, n: layer(x) + carry


def clipped():
    clip = gx.custom_gradient(lambda v: (v, lambda upstream: ops.clip(upstream, -1, 1)))
    return lambda carry, x, n: clip(x) + carry


def activated():
    return lambda carry, x, n: ops.silu(ops.relu(x)) + ops.gelu(carry) + ops.logsumexp(x)


def in_an_array():
    table = np.arange(10.0, dtype="float32")
    return lambda carry, x, n: carry + x * ops.asarray(table[n])


def in_a_rule():
    def body(carry, x, n):
        return carry + gx.custom_gradient(lambda v: (v * n, lambda upstream: upstream * n))(x)

    return body


def in_a_gradient():
    def body(carry, x, n):
        return carry + gx.custom_gradient(lambda v: (v, lambda upstream: upstream * n))(x)

    return body


def by_choice():
    """Only which traced value is taken depends on what is counted."""
    traced = [ops.ones(()) * i for i in range(4)]
    return lambda carry, x, n: carry + x * traced[n]


BESIDE = [dense, normalized, layer_normalized, clipped, activated]
INSIDE = [in_an_array, in_a_rule, in_a_gradient, by_choice]
COMPILED = pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])


def loop(make, compiled):
    counts = types.SimpleNamespace(n=0)

    def run(start):
        step = make()

        def body(carry, x):
            counts.n += 1
            return step(carry, x, counts.n), x

        return gx.scan(body, start, X)[0]

    return (gx.jit(run) if compiled else run)(ops.zeros((2, 4)))


@pytest.mark.broad
@COMPILED
@pytest.mark.parametrize("make", BESIDE, ids=lambda make: make.__name__)
def test_what_is_counted_beside_is_left_alone(make, compiled):
    step = make()
    assert loop(lambda: step, compiled).shape == (2, 4)


@pytest.mark.broad
@COMPILED
@pytest.mark.parametrize("make", INSIDE, ids=lambda make: make.__name__)
def test_what_the_program_depends_on_is_refused(make, compiled):
    with pytest.raises(ChangingBodyError, match=r"changes counts\.n, on which it depends"):
        loop(make, compiled)
