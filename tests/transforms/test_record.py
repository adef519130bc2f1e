"""Replays are compiled when they come again, and only then."""

import pytest

import graftax as gx
from graftax import ops
from graftax.transforms import record


@pytest.fixture(autouse=True)
def _empty(monkeypatch):
    monkeypatch.setattr(record, "_COMPILE_AT", 3)
    monkeypatch.setattr(record, "_sights", type(record._sights)())
    monkeypatch.setattr(record, "_compiled", type(record._compiled)())


def step(v, x, power=2):
    with gx.GradientTape() as tape:
        y = ops.sum(gx.activations.relu(ops.matmul(x, v)) ** power)
    return tape.gradient(y, v)


def test_a_replay_that_comes_again_is_compiled():
    v = gx.Variable(ops.ones((4, 3)))
    x = ops.ones((2, 4))
    counts = []
    for _ in range(5):
        gradient = step(v, x)
        counts.append(len(record._compiled))
        assert gradient.tolist() == (ops.ones((4, 3)) * 2 * 2 * ops.sum(v[:, 0])).tolist()
        v.assign_sub(0.25 * v)
    assert counts == [0, 0, 1, 1, 1]


def test_other_programs_and_shapes_are_others():
    v = gx.Variable(ops.ones((4, 3)))
    for power in (2, 3, 4):
        step(v, ops.ones((2, 4)), power)
    for rows in (1, 3, 5):
        step(v, ops.ones((rows, 4)))
    assert len(record._sights) == 6
    assert not record._compiled


def test_the_caches_are_bounded(monkeypatch):
    monkeypatch.setattr(record, "_REMEMBERED", 4)
    monkeypatch.setattr(record, "_COMPILED", 2)
    monkeypatch.setattr(record, "_COMPILE_AT", 2)
    v = gx.Variable(ops.ones((4, 3)))
    for rows in range(1, 6):
        for _ in range(2):
            step(v, ops.ones((rows, 4)))
    assert len(record._sights) == 4
    assert len(record._compiled) == 2


def test_nothing_is_compiled_while_a_function_is_being_compiled():
    v = gx.Variable(ops.ones((4, 3)))
    for _ in range(4):
        gx.jit(lambda: step(v, ops.ones((2, 4))))()
    assert not record._sights
