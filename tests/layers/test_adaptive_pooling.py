import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(2, 7, 6, 3)).astype("float32")


def by_hand(x, m, axis, reduce):
    n = x.shape[axis]
    windows = [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
    return np.stack([reduce(x.take(range(a, b), axis), axis) for a, b in windows], axis)


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("size", [1, 2, 3, (7, 4), (9, 6), (5, 1)])
@pytest.mark.parametrize(("kind", "reduce"), [("Average", np.mean), ("Max", np.max)])
def test_windows_are_spread_over_the_input(kind, reduce, size):
    height, width = (size, size) if isinstance(size, int) else size
    out = getattr(layers, f"Adaptive{kind}Pooling2D")(size)(X)
    expected = np.stack(
        [np.stack([reduce(X[:, a:b, c:d], (1, 2)) for c, d in spans(6, width)], 1) for a, b in spans(7, height)],
        1,
    )
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    one = getattr(layers, f"Adaptive{kind}Pooling1D")(height)(X[:, :, 0])
    np.testing.assert_allclose(one, by_hand(X[:, :, 0], height, 1, reduce), rtol=1e-5, atol=1e-6)


def spans(n, m):
    return [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]


@pytest.mark.parametrize("size", [2, (3, 4)])
def test_values_are_those_of_torch(torch, size):
    image = torch.tensor(X).permute(0, 3, 1, 2)
    for ours, theirs in (
        (layers.AdaptiveAveragePooling2D(size), torch.nn.AdaptiveAvgPool2d(size)),
        (layers.AdaptiveMaxPooling2D(size), torch.nn.AdaptiveMaxPool2d(size)),
    ):
        np.testing.assert_allclose(ours(X), theirs(image).permute(0, 2, 3, 1), rtol=1e-5, atol=1e-6)


def test_bad_input_is_refused():
    for size in (0, (1, 2, 3), "a"):
        with pytest.raises(gx.errors.ArgumentError, match="output_size="):
            layers.AdaptiveMaxPooling2D(size)
    with pytest.raises(gx.errors.ShapeError, match="nothing to pool"):
        layers.AdaptiveAveragePooling1D(2)(X[:, :0, 0])
    with pytest.raises(gx.errors.ShapeError, match="needs 4 axes"):
        layers.AdaptiveMaxPooling2D(2)(X[0])
