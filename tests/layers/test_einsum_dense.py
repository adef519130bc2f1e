import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
CASES = [
    ("ab,bc->ac", 4, "c", X[:, 0], (3, 4), (4,)),
    ("abc,cd->abd", (None, 4), "bd", X, (3, 4), (5, 4)),
    ("abc,cde->abde", (None, 2, 4), "e", X, (3, 2, 4), (4,)),
    ("abc,cde->abde", (None, 2, 4), "d", X, (3, 2, 4), (2, 1)),
    ("...x,xy->...y", 4, "y", X, (3, 4), (4,)),
    ("abc,bc->a", (), None, X, (5, 3), None),
]


@pytest.mark.parametrize(
    ("equation", "output", "axes", "x", "kernel", "bias"), CASES, ids=[f"{case[0]} {case[2]}" for case in CASES]
)
def test_weights_and_numbers(equation, output, axes, x, kernel, bias):
    layer = layers.EinsumDense(equation, output, bias_axes=axes, bias_initializer="zeros" if axes is None else "ones")
    out = layer(x)
    assert layer.kernel.shape == kernel
    assert (layer.bias is None and bias is None) or layer.bias.shape == bias
    np.testing.assert_allclose(
        out, np.einsum(equation, x, layer.kernel.numpy()) + (axes is not None), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("case", [CASES[i] for i in (0, 2, 3, 4)], ids=range(4))
def test_values_are_those_of_keras(keras, case):
    equation, output, axes, x, _, _ = case
    ours, theirs = (one.EinsumDense(equation, output, bias_axes=axes) for one in (layers, keras.layers))
    expected = theirs(x)
    ours.build_for(x)
    ours.set_weights([np.asarray(v.value) for v in theirs.weights])
    np.testing.assert_allclose(ours(x), expected, rtol=1e-4, atol=1e-5)


def test_bad_settings_are_refused():
    for equation in ("ab,bc", "aab,bc->ac", "ab,bc->...c", "ab->a", 3, "a b,bc->ac!", "ab,bc->acz", "ab,bcz->ac"):
        with pytest.raises(gx.errors.ArgumentError, match="equation="):
            layers.EinsumDense(equation, 4)
    with pytest.raises(gx.errors.ArgumentError, match="bias_axes='z'"):
        layers.EinsumDense("ab,bc->ac", 4, bias_axes="z")
    for output in ((1, 2, 3), 0, "a"):
        with pytest.raises(gx.errors.ArgumentError, match="output_shape="):
            layers.EinsumDense("ab,bc->ac", output)
    with pytest.raises(gx.errors.ArgumentError, match="how large the axis 'd' is"):
        layers.EinsumDense("abc,cd->abd", (None, None))(X)
    with pytest.raises(gx.errors.ShapeError, match="axis 'b' has 5 in the one and 7"):
        layers.EinsumDense("abc,cd->abd", (7, 4))(X)
    with pytest.raises(gx.errors.ShapeError, match="has the axes ab for it"):
        layers.EinsumDense("ab,bc->ac", 4)(X)
    layer = layers.EinsumDense("abc,cd->abd", (None, 4))
    layer(X)
    assert layer(X[:, :2]).shape == (2, 2, 4)
    with pytest.raises(gx.errors.ShapeError, match="whose axis 'c' is 2"):
        layer(X[..., :2])
