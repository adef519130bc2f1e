import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.layers.call_context import call_context

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 3, 4)).astype("float32"), RNG.normal(size=(2, 5, 3)).astype("float32")
CASES = [((1, 2), X, Y, "anb,acn->abc"), (-1, X, X, "abn,acn->abc"), (1, X[:, 0], X[:, 1], "an,an->a")]


@pytest.mark.parametrize(("axes", "x", "y", "equation"), CASES, ids=["axes", "last", "vectors"])
def test_products(axes, x, y, equation):
    expected = np.einsum(equation, x, y)
    out = np.asarray(layers.Dot(axes)([x, y]))
    np.testing.assert_allclose(out, expected if expected.ndim > 1 else expected[:, None], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("axes", "x", "y", "equation"), CASES, ids=["axes", "last", "vectors"])
@pytest.mark.parametrize("normalize", [False, True])
def test_values_are_those_of_keras(keras, axes, x, y, equation, normalize):
    axes = 2 if axes == -1 else axes
    ours, theirs = (one.Dot(axes, normalize) for one in (layers, keras.layers))
    np.testing.assert_allclose(ours([x, y]), theirs([x, y]), rtol=1e-4, atol=1e-5)


def test_bad_input_is_refused():
    for axes in ((1, 2, 3), "a", None, 1.5):
        with pytest.raises(gx.errors.ArgumentError, match="axes="):
            layers.Dot(axes)
    for inputs in (X, [X], [X, X, X]):
        with pytest.raises(gx.errors.ArgumentTypeError, match="no list of two arrays"):
            layers.Dot(1)(inputs)
    with pytest.raises(gx.errors.ArgumentError, match="axis 0 is the batch"):
        layers.Dot(0)([X, X])
    with pytest.raises(gx.errors.ShapeError, match="the same size along their axis"):
        layers.Dot(2)([X, Y])


# --- masks ------------------------------------------------------------------------------------------------------------

STEPS = np.array([[True, True, False], [True, True, True]])
ROWS = np.array([[True, True, True, False, True], [False, True, True, True, True]])


@pytest.mark.broad
@pytest.mark.parametrize("normalize", [False, True])
def test_hidden_steps_add_nothing_to_a_sum_over_them(normalize):
    x, y = X.copy(), RNG.normal(size=(2, 3, 2)).astype("float32")
    x[0, 2] = np.nan
    layer = layers.Dot(1, normalize)
    out = layer([x, y], mask=[STEPS, None])
    np.testing.assert_allclose(out, layer([np.nan_to_num(x, nan=0.0), y]), rtol=1e-5, atol=1e-6)
    if not normalize:
        np.testing.assert_allclose(out[:1], layer([x[:1, :2], y[:1, :2]]), rtol=1e-4, atol=1e-5)
    slope = gx.grad(lambda x: gx.ops.sum(layer([x, y], mask=[STEPS, None])))(x)
    assert np.isfinite(np.asarray(slope)).all()
    assert (np.asarray(slope)[0, 2] == 0).all()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (STEPS, ROWS, STEPS[:, :, None] & ROWS[:, None, :]),
        (STEPS, None, STEPS),
        (None, ROWS, np.broadcast_to(ROWS[:, None, :], (2, 3, 5))),
        (STEPS[:, 2], ROWS, STEPS[:, 2:, None] & np.broadcast_to(ROWS[:, None, :], (2, 3, 5))),
        (STEPS, ROWS[:, 0], STEPS & ROWS[:, :1]),
    ],
)
def test_masks_of_the_axes_that_stay_are_handed_on(first, second, expected):
    keys = RNG.normal(size=(2, 5, 4)).astype("float32")
    with call_context() as context:
        found = context.mask_of(layers.Dot(2)([X, keys], mask=[first, second]))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.broad
def test_a_mask_of_the_axis_of_the_sum_is_used_up():
    with call_context() as context:
        assert context.mask_of(layers.Dot(1)([X, X], mask=[STEPS, STEPS])) is None
    with pytest.raises(gx.errors.ArgumentTypeError, match="one mask for 2 inputs"):
        layers.Dot(1)([X, X], mask=STEPS)
    with pytest.raises(gx.errors.ShapeError, match="mask of shape"):
        layers.Dot(1)([X, X], mask=[STEPS[:1], None])
