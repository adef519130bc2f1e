"""Every layer with nothing at all, and with the largest numbers of a short format."""

import copy
import functools

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core import tree
from graftax.layers import activations
from tests.conformance import test_layers
from tests.conformance.lanes import in_lanes
from tests.conformance.layer_rows import TRAINED

pytestmark = pytest.mark.optimized
L = layers
ROWS = {name: row for name, row in test_layers.ROWS.items() if name != "dense_1d"}  # which has no batch
GROWS = (
    "dense",
    "conv",
    "depthwise",
    "separable",
    "add",
    "subtract",
    "multiply",
    "multi_head",
    "attention",
    "embedding",
    "einsum",
    "mixture_of_experts",
    "transformer",
    "stack",
)
"""What goes beyond float16, rightly."""
BOUNDED = [name for name in ROWS if not name.startswith(GROWS)]


@functools.cache
def made(name, dtype=None):
    return test_layers.built(ROWS[name], dtype=dtype)


@pytest.mark.in_turn(12, broad=7)
@pytest.mark.parametrize("name", in_lanes(ROWS, test_layers.SIBLINGS))
def test_l13_an_empty_batch_leaves_everything_as_it_is(name):
    layer, x = made(name)
    layer = copy.deepcopy(layer)
    before = {path: np.array(v) for path, v in gx.state(layer).items()}
    empty = tree.map_structure(lambda a: a[:0], x)
    for training in (False, True) if name in TRAINED else (False,):
        assert layer(empty, training=training).shape == (0, *ROWS[name].output[1:])
    compiled = gx.jit(lambda x: layer(x, training=True))
    assert compiled(empty).shape == (0, *ROWS[name].output[1:])
    for path, value in gx.state(layer).items():
        if "seed" not in path:
            np.testing.assert_array_equal(value, before[path])


@pytest.mark.in_turn(4, 1, broad=2)
@pytest.mark.parametrize("name", in_lanes(BOUNDED, test_layers.SIBLINGS & {*BOUNDED}))
def test_l8_large_numbers_in_float16(name):
    layer, x = made(name, "float16")
    x = tree.map_structure(lambda a: ops.asarray(np.where(a > 0, 3e4, -3e4).astype("float16")), x)

    def loss(x):
        out = layer(x)
        return ops.sum(ops.cast(out, "float32")) * 1e-3, out

    (_, out), gradient = gx.jit(gx.value_and_grad(loss, has_aux=True))(x)
    assert str(out.dtype) == "float16"
    for array in (out, *tree.flatten(gradient)):
        assert np.isfinite(np.asarray(array, "float32")).all()


@pytest.mark.broad
def test_l8_means_of_large_numbers():
    x = np.full((2, 4, 4, 3), 3e4, "float16")
    means = {
        "average_pooling": L.AveragePooling2D(4, dtype="float16")(x),
        "average_pooling_same": L.AveragePooling2D(3, 1, "same", dtype="float16")(x),
        "global": L.GlobalAveragePooling2D(dtype="float16")(x),
        "masked": L.GlobalAveragePooling1D(dtype="float16")(x[:, 0], mask=np.ones((2, 4), bool)),
        "average": L.Average(dtype="float16")([x, x, x]),
    }
    for name, out in means.items():
        assert str(out.dtype) == "float16", name
        np.testing.assert_array_equal(np.asarray(out), np.float16(3e4), err_msg=name)


@pytest.mark.in_turn(4, 2)
@pytest.mark.parametrize("name", sorted(set(activations._NAMES) - {"exponential", "log_softmax"}))
def test_l8_activations_in_float16(name):
    x = ops.asarray(np.array([-6e4, -3e4, -200, -20, -1, 0, 0.5, 1, 20, 200, 3e4, 6e4], "float16"))
    functions = [activations.get(name)]
    if name == "gelu":
        functions.append(functools.partial(activations.gelu, approximate=True))
    for function in functions:
        slope = gx.grad(lambda x, f=function: ops.sum(ops.cast(f(x), "float32")))(x)
        assert np.isfinite(np.asarray(function(x), "float32")).all()
        assert np.isfinite(np.asarray(slope, "float32")).all()


# --- statistics of batches with little in them ---------------------------------------------------------------------

X = np.random.default_rng(0).normal(2, 3, (3, 5, 4)).astype("float32")


def by_hand(x, shown, axis):
    """Mean and variance of each channel over what is shown."""
    x, shown = np.moveaxis(x, axis, 0), np.moveaxis(np.broadcast_to(shown, x.shape), axis, 0)
    picked = [a[b].astype("float64") for a, b in zip(x, shown, strict=True)]
    return [p.mean() if p.size else None for p in picked], [p.var() if p.size else None for p in picked]


@pytest.mark.in_turn(4, 3)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_l12_batch_statistics_over_any_axis_with_any_mask(axis, axes):
    mask = np.random.default_rng(1).random(X.shape[:axes]) < 0.6
    mask.flat[0] = True
    if axes > 1:
        mask[1, :] = False
        mask[:, 2] = False  # with axis=1 and axis=0: channels without a value
    layer = L.BatchNormalization(axis=axis, momentum=0.5, epsilon=0.0)
    hidden = np.where(mask.reshape(*mask.shape, *[1] * (3 - axes)), X, np.nan).astype("float32")
    out = np.asarray(layer(hidden, mask=mask, training=True))
    mean, variance = by_hand(X, mask.reshape(*mask.shape, *[1] * (3 - axes)), axis)
    for i, (m, v) in enumerate(zip(mean, variance, strict=True)):
        kept = (0, 1) if m is None else (m / 2, 0.5 + v / 2)
        assert float(layer.moving_mean[i]) == pytest.approx(kept[0], rel=1e-4, abs=1e-5)
        assert float(layer.moving_variance[i]) == pytest.approx(kept[1], rel=1e-4)
    for place in np.argwhere(np.broadcast_to(mask.reshape(*mask.shape, *[1] * (3 - axes)), X.shape)):
        i = place[axis]
        if variance[i] > 1e-6:
            expected = (X[tuple(place)] - mean[i]) / np.sqrt(variance[i])
            assert out[tuple(place)] == pytest.approx(expected, rel=1e-3, abs=1e-3)


@pytest.mark.broad
@pytest.mark.parametrize("unbiased", [False, True])
def test_l13_nothing_to_count_leaves_no_nan(unbiased):
    layer = L.BatchNormalization(unbiased_moving_variance=unbiased)
    layer(X, training=True)
    before = layer.moving_mean.numpy(), layer.moving_variance.numpy()
    layer(X[:0], training=True)
    layer(X, mask=np.zeros((3, 5), bool), training=True)
    layer(X[:, :0], training=True)
    for now, then in zip((layer.moving_mean, layer.moving_variance), before, strict=True):
        np.testing.assert_array_equal(now, then)
    layer(X[:1, :1], training=True)  # one value: its variance is 0, whatever the divisor
    assert np.isfinite(layer.moving_variance.numpy()).all()
    assert np.asarray(L.GlobalAveragePooling1D()(X[:, :0])).tolist() == np.zeros((3, 4)).tolist()
