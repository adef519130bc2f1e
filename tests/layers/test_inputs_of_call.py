"""What messages say of models with several inputs fits the `call`, and `fit` builds them for a step of their own."""

import re

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import ArgumentError, ArgumentTypeError, NotBuiltError, ShapeError

A = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
B = A + 1
Y = A[:, :1]


class Pair(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def call(self, a, b, training=False):
        return self.dense(a + b)


class Optional(Pair):
    def call(self, a, b=None):
        return self.dense(a if b is None else a + b)


class OwnStep(Pair):
    def train_step(self, batch):
        inputs, y = batch

        def loss():
            out = self(**inputs) if isinstance(inputs, dict) else self(*inputs)
            return ops.mean((out - y) ** 2)

        return {"loss": self.optimizer.minimize(loss, self.trainable_variables)}


class Sum(gx.Layer):
    def call(self, a, b):
        return a + b


def compiled(kind):
    gx.set_random_seed(0)
    model = kind()
    model.compile("sgd", "mse")
    return model


BOTH = {"list": [A, B], "tuple": (A, B), "dict": {"a": A, "b": B}}
USES = {
    "fit": lambda model, x: model.fit(x, Y, verbose=0),
    "evaluate": lambda model, x: model.evaluate(x, Y, verbose=0),
    "predict": lambda model, x: model.predict(x, verbose=0),
    "train_on_batch": lambda model, x: model.train_on_batch(x, Y),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("form", BOTH)
@pytest.mark.in_turn(6, broad=3)
def test_the_call_to_write_takes_what_fit_passes(form, use):
    with pytest.raises(ArgumentTypeError, match="fit, evaluate and predict pass one argument") as caught:
        USES[use](compiled(Pair), BOTH[form])
    heading, line = re.fullmatch(r"(def call\(self, inputs\)): (.*)", caught.value.instead).groups()
    names = {"ops": ops}
    exec(f"{heading}:\n    {line}\n    return self.dense(a + b)", names)
    found = USES[use](compiled(type("Mended", (Pair,), {"call": names["call"]})), BOTH[form])
    wanted = USES[use](compiled(type("Added", (Pair,), {"call": lambda self, x: self.dense(x)})), A + B)
    found, wanted = (getattr(one, "history", one) for one in (found, wanted))
    np.testing.assert_equal(found, wanted)


def test_an_argument_that_may_be_missing_is_explained_too():
    with pytest.raises(ShapeError, match=r"all as 'a' of its call: fit, evaluate and predict pass one argument"):
        compiled(Optional).fit([A, B], Y, verbose=0)


def test_a_layer_takes_them_apart():
    with pytest.raises(ArgumentTypeError) as caught:
        Sum()([A, B])
    assert caught.value.instead == "layer(*inputs)"
    with pytest.raises(ArgumentTypeError) as caught:
        Sum()({"a": A, "b": B})
    assert caught.value.instead == "layer(**inputs)"


@pytest.mark.parametrize("form", ["tuple", "dict"])
@pytest.mark.broad
def test_fit_builds_a_model_that_its_own_step_calls_with_several(form):
    model = compiled(OwnStep)
    found = model.fit(BOTH[form], Y, shuffle=False, verbose=0).history
    built = compiled(OwnStep)
    built.build_for(A, B)
    assert found == built.fit(BOTH[form], Y, shuffle=False, verbose=0).history
    np.testing.assert_array_equal(model.dense.kernel.numpy(), built.dense.kernel.numpy())


class OfKeyword(Pair):
    def call(self, a, *, b):
        return self.dense(a + b)


class OfStructure(Pair):
    def call(self, inputs, mask=None):
        return self.dense(inputs[0] + inputs[1])


class WithMask(Pair):
    def call(self, value, other, value_mask=None):
        return self.dense(value + other)


@pytest.mark.parametrize(
    ("kind", "line", "names"),
    [
        (Pair, "model.build_for(a, b)", {"a": A, "b": B}),
        (Optional, "model.build_for(x)", {"x": A}),
        (OfKeyword, "model.build_for(a, b=b)", {"a": A, "b": B}),
        (OfStructure, "model.build_for(x)", {"x": (A, B)}),
        (WithMask, "model.build_for(value, other)", {"value": A, "other": B}),
    ],
)
def test_the_line_that_builds_a_model(kind, line, names):
    model = compiled(kind)
    with pytest.raises(NotBuiltError) as caught:
        model.get_weights()
    assert caught.value.instead.endswith(f": {line}")
    eval(line, {"model": model, **names})
    assert model.dense.kernel.shape == (3, 1)


def test_an_optimizer_without_variables_names_a_line_that_works_for_all():
    model = compiled(Pair)
    with pytest.raises(ArgumentError, match=r"model\.build_for\(x\) once before, with all that its call takes"):
        model.optimizer.minimize(lambda: ops.mean(model(A, B)), model.trainable_variables)
