"""Losses that are plain functions look at their settings as the classes do; computed and learned ones are taken."""

import inspect

import numpy as np
import pytest

import graftax as gx
from graftax import losses
from graftax.core.errors import GraftaxError
from tests.conformance.test_objective_arguments import BAD

Y, P = np.float32([[0, 1], [1, 0]]), np.float32([[0.3, 0.6], [0.5, 0.25]])


def functions():
    for name, function in vars(losses).items():
        if inspect.isfunction(function) and name.islower() and "y_true" in inspect.signature(function).parameters:
            yield name, function


def settings():
    for name, function in functions():
        for setting in list(inspect.signature(function).parameters)[2:]:
            yield pytest.param(name, function, setting, id=f"{name}-{setting}")


@pytest.mark.parametrize(("name", "function", "setting"), list(settings()))
def test_settings_that_make_no_sense_are_refused(name, function, setting):
    targets = np.array([1, 0]) if "labels" in inspect.getdoc(function).partition("Example")[0] else Y
    meant = {"from_logits": 1} if setting == "from_logits" else dict.fromkeys(("alpha", "pos_weight", "class_weight"))
    for value in BAD[setting]:
        if (setting in meant and value is meant[setting]) or (setting == "alpha" and isinstance(value, list)):
            continue  # True, none, one for each class
        if value is None and setting == "axis" and name in ("dice", "tversky"):
            continue  # all but the first
        with pytest.raises(GraftaxError):
            function(targets, P, **{setting: value})


@pytest.mark.broad
def test_a_setting_may_be_learned():
    delta = gx.Variable(0.5, name="delta")
    slope = gx.grad(lambda delta: gx.ops.sum(losses.huber(Y, 4 * P, delta=delta)))(delta.value)
    assert float(slope) > 0
    weight = gx.jit(lambda weight: losses.binary_crossentropy(Y, P, pos_weight=[1.0, 2.0]) * weight)
    assert weight(np.float32(2)).shape == (2,)
    assert losses.huber(Y, P, delta=delta).shape == (2,)


def test_axes_of_overlaps_are_those_of_the_classes():
    y, p = np.ones((2, 3, 4), "float32"), np.full((2, 3, 4), 0.5, "float32")
    np.testing.assert_allclose(losses.dice(y, p, axis=1), losses.Dice(axis=1, reduction="none")(y, p))
    for axis in ((), 0, (1, 1), 1.5, True):
        for function in (losses.dice, losses.tversky):
            with pytest.raises(GraftaxError, match="axis="):
                function(y, p, axis=axis)
        with pytest.raises(GraftaxError, match="axis="):
            losses.Dice(axis=axis)
