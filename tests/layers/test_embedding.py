import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.layers.call_context import call_context

TOKENS = np.array([[3, 1, 0, 0], [4, 4, 2, 0]])


def test_values():
    layer = layers.Embedding(5, 3)
    out = layer(TOKENS)
    np.testing.assert_array_equal(out, layer.embeddings.numpy()[TOKENS])
    assert abs(layer.embeddings.numpy()).max() <= 0.05
    np.testing.assert_array_equal(layer([[3, 1]]), layer.embeddings.numpy()[[[3, 1]]])


def test_the_gradient_adds_up():
    layer = layers.Embedding(5, 2)
    layer(TOKENS)
    gradient = gx.grad(lambda: ops.sum(layer(TOKENS)), wrt=layer.embeddings)()
    np.testing.assert_array_equal(gradient, np.bincount(TOKENS.ravel(), minlength=5)[:, None] * np.ones(2))


@pytest.mark.parametrize("wrong", [5, -1])
def test_indices_out_of_range_are_refused(wrong):
    with pytest.raises(IndexError, match=rf"\[0, 2\] = {wrong} is not in \[0, 5\)(.|\n)*'words' \(Embedding\)"):
        layers.Embedding(5, 3, name="words")(np.array([[0, 1, wrong]]))


def test_floats_are_refused():
    with pytest.raises(gx.errors.DTypeError, match="integers"):
        layers.Embedding(5, 3)(np.ones((2, 2), "float32"))


def test_kl10_the_mask_of_zeros():
    for mask_zero in (False, True):
        with call_context() as context:
            mask = context.mask_of(layers.Embedding(5, 3, mask_zero=mask_zero)(TOKENS))
        assert (mask is None) != mask_zero
    np.testing.assert_array_equal(mask, TOKENS != 0)


def test_sizes_are_checked():
    for sizes in ((0, 3), (5, 0), (5.0, 3)):
        with pytest.raises(gx.errors.ArgumentError, match="_dim="):
            layers.Embedding(*sizes)


def test_regularizer_and_constraint():
    layer = layers.Embedding(5, 3, embeddings_regularizer="l2", embeddings_constraint="unit_norm")
    layer(TOKENS)
    assert float(layer.losses[0]) == pytest.approx(0.01 * float((layer.embeddings.numpy() ** 2).sum()), rel=1e-5)
    assert isinstance(layer.embeddings.constraint, gx.constraints.UnitNorm)
