"""What nothing holds but is used: Modules of which a method is an attribute, and what Variables have as attributes."""

import functools
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X, Y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")


class Part(gx.Module):
    """A Module whose methods compute with a Variable."""

    def __init__(self):
        super().__init__()
        self.v = gx.Variable(0.5)

    def penalty(self, value):
        return ops.exp(-self.v) * ops.sum(value**2)

    def project(self, value):
        return ops.clip(value, -self.v, self.v)

    def scale(self, x):
        return x * self.v

    @gx.jit
    def compiled(self, x):
        return x * self.v

    def loss(self, y_true, y_pred):
        return ops.mean((y_true - y_pred) ** 2) * self.v


def in_list(part):
    layer = layers.Dense(2)
    layer.functions = [part.scale]
    return layer


def on_weight(part):
    layer = layers.Dense(2)
    layer.build((None, 3))
    layer.kernel.regularizer = part.penalty
    return layer


METHODS = {
    "kernel_regularizer": lambda part: layers.Dense(2, kernel_regularizer=part.penalty),
    "kernel_constraint": lambda part: layers.Dense(2, kernel_constraint=part.project),
    "activation": lambda part: layers.Dense(2, activation=part.scale),
    "a compiled method": lambda part: layers.Dense(2, activation=part.compiled),
    "a partial": lambda part: layers.Dense(2, activation=functools.partial(part.scale)),
    "Activation": lambda part: layers.Activation(part.scale),
    "Lambda": lambda part: layers.Lambda(part.scale),
    "in a list": in_list,
    "on a weight": on_weight,
}
TRAINED = [name for name in METHODS if name not in ("kernel_constraint", "in a list")]


def fitted(layer, hold=()):
    model = gx.Sequential([layer, layers.Dense(2)])
    for name, part in dict(hold).items():
        setattr(model, name, part)
    model.compile(gx.optimizers.SGD(0.1), "mse")
    model.fit(X, Y, verbose=0)
    return model


@pytest.mark.parametrize("way", METHODS)
def test_a_method_of_what_nothing_holds_is_told_of_once(way):
    with pytest.warns(UserWarning, match="is a method of Part") as found:
        fitted(METHODS[way](Part()))
    [told] = [str(one.message) for one in found if "is a method of Part" in str(one.message)]
    assert "neither trained nor saved" in told
    assert "model.part = part" in told


@pytest.mark.parametrize("way", METHODS)
def test_the_line_that_is_told_works(way, tmp_path):
    part = Part()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(METHODS[way](part), {"part": part})
    assert part.v.path == "part/v"
    assert (float(part.v) != 0.5) == (way in TRAINED)
    model.save_weights(tmp_path / "c")
    value = float(part.v)
    part.v.assign(7.0)
    model.load_weights(tmp_path / "c")
    assert float(part.v) == value


def compile_with(**settings):
    model = gx.Sequential([layers.Dense(2)])
    model.compile(gx.optimizers.SGD(0.1), **settings)
    model.fit(X, Y, verbose=0)
    return model


class Own(gx.Model):
    def __init__(self):
        super().__init__()
        self.v = gx.Variable(0.5)
        self.dense = layers.Dense(2, activation=self.activation, kernel_regularizer=self.penalty)

    def activation(self, x):
        return x * self.v

    def penalty(self, value):
        return ops.sum(value**2) * self.v

    def score(self, y_true, y_pred):
        return ops.mean((y_true - y_pred) ** 2) * self.v

    def call(self, x):
        return self.dense(x)


def tied():
    embedding = layers.Embedding(5, 3)
    tokens = gx.Input((4,), dtype="int32")
    found = embedding(tokens)
    logits = layers.Lambda(functools.partial(embedding.__call__))(tokens)
    model = gx.Model(tokens, layers.Add()([found, logits]))
    return model.variables


def own_methods():
    model = Own()
    model.compile(gx.optimizers.SGD(0.1), model.score, metrics=[model.score])
    model.fit(X, Y, verbose=0)
    assert float(model.v) != 0.5


def frozen_teacher():
    teacher = Part()
    teacher.v.trainable = False
    teacher = layers.Dense(3)
    teacher(X)
    teacher.trainable = False
    fitted(layers.Lambda(teacher.call))


def of_an_optimizer():
    layer = layers.Dense(2)
    layer.apply_updates = gx.optimizers.Adam().apply
    layer.add_up = gx.metrics.Mean().update
    fitted(layer)


def of_initializers():
    class Filled(Part):
        def fill(self, key, shape, dtype):
            return ops.full(shape, 0.5, dtype)

    fitted(layers.Dense(2, kernel_initializer=Filled().fill))


def references_between_weights():
    model = gx.Sequential([layers.Dense(2), layers.Dense(2)])
    model(X)
    first, second = model.layers
    first.kernel.partner, first.kernel.layer, first.kernel.tag = second.kernel, first, "first"
    _ = model.variables


def held_first():
    layer = layers.Dense(2)
    layer(X)
    layer.part = layer.kernel.part = Part()
    assert len(layer.variables) == 3


def held_afterwards():
    layer = layers.Dense(2)
    layer(X)
    layer.kernel.part = Part()
    layer.part = layer.kernel.part
    assert len(layer.variables) == 3


RIGHT = {
    "a loss": lambda: compile_with(loss=Part().loss),
    "a metric": lambda: compile_with(loss="mse", metrics=[Part().loss]),
    "methods of the model": own_methods,
    "a layer that the model gets later": tied,
    "a frozen teacher": frozen_teacher,
    "an optimizer": of_an_optimizer,
    "an initializer": of_initializers,
    "references between weights": references_between_weights,
    "held, and then referred to": held_first,
    "referred to, and then held": held_afterwards,
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_what_is_right(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RIGHT[name]()


def test_a_loss_is_held_by_the_model():
    part = Part()
    model = compile_with(loss=part.loss)
    assert float(part.v) != 0.5
    assert any(one is part.v for one in model.variables)


ATTRIBUTES = {
    "a Module": (Part, "part"),
    "a Variable": (lambda: gx.Variable(1.0), "part"),
    "a list": (lambda: [Part()], r"part\[0\]"),
    "a dict of lists": (lambda: {"a": [Part()]}, r"part\['a'\]\[0\]"),
}


@pytest.mark.parametrize("when", ["before its layer is asked", "after"])
@pytest.mark.parametrize("what", ATTRIBUTES)
def test_what_a_variable_has_as_an_attribute_is_told_of(what, when):
    make, path = ATTRIBUTES[what]
    layer = layers.Dense(2)
    layer(X)
    if when == "after":
        _ = layer.variables
    layer.kernel.part = make()
    with pytest.warns(UserWarning, match=rf"Dense\.kernel\.{path} is a \w+ in an attribute of a Variable"):
        assert len(layer.variables) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ = layer.variables


def test_an_expression_holds_what_it_has_as_an_attribute():
    layer = layers.Dense(2)
    layer(X)
    gx.graft(layer, gx.reparam.LoRA(rank=1), where="kernel")
    layer.kernel.part = Part()
    assert layer.kernel.part.v.path == "kernel/part/v"
