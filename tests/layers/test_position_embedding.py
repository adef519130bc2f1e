import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.zeros((2, 5, 6), "float32")


def test_learned_positions_are_rows_of_the_table():
    layer = layers.PositionEmbedding(9)
    np.testing.assert_array_equal(layer(X)[1], layer.position_embeddings.numpy()[:5])
    np.testing.assert_array_equal(layer(X, start=4)[0], layer.position_embeddings.numpy()[4:])
    step = gx.jit(lambda x, start: layer(x, start=start))
    np.testing.assert_array_equal(step(X, 3)[0], layer.position_embeddings.numpy()[3:8])


@pytest.mark.broad
@pytest.mark.parametrize("start", [0, 300])
def test_sines_and_cosines(start):
    t, i = np.arange(start, start + 5)[:, None], np.arange(6)
    angles = t / 100.0 ** (2 * (i // 2) / 6)
    expected = np.where(i % 2 == 0, np.sin(angles), np.cos(angles))
    layer = layers.SinePositionEncoding(100.0)
    np.testing.assert_allclose(layer(X, start=start)[1], expected, atol=2e-5)
    np.testing.assert_allclose(gx.jit(lambda x, s: layer(x, start=s))(X, start)[1], expected, atol=2e-5)


@pytest.mark.broad
def test_bad_input_is_refused():
    layer = layers.PositionEmbedding(9)
    for start in (5, -1):
        with pytest.raises(gx.errors.ArgumentError, match="there are vectors for 9 positions"):
            layer(X, start=start)
        with pytest.raises(gx.errors.ArgumentError, match="there are vectors for 9 positions"):
            gx.jit(lambda x, s: layer(x, start=s), checked=True)(X, start)
    with pytest.raises(gx.errors.ArgumentError, match=r"instead: PositionEmbedding\(10\)"):
        layer(np.zeros((1, 10, 6), "float32"))
    with pytest.raises(gx.errors.ShapeError, match="vectors were made of 6"):
        layer(X[..., :4])
    for kind in (layer, layers.SinePositionEncoding()):
        with pytest.raises(gx.errors.DTypeError, match="start of dtype"):
            kind(X, start=1.5)
        with pytest.raises(gx.errors.ShapeError, match="one for the whole batch"):
            kind(X, start=np.array([1, 2]))
        with pytest.raises(gx.errors.ShapeError, match="needs 3 axes"):
            kind(X[0])
    for value in (1, "a", np.inf, True):
        with pytest.raises(gx.errors.ArgumentError, match="max_wavelength="):
            layers.SinePositionEncoding(value)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32"])
@pytest.mark.parametrize("run", [lambda f: f, lambda f: gx.jit(f, checked=True)], ids=["eager", "compiled"])
def test_positions_of_every_integer_dtype(run, dtype):
    layer = layers.PositionEmbedding(512)
    layer(X)
    found = run(lambda start: layer(X, start=start))(np.asarray(100, dtype))
    np.testing.assert_array_equal(found[0], layer.position_embeddings.numpy()[100:105])
