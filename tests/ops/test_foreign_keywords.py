"""What stands in place of an argument from elsewhere computes what that did, number for number."""

import numpy as np
import pytest

from graftax import ops
from graftax.core.errors import ArgumentTypeError
from graftax.ops.foreign_keywords import _LINES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 3)).astype("float32")
LOWER = np.tril(X) + 3 * np.eye(3, dtype="float32")
WHOLE = LOWER @ LOWER.T
Y = RNG.normal(size=(3, 2)).astype("float32")
MASK = np.array([[True, False, True], [False, True, True], [True, True, False]])
NAN, INF = float("nan"), float("inf")

SAME = {
    # what is written; what the argument would have given
    ("solve_triangular", "trans"): (lambda: ops.solve_triangular(LOWER.T, Y, lower=False), np.linalg.solve(LOWER.T, Y)),
    ("solve_triangular", "unit_diagonal"): (
        lambda: ops.solve_triangular(ops.tril(LOWER, -1) + ops.eye(3), Y, lower=True),
        np.linalg.solve(np.tril(LOWER, -1) + np.eye(3), Y),
    ),
    ("solve_triangular", "upper"): (lambda: ops.solve_triangular(LOWER.T, Y), np.linalg.solve(LOWER.T, Y)),
    ("solve_triangular", "left"): (
        lambda: ops.solve_triangular(LOWER.T, ops.asarray(Y.T).mT, lower=False).mT,
        Y.T @ np.linalg.inv(LOWER),
    ),
    ("cholesky", "upper"): (lambda: ops.conj(ops.cholesky(WHOLE).mT), np.linalg.cholesky(WHOLE).T),
    ("eigh", "UPLO"): (lambda: ops.eigh(ops.triu(X) + ops.conj(ops.triu(X, 1).mT))[0], np.linalg.eigh(X, "U")[0]),
    ("svd", "compute_uv"): (lambda: ops.svd(X, full_matrices=False)[1], np.linalg.svd(X, compute_uv=False)),
    ("max", "initial"): (lambda: ops.maximum(ops.max(X), 9.0), np.max(X, initial=9.0)),
    ("sum", "where"): (lambda: ops.sum(ops.where(MASK, X, 0)), np.sum(X, where=MASK)),
    ("prod", "where"): (lambda: ops.prod(ops.where(MASK, X, 1)), np.prod(X, where=MASK)),
    ("max", "where"): (lambda: ops.max(ops.where(MASK, X, -INF)), np.max(X, where=MASK, initial=-INF)),
    ("mean", "where"): (lambda: ops.nanmean(ops.where(MASK, X, NAN)), np.mean(X, where=MASK)),
    ("std", "where"): (lambda: ops.nanstd(ops.where(MASK, X, NAN), axis=1), np.std(X, axis=1, where=MASK)),
    ("any", "where"): (lambda: ops.any(ops.logical_and(MASK, X > 1)), np.any(X > 1, where=MASK)),
    ("all", "where"): (lambda: ops.all(ops.logical_or(ops.logical_not(MASK), X > -3)), np.all(X > -3, where=MASK)),
    ("cumsum", "exclusive"): (lambda: ops.cumsum(X, 1) - X, np.cumsum(X, 1) - X),
    ("cumprod", "reverse"): (lambda: ops.flip(ops.cumprod(ops.flip(X, 1), 1), 1), np.cumprod(X[:, ::-1], 1)[:, ::-1]),
    ("take", "mode"): (lambda: ops.take(X, ops.clip(np.array([0, 7]), 0, 2), 0), np.take(X, [0, 7], 0, mode="clip")),
    ("diff", "prepend"): (lambda: ops.diff(ops.concatenate([Y, X], 1)), np.diff(X, prepend=Y)),
    ("softplus", "beta"): (lambda: ops.softplus(2 * X) / 2, np.log1p(np.exp(2 * X)) / 2),
    ("top_k", "largest"): (lambda: -ops.top_k(-X, 2)[0], np.sort(X)[:, :2]),
    ("logsumexp", "b"): (lambda: ops.logsumexp(X + ops.log(WHOLE**2), 1), np.log((np.exp(X) * WHOLE**2).sum(1))),
}


@pytest.mark.parametrize("case", SAME, ids="-".join)
def test_the_line_computes_the_same(case):
    assert case in _LINES
    written, wanted = SAME[case]
    np.testing.assert_allclose(written(), wanted, rtol=2e-4, atol=1e-5)


def test_a_generalized_eigenproblem():
    root = ops.cholesky(WHOLE)
    given = X + X.T
    inner = ops.solve_triangular(root, ops.solve_triangular(root, given, lower=True).mT, lower=True)
    wanted = np.sort(np.linalg.eigvals(np.linalg.solve(WHOLE, given)).real)
    np.testing.assert_allclose(ops.eigh(inner)[0], wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("op", "keyword"), _LINES, ids=["-".join(case) for case in _LINES])
def test_functions_do_not_have_the_argument(op, keyword):
    with pytest.raises(ArgumentTypeError) as caught:
        getattr(ops, op)(X, **{keyword: 1})
    assert caught.value.instead == f"in place of {keyword}=: {_LINES[op, keyword]}"


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda: ops.exp(X, out=X), "leave out= out"),
        (lambda: ops.norm(X, p=2), "ord= in place of p="),
        (
            lambda: ops.exp(X, where=MASK),
            "other functions of graftax.ops before or after ops.exp, or leave where= out if",
        ),
    ],
)
def test_only_what_changes_no_number_is_left_out(call, instead):
    """Found by an outsider: `leave trans= out` solves another system."""
    with pytest.raises(ArgumentTypeError) as caught:
        call()
    assert caught.value.instead.startswith(instead)
