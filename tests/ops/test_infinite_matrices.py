"""Infinity in a matrix ends at once in nan: LAPACK would search for singular values for ever."""

import multiprocessing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.registry import use
from graftax.reparam.balanced_factors import balanced_factors

INFINITE = np.array([[np.inf, 1, 0], [np.inf, 3, 1], [np.inf, 1, 4]], "float32")
PLAIN = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]], "float32")
LINE = np.array([1, 2, 3], "float32")
OPS: dict[str, Callable[[Any], Any]] = {
    "svd": lambda x: ops.svd(x)[1],
    "svd_thin": lambda x: ops.svd(x, full_matrices=False)[1],
    "pinv": ops.pinv,
    "lstsq": lambda x: ops.lstsq(x, LINE),
    "eigh": lambda x: ops.eigh(x)[0],
    "eig": lambda x: ops.real(ops.eig(x)[0]),
}


def check_ops(backend: str) -> None:
    with use(backend):
        for name, op in OPS.items():
            assert np.isnan(ops.to_numpy(op(INFINITE))).all(), name
            assert np.isfinite(ops.to_numpy(op(PLAIN))).all(), name
        assert int(ops.matrix_rank(INFINITE)) == 0
        for name in ("svd", "pinv", "eigh", "eig", "cholesky"):
            found = getattr(ops, name)(np.stack([INFINITE, PLAIN, PLAIN * np.float32(np.nan)]))
            values = ops.to_numpy(found[1] if isinstance(found, tuple) else found).reshape(3, -1)
            assert np.isfinite(values).all(-1).tolist() == [False, True, False], name


def check_compiled() -> None:
    for name, op in OPS.items():
        assert np.isnan(np.asarray(gx.jit(op)(INFINITE))).all(), name
    both = np.stack([INFINITE, PLAIN])
    np.testing.assert_array_equal(np.isnan(np.asarray(ops.svd(both)[1])).all(-1), [True, False])


def check_gradients() -> None:
    def product(x: Any) -> Any:
        left, right = balanced_factors(x, 2, "kernel")
        return ops.sum(left @ right)

    for function in (product, lambda x: ops.sum(ops.pinv(x)), lambda x: ops.sum(ops.svd(x)[1])):
        assert np.isnan(np.asarray(gx.jit(gx.grad(function))(INFINITE))).any()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("check", "given"),
    [(check_ops, ("jax",)), (check_ops, ("numpy",)), (check_compiled, ()), (check_gradients, ())],
    ids=["jax", "numpy", "compiled", "gradients"],
)
def test_infinity_ends_in_nan(check: Callable[..., None], given: tuple[str, ...]) -> None:
    process = multiprocessing.get_context("spawn").Process(target=check, args=given)  # one that can be ended
    process.start()
    process.join(100)
    ended = process.exitcode is not None
    process.kill()
    assert ended, "it is still searching"
    assert process.exitcode == 0
