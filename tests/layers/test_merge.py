import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.layers.call_context import call_context

A, B, C = np.random.default_rng(0).normal(size=(3, 2, 4, 5)).astype("float32")
MEAN = {
    "Add": lambda *x: sum(x),
    "Multiply": lambda *x: np.prod(x, axis=0),
    "Average": lambda *x: np.mean(x, axis=0),
    "Maximum": lambda *x: np.max(x, axis=0),
    "Minimum": lambda *x: np.min(x, axis=0),
}


@pytest.mark.parametrize("name", MEAN)
def test_values(name):
    out = getattr(layers, name)()([A, B, C])
    np.testing.assert_allclose(out, MEAN[name](A, B, C), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        getattr(layers, name)()([A, B[:, :1]]), MEAN[name](A, np.broadcast_to(B[:, :1], A.shape)), rtol=1e-5, atol=1e-6
    )


def test_subtract():
    np.testing.assert_array_equal(layers.Subtract()([A, B]), A - B)
    with pytest.raises(gx.errors.ArgumentTypeError, match="3 arrays"):
        layers.Subtract()([A, B, C])


@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_concatenate(axis):
    np.testing.assert_array_equal(layers.Concatenate(axis)([A, B, C]), np.concatenate([A, B, C], axis))


@pytest.mark.parametrize("wrong", [A, [A], {"a": A, "b": B}], ids=["array", "one", "dict"])
def test_anything_but_several_arrays_is_refused(wrong):
    with pytest.raises(gx.errors.ArgumentTypeError, match=r"at least two(.|\n)*add\(\[x, y\]\)"):
        layers.Add()(wrong)


@pytest.mark.parametrize("name", MEAN)
def test_a_batch_is_not_laid_along_another_axis(name):
    layer, square = getattr(layers, name)(), A[:, :2]  # as many steps as samples
    with pytest.raises(gx.errors.ShapeError, match=r"\(2, 2, 5\), \(2, 5\)(.|\n)*inputs\[1\]\[:, None\]"):
        layer([square, B[:, 0]])
    with pytest.raises(gx.errors.ShapeError, match=r"inputs\[0\] is axis 1"):
        layer([B[:, 0], square])
    with pytest.raises(gx.errors.ShapeError, match="as long as the batch"):  # whatever the sizes are later
        layer([gx.Input((None, 5)), gx.Input((5,))])
    each, all_alike = (MEAN[name](square, np.broadcast_to(b, square.shape)) for b in (B[:, :1], B[0, :2]))
    np.testing.assert_allclose(layer([square, B[:, 0][:, None]]), each, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer([square, B[0, :2][None]]), all_alike, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer([A[:, :3], B[0, :3]]), MEAN[name](A[:, :3], np.stack([B[0, :3]] * 2)), rtol=1e-5)
    assert layer([np.ones((5, 4, 5), "float32"), B[0, 0]]).shape == (5, 4, 5)  # numbers for the last axis


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(gx.errors.ShapeError, match=r"'add' \(Add\)"):
        layers.Add()([A, A[:, :3]])
    with pytest.raises(gx.errors.ShapeError, match=r"'concatenate' \(Concatenate\)"):
        layers.Concatenate()([A, A[:, :3]])


def masked(layer, masks):
    inputs = [ops.asarray(x) for x in (A, B)]
    with call_context() as context:
        for x, mask in zip(inputs, masks, strict=True):
            context.set_mask(x, None if mask is None else ops.asarray(mask))
        found = context.mask_of(layer(inputs))
    return None if found is None else np.asarray(found).tolist()


ONE, TWO = [[True, True, False, False]] * 2, [[True, False, True, False]] * 2


def test_masks_are_met():
    assert masked(layers.Add(), [ONE, TWO]) == [[True, False, False, False]] * 2
    assert masked(layers.Add(), [None, TWO]) == TWO
    assert masked(layers.Add(), [None, None]) is None
    assert masked(layers.Concatenate(-1), [ONE, TWO]) == [[True, False, False, False]] * 2


def test_masks_are_joined_along_their_axis():
    assert masked(layers.Concatenate(1), [ONE, TWO]) == [ONE[0] + TWO[0]] * 2
    assert masked(layers.Concatenate(1), [None, TWO]) == [[True] * 4 + TWO[0]] * 2
