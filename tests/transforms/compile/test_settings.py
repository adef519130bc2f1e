"""Settings of plain objects, such as regularizers and constraints, are followed by what is compiled."""

import copy
import dataclasses
import importlib
import pickle
from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.keywords import Constructed
from graftax.variables.graph.module import Module

X = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
Y = X[:, :2]


def subclasses(cls):
    for one in cls.__subclasses__():
        yield one
        yield from subclasses(one)


def plain_classes():
    root = Path(gx.__file__).parents[1]
    for file in (root / "graftax").rglob("[!_]*.py"):
        importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))
    found = {cls for cls in subclasses(Constructed) if not issubclass(cls, Module)}
    ours = (cls for cls in found if cls.__module__.startswith("graftax."))
    return sorted(ours, key=lambda cls: (cls.__module__, cls.__name__))


CALLED_BY_FIT = gx.callbacks.Callback  # between the compiled steps, which do not read what it keeps
PLAIN = [cls for cls in plain_classes() if not issubclass(cls, CALLED_BY_FIT)]


@pytest.mark.in_turn(15, broad=8)
@pytest.mark.parametrize("cls", PLAIN, ids=lambda cls: cls.__name__)
def test_a_setting_of_every_plain_object_is_followed(cls):
    box, one = gx.Module(), cls.__new__(cls)
    one.probe = 2.0
    box.held = {"deep": (one,)}
    f = gx.jit(lambda x: x * getattr(box.held["deep"][0], "probe", 5.0))
    found = [float(f(1.0)), float(f(1.0))]
    one.probe = 3.0
    found.append(float(f(1.0)))
    del one.probe
    assert [*found, float(f(1.0))] == [2.0, 2.0, 3.0, 5.0]
    assert f.trace_count == 3


@pytest.mark.parametrize("one", [layers.DTypePolicy("float32"), gx.Slot()], ids=lambda one: type(one).__name__)
def test_a_setting_of_what_cannot_be_followed_is_refused(one):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, next(iter(vars(one))), "float64")


@pytest.mark.broad
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_a_callback_may_anneal_a_regularizer_and_tighten_a_constraint(run_eagerly):
    penalty, limit = gx.regularizers.L2(0.0), gx.constraints.MaxNorm(5.0)

    class Anneal(gx.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            penalty.l2, limit.max_value = 0.1 * epoch, 1.0 / (1 + epoch)

    dense = layers.Dense(2, kernel_initializer="ones", kernel_regularizer=penalty, kernel_constraint=limit)
    model = gx.Sequential([dense])
    model.compile(gx.optimizers.SGD(0.01), "mse", run_eagerly=run_eagerly)
    losses = model.fit(X, Y, epochs=3, batch_size=16, verbose=0, callbacks=[Anneal()]).history["loss"]

    w, b, expected = np.ones((4, 2)), np.zeros(2), []
    for epoch in range(3):
        error = X @ w + b - Y
        expected.append((error**2).mean() + 0.1 * epoch * (w**2).sum())
        w = w - 0.01 * (X.T @ error / 16 + 0.2 * epoch * w)
        b = b - 0.01 * error.mean(0)
        norms = np.linalg.norm(w, axis=0)
        w = w * np.minimum(norms, 1 / (1 + epoch)) / (norms + 1e-7)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(dense.kernel.numpy(), w, rtol=1e-5)


@pytest.mark.broad
def test_an_own_regularizer_is_followed_in_place_too():
    class Weighted(gx.regularizers.BaseRegularizer):
        def __init__(self):
            self.factors = [1.0]
            self.table = np.ones(2, "float32")

        def __call__(self, value):
            return self.factors[0] * ops.sum(value * self.table[0])

    penalty = Weighted()
    layer = layers.Dense(2, kernel_initializer="ones", kernel_regularizer=penalty)
    layer.build((None, 4))
    f = gx.jit(lambda: ops.sum(ops.stack(layer.losses)))
    found = [float(f())]
    penalty.factors[0] = 2.0
    found.append(float(f()))
    penalty.table[0] = 3.0
    assert [*found, float(f()), float(f())] == [8.0, 16.0, 48.0, 48.0]
    assert f.trace_count == 3


@pytest.mark.broad
def test_a_constraint_and_its_settings_are_followed_by_an_optimizer():
    limit = gx.constraints.MaxNorm(5.0)
    w = gx.Variable([3.0, 4.0], constraint=limit)
    optimizer = gx.optimizers.SGD(0.0)
    step = gx.jit(lambda: optimizer.apply([[0.0, 0.0]], [w]))
    norms = []
    for change in (
        lambda: None,
        lambda: setattr(limit, "max_value", 2.0),
        lambda: setattr(w, "constraint", "unit_norm"),
    ):
        change()
        w.assign([3.0, 4.0])
        step(), step()
        norms.append(float(ops.norm(w)))
    np.testing.assert_allclose(norms, [5.0, 2.0, 1.0], rtol=1e-6)
    assert step.trace_count == 3


def test_a_regularizer_that_is_read_in_the_function_is_followed():
    w = gx.Variable([1.0, 1.0], regularizer=gx.regularizers.L2(1.0))
    f = gx.jit(lambda: w.regularizer(w.value))
    before = float(f())
    w.regularizer.l2 = 2.0
    middle = float(f())
    w.regularizer = "l1"
    assert (before, middle) == (2.0, 4.0)
    assert float(f()) == pytest.approx(0.02)


def test_settings_that_are_put_back_find_their_trace():
    box = gx.Module()
    box.penalty = gx.regularizers.L2(1.0)
    f = gx.jit(lambda x: box.penalty(x))
    found = []
    for factor in (1.0, 2.0, 1.0, 2.0):
        box.penalty.l2 = factor
        found.append(float(f(np.ones(2, "float32"))))
    assert found == [2.0, 4.0, 2.0, 4.0]
    assert f.trace_count == 2


def test_a_setting_that_the_function_changes_is_seen_by_the_next_call():
    def make():
        box = gx.Module()
        box.penalty = gx.regularizers.L2(1.0)
        box.v = gx.Variable(1.0)

        def f():
            y = box.penalty(box.v.value)
            box.penalty.l2 = 3.0
            return y

        return f

    eager, compiled = make(), gx.jit(make())
    assert [float(compiled()) for _ in range(3)] == [float(eager()) for _ in range(3)] == [1.0, 3.0, 3.0]


def test_a_copy_has_settings_of_its_own():
    box = gx.Module()
    box.penalty = gx.regularizers.L2(1.0)
    f = gx.jit(lambda one: one.penalty(2.0))
    assert float(f(box)) == 4.0
    for twin in (copy.deepcopy(box), pickle.loads(pickle.dumps(box))):
        twin.penalty.l2 = 2.0
        assert repr(twin.penalty) == "L2(l2=2.0)"
        assert (float(f(twin)), float(f(box))) == (8.0, 4.0)
