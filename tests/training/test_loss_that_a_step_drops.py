"""A loss of `compile`, and terms that weights and layers add, which a step of the user's does not use: said once."""

import re
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.linspace(-1, 1, 24, dtype="float32").reshape(12, 2)
Y = (X[:, :1] > 0).astype("float32")


def absolute(y_true, y_pred):
    return ops.mean(ops.abs(y_true - y_pred), axis=-1)


class Line(gx.Model):
    def __init__(self, adds=False, **options):
        super().__init__()
        self.dense, self.adds = layers.Dense(1, **options), adds
        self.compare = gx.losses.MeanAbsoluteError()

    def call(self, x):
        y = self.dense(x)
        if self.adds:
            self.add_loss(100.0 * ops.mean(y**2))
        return y

    def descend(self, loss):
        return {"loss": self.optimizer.minimize(loss, self.trainable_variables)}


class OwnStep(Line):
    def train_step(self, batch):
        x, y = batch
        return self.descend(lambda: ops.mean((self(x, training=True) - y) ** 2))


class OwnLoss(Line):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return ops.mean((y - y_pred) ** 2)


class OwnBoth(OwnLoss):
    def train_step(self, batch):
        x, y = batch
        return self.descend(lambda: self.compute_loss(x, y, self(x, training=True)))


class UsesAll(Line):
    def train_step(self, batch):
        x, y = batch
        return self.descend(lambda: self.compute_loss(x, y, self(x, training=True)))


class UsesSuper(Line):
    def train_step(self, batch):
        return super().train_step(batch)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return super().compute_loss(x, y, y_pred, sample_weight) + ops.mean(y_pred)


class UsesTerms(Line):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return ops.mean((y - y_pred) ** 2) + sum(self.losses)


class UsesTermsOfParts(Line):
    def train_step(self, batch):
        x, y = batch
        return self.descend(lambda: ops.mean((self(x, training=True) - y) ** 2) + sum(self.dense.losses))


class CallsAttribute(Line):
    def train_step(self, batch):
        x, y = batch
        return self.descend(lambda: self.compare(y, self(x, training=True)))


class CallsFunction(Line):
    def train_step(self, batch):
        x, y = batch
        return self.descend(lambda: ops.mean(absolute(y, self(x, training=True))))


class MeasuresByLoss(OwnStep):
    def test_step(self, batch):
        x, y = batch
        return {"loss": self.compute_loss(x, y, self(x))}


class UsesSuperNotInTraining(OwnStep):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return super().compute_loss(x, y, y_pred, sample_weight) + ops.mean(y_pred)


class AsksRegularizers(Line):
    def train_step(self, batch):
        x, y = batch

        def loss():
            kernel = self.dense.kernel
            return ops.mean((self(x, training=True) - y) ** 2) + kernel.regularizer(kernel.value)

        return self.descend(loss)


def told_by(model, given=None, **options):
    settings = {"loss": "mse"} if given is None else given(model) if callable(given) else given
    model.compile(gx.optimizers.SGD(0.1), **settings)
    model(X)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X, Y, batch_size=6, epochs=2, verbose=0, **options)
    return [str(one.message) for one in found]


PENALTY = {"kernel_regularizer": gx.regularizers.L2(10.0)}
IDLE = {
    "own loss": (OwnLoss, {}, None, [r"loss= of compile: not used in OwnLoss\.compute_loss\. Instead: super\(\)\."]),
    "own both": (
        OwnBoth,
        {},
        None,
        [r"not used in OwnBoth\.train_step and OwnBoth\.compute_loss\. Instead: super"],
    ),
    "an object": (OwnLoss, {}, {"loss": gx.losses.Huber()}, [r"loss= of compile: not used"]),
    "a function": (OwnLoss, {}, {"loss": lambda y_true, y_pred: y_pred}, [r"loss= of compile: not used"]),
    "factors": (OwnLoss, {}, {"loss": "mse", "loss_weights": [3.0]}, [r"loss= and loss_weights= of compile: not used"]),
    "penalty, own loss": (
        OwnLoss,
        PENALTY,
        {},
        [r"the regularizer of 'dense/kernel': not .*sum\(self\.losses\)"],
    ),
    "term, own loss": (OwnLoss, {"adds": True}, {}, [r"add_loss of .*OwnLoss.*: not added .* in compute_loss; or"]),
    "penalty, own step": (OwnStep, PENALTY, {}, [r"the regularizer of .* OwnStep\.train_step, .* in train_step; or"]),
    "all": (OwnLoss, {**PENALTY, "adds": True}, None, [r"loss= of compile", r"add_loss of .*the regularizer of"]),
    "terms used, loss not": (UsesTerms, PENALTY, None, [r"loss= of compile"]),
    "loss used, terms not": (CallsAttribute, PENALTY, lambda model: {"loss": model.compare}, [r"the regularizer of"]),
}


