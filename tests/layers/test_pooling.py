import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import graftax as gx
from graftax import layers, ops
from graftax.backend import registry


def data(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def by_hand(x, size, stride, padding, reduce):
    """A transcription of the definition: windows cut at the border."""
    n = np.array(x.shape[1:-1])
    if padding == "same":
        outs = -(-n // stride)
        low = np.maximum((outs - 1) * stride + size - n, 0) // 2
    else:
        outs, low = (n - size) // stride + 1, n * 0
    out = np.zeros((len(x), *outs, x.shape[-1]))
    for place in itertools.product(*map(range, outs)):
        starts = np.array(place) * stride - low
        window = x[:, *(slice(max(s, 0), s + size) for s in starts)]
        out[:, *place] = reduce(window, axis=tuple(range(1, x.ndim - 1)))
    return out


SETTINGS = {
    "space": st.sampled_from([1, 2]),
    "size": st.integers(1, 5),
    "stride": st.integers(1, 3),
    "padding": st.sampled_from(["valid", "same"]),
    "sizes": st.tuples(st.integers(1, 7), st.integers(1, 7)),
    "kind": st.sampled_from(["Max", "Average"]),
}


@given(**SETTINGS)
def test_numpy_backend_is_the_definition(**settings):
    check("numpy", **settings)


@pytest.mark.slow
@given(**SETTINGS)
def test_jax_backend_is_the_definition(**settings):
    check("jax", **settings)


def check(backend, space, size, stride, padding, sizes, kind):
    sizes = sizes[:space]
    assume(padding == "same" or min(sizes) >= size)
    x = data(2, *sizes, 3)
    with registry.use(backend):
        layer = getattr(layers, f"{kind}Pooling{space}D")(size, stride, padding)
        out = layer(x)
        expected = by_hand(x, size, stride, padding, np.max if kind == "Max" else np.mean)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
        assert layer.compute_output_shape((None, *sizes, 3)) == (None, *expected.shape[1:])


@pytest.mark.parametrize("kind", ["Max", "Average"])
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("size", "strides"), [(2, None), (3, 2), ((2, 3), (1, 2)), (5, 1)])
def test_values_are_those_of_keras(keras, kind, padding, size, strides):
    x = data(2, 7, 6, 3)
    ours = getattr(layers, f"{kind}Pooling2D")(size, strides, padding)
    theirs = getattr(keras.layers, f"{kind}Pooling2D")(size, strides, padding)
    np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-5, atol=1e-6)


def test_the_gradients_of_both_forms_of_max_pooling_are_those_of_torch(torch):
    """Small windows are compared slice by slice, large ones by a window operation."""
    x = data(2, 8, 8, 3)
    for size in (2, 5):
        layer = layers.MaxPooling2D(size, 1)
        ours = gx.grad(lambda x, layer=layer: ops.sum(layer(x) ** 2))(ops.asarray(x))
        image = torch.tensor(x, requires_grad=True)
        (torch.nn.functional.max_pool2d(image.permute(0, 3, 1, 2), size, 1) ** 2).sum().backward()
        np.testing.assert_allclose(ours, image.grad, rtol=1e-4, atol=1e-5)


def test_infinities_survive():
    x = np.float32([-np.inf, -np.inf, 1, np.inf]).reshape(1, 4, 1)
    assert np.ravel(layers.MaxPooling1D(2)(x)).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("kind", ["Max", "Average"])
def test_other_ranks_are_refused(kind):
    with pytest.raises(gx.errors.ShapeError, match="needs 4 axes"):
        getattr(layers, f"{kind}Pooling2D")()(data(2, 3, 4))


def test_settings_are_checked():
    for options, message in (
        ({"pool_size": 0}, "pool_size=0"),
        ({"strides": (1, 2, 3)}, "each of 2 axes"),
        ({"padding": "causal"}, '"valid" or "same"'),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            layers.MaxPooling2D(**options)


def test_a_window_that_is_too_large_is_refused():
    with pytest.raises(gx.errors.ShapeError, match="window of 3 over 2"):
        layers.MaxPooling1D(3)(data(1, 2, 1))
