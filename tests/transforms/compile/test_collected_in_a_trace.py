"""Variables from before a trace that garbage collection takes while it runs: nobody made them there."""

import gc
import weakref

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import StateError
from graftax.optimizers.lbfgs import lbfgs

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


def in_a_cycle():
    """Return a weak reference to a Variable that only a reference cycle holds."""
    holder = [gx.Variable([1.0])]
    holder.append(holder)
    return weakref.ref(holder[0])


def compiled(step):
    return gx.jit(step)(ops.ones((1,)))


def in_a_branch(step):
    return gx.jit(lambda x: gx.cond(ops.sum(x) > 0, step, lambda x: x, x))(ops.ones((1,)))


WAYS = {"jit": compiled, "cond": in_a_branch}


@pytest.fixture
def collected_by_hand():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("collected_by_hand")
@pytest.mark.parametrize("run", WAYS.values(), ids=WAYS)
def test_what_was_there_before_may_go(run):
    found = in_a_cycle()

    def step(x):
        found().assign_add(x)
        gc.collect()
        return x + 1.0

    assert run(step).tolist() == [2.0]
    assert found() is None


@pytest.mark.parametrize("run", WAYS.values(), ids=WAYS)
def test_what_is_made_there_is_refused_still(run):
    def step(x):
        made = gx.Variable([1.0])
        made.assign_add(x)
        return x + made.value

    with pytest.raises(StateError, match="makes a Variable"):
        run(step)


@pytest.mark.usefixtures("collected_by_hand")
def test_the_slots_of_an_earlier_model_may_go_while_the_next_is_traced(monkeypatch):
    def made():
        model = gx.Sequential([layers.Dense(1)])
        model.compile(optimizer, "mse")
        return model

    optimizer = gx.optimizers.LBFGS()
    made().fit(X, X[:, :1], batch_size=4, verbose=0)
    keep = lbfgs._Descent.keep

    def keep_and_collect(*args):
        keep(*args)
        gc.collect()

    monkeypatch.setattr(lbfgs._Descent, "keep", keep_and_collect)
    second = made()
    with pytest.warns(UserWarning, match="has trained another model before"):
        second.fit(X, X[:, :1], batch_size=4, verbose=0)
    assert len(optimizer.slots()) == 4
