"""What an update gets, and the rules of an optimizer, are not changed in place: errors say what to write."""

import copy
import pickle

import pytest

import graftax as gx
from graftax.errors import AssignmentError, MissingAttributeError


def _moved(change):
    class Own(gx.optimizers.SGD):
        def update_all(self, moving):
            for one in moving:
                change(one)
            return super().update_all(moving)

    w = gx.Variable([1.0, 2.0])
    Own(0.1, momentum=0.9).apply([[1.0, 1.0]], [w])


def _gradient(one):
    one.gradient = 2 * one.gradient


def _slot(one):
    one.slots.momentum = one.gradient


def _rate(one):
    one.step.learning_rate = 0.0


def _decay(one):
    one.step.weight_decay = 0.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_gradient, r"one._replace\(gradient=...\)"),
        (_slot, r'return value, \{"momentum": ...\}'),
        (_rate, "learning_rate = 0.5 [*] step.learning_rate"),
        (_decay, "step.weight_decay = ..."),
    ],
)
def test_what_an_update_gets(change, said):
    with pytest.raises(AssignmentError, match=said):
        _moved(change)


def test_replace_works():
    class Doubled(gx.optimizers.SGD):
        def update_all(self, moving):
            return super().update_all([one._replace(gradient=2 * one.gradient) for one in moving])

    w = gx.Variable([1.0, 2.0])
    Doubled(0.5).apply([[1.0, 1.0]], [w])
    assert w.numpy().tolist() == [0.0, 1.0]


RULE = ("**/bias", {"weight_decay": 0.0})


def test_rules():
    optimizer = gx.optimizers.SGD(0.1, rules=[RULE])
    for change in (lambda: optimizer.rules.append(RULE), lambda: optimizer.rules.clear()):
        with pytest.raises(MissingAttributeError, match=r"rules=\[\*optimizer.rules, \(selector, settings\)\]"):
            change()
    with pytest.raises(AssignmentError, match="another optimizer with rules="):
        optimizer.rules[0] = RULE
    with pytest.raises(AssignmentError, match="another optimizer with rules="):
        del optimizer.rules[0]
    with pytest.raises(AssignmentError, match="another optimizer with rules="):
        optimizer.rules += [RULE]
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        optimizer.rules.nonsense  # noqa: B018
    assert optimizer.rules == (RULE,)
    assert copy.deepcopy(optimizer.rules) == pickle.loads(pickle.dumps(optimizer.rules)) == (RULE,)
