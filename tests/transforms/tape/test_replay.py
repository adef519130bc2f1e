"""Replays: compiled when they come again, differentiated operation by operation when ever new ones come."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.transforms.tape import replay


@pytest.fixture(autouse=True)
def compilers(monkeypatch):
    monkeypatch.setattr(replay, "_replays", replay._Compiler(at=3, remembered=1024, most=128))
    monkeypatch.setattr(replay, "_operations", replay._Compiler(at=3, remembered=1024, most=128))


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
        counts.append(len(replay._replays.compiled))
        np.testing.assert_allclose(gradient, np.full((4, 3), 2 * 2 * v.numpy()[:, 0].sum()), rtol=1e-6)
        v.assign_sub(0.25 * v)
    assert counts == [0, 0, 1, 1, 1]
    assert not replay._operations.sights


@pytest.mark.broad
def test_other_programs_and_shapes_are_others():
    v = gx.Variable(ops.ones((4, 3)))
    for power in (2, 3, 4):
        step(v, ops.ones((2, 4)), power)
    for rows in (1, 3, 5):
        step(v, ops.ones((rows, 4)))
    assert len(replay._replays.sights) == 6
    assert not replay._replays.compiled


@pytest.mark.broad
def test_the_caches_are_bounded(monkeypatch):
    monkeypatch.setattr(replay, "_replays", replay._Compiler(at=2, remembered=4, most=2))
    v = gx.Variable(ops.ones((4, 3)))
    for rows in range(1, 6):
        for _ in range(2):
            step(v, ops.ones((rows, 4)))
    assert len(replay._replays.sights) == 4
    assert len(replay._replays.compiled) == 2


def test_nothing_is_compiled_while_a_function_is_being_compiled():
    v = gx.Variable(ops.ones((4, 3)))
    for _ in range(4):
        gx.jit(lambda: step(v, ops.ones((2, 4))))()
    assert not replay._replays.sights


@pytest.mark.broad
def test_many_kinds_go_operation_by_operation(monkeypatch):
    monkeypatch.setattr(replay, "_MANY", 0)
    v = gx.Variable(ops.ones((4, 3)))
    x = ops.asarray(np.random.default_rng(0).normal(size=(2, 4)).astype("float32"))
    for power in range(2, 8):
        expected = gx.grad(lambda n=power: ops.sum(gx.activations.relu(ops.matmul(x, v)) ** n), wrt=v)()
        np.testing.assert_allclose(step(v, x, power), expected, rtol=1e-5)
    assert replay._operations.compiled
    assert not replay._replays.compiled


@pytest.mark.broad
def test_operations_with_several_results_inner_sources_and_second_order(monkeypatch):
    monkeypatch.setattr(replay, "_MANY", 0)
    x = ops.asarray([3.0, 1.0, 2.0])

    def f(x):
        a, b, c = ops.split(ops.sort(x) * x, 3)
        return ops.sum(a * b - c * a), a

    for _ in range(4):
        with gx.GradientTape() as outer:
            outer.watch(x)
            with gx.GradientTape() as inner:
                inner.watch(x)
                y, a = f(x)
            dx, da, dy = inner.gradient([y, a], [x, a, y])
            z = ops.sum(dx * dx)
        np.testing.assert_allclose(dx, gx.grad(lambda x: sum(map(ops.sum, f(x))))(x), rtol=1e-5)
        assert (float(da[0]), float(dy)) == (1 * 1 + 2 - 6 + 1 - 1, 1)
        second = gx.grad(lambda x: ops.sum(gx.grad(lambda x: sum(map(ops.sum, f(x))))(x) ** 2))(x)
        np.testing.assert_allclose(outer.gradient(z, x), second, rtol=1e-4)


@pytest.mark.broad
@given(st.lists(st.sampled_from(["sin", "tanh", "square", "negative", "add", "multiply", "max"]), max_size=8))
@settings(max_examples=15)
def test_both_ways_agree(names):
    x, v = ops.asarray([0.3, -0.7, 0.1]), gx.Variable([1.1, 0.2, -0.4])

    def f(x):
        y = x * v
        for name in names:
            if name in ("add", "multiply"):
                y = getattr(ops, name)(y, x)
            elif name == "max":
                y = y + ops.max(y)
            else:
                y = getattr(ops, name)(y)
        return ops.sum(y)

    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    before, replay._MANY = replay._MANY, 10**9
    whole = tape.gradient(y, [x, v])
    replay._MANY = -1
    parts = tape.gradient(y, [x, v])
    replay._MANY = before
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
