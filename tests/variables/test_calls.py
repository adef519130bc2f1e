"""The training flag as expressions behind weights see it."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import GraftaxError
from graftax.variables.calls import is_training

seen: list[bool] = []


class Looking(gx.Reparam):
    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))

    def forward(self):
        seen.append(is_training())
        return self.base.value


@pytest.fixture
def model():
    with gx.variable_creator_scope(Looking, where="**/kernel"):
        model = gx.Sequential([gx.layers.Dense(2)])
        model(np.ones((1, 3), "float32"))
    seen.clear()
    return model


@pytest.mark.parametrize(("given", "told"), [(None, False), (False, False), (True, True)])
def test_it_is_that_of_the_layer_call(model, given, told):
    gx.jit(lambda x: model(x, training=given))(np.ones((1, 3), "float32"))
    assert seen == [told]


def test_outside_of_layer_calls_it_is_false(model):
    model.layers[0].kernel.numpy()
    assert seen == [False]
    assert is_training() is False


def test_a_traced_flag_is_refused_and_not_ignored(model):
    with pytest.raises(GraftaxError):
        gx.jit(lambda x, flag: model(x, training=flag))(np.ones((1, 3), "float32"), np.asarray(True))
