"""A restore that fails or is interrupted, at whatever moment, leaves variables, slots, Python state and seed alone."""

import copy
import signal
import threading

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import MatchError, UnusedInCheckpoint
from tests.interrupts import interrupted, lines


class Program:
    """Weights, a fresh optimizer, Python state in a live dict, something frozen, something not built."""

    def __init__(self, toys, fill, trained=False):
        self.model = toys.Stack(2, 2, inputs=2)
        for v in self.model.variables:
            v.assign(np.full(v.shape, fill, "float32"))
        self.optimizer = gx.optimizers.Adam(0.1)
        self.data = Live(fill)
        self.late = toys.Box(v=toys.number(fill) if trained else None)
        if trained:
            self.optimizer.apply([np.ones(v.shape, "float32") for v in self.model.variables], self.model.variables)
            self.model.freeze("layers/0/kernel")
        self.roots = {"model": self.model, "optimizer": self.optimizer, "data": self.data, "late": self.late}

    def state(self):
        variables = {
            f"{n}/{p}": v.numpy().tolist() for n, r in self.roots.items() for p, v in r.named_variables().items()
        }
        pending = self.late._gx_pending is not None and self.late._gx_pending.waiting()
        return (
            variables,
            copy.deepcopy(self.data.table),
            [v.path for v in self.model.trainable_variables],
            gx.random.get_random_seed(),
            bool(pending),
        )


class Live(gx.variables.graph.module.Module):
    """Gives out the very dict that it goes on to change."""

    def __init__(self, fill):
        self.table = {"fill": fill, "epochs": [fill]}

    def get_state(self):
        return self.table

    def set_state(self, state):
        self.table["epochs"].append("half")
        self.table.clear()
        self.table.update(state)


class Picky(Live):
    def set_state(self, state):
        super().set_state(state)
        if state["fill"] == 1:
            raise ValueError("not 1")


@pytest.fixture
def path(saved, toys):
    gx.set_random_seed(11)
    yield saved(**Program(toys, 1, trained=True).roots)
    gx.set_random_seed(0)


@pytest.fixture
def program(toys, path):
    gx.set_random_seed(12)
    return Program(toys, 0)


def test_a_misfit_leaves_no_slots(path, program, toys):
    program.roots["more"] = toys.Box(v=toys.number(0))
    before = program.state()
    with pytest.raises(MatchError):
        Checkpoint(**program.roots).restore(path)
    assert program.state() == before
    program.roots.pop("more")
    report = Checkpoint(**program.roots).restore(path)
    assert report.deferred == ("late/v",)
    assert program.state() != before


def test_slots_that_were_there_stay(path, program):
    program.optimizer.build(program.model.variables)
    before = program.state()
    program.data.__class__ = Picky
    with pytest.raises(ValueError, match="not 1"):
        Checkpoint(**program.roots).restore(path)
    assert program.state() == before


def test_a_state_that_is_refused_takes_all_states_back(path, saved, toys):
    ours = {"a": Live(0), "b": Picky(0), "v": toys.number(0)}
    theirs = saved(a=Live(1), b=Live(1), v=toys.number(1))
    with pytest.raises(ValueError, match="not 1"):
        Checkpoint(**ours).restore(theirs)
    assert [ours[name].table for name in "ab"] == [{"fill": 0, "epochs": [0]}] * 2
    assert ours["v"].numpy() == 0


def test_what_cannot_be_taken_back_is_told_and_the_rest_is(saved, toys):
    class Stuck(Live):
        def set_state(self, state):
            raise ValueError(f"never {state['fill']}")

    path = saved(a=Live(1), b=Live(1))
    a, b = Live(0), Stuck(0)
    with pytest.raises(ValueError, match="never 1") as caught:
        Checkpoint(a=a, b=b).restore(path)
    assert caught.value.__notes__[-1] == "taking back what was restored, ValueError: never 0"
    assert a.table == {"fill": 0, "epochs": [0]}


OURS = "graftax/checkpoint/"


def rounds(path, toys, step, first=1):
    done = Program(toys, 0)
    count = lines(lambda: Checkpoint(**done.roots).restore(path), OURS)
    whole = done.state()
    seen = set()
    for line in range(first, count + 1, step):
        gx.set_random_seed(12)
        program = Program(toys, 0)
        before = program.state()
        checkpoint = Checkpoint(**program.roots)
        interrupted(lambda: checkpoint.restore(path), OURS, line, by_line=True)  # noqa: B023
        after = program.state()
        assert after in (before, whole), line
        seen.add(after == whole)
    return seen


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_at_some_lines(path, toys):
    assert rounds(path, toys, step=151) <= {False, True}


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("first", [1, 5])
def test_ctrl_c_at_more_lines(path, toys, first):
    assert rounds(path, toys, step=17, first=first) == {False, True}


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_during_set_state_takes_all_back(path, program):
    class Hit(Live):
        def set_state(self, state):
            super().set_state(state)
            signal.raise_signal(signal.SIGINT)

    program.data.__class__ = Hit
    before = program.state()
    with pytest.raises(KeyboardInterrupt):
        Checkpoint(**program.roots).restore(path)
    program.data.__class__ = Live
    assert program.state() == before


def test_a_restore_in_a_thread_needs_no_signals(path, program):
    found = []
    thread = threading.Thread(target=lambda: found.append(Checkpoint(**program.roots).restore(path)))
    thread.start()
    thread.join()
    assert len(found[0].restored) > 4
    with pytest.raises(UnusedInCheckpoint):
        found[0].assert_consumed()
