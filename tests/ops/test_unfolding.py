"""unfold and fold, complex numbers in pairs, factors of matrices, images moved: against torch and Keras."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.registry import use
from graftax.core.errors import ArgumentError, DTypeError, ShapeError

RNG = np.random.default_rng(3)
PLANES = RNG.normal(size=(2, 3, 7, 6)).astype("float32")
SETTINGS = [
    {"kernel_size": 3},
    {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 2), "stride": (2, 3)},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=["plain", "all"])
def test_columns_are_those_of_torch_and_back(settings):
    torch = pytest.importorskip("torch")
    theirs = torch.nn.functional.unfold(torch.tensor(PLANES), **settings)
    found = ops.unfold(PLANES, **settings)
    np.testing.assert_array_equal(found, theirs)
    back = torch.nn.functional.fold(theirs, (7, 6), **settings)
    np.testing.assert_allclose(ops.fold(found, (7, 6), **settings), back, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("settings", SETTINGS, ids=["plain", "all"])
def test_fold_is_the_adjoint_of_unfold(settings, backend):
    with use(backend):
        columns = np.asarray(ops.unfold(PLANES, **settings))
        other = RNG.normal(size=columns.shape).astype("float32")
        back = np.asarray(ops.fold(other, (7, 6), **settings))
    assert back.shape == PLANES.shape
    np.testing.assert_allclose((columns * other).sum(), (PLANES * back).sum(), rtol=1e-3)


def test_windows_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="channels first"):
        ops.unfold(PLANES[0], 2)
    with pytest.raises(ShapeError, match="a window of 9 over 7 values"):
        ops.unfold(PLANES, 5, dilation=2)
    with pytest.raises(ArgumentError, match=r"it is \(height, width\)"):
        ops.unfold(PLANES, (2, 2, 2))
    with pytest.raises(ShapeError, match="channels times 4, 30"):
        ops.fold(np.ones((1, 8, 29), "float32"), (7, 6), 2)


@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_infinite_parts_stay_where_they_are(backend):
    with use(backend):
        found = np.asarray(ops.view_as_complex(np.float32([[1, np.inf], [-np.inf, 2]])))
        assert found.tolist() == [complex(1, np.inf), complex(-np.inf, 2)]
        assert ops.view_as_real(found).tolist() == [[1, np.inf], [-np.inf, 2]]


@pytest.mark.broad
def test_gradients_pass_pairs():
    x = ops.asarray(RNG.normal(size=(4, 2)).astype("float32"))
    slope = gx.grad(lambda x: ops.sum(ops.square(ops.abs(ops.view_as_complex(x)))))(x)
    np.testing.assert_allclose(slope, 2 * x, rtol=1e-5)
    slope = gx.grad(lambda x: ops.sum(ops.view_as_real(ops.square(ops.view_as_complex(x)))))(x)
    np.testing.assert_allclose(slope, 2 * np.stack([x[:, 0] + x[:, 1], x[:, 0] - x[:, 1]], -1), rtol=1e-5)


def test_pairs_that_are_none_are_refused():
    with pytest.raises(ShapeError, match="a real and an imaginary part"):
        ops.view_as_complex(np.ones(3, "float32"))
    with pytest.raises(DTypeError, match="no imaginary part"):
        ops.view_as_real(np.ones(3, "float32"))


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_factors_make_the_matrix_again(backend, dtype):
    x = (RNG.normal(size=(2, 5, 5)) + (1j * RNG.normal(size=(2, 5, 5)) if dtype == "complex64" else 0)).astype(dtype)
    with use(backend):
        both, pivots = (np.asarray(one) for one in ops.lu_factor(x))
    for matrix, factors, places in zip(x, both, pivots, strict=True):
        product = (np.tril(factors, -1) + np.eye(5)) @ np.triu(factors)
        for i, j in reversed(list(enumerate(places))):
            product[[i, j]] = product[[j, i]]
        np.testing.assert_allclose(product, matrix, rtol=1e-4, atol=1e-5)
    assert pivots.dtype == np.int32


def test_factors_need_square_matrices():
    with pytest.raises(ShapeError, match="lu_factor"):
        ops.lu_factor(np.ones((2, 3), "float32"))


def test_sequences_are_called_as_in_keras():
    x = np.arange(6)
    assert ops.extract_sequences(x, sequence_length=3, sequence_stride=2).tolist() == [[0, 1, 2], [2, 3, 4]]


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3", "lanczos5"])
@pytest.mark.parametrize("antialias", [True, False])
def test_images_move_as_those_of_keras(method, antialias):
    keras = pytest.importorskip("keras")
    x, scale, shift = PLANES[0], np.float32([0.6, 1.7]), np.float32([0.8, -1.1])
    theirs = keras.ops.image.scale_and_translate(x, (3, 5, 9), scale, shift, (1, 2), method, antialias)
    found = ops.image.scale_and_translate(x, (3, 5, 9), scale, shift, (1, 2), method, antialias)
    np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_images_know_how_a_move_changes_them():
    x = ops.asarray(np.sin(np.arange(9, dtype="float32"))[None])

    def moved(shift):
        return ops.sum(ops.square(ops.image.scale_and_translate(x, (1, 9), [1.0], shift, 1, "cubic")))

    slope = gx.grad(moved)(ops.asarray([0.3]))
    np.testing.assert_allclose(slope, [(moved([0.301]) - moved([0.299])) / 0.002], rtol=2e-2)


def test_moves_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="those of other axes as they are"):
        ops.image.scale_and_translate(PLANES[0], (4, 5, 9), [1.0, 1.0], [0.0, 0.0], (1, 2))
    with pytest.raises(ShapeError, match="an axis is there twice"):
        ops.image.scale_and_translate(PLANES[0], (3, 5, 6), [1.0, 1.0], [0.0, 0.0], (1, -2))
    with pytest.raises(ShapeError, match="a number for each axis"):
        ops.image.scale_and_translate(PLANES[0], (3, 5, 9), [1.0], [0.0, 0.0], (1, 2))
