"""What a compiled step cannot raise for is looked at around it: indices, labels, raw scores for probabilities."""

import re
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, IndexRangeError

IDS = np.array([[1, 2], [3, 0], [2, 2], [9, 1], [0, 0]])
X = np.linspace(-3, 3, 12, dtype="float32").reshape(6, 2)
LABELS = np.array([0, 1, 0, 1, 0, 1])
RANGE = r"\[\d, \d\] = 9 is not in \[0, 5\)"


def embed(loss="mse", **options):
    model = gx.Sequential([layers.Embedding(5, 3), layers.Flatten(), layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), loss, **options)
    return model


@pytest.mark.broad
@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.parametrize("size", [2, 5])
def test_t10_indices_out_of_range_raise_as_in_eager_code(size, eagerly):
    model = embed(run_eagerly=eagerly)
    y = np.ones((5, 1), "float32")
    model.build((None, 2))
    with pytest.raises(IndexRangeError, match=RANGE):
        model(IDS)
    with pytest.raises(IndexRangeError, match=RANGE):
        model.predict(IDS, batch_size=size, verbose=0)
    with pytest.raises(IndexRangeError, match=RANGE):
        model.evaluate(IDS, y, batch_size=size, verbose=0)
    before = [v.numpy().copy() for v in model.variables]
    with pytest.raises(IndexRangeError, match=RANGE):
        model.train_on_batch(IDS, y)
    with pytest.raises(IndexRangeError, match=RANGE):
        model.test_on_batch(IDS, y)
    for old, variable in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, variable.numpy())
    with pytest.raises(IndexRangeError, match=RANGE) as caught:
        model.fit(IDS, y, batch_size=size, shuffle=False, verbose=0)
    if not eagerly:
        assert "x of a batch" in str(caught.value)
        assert "layers/0" in str(caught.value)
    assert all(np.isfinite(v.numpy()).all() for v in model.variables)


@pytest.mark.broad
def test_t10_several_steps_in_one_execution():
    model = embed(steps_per_execution=2)
    with pytest.raises(IndexRangeError, match=RANGE):
        model.fit(IDS, np.ones((5, 1), "float32"), batch_size=1, shuffle=False, verbose=0)


def test_t10_dicts_of_indices_name_the_input():
    class Named(gx.Model):
        def __init__(self):
            super().__init__()
            self.embedding = layers.Embedding(5, 1)

        def call(self, x):
            return ops.mean(self.embedding(x["ids"]), axis=1)

    model = Named()
    model.compile("sgd", "mse")
    with pytest.raises(IndexRangeError, match="x/ids of a batch"):
        model.fit({"ids": IDS}, np.ones((5, 1)), verbose=0)


def test_t10_positions_beyond_the_table():
    class Positions(gx.Model):
        def __init__(self):
            super().__init__()
            self.table = layers.Embedding(4, 2)

        def call(self, x):
            return x + self.table(ops.arange(x.shape[1]))

    model = Positions()
    assert np.isfinite(model.predict(np.zeros((2, 4, 2), "float32"), verbose=0)).all()
    with pytest.raises(IndexRangeError, match=r"not in \[0, 4\)"):
        model.predict(np.zeros((2, 6, 2), "float32"), verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("given", ["metric alone", "loss"])
@pytest.mark.parametrize("run", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
def test_t10_labels_out_of_range(given, run):
    model = gx.Sequential([layers.Dense(2)])
    metric = gx.metrics.SparseCategoricalAccuracy()
    if given == "loss":
        model.compile("sgd", gx.losses.SparseCategoricalCrossentropy(from_logits=True))
    else:
        model.compile("sgd", lambda y_true, y_pred: ops.mean(y_pred**2), [metric])
    quiet = {"verbose": 0} if run in ("fit", "evaluate") else {}
    with pytest.raises(IndexRangeError, match=r"7 is not in \[0, 2\)"):
        getattr(model, run)(X, np.where(np.arange(6) == 4, 7, LABELS), **quiet)


@pytest.mark.broad
def test_t10_what_was_heard_follows_the_model():
    model = gx.Sequential([layers.Embedding(5, 1), layers.Flatten(), layers.Dense(1)])
    model.compile("sgd", "mse")
    y = np.ones((2, 1), "float32")
    model.fit(IDS[:2], y, verbose=0)
    model.layers[0] = layers.Embedding(20, 1)
    model.fit(IDS[3:], y, verbose=0)


LOSSES = {
    "binary_crossentropy": (1, LABELS[:, None]),
    "sparse_categorical_crossentropy": (2, LABELS),
    "categorical_crossentropy": (2, np.eye(2, dtype="float32")[LABELS]),
    "kl_divergence": (2, np.eye(2, dtype="float32")[LABELS]),
    "poisson": (1, LABELS[:, None]),
}


def scores(loss, activation=None, **options):
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(LOSSES[loss][0], activation=activation)])
    model.compile(gx.optimizers.SGD(1e-3), loss, **options)
    return model, LOSSES[loss][1]


@pytest.mark.in_turn(18, 2, broad=7)
@pytest.mark.parametrize("run", ["fit", "evaluate", "train_on_batch", "steps"])
@pytest.mark.parametrize("loss", LOSSES)
def test_t10_raw_scores_are_told_once(loss, run):
    model, y = scores(loss, **({"steps_per_execution": 2} if run == "steps" else {}))
    quiet = {} if run == "train_on_batch" else {"verbose": 0}
    if run == "steps":
        quiet |= {"batch_size": 2, "shuffle": False}
    x = np.tile(X[[0, 5]], (3, 1))  # one of the two gives a negative score
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            getattr(model, "fit" if run == "steps" else run)(x, y, **quiet)
    (one,) = seen
    assert re.search(r"y_pred = -?\d.* in the first batch: .*Instead: ", str(one.message))
    assert one.filename == __file__


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("loss", LOSSES)
def test_t10_nothing_is_said_of_what_fits(loss):
    activation = {"poisson": "softplus", "binary_crossentropy": "sigmoid"}.get(loss, "softmax")
    model, y = scores(loss, activation)
    model.fit(X, y, epochs=2, validation_data=(X, y), verbose=0)
    model.evaluate(X, y, verbose=0)


@pytest.mark.broad
def test_t10_eager_code_raises():
    model, y = scores("binary_crossentropy", run_eagerly=True)
    with pytest.raises(ArgumentError, match="from_logits"):
        model.fit(X, y, verbose=0)


@pytest.mark.broad
def test_t10_the_output_is_named_and_no_step_waits():
    class Heads(gx.Model):
        def __init__(self):
            super().__init__()
            self.a, self.b = layers.Dense(1), layers.Dense(1)

        def call(self, x):
            return {"a": self.a(x), "b": self.b(x)}

    model = Heads()
    model.compile("sgd", {"a": "mse", "b": "binary_crossentropy"})
    with pytest.warns(UserWarning, match="of the output 'b'"):
        model.fit(X, {"a": X[:, :1], "b": LABELS[:, None]}, verbose=0)
