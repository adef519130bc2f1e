"""Losses, metrics, activations, penalties and constraints where formulas lose what mathematics has."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import constraints, ops, regularizers
from graftax.layers import activations
from tests.conformance import loss_rows, metric_rows
from tests.conformance.hostile import HALVES, POINTS, at, lost, with_gradients

pytestmark = pytest.mark.optimized
NO_SHARES = (r"(-?0|times 0|-1e-30): (value|metric)", "shares of a row that does not add up to more than 0")
EXCEPTIONS: dict[str, tuple[str, str]] = {
    "categorical_crossentropy": NO_SHARES,
    "sparse_categorical_crossentropy": NO_SHARES,
    "categorical_crossentropy_class_weight": NO_SHARES,
    "perplexity": NO_SHARES,
}
"""What is not finite for a reason: an expression that mistakes match as a whole, and the reason."""
LOSSES, METRICS = loss_rows.ROWS, metric_rows.ROWS
SAMPLE = np.random.default_rng(0).normal(size=(4, 4))


def public(space: Any, base: str) -> list[str]:
    """The names of the classes of a namespace that are called on a weight."""
    kinds = {name: getattr(space, name) for name in dir(space)}
    return [name for name, one in kinds.items() if isinstance(one, type) and not name.endswith(base)]


ON_WEIGHTS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(regularizers, name)() for name in public(regularizers, "Regularizer") if name != "Radial"},
    **{name: getattr(constraints, name)() for name in public(constraints, "Constraint") if name != "Radial"},
    "OrthogonalRegularizer": regularizers.OrthogonalRegularizer(),
    "Radial": lambda x: constraints.Radial()(ops.reshape(x, (4, 4, 1, 1))),
    **{f"{name} activation": activations.get(name) for name in activations._NAMES},
}


def mistakes(function: Callable[[Any], Any], sample: Any, dtype: str, orders: int = 1) -> list[str]:
    """What goes wrong, such as ``"1e30: gradient"``: at which point, and what is not finite."""
    short, exact = with_gradients(function, orders), with_gradients(function, orders)
    found = []
    for point in POINTS:
        given = [at(point, sample, dtype)]
        kinds = ("value", "gradient", "second gradient")
        found += [f"{point}: {kinds[i]}" for i in lost(short(*given), exact, given, dtype)]
    return found


def check(name: str, found: list[str]) -> list[str]:
    pattern, _ = EXCEPTIONS.get(name, ("", ""))
    wrong = [one for one in found if not re.fullmatch(pattern, one)]
    assert not wrong, f"{name}: {wrong}"
    return found


def of_loss(name: str, dtype: str) -> list[str]:
    row, rng = LOSSES[name], np.random.default_rng(0)
    targets, predictions = row.targets(rng, (2, 3)), row.predictions(rng, (2, 3))
    whole = targets.dtype.kind != "f"
    loss, found = row.make(), []
    for kind in (targets,) if whole else (targets, np.zeros_like(targets), np.ones_like(targets)):
        given = kind.astype("int32") if whole else kind
        found += mistakes(
            lambda p, given=given: loss(given if whole else ops.cast(given.astype("float32"), str(p.dtype)), p),
            predictions,
            dtype,
        )
    return found


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_finite(name):
    assert bool(check(name, of_loss(name, "float32"))) == (name in EXCEPTIONS), "the exception is not needed"


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_finite_in_half_precision(name, dtype):
    check(name, of_loss(name, dtype))


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("name", ON_WEIGHTS)
def test_functions_of_weights_are_finite(name):
    found = check(name, mistakes(ON_WEIGHTS[name], SAMPLE, "float32"))
    assert bool(found) == (name in EXCEPTIONS), "the exception is not needed"


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ON_WEIGHTS)
def test_functions_of_weights_are_finite_in_half_precision(name, dtype):
    check(name, mistakes(ON_WEIGHTS[name], SAMPLE, dtype))


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_finite(name):
    targets, predictions = metric_rows.data(METRICS[name], (2, 5))
    for point in POINTS:
        if abs(POINTS[point][0]) > 1e20 or predictions.dtype.kind != "f":  # squares of the former overflow
            continue
        try:
            found = METRICS[name].make()(targets, at(point, predictions, "float32"))
        except gx.errors.GraftaxError:  # such predictions are refused
            continue
        if not np.isfinite(found).all():
            check(name, [f"{point}: metric"])