@pytest.mark.parametrize(("kind", "options", "given", "wanted"), IDLE.values(), ids=IDLE)
@pytest.mark.in_turn(8)
def test_what_a_step_drops_is_said_once(kind, options, given, wanted):
    found = told_by(kind(**options), given)
    assert len(found) == len(wanted), found
    for text, pattern in zip(found, wanted, strict=True):
        assert re.search(pattern, text), text


USED = {
    "compute_loss": (UsesAll, {**PENALTY, "adds": True}, None),
    "super": (UsesSuper, {**PENALTY, "adds": True}, None),
    "terms alone": (UsesTerms, {**PENALTY, "adds": True}, {}),
    "terms of a part": (UsesTermsOfParts, PENALTY, {}),
    "an attribute": (CallsAttribute, {}, lambda model: {"loss": model.compare}),
    "a function": (CallsFunction, {}, {"loss": absolute}),
    "regularizers": (AsksRegularizers, PENALTY, {}),
    "nothing given": (OwnStep, {}, {}),
    "own step, evaluated by the loss": (OwnStep, {}, None),
    "own steps, evaluated by the loss": (MeasuresByLoss, {}, None),
    "super, evaluated by the loss": (UsesSuperNotInTraining, {}, None),
    "a name that the loss explains": (OwnLoss, {}, {"loss": "binary_crossentropy", "metrics": ["accuracy"]}),
    "a model of this library": (Line, {**PENALTY, "adds": True}, None),
}


@pytest.mark.parametrize(("kind", "options", "given"), USED.values(), ids=USED)
@pytest.mark.in_turn(8, broad=4)
def test_what_a_step_uses_is_let_alone(kind, options, given):
    assert told_by(kind(**options), given) == []


@pytest.mark.broad
def test_a_frozen_weight_adds_no_term():
    model = OwnStep(**PENALTY)
    model(X)
    model.dense.kernel.trainable = False
    assert told_by(model, {}) == []


@pytest.mark.broad
def test_a_loss_that_the_validation_uses_is_let_alone():
    assert told_by(OwnStep(), validation_data=(X, Y)) == []
    assert len(told_by(OwnLoss(), validation_data=(X, Y))) == 1

    class Measures(OwnStep):
        def test_step(self, batch):
            x, y = batch
            return {"loss": ops.mean((self(x) - y) ** 2)}

    assert len(told_by(Measures(), validation_data=(X, Y))) == 1
    assert told_by(MeasuresByLoss(), validation_data=(X, Y)) == []
    assert told_by(UsesSuperNotInTraining(), validation_data=(X, Y)) == []


@pytest.mark.broad
@pytest.mark.parametrize("options", [{"steps_per_execution": 2}, {"run_eagerly": True}], ids=["together", "eager"])
def test_steps_in_one_run_are_looked_at_and_eager_ones_are_not(options):
    count = 1 if "steps_per_execution" in options else 0
    assert len(told_by(OwnLoss(), {"loss": "mse", **options})) == count
    assert told_by(UsesAll(**PENALTY, adds=True), {"loss": "mse", **options}) == []


@pytest.mark.broad
def test_a_second_fit_says_it_again_and_evaluate_does_not():
    model = OwnStep(**PENALTY)
    assert len(told_by(model)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.evaluate(X, Y, verbose=0)
        model.train_on_batch(X, Y)
    with warnings.catch_warnings(record=True) as again:
        warnings.simplefilter("always")
        model.fit(X, Y, batch_size=6, verbose=0)
    assert len(again) == 1
