"""Threads that draw from one stream, or add to one Variable, in eager code: no draw comes twice, nothing is lost."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.variables.state import storage

DRAWS = 200


def in_two_threads(work):
    """What both got; whatever one raises is raised."""
    ready = threading.Barrier(2)

    def run():
        ready.wait()
        return [work() for _ in range(DRAWS)]

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(run) for _ in range(2)]
        return [found for one in running for found in one.result()]


@pytest.fixture(autouse=True)
def threads_take_turns_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def key_of(generator):
    return lambda: tuple(np.asarray(generator.next()).tolist())


def dropped(rate=0.5):
    layer, x = layers.Dropout(rate), np.ones(64, "float32")
    return lambda: np.asarray(layer(x, training=True)).tobytes()


SOURCES = {
    "the global stream": lambda: lambda: tuple(np.asarray(gx.random.uniform((4,))).tolist()),
    "a generator": lambda: key_of(gx.SeedGenerator()),
    "a seeded generator": lambda: key_of(gx.SeedGenerator(3)),
    "a layer": dropped,
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("source", SOURCES)
def test_no_draw_comes_twice(source):
    draws = in_two_threads(SOURCES[source]())
    assert len(set(draws)) == len(draws) == 2 * DRAWS


@pytest.mark.broad
def test_the_draws_of_two_threads_are_those_of_one():
    generator, twin = gx.SeedGenerator(3), gx.SeedGenerator(3)
    together = in_two_threads(key_of(generator))
    assert sorted(together) == sorted(key_of(twin)() for _ in range(2 * DRAWS))


@pytest.mark.parametrize("tries", [0, 1, storage.TRIES], ids=lambda tries: f"{tries} tries")
def test_no_addition_is_lost(monkeypatch, tries):
    monkeypatch.setattr(storage, "TRIES", tries)
    v = gx.Variable(np.zeros(3, "float32"))
    in_two_threads(lambda: (v.assign_add(np.ones(3, "float32")), v.assign_sub(0.5)))
    assert v.numpy().tolist() == [DRAWS] * 3


@pytest.mark.broad
def test_moving_statistics_that_two_threads_move_are_moved_as_often():
    layer, x = layers.BatchNormalization(momentum=0.99), np.ones((2, 3), "float32")
    layer(x)
    in_two_threads(lambda: layer(x, training=True))
    np.testing.assert_allclose(layer.moving_mean.numpy(), 1 - 0.99 ** (2 * DRAWS), rtol=1e-4)


def test_values_that_share_memory_are_added_to_as_well():
    weights = [gx.Variable(np.zeros(2, "float32")) for _ in range(5)]

    @gx.jit
    def step():
        for w in weights:
            w.assign_add([1.0, 1.0])

    step()
    step()
    in_two_threads(lambda: weights[0].assign_add([1.0, 1.0]))
    assert weights[0].numpy().tolist() == [2 * DRAWS + 2.0] * 2
    assert weights[1].numpy().tolist() == [2.0] * 2


def test_an_addition_beside_a_compiled_step_of_another_thread_is_not_lost():
    v = gx.Variable(0.0)
    step = gx.jit(lambda: v.assign_add(1.0).value)
    step()
    turn = iter(range(10**6))
    in_two_threads(lambda: step() if next(turn) % 2 else v.assign_add(1.0))
    assert float(v) == 2 * DRAWS + 1
