import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import constraints, ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ShapeError

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


@pytest.mark.broad
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


# --- projections onto sets ------------------------------------------------------------------------------------------


def inside(name, w):
    """Whether a point lies in the set, to rounding."""
    size = np.abs(w)
    return {
        "box": (w >= -1e-5).all() and (w <= 1 + 1e-5).all(),
        "linf_ball": (size <= 1 + 1e-5).all(),
        "l2_ball": (w**2).sum() <= 1 + 1e-4,
        "l1_ball": size.sum() <= 1 + 1e-4,
        "simplex": (w >= -1e-6).all() and abs(w.sum() - 1) < 1e-4,
    }[name]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", ["box", "linf_ball", "l2_ball", "l1_ball", "simplex"])
@settings(max_examples=10)
@given(values=st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=6), seed=st.integers(0, 9))
def test_a_projection_is_the_nearest_point_of_its_set(name, values, seed):
    w = np.asarray(values, "float32")
    with registry.use("numpy"):
        constraint = constraints.get(name)
        nearest = np.asarray(constraint(w))
        assert inside(name, nearest)
        np.testing.assert_allclose(constraint(nearest), nearest, atol=2e-4)
        # no other point of the set is nearer
        others = np.random.default_rng(seed).normal(size=(20, len(w))).astype("float32") * 2
        for other in others:
            point = np.asarray(constraint(other))
            assert ((w - nearest) ** 2).sum() <= ((w - point) ** 2).sum() + 1e-3


@pytest.mark.broad
def test_a_point_inside_stays():
    w = np.float32([[0.1, 0.2], [-0.3, 0.1]])
    for name in ("linf_ball", "l2_ball", "l1_ball"):
        np.testing.assert_array_equal(constraints.get(name)(w), w)


def test_radial_averages_each_ring():
    kernel = np.random.default_rng(0).normal(size=(4, 4, 2, 3)).astype("float32")
    out = np.asarray(constraints.Radial()(kernel))
    middle = kernel[1:3, 1:3].mean((0, 1))
    border = (kernel.sum((0, 1)) - kernel[1:3, 1:3].sum((0, 1))) / 12
    np.testing.assert_allclose(out[1, 2], middle, rtol=1e-5, atol=1e-6)
    for i, j in ((0, 0), (0, 2), (3, 1), (2, 3)):
        np.testing.assert_allclose(out[i, j], border, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="square window"):
        constraints.Radial()(kernel[:3])


@pytest.mark.broad
def test_projections_are_kept_by_optimizers():
    w = gx.Variable([0.2, 0.3, 0.5], constraint=constraints.Simplex())
    gx.optimizers.SGD(1.0).apply([np.float32([1.0, -1.0, 0.0])], [w])
    np.testing.assert_allclose(w.numpy(), [0.0, 0.9, 0.1], atol=1e-6)


def test_arguments_of_projections_are_checked():
    for make in (
        lambda: constraints.Box(2, 1),
        lambda: constraints.L2Ball(-1),
        lambda: constraints.Simplex(0),
        lambda: constraints.L1Ball(0),
    ):
        with pytest.raises(ArgumentError):
            make()


@pytest.mark.parametrize("radius", [0.0, float("inf"), -1.0])
def test_the_radius_of_a_ball_is_called_so(radius):
    with pytest.raises(gx.errors.ArgumentError, match=r"radius=(.|\n)*instead: (L1Ball|radius)"):
        constraints.L1Ball(radius)


@pytest.mark.broad
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_constraints_of_weights_without_elements_give_them_back_or_say_why_not(shape):
    empty = np.zeros(shape, "float32")
    for name in dir(constraints):
        kind = getattr(constraints, name)
        if isinstance(kind, type) and kind not in (constraints.BaseConstraint, constraints.Radial, constraints.Simplex):
            assert kind()(empty).shape == shape, name
    with pytest.raises(ShapeError, match="Simplex for a weight of shape"):
        constraints.Simplex()(empty)
