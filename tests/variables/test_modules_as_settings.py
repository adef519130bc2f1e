"""Regularizers, constraints and initializers of one's own may be Modules, with Variables that the model has."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")


class Penalty(gx.regularizers.BaseRegularizer, gx.Module):
    def __init__(self, start=0.5):
        self.start = start
        self.factor = gx.Variable(start)

    def __call__(self, value):
        return ops.sum((self.factor * value) ** 2) - ops.log(self.factor)


class ModuleFirst(gx.Module, gx.regularizers.BaseRegularizer):
    def __init__(self):
        super().__init__()
        self.factor = gx.Variable(0.5)

    def __call__(self, value):
        return ops.sum((self.factor * value) ** 2) - ops.log(self.factor)


class OfOurs(gx.regularizers.L2, gx.Module):
    def __init__(self, l2=0.1):
        super().__init__(l2)
        self.factor = gx.Variable(0.5)

    def __call__(self, value):
        return super().__call__(value) * self.factor**2 - ops.log(self.factor)


class Shrinking(gx.constraints.BaseConstraint, gx.Module):
    def __init__(self):
        self.limit = gx.Variable(1.0, trainable=False)

    def __call__(self, value):
        self.limit.assign(self.limit * 0.9)
        return ops.clip(value, -self.limit, self.limit)


class Filled(gx.initializers.BaseInitializer, gx.Module):
    def __init__(self):
        self.fill = gx.Variable(2.0)

    def __call__(self, key, shape, dtype="float32"):
        return ops.full(shape, float(self.fill), dtype)


KINDS = {
    "regularizer": (Penalty, "kernel_regularizer", "Penalty(start=0.5, factor=Variable("),
    "regularizer, the Module first": (ModuleFirst, "kernel_regularizer", "<ModuleFirst"),
    "regularizer of ours": (OfOurs, "kernel_regularizer", "OfOurs(l2=0.1, factor=Variable("),
    "constraint": (Shrinking, "kernel_constraint", "Shrinking(limit=Variable("),
    "initializer": (Filled, "kernel_initializer", "Filled(fill=Variable("),
}


@pytest.mark.in_turn(6, broad=2)
@pytest.mark.parametrize("kind", KINDS)
def test_its_variables_are_those_of_the_model(kind, tmp_path):
    make, argument, shown = KINDS[kind]
    gx.set_random_seed(0)
    made = make()
    model = gx.Sequential([gx.Input((2,)), layers.Dense(2, **{argument: made})])
    model.compile(gx.optimizers.SGD(0.1), "mse")
    [own] = made.variables
    before = float(own)
    assert repr(made).startswith(shown)
    assert "_gx_" not in repr(made)
    model.fit(X, X, epochs=2, batch_size=4, verbose=0)
    assert any(one is own for one in model.variables)
    assert (float(own) != before) == (kind != "initializer")
    model.save(tmp_path / "m")
    loaded = gx.load_model(tmp_path / "m", custom=[make])
    twin = copy.deepcopy(model)
    for other in (loaded, twin):
        model_again = copy.deepcopy(model)
        for one in (model_again, other):
            one.fit(X, X, verbose=0, shuffle=False)
        for a, b in zip(model_again.variables, other.variables, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_steps_are_compiled_once():
    penalty = Penalty()
    layer = layers.Dense(2, kernel_regularizer=penalty)
    layer(X)
    traces = []

    @gx.jit
    def step():
        traces.append(1)
        penalty.factor.assign_add(0.1)
        return ops.sum(layer.losses[0])

    found = [float(step()) for _ in range(3)]
    assert len(traces) == 1
    assert len(set(found)) == 3


def test_slots_of_a_program_are_refused_as_before():
    with pytest.raises(gx.errors.AssignmentError, match="__slots__ for 'weight'"):
        type("Slotted", (gx.Module,), {"__slots__": ("weight",)})
