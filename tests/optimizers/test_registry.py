import pytest

from graftax.core.errors import ArgumentError
from graftax.optimizers import Adam, registry


def test_by_name_or_as_it_is():
    assert type(registry.get("adam")) is Adam
    assert registry.get("AdamW").weight_decay == 0.004
    mine = Adam(0.1)
    assert registry.get(mine) is mine
    assert registry.get("sgd") is not registry.get("sgd")


def test_a_name_that_there_is_not_lists_the_names():
    with pytest.raises(ArgumentError, match="adabelief, adadelta, adafactor"):
        registry.get("adamm")
