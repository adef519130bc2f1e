"""A value is readable from any thread at any time, while another one trains (X13)."""

import sys
import threading

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.layers import Dense
from tests.conformance.lanes import crossed

SHAPES = {"one": [(600, 600)], "small": [(8, 8)] * 40, "mixed": [(8, 8)] * 20 + [(300, 300)] * 3}


class Counters(gx.Module):
    """Variables of which all elements count the steps."""

    def __init__(self, shapes):
        super().__init__()
        self.parts = [gx.Variable(np.zeros(shape, "float32")) for shape in shapes]

    @gx.jit
    def step(self):
        for part in self.parts:
            part.assign_add(ops.ones_like(part.value))

    @gx.jit
    def total(self):
        return [ops.max(part.value) for part in self.parts]


@pytest.fixture
def switching():
    """Threads that change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def beside(train, look, steps=300):
    """Look again and again in threads, while another one trains; what a look raised, and how many there were."""
    wrong, looks, over = [], [], threading.Event()

    def watch():
        try:
            while not over.is_set():
                look()
                looks.append(1)
        except Exception as error:  # noqa: BLE001 - raised below, in the thread of the test
            wrong.append(error)

    watchers = [threading.Thread(target=watch) for _ in range(2)]
    for watcher in watchers:
        watcher.start()
    try:
        for _ in range(steps):
            train()
        while len(looks) < 3 and not wrong:  # at least these come through
            train()
    finally:
        over.set()
        for watcher in watchers:
            watcher.join()
    if wrong:
        raise wrong[0]
    return len(looks)


READS = {
    "value": lambda m: [part.value for part in m.parts],
    "numpy": lambda m: [part.numpy() for part in m.parts],
    "state": lambda m: list(gx.state(m).values()),
    "compiled": lambda m: m.total(),
    "operators": lambda m: [part * 1.0 for part in m.parts],
}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize(("read", "kind"), crossed([*READS], [*SHAPES]))
def test_x13_a_read_gives_a_value_before_or_after_a_step(read, kind, switching):
    model = Counters(SHAPES[kind])
    seen = threading.local()

    def look():
        counts = []
        for value in READS[read](model):
            value = np.asarray(value)
            assert value.min() == value.max()  # of one step
            counts.append(float(value.max()))
        for before, after in zip(getattr(seen, "counts", counts), counts, strict=True):
            assert before <= after  # and never an older one than before
        seen.counts = counts

    assert beside(model.step, look) > 0
    model.step()
    assert len({float(part.numpy().max()) for part in model.parts}) == 1  # no step was lost


@pytest.mark.broad
def test_x13_assignments_from_another_thread_are_not_lost(switching):
    model = Counters(SHAPES["small"])
    mark = threading.local()

    def look():
        mark.value = getattr(mark, "value", 1) + 1
        model.parts[3].assign_add(ops.full((8, 8), 1e4))

    looks = beside(model.step, look, steps=200)
    assert looks > 0
    assert float(model.parts[3].numpy()[0, 0]) >= 1e4


@pytest.mark.broad
def test_x13_a_model_is_used_while_it_trains(switching):
    model = gx.Sequential([Dense(16, activation="relu"), Dense(1)])
    x = np.linspace(-1, 1, 64, dtype="float32").reshape(16, 4)
    y = x.sum(axis=1, keepdims=True)
    model.compile("adam", "mse")
    model.fit(x, y, verbose=0)

    def look():
        assert np.isfinite(model.predict(x, verbose=0)).all()
        assert np.isfinite(model(x).tolist()).all()
        assert all(np.isfinite(variable.numpy()).all() for variable in model.optimizer.variables)

    beside(lambda: model.train_on_batch(x, y), look, steps=100)


@pytest.mark.broad
def test_x13_two_threads_train_the_same_variables(switching):
    model = Counters(SHAPES["mixed"])
    threads = [threading.Thread(target=lambda: [model.step() for _ in range(100)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {float(part.numpy().max()) for part in model.parts} == {300.0}


@pytest.mark.broad
def test_x13_two_threads_train_two_models_that_read_each_other(switching):
    left, right = Counters([(200, 200)] * 6), Counters([(200, 200)] * 6)

    def make(own, other):
        @gx.jit
        def step():
            for mine, theirs in zip(own.parts, other.parts, strict=True):
                mine.assign_add(ops.ones_like(mine.value) + 0 * theirs)

        return step

    steps = make(left, right), make(right, left)
    threads = [threading.Thread(target=lambda s=step: [s() for _ in range(100)]) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert {float(part.numpy().min()) for part in (*left.parts, *right.parts)} == {100.0}


@pytest.mark.in_turn(3, 1)
@pytest.mark.parametrize("kind", ["small", "large", "within"])
def test_x13_two_threads_run_two_steps_that_assign_some_variables_of_each_other(kind, switching):
    parts = [gx.Variable(np.zeros((8, 8) if kind == "small" else (300, 300), "float32")) for _ in range(30)]
    if kind != "small":
        del parts[6:]
    shared = len(parts) // 3

    def make(some):
        @gx.jit
        def step():
            for part in some:
                part.assign_add(ops.ones_like(part.value))

        return step

    steps = (make(parts[: 2 * shared]), make(parts[shared:])) if kind != "within" else (make(parts), make(parts[-2:]))
    wrong = []

    def run(step):
        try:
            for _ in range(300):
                step()
        except Exception as error:  # noqa: BLE001 - raised below, in the thread of the test
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if wrong:
        raise wrong[0]
    counts = [float(part.numpy().min()) for part in parts]
    if kind == "within":
        assert counts == [300.0] * (len(parts) - 2) + [600.0] * 2
    else:
        assert counts == [300.0] * shared + [600.0] * shared + [300.0] * shared


def test_an_error_of_a_step_leaves_the_values_to_all_threads():
    model = Counters([(2, 2)])

    @gx.jit
    def broken():
        model.step()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        broken()
    found = []
    thread = threading.Thread(target=lambda: found.append(model.parts[0].numpy()))
    thread.start()
    thread.join(10)
    assert found[0].tolist() == [[0, 0], [0, 0]]
