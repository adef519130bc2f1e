import numpy as np
import pytest

import graftax as gx
from graftax import layers


def data(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ["GlobalMaxPooling", "GlobalAveragePooling"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_global_pooling(name, keepdims):
    reduce = np.max if "Max" in name else np.mean
    for space, shape in ((1, (2, 5, 3)), (2, (2, 5, 4, 3))):
        out = getattr(layers, f"{name}{space}D")(keepdims=keepdims)(data(*shape))
        expected = reduce(data(*shape), axis=tuple(range(1, space + 1)), keepdims=keepdims)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("keepdims", [False, True])
def test_the_mean_over_what_a_mask_lets_through(keepdims):
    x = data(3, 4, 2)
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], bool)
    out = np.asarray(layers.GlobalAveragePooling1D(keepdims)(x, mask=mask)).reshape(3, 2)
    np.testing.assert_allclose(out, [x[0, :2].mean(0), x[1].mean(0), [0, 0]], rtol=1e-5, atol=1e-6)


def test_a_mask_is_used_up():
    tokens = np.array([[3, 4, 0, 0]])
    embedding, pooling = layers.Embedding(5, 2, mask_zero=True), layers.GlobalAveragePooling1D()
    model = Chain(embedding, pooling)
    np.testing.assert_allclose(model(tokens), embedding.embeddings.numpy()[[3, 4]].mean(0)[None], rtol=1e-5)


class Chain(gx.Layer):
    def __init__(self, *parts):
        super().__init__()
        self.parts = parts

    def call(self, x):
        for part in self.parts:
            x = part(x)
        return x


@pytest.mark.parametrize("kind", ["GlobalMax", "GlobalAverage"])
def test_other_ranks_are_refused(kind):
    with pytest.raises(gx.errors.ShapeError, match="needs 4 axes"):
        getattr(layers, f"{kind}Pooling2D")()(data(2, 3, 4))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", [layers.GlobalMaxPooling1D, layers.GlobalAveragePooling1D])
def test_no_steps_give_0_as_steps_that_are_all_masked(kind, masked, dtype):
    mask = {"mask": np.zeros((2, 0), bool)} if masked else {}
    for x in (np.zeros((2, 0, 3), dtype), np.zeros((0, 4, 3), dtype)):
        found = kind()(x, **(mask if len(x) else {}))
        assert found.shape == (len(x), 3)
        assert not np.any(np.asarray(found))
        if kind is layers.GlobalMaxPooling1D:
            assert str(found.dtype) == dtype


def test_no_pixels_give_0_and_gradients_come_through():
    dense = layers.Dense(2)
    dense.build((None, 3, 3, 1))
    pool = layers.GlobalMaxPooling2D(keepdims=True)
    x = np.zeros((2, 0, 3, 1), "float32")
    assert pool(dense(x)).shape == (2, 1, 1, 2)
    gradients = gx.grad(lambda: gx.ops.sum(pool(dense(x)) - 1), wrt=dense.trainable_variables)()
    assert all(not np.any(np.asarray(one)) for one in gradients)
