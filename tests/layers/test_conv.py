import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import graftax as gx
from graftax import layers, ops
from graftax.backend import registry


def data(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def by_hand(x, kernel, strides, padding, dilation, groups):
    """A transcription of the definition: loops over outputs, in float64."""
    space = x.ndim - 2
    spans = [(k - 1) * d + 1 for k, d in zip(kernel.shape, dilation, strict=False)]
    if padding == "same":
        outs = [-(-n // s) for n, s in zip(x.shape[1:-1], strides, strict=True)]
        total = [max((o - 1) * s + w - n, 0) for o, s, w, n in zip(outs, strides, spans, x.shape[1:-1], strict=True)]
        pads = [(t // 2, t - t // 2) for t in total]
    else:
        pads = [(w - 1, 0) if padding == "causal" else (0, 0) for w in spans]
    x = np.pad(x.astype("float64"), [(0, 0), *pads, (0, 0)])
    outs = [(n - w) // s + 1 for n, w, s in zip(x.shape[1:-1], spans, strides, strict=True)]
    filters, per = kernel.shape[-1] // groups, kernel.shape[-2]
    out = np.zeros((len(x), *outs, kernel.shape[-1]))
    for place in itertools.product(*map(range, outs)):
        corner = [i * s for i, s in zip(place, strides, strict=True)]
        window = x[:, *(slice(c, c + w, d) for c, w, d in zip(corner, spans, dilation, strict=True))]
        for g in range(groups):
            part = kernel[..., g * filters : (g + 1) * filters]
            axes = list(range(1, space + 1))
            seen = window[..., g * per : (g + 1) * per]
            out[:, *place, g * filters : (g + 1) * filters] = np.tensordot(
                seen, part, ([*axes, space + 1], [*range(space), space])
            )
    return out


SETTINGS = st.fixed_dictionaries(
    {
        "space": st.sampled_from([1, 2]),
        "kernel": st.integers(1, 3),
        "strides": st.integers(1, 3),
        "dilation": st.integers(1, 2),
        "padding": st.sampled_from(["valid", "same", "causal"]),
        "groups": st.integers(1, 2),
        "sizes": st.tuples(st.integers(1, 6), st.integers(1, 6)),
    }
)


@given(settings=SETTINGS)
def test_numpy_backend_is_the_definition(settings):
    check(settings, "numpy")


@pytest.mark.slow
@given(settings=SETTINGS)
def test_jax_backend_is_the_definition(settings):
    check(settings, "jax")


def check(settings, backend):
    space, window = settings["space"], settings["kernel"]
    assume(settings["padding"] != "causal" or space == 1)
    sizes = settings["sizes"][:space]
    assume(settings["padding"] != "valid" or min(sizes) > (window - 1) * settings["dilation"])
    x = data(2, *sizes, 2 * settings["groups"])
    with registry.use(backend):
        layer = (layers.Conv1D, layers.Conv2D)[space - 1](
            2 * settings["groups"],
            window,
            settings["strides"],
            settings["padding"],
            settings["dilation"],
            settings["groups"],
        )
        out = layer(x)
        each = [settings[name] for name in ("strides", "dilation")]
        expected = by_hand(
            x,
            layer.kernel.numpy(),
            (each[0],) * space,
            settings["padding"],
            (each[1],) * space,
            settings["groups"],
        )
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
        assert layer.compute_output_shape((None, *sizes, x.shape[-1])) == (None, *expected.shape[1:])


@pytest.mark.parametrize(
    ("cls", "shape", "options"),
    [
        ("Conv1D", (2, 9, 4), {"kernel_size": 3, "padding": "causal", "dilation_rate": 2}),
        ("Conv1D", (2, 9, 4), {"kernel_size": 4, "padding": "same", "strides": 2}),
        ("Conv2D", (2, 8, 7, 3), {"kernel_size": 3}),
        ("Conv2D", (2, 8, 7, 3), {"kernel_size": 3, "padding": "same"}),
        ("Conv2D", (2, 8, 7, 6), {"kernel_size": (3, 2), "strides": (2, 1), "padding": "same"}),
        ("Conv2D", (2, 8, 7, 6), {"kernel_size": 2, "groups": 2, "dilation_rate": (2, 1)}),
        ("Conv3D", (1, 5, 4, 6, 2), {"kernel_size": 2, "strides": 2, "padding": "same"}),
    ],
)
def test_values_are_those_of_keras(keras, cls, shape, options):
    ours = getattr(layers, cls)(4, activation="tanh", bias_initializer="random_normal", **options)
    theirs = getattr(keras.layers, cls)(4, activation="tanh", **options)
    x = data(*shape)
    out, _ = ours(x), theirs(x)
    assert ours.kernel.shape == tuple(theirs.kernel.shape)
    theirs.set_weights([v.numpy() for v in ours.variables])
    np.testing.assert_allclose(out, theirs(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channels", [3, 8])
def test_gradients_are_those_of_torch(torch, channels):
    layer, x = layers.Conv2D(5, 3, strides=2, use_bias=False), data(2, 9, 8, channels)
    layer(x)
    wrt = {"kernel": layer.kernel}
    ours = gx.jit(lambda: gx.grad(lambda: ops.sum(layer(x) ** 2), wrt=wrt)())()["kernel"]
    by_x = gx.grad(lambda x: ops.sum(layer(x) ** 2))(ops.asarray(x))
    kernel = torch.tensor(layer.kernel.numpy(), requires_grad=True)
    image = torch.tensor(x, requires_grad=True)
    out = torch.nn.functional.conv2d(image.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1), stride=2)
    (out**2).sum().backward()
    np.testing.assert_allclose(ours, kernel.grad, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(by_x, image.grad, rtol=1e-4, atol=1e-4)


def test_causal_sees_no_later_input():
    layer, x = layers.Conv1D(2, 3, padding="causal", dilation_rate=2), data(1, 8, 2)
    before = np.asarray(layer(x))
    x[:, 5:] += 1
    after = np.asarray(layer(x))
    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] != after[:, 5:]).any()


def test_kl21_same_with_stride_2_on_9():
    assert layers.Conv1D(2, 3, strides=2, padding="same").compute_output_shape((None, 9, 4)) == (None, 5, 2)


def test_other_channels_are_refused():
    layer = layers.Conv2D(2, 3, name="stem")
    layer(data(1, 5, 5, 3))
    with pytest.raises(gx.errors.ShapeError, match=r"has 4 channels(.|\n)*takes 3(.|\n)*'stem' \(Conv2D\)"):
        layer(data(1, 5, 5, 4))


def test_other_ranks_are_refused():
    with pytest.raises(gx.errors.ShapeError, match=r"3 axes(.|\n)*needs 4 axes"):
        layers.Conv2D(2, 3)(data(5, 5, 3))


def test_a_window_that_is_too_large_is_refused():
    with pytest.raises(gx.errors.ShapeError, match='padding="same"'):
        layers.Conv2D(2, 3)(data(1, 2, 5, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filters": 0}, "filters=0"),
        ({"kernel_size": 0}, "kernel_size=0"),
        ({"kernel_size": (3, 3, 3)}, "each of 2 axes"),
        ({"strides": (1, -1)}, r"strides=\(1, -1\)"),
        ({"dilation_rate": 1.5}, "dilation_rate=1.5"),
        ({"padding": "causal"}, '"valid" or "same"'),
        ({"groups": 2, "filters": 3}, "filters=3, groups=2"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(gx.errors.ArgumentError, match=message):
        layers.Conv2D(**{"filters": 4, "kernel_size": 3, **options})


def test_groups_must_divide_the_channels():
    with pytest.raises(gx.errors.ShapeError, match="3 channels, groups=2"):
        layers.Conv2D(4, 3, groups=2)(data(1, 5, 5, 3))
