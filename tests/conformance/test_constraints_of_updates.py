"""After each update of any optimizer, and with its averages, weights are as their constraints project them."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import constraints, ops, optimizers
from graftax.core.errors import ArgumentError
from tests.conformance.optimizer_rows import ROWS

CONSTRAINTS = {
    "NonNeg": constraints.NonNeg(),
    "MaxNorm": constraints.MaxNorm(1.0, axis=0),
    "UnitNorm": constraints.UnitNorm(axis=0),
    "MinMaxNorm": constraints.MinMaxNorm(0.5, 1.0, axis=0),
}
AROUND = {
    "lookahead": lambda **o: optimizers.Lookahead(optimizers.SGD(0.3, **o), every=2),
    "lookahead adam": lambda **o: optimizers.Lookahead(optimizers.Adam(0.3, **o), every=3, rate=0.3),
    "sam": lambda **o: optimizers.SAM(optimizers.SGD(0.3, **o)),
}
MAKERS = {name: row.make for name, row in ROWS.items()} | AROUND
START = np.random.default_rng(0).normal(size=(3, 2)).astype("float32") * 3
GOALS = np.random.default_rng(1).normal(size=(7, 3, 2)).astype("float32") * 2


def check(weight):
    wanted = np.asarray(weight.constraint(weight.value))
    np.testing.assert_allclose(weight, wanted, rtol=1e-5, atol=1e-6)


def train(optimizer, weight):
    """Take steps towards goals that the constraint may not allow, and check each."""
    for goal in GOALS:
        optimizer.minimize(lambda goal=goal: ops.sum((weight - goal) ** 2), [weight])
        check(weight)


@pytest.mark.in_turn(12, broad=40)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("name", MAKERS)
def test_kept_or_refused(name, constraint):
    weight, optimizer = gx.Variable(START, constraint=CONSTRAINTS[constraint]), MAKERS[name]()
    if getattr(optimizer, "averages_itself", False):
        with pytest.raises(ArgumentError, match="with a constraint"):
            train(optimizer, weight)
        return
    train(optimizer, weight)
    weight, optimizer = gx.Variable(START, constraint=CONSTRAINTS[constraint]), MAKERS[name](ema_momentum=0.6)
    train(optimizer, weight)
    with optimizer.averaged():
        check(weight)
    optimizer.assign_averages()
    check(weight)


def test_lookahead_comes_back_to_what_is_allowed():
    """By hand: the fast weight is stopped at 0.8, and comes back half of the way from 1, then from 0.9."""
    weight = gx.Variable([1.0], constraint=lambda w: ops.maximum(w, 0.8))
    optimizer = optimizers.Lookahead(optimizers.SGD(0.5), every=2)
    found = []
    for _ in range(4):
        optimizer.apply([[1.0]], [weight])
        found.append(round(float(weight[0]), 6))
    assert found == [0.8, 0.9, 0.8, 0.85]


@pytest.mark.parametrize("is_frozen", [False, True], ids=["no gradient", "frozen"])
def test_what_no_update_moves_is_not_projected(is_frozen):
    moved, still = gx.Variable([1.0, 1.0]), gx.Variable([3.0, 4.0], constraint=constraints.MaxNorm(1.0))
    still.trainable = not is_frozen
    for optimizer in (
        optimizers.Lookahead(optimizers.SGD(0.1, ema_momentum=0.5), every=2),
        optimizers.SGD(0.1, ema_momentum=0.5),
    ):
        for _ in range(4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that there is no gradient
                given = [moved] if is_frozen else [moved, still]
                optimizer.apply([np.ones(2, "float32"), None][: len(given)], given)
        with optimizer.averaged():
            assert still.numpy().tolist() == [3, 4]
        optimizer.assign_averages()
        assert still.numpy().tolist() == [3, 4]
