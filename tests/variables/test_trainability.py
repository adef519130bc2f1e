"""Trainability: the truth table, and what each step of a Variable's life makes of it."""

import copy
import pickle

import pytest

import graftax as gx
from graftax.variables.trainability import Trainability

TABLE = [
    ((True, False, 0), True),
    ((True, True, 0), False),
    ((True, False, 1), False),
    ((True, True, 2), False),
    ((False, False, 0), False),
    ((False, True, 1), False),
]


@pytest.mark.parametrize(("state", "trained"), TABLE)
def test_what_is_trained(state, trained):
    assert Trainability(*state).trained is trained


def test_steps_are_undone_one_by_one():
    start = Trainability(True)
    assert start.with_resting().with_resting().with_resting(-1).with_resting(-1) == start
    assert start.with_resting(-1) == start  # never below none
    assert start.with_frozen(True).with_frozen(False) == start


def test_a_variable_keeps_what_it_was_made_for():
    w = gx.Variable([1.0], trainable=False)
    w.trainability = w.trainability.with_frozen(True).with_frozen(False)
    assert not w.trainable
    w.trainable = True
    assert w.trainable
    assert w.trainability == Trainability(True)


def test_assigning_true_undoes_freezing_and_rest():
    w = gx.Variable([1.0])
    w.trainability = w.trainability.with_frozen(True).with_resting()
    assert not w.trainable
    w.trainable = True
    assert w.trainability == Trainability(True)


def test_assigning_false_keeps_the_rest_of_it():
    w = gx.Variable([1.0])
    w.trainability = w.trainability.with_resting()
    w.trainable = False
    assert w.trainability == Trainability(False, resting=1)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))], ids=["copy", "pickle"])
def test_copies_have_it(copied):
    w = gx.Variable([1.0])
    w.trainability = w.trainability.with_frozen(True)
    assert copied(w).trainability == w.trainability


def test_copies_share_it_as_it_never_changes():
    weight = gx.Variable([1.0])
    other = copy.deepcopy(weight)
    assert other.trainability is weight.trainability
    other.trainable = False
    assert weight.trainable
