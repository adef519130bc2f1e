"""Decompositions and spectra: what one half of a matrix means, round trips, and what cannot be."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.registry import use
from graftax.core.errors import ArgumentError, NumericsError, ShapeError

both = pytest.mark.parametrize("backend", ["jax", "numpy"])
M = np.array([[2.0, 1.0], [0.0, 3.0]], "float32")
WAVE = np.sin(np.arange(40, dtype="float32") ** 1.2)


OF_HERMITIAN = [ops.cholesky, ops.eigh, ops.eigvalsh]


@both
@pytest.mark.parametrize("op", OF_HERMITIAN, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "complex64"])
def test_a_matrix_that_is_not_hermitian_is_refused(backend: str, op, dtype: str) -> None:
    batch = np.stack([np.eye(2), M]).astype(dtype)
    with use(backend):
        for x, place in ((M.astype(dtype), r"x\[0, 1\] = .*x\[1, 0\] = "), (batch, r"x\[1, 0, 1\] = ")):
            with pytest.raises(ArgumentError, match=place) as caught:
                op(x)
            assert "ops.tril(x) + " in caught.value.instead


@pytest.mark.parametrize("op", OF_HERMITIAN, ids=lambda op: op.__name__)
def test_compiled_code_looks_at_triangles_only_when_it_is_checked(op) -> None:
    with pytest.raises(ArgumentError, match=r"x\[0, 1\] = 1"):
        gx.jit(lambda x: op(x), checked=True)(M)
    for found, wanted in zip(gx.jit(lambda x: op(x))(M), op((M + M.T) / 2), strict=True):
        np.testing.assert_allclose(np.abs(found), np.abs(wanted), rtol=1e-5)


@pytest.mark.parametrize("op", OF_HERMITIAN, ids=lambda op: op.__name__)
def test_a_constant_of_compiled_code_is_looked_at(op) -> None:
    gx.jit(lambda: op(np.eye(2, dtype="float32")))()
    with pytest.raises(ArgumentError, match=r"x\[0, 1\] = 1"):
        gx.jit(lambda: op(M))()


@both
@pytest.mark.parametrize("op", OF_HERMITIAN, ids=lambda op: op.__name__)
def test_rounding_makes_no_matrix_unsymmetric(backend: str, op) -> None:
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e6):
        x = (rng.normal(size=(8, 20)) * scale).astype("float32")
        gram = (x @ x.T) * (1 + 1e-6 * rng.normal(size=(8, 8))).astype("float32")
        with use(backend):
            op(gram)
    hermitian = np.array([[2, 1j], [-1j, 3]], "complex64")
    with use(backend):
        op(hermitian)
        op(np.zeros((2, 2), "float32") + 2 * np.eye(2, dtype="float32"))


def test_the_lines_for_one_triangle_work() -> None:
    x = np.array([[2.0, 0.1], [0.5, 3.0]], "float32")
    np.testing.assert_allclose(ops.cholesky(ops.tril(x) + ops.tril(x, -1).mT), np.linalg.cholesky(x), rtol=1e-6)
    z = np.array([[2.0, 0.1], [0.5j, 3.0]], "complex64")
    full = ops.tril(z) + ops.conj(ops.tril(z, -1).mT)
    np.testing.assert_allclose(ops.eigvalsh(full), np.linalg.eigvalsh(z), rtol=1e-6)


@both
def test_the_other_triangle_is_not_looked_at(backend: str) -> None:
    dirty = M + np.float32([[0, 0], [np.nan, 0]])
    with use(backend):
        np.testing.assert_allclose(ops.solve_triangular(dirty, M), np.linalg.solve(M, M), rtol=1e-6)


@both
def test_what_cannot_be_solved_is_told(backend: str) -> None:
    with use(backend):
        with pytest.raises(NumericsError):
            ops.solve_triangular(np.float32([[1, 2], [0, 0]]), np.ones(2, "float32"))
        with pytest.raises(ShapeError):
            ops.solve_triangular(M, np.ones(3, "float32"))
        with pytest.raises(ShapeError):
            ops.lstsq(M[None], M)
        with pytest.raises(ShapeError):
            ops.matrix_power(M[:1], 2)


@both
@pytest.mark.parametrize("window", ["hann", "hamming", None])
def test_istft_gives_back_the_signal(backend: str, window: str | None) -> None:
    with use(backend):
        back = ops.istft(ops.stft(WAVE, 8, 2, window=window), 8, 2, window=window)
        np.testing.assert_allclose(back, WAVE, atol=1e-5)


def test_signals_that_do_not_fit_are_told() -> None:
    with pytest.raises(ShapeError):
        ops.frame(WAVE, 50, 1)
    with pytest.raises(ShapeError):
        ops.stft(WAVE[:3], 8, 2)
    with pytest.raises(ArgumentError):
        ops.stft(WAVE, 8, 2, fft_length=4)
    with pytest.raises(ShapeError):
        ops.istft(ops.stft(WAVE, 8, 2), 10, 2)
    with pytest.raises(ShapeError, match="n = 100"):
        ops.istft(ops.stft(WAVE, 8, 2), 8, 2, n=100)
    with pytest.raises(ArgumentError):
        ops.stft(WAVE, 8, 2, window="han")


@pytest.mark.parametrize("window", ["hann", None])
def test_stft_is_that_of_torch(window: str | None) -> None:
    torch = pytest.importorskip("torch")
    weights = torch.hann_window(8) if window else torch.ones(8)
    theirs = torch.stft(torch.tensor(WAVE), 8, 2, window=weights, center=True, return_complex=True)
    np.testing.assert_allclose(ops.stft(WAVE, 8, 2, window=window), theirs.numpy().T, atol=1e-5)


def test_least_squares_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    x, y = np.random.default_rng(0).normal(size=(2, 6, 3)).astype("float32")
    theirs = torch.linalg.lstsq(torch.tensor(x), torch.tensor(y)).solution
    np.testing.assert_allclose(ops.lstsq(x, y), theirs.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.broad
@pytest.mark.parametrize("x", [np.eye(2), np.eye(3, 2), np.ones((2, 2))], ids=["equal", "tall", "singular"])
def test_lstsq_has_a_gradient_where_singular_values_are_equal(x):
    """It went through the singular vectors, and was nan."""
    x, y = (2 * x).astype("float32"), np.arange(1.0, len(x) + 1, dtype="float32")
    found = gx.grad(lambda x: ops.sum(ops.lstsq(x, y) * np.float32([1, 3])))(x)
    wanted = gx.grad(lambda x: ops.sum(ops.matmul(ops.pinv(x), y) * np.float32([1, 3])))(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    if np.linalg.matrix_rank(x) == 2:  # elsewhere the solution leaps
        step, slope = 1e-3, np.zeros_like(x)
        for place in np.ndindex(x.shape):
            ahead, behind = x.astype("float64"), x.astype("float64")
            ahead[place] += step
            behind[place] -= step
            slope[place] = (np.linalg.lstsq(ahead, y)[0] - np.linalg.lstsq(behind, y)[0]) @ [1, 3] / (2 * step)
        np.testing.assert_allclose(found, slope, rtol=1e-3, atol=1e-5)


@pytest.mark.broad
def test_eigenvalues_have_a_gradient_where_they_are_equal_and_eigenvectors_have_none():
    x = np.eye(2, dtype="float32")
    np.testing.assert_allclose(gx.grad(lambda x: ops.sum(ops.eigh(x)[0] ** 2))(x), 2 * x, rtol=1e-6)
    assert np.isnan(gx.grad(lambda x: ops.sum(ops.eigh(x)[1] * x))(x)).all()
