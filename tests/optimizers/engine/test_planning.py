"""What an update changes, and by whose rule; the names that this takes from those who write a rule."""

import numpy as np
import pytest

import graftax as gx
from graftax.optimizers.engine.planning import Planning


class WithHelpers(gx.Optimizer):
    """A rule whose author calls helpers as the engine might call its own."""

    def update(self, gradient, value, slots, step):
        return self._update(self._plan(gradient), value, self._settings()), {}

    def _update(self, gradient, value, rate):
        return value - rate * gradient

    def _plan(self, gradient):
        return 2.0 * gradient

    def _settings(self):
        return 0.25

    def _build(self):
        raise AssertionError("nobody asked for it")

    _rules = _accumulate = _average = _absent = _dense = _rule_of = _make_slots = _build


def test_a_rule_may_have_helpers_of_any_plain_private_name():
    w = gx.Variable([1.0, -2.0])
    optimizer = WithHelpers(1.0, accumulation_steps=2, ema_momentum=0.5, rules=[("**", {"l2": 0.0})])
    for gradient in ([1.0, 0.0], [3.0, 2.0]):
        optimizer.apply([gradient], [w])
    np.testing.assert_array_equal(w.numpy(), [0.0, -2.5])


def test_names_that_the_engine_keeps_to_itself_say_so():
    found = [name for kind in (Planning, gx.Optimizer) for name in vars(kind) if name.startswith("_")]
    assert [name for name in found if not name.startswith(("__", "_gx_"))] == []


def test_an_update_of_frozen_variables_alone_warns():
    frozen, moving = gx.Variable([1.0], trainable=False, name="fast"), gx.Variable([1.0])
    with pytest.warns(UserWarning, match=r"nothing is updated: fast, all that were given, are frozen"):
        gx.optimizers.SGD(0.1).apply([np.ones(1)], [frozen])
    gx.optimizers.SGD(0.1).apply([np.ones(1), np.ones(1)], [frozen, moving])
    assert (frozen.numpy()[0], round(float(moving.numpy()[0]), 6)) == (1.0, 0.9)
