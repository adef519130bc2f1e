"""Losses by name."""

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
