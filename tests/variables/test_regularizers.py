import numpy as np
import pytest

import graftax as gx
from graftax import ops, regularizers

W = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
CASES = {
    "l1": (regularizers.L1(0.3), 0.3 * abs(W).sum()),
    "l2": (regularizers.L2(0.3), 0.3 * (W**2).sum()),
    "l1_l2": (regularizers.L1L2(0.1, 0.3), 0.1 * abs(W).sum() + 0.3 * (W**2).sum()),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    regularizer, expected = CASES[name]
    assert float(regularizer(W)) == pytest.approx(expected, rel=1e-5)
    if name != "l1_l2":  # whose factors must be said
        assert isinstance(regularizers.get(name), type(regularizer))


@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_orthogonal(mode):
    rows = W if mode == "rows" else W.T
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = abs(rows @ rows.T)[~np.eye(len(rows), dtype=bool)]
    assert float(regularizers.OrthogonalRegularizer(0.3, mode)(W)) == pytest.approx(0.3 * cosines.mean(), rel=1e-4)


@pytest.mark.parametrize("name", ["L1", "L2", "L1L2", "OrthogonalRegularizer"])
def test_values_are_those_of_keras(keras, name):
    arguments = (0.1, 0.2) if name == "L1L2" else (0.1,)
    ours, theirs = getattr(regularizers, name)(*arguments), getattr(keras.regularizers, name)(*arguments)
    assert float(ours(W)) == pytest.approx(float(theirs(W)), rel=1e-5)
    assert float(getattr(regularizers, name)()(W)) == pytest.approx(float(getattr(keras.regularizers, name)()(W)))


@pytest.mark.broad
def test_the_slope_at_zero_is_zero():
    for penalty in ("l1", "l2", regularizers.L1L2(0.1, 0.1), "orthogonal"):
        gradient = gx.grad(lambda w, penalty=penalty: ops.sum(regularizers.get(penalty)(w)))(ops.zeros((3, 3)))
        assert not np.asarray(gradient).any()


@pytest.mark.parametrize("factor", [-1, float("nan"), float("inf"), "0.1", None, True])
def test_factors_are_checked(factor):
    for cls in (regularizers.L1, regularizers.L2, regularizers.L1L2, regularizers.OrthogonalRegularizer):
        with pytest.raises(gx.errors.ArgumentError, match="from 0 up"):
            cls(factor)


def test_only_matrices_are_orthogonal():
    with pytest.raises(gx.errors.ShapeError, match=r"\(3,\)"):
        regularizers.OrthogonalRegularizer()(ops.ones((3,)))
    with pytest.raises(gx.errors.ArgumentError, match="mode='both'"):
        regularizers.OrthogonalRegularizer(mode="both")


def test_get():
    assert regularizers.get(None) is None
    assert regularizers.get(ops.sum) is ops.sum
    assert repr(regularizers.get("l2")) == "L2(l2=0.01)"
    with pytest.raises(gx.errors.ArgumentError, match=r"'l3'(.|\n)*l1_l2"):
        regularizers.get("l3")
    for name in ("l1_l2", "L1L2"):  # which would penalize nothing
        with pytest.raises(gx.errors.ArgumentError, match=r"two factors are 0(.|\n)*L1L2\(l1=0.01, l2=0.01\)"):
            gx.layers.Dense(2, kernel_regularizer=name)
    assert repr(regularizers.get(regularizers.L1L2())) == "L1L2(l1=0.0, l2=0.0)"  # as in a search for the best factors
