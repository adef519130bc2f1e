"""Losses by name."""

import numpy as np
import pytest

from graftax import losses
from graftax.core.errors import ArgumentError, ArgumentTypeError


@pytest.mark.parametrize("short", ["mse:mean_squared_error", "mae:mean_absolute_error", "bce:binary_crossentropy"])
def test_names(short):
    one, two = map(losses.get, short.split(":"))
    assert type(one) is type(two)
    assert one.name == short.split(":")[1]


def test_every_loss_has_its_name():
    for cls in vars(losses).values():
        if isinstance(cls, type) and cls not in (losses.Loss, losses.FunctionLoss):
            assert type(losses.get(cls().name)) is cls


def test_every_loss_has_a_function_of_its_name_that_stands_for_it():
    classes = [one for one in vars(losses).values() if isinstance(one, type)]
    for cls in set(classes) - {losses.Loss, losses.FunctionLoss}:
        assert type(losses.get(getattr(losses, cls().name))) is cls


@pytest.mark.broad
def test_functions_of_batches_give_one_number_for_each_sample():
    y, x = [0, 0, 1, 1], np.eye(4, 3, dtype="float32") + 0.1
    for name, options in (("circle", {"gamma": 2.0}), ("nt_xent", {"temperature": 0.7}), ("triplet_semi_hard", {})):
        function, cls = getattr(losses, name), losses.get(name).__class__
        expected = cls(**options, reduction="none")(y, x)
        np.testing.assert_array_equal(function(y, x, **options), expected)
        assert expected.shape == (4,)
    with pytest.raises(ArgumentError, match="temperature"):
        losses.nt_xent(y, x, temperature=0)
    for name, given in (
        ("gaussian_nll", ([[1.0]], [[3.0, 0.0]])),
        ("ctc", ([[1, 0]], [[[0.0, 0.0], [0.0, 0.0]]])),
        ("categorical_generalized_cross_entropy", ([1], [[0.75, 0.25]])),
    ):
        expected = losses.get(name).__class__(reduction="none")(*given)
        np.testing.assert_array_equal(getattr(losses, name)(*given), expected)


def test_losses_and_functions():
    huber = losses.Huber(2.0)
    assert losses.get(huber) is huber
    wrapped = losses.get(lambda y_true, y_pred: y_true - y_pred)
    assert isinstance(wrapped, losses.FunctionLoss)
    assert float(wrapped([3.0], [1.0])) == 2


def test_what_is_no_loss():
    with pytest.raises(ArgumentError, match=r"(?s)loss='mes'.*mean_squared_error"):
        losses.get("mes")
    with pytest.raises(ArgumentTypeError, match=r"loss=Huber\(\)"):
        losses.get(losses.Huber)
    with pytest.raises(ArgumentTypeError, match="loss=None"):
        losses.get(None)
