import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import constraints, ops
from graftax.backend import registry

W = np.random.default_rng(0).normal(size=(3, 4, 2)).astype("float32") * np.float32([0.3, 3])
CASES = [
    ("MaxNorm", {}),
    ("MaxNorm", {"max_value": 0.5, "axis": (0, 1)}),
    ("MinMaxNorm", {}),
    ("MinMaxNorm", {"min_value": 0.8, "max_value": 1.2, "rate": 0.4, "axis": 1}),
    ("NonNeg", {}),
    ("UnitNorm", {}),
    ("UnitNorm", {"axis": (0, 2)}),
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_values_are_those_of_keras(keras, name, options):
    ours, theirs = getattr(constraints, name)(**options), getattr(keras.constraints, name)(**options)
    np.testing.assert_allclose(ours(W), theirs(W), rtol=1e-5, atol=1e-6)


@given(size=st.floats(0, 1e6, width=32), rate=st.floats(0, 1))
def test_lengths(size, rate):
    w = np.float32([[size], [size]])
    before = float(np.linalg.norm(w))
    with registry.use("numpy"):
        lengths = [
            float(np.linalg.norm(constraint(w)))
            for constraint in (constraints.MaxNorm(2.0), constraints.UnitNorm(), constraints.MinMaxNorm(1, 2, rate))
        ]
    limited = min(max(before, 1), 2)
    expected = [min(before, 2), 1, (1 - rate) * before + rate * limited] if before > 1e-3 else lengths
    assert lengths == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_zeros_stay():
    for name in ("max_norm", "min_max_norm", "unit_norm", "non_neg"):
        out = constraints.get(name)(ops.zeros((3, 2)))
        assert not np.asarray(out).any()


def test_projections_repeat():
    for name in ("max_norm", "min_max_norm", "unit_norm", "non_neg"):
        once = constraints.get(name)(W)
        np.testing.assert_allclose(constraints.get(name)(once), once, rtol=1e-5, atol=1e-6)


def test_arguments_are_checked():
    for make in (
        lambda: constraints.MaxNorm(-1),
        lambda: constraints.MaxNorm("2"),
        lambda: constraints.MinMaxNorm(2, 1),
        lambda: constraints.MinMaxNorm(rate=1.5),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=r"max_value=|MinMaxNorm"):
            make()


def test_get():
    assert constraints.get(None) is None
    assert constraints.get(ops.abs) is ops.abs
    assert repr(constraints.get("max_norm")) == "MaxNorm(max_value=2.0, axis=0)"
    with pytest.raises(gx.errors.ArgumentError, match=r"'positive'(.|\n)*non_neg"):
        constraints.get("positive")
