"""fit, evaluate, train_on_batch and a loop of one's own give the same numbers, however data come and steps are run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import layers, ops

pytestmark = pytest.mark.optimized
RNG = np.random.default_rng(3)
X = RNG.normal(size=(11, 3)).astype("float32")
Y = RNG.integers(0, 2, size=(11, 1))
W = RNG.uniform(0.5, 2, size=11).astype("float32")


class Net(gx.Model):
    """Takes an array, or a dict with one."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = layers.Dense(4, activation="tanh"), layers.Dense(1)

    def call(self, x):
        return self.out(self.hidden(x["x"] if isinstance(x, dict) else x))


def net(**options):
    gx.set_random_seed(7)
    model = Net()
    loss = gx.losses.BinaryCrossentropy(from_logits=True)
    model.compile(gx.optimizers.Adam(0.05), loss, ["accuracy"], ["mae"], **options)
    model.build_for(X)
    return model


def cuts(size):
    return [slice(i, i + size) for i in range(0, len(X), size)]


def batches(size, weights, as_dict, kind):
    for rows in cuts(size):
        x = {"x": X[rows]} if as_dict else X[rows]
        yield kind((x, Y[rows], weights[rows]) if weights is not None else (x, Y[rows]))


class Again:
    def __init__(self, *arguments):
        self.arguments = arguments

    def __iter__(self):
        return batches(*self.arguments)


def test_one_of_each():
    """A quick look at what the slow tests look at thoroughly."""
    expected = own_loop(4, 1, W)
    for how in ({}, {"steps_per_execution": 2}):
        model = net(**how)
        model.fit(Again(4, W, True, list), verbose=0)
        for a, b in zip(model.variables, expected.variables, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=1e-6)
    found = model.evaluate(Again(4, W, False, list), verbose=0)
    assert found == pytest.approx(by_numpy([v.numpy() for v in model.variables], 4, W), rel=1e-4)


def by_numpy(values, size, weights):
    """Loss, accuracy and weighted error of weights that stand still, by the formulas."""
    kernel, bias, kernel_2, bias_2 = values
    z = np.tanh(X @ kernel + bias) @ kernel_2 + bias_2
    per_row = np.mean(np.log1p(np.exp(z)) - Y * z, axis=-1)
    w = np.ones(len(X)) if weights is None else weights
    means = [np.mean((w * per_row)[rows]) for rows in cuts(size)]
    sizes = [len(X[rows]) for rows in cuts(size)]
    return {
        "loss": np.dot(means, sizes) / len(X),
        "accuracy": np.mean((z > 0) == Y),
        "mae": np.sum(w * np.abs(z - Y)[:, 0]) / np.sum(w),
    }


def weighted(class_weight, sample_weight):
    if class_weight is None:
        return sample_weight
    by_class = np.where(Y[:, 0] == 1, class_weight[1], 1).astype("float32")
    return by_class if sample_weight is None else by_class * sample_weight


def own_loop(size, epochs, weights):
    """The same training, written out with an optimizer and formulas."""
    model = net()
    optimizer = gx.optimizers.Adam(0.05)
    for _ in range(epochs):
        for rows in cuts(size):

            def loss(rows=rows):
                z = model(X[rows], training=True)
                per_row = ops.mean(ops.softplus(z) - Y[rows].astype("float32") * z, axis=-1)
                return ops.mean(per_row if weights is None else per_row * weights[rows])

            optimizer.minimize(loss, model.trainable_variables)
    return model


@pytest.mark.slow
@settings(max_examples=8)
@given(
    size=st.sampled_from([2, 4, 11]),
    source=st.sampled_from(["arrays", "tuples", "lists", "loader"]),
    as_dict=st.booleans(),
    sample_weight=st.booleans(),
    class_weight=st.booleans(),
    how=st.sampled_from([{}, {"steps_per_execution": 2}, {"run_eagerly": True}]),
)
def test_training_is_the_same_however_it_is_asked_for(size, source, as_dict, sample_weight, class_weight, how):
    weights = W if sample_weight else None
    by_class = {1: 3.0} if class_weight else None
    total = weighted(by_class, weights)
    model = net(**how)
    options = {"epochs": 2, "class_weight": by_class, "verbose": 0}
    x = {"x": X} if as_dict else X
    if source == "arrays":
        history = model.fit(x, Y, batch_size=size, shuffle=False, sample_weight=weights, **options)
    else:
        made = Again(size, weights, as_dict, list if source == "lists" else tuple)
        history = model.fit(made if source == "loader" else list(made), **options)
    expected = own_loop(size, 2, total)
    for a, b in zip(model.variables, expected.variables, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=1e-6)

    by_hand = net()
    for epoch in range(2):
        for i, rows in enumerate(cuts(size)):
            part = None if total is None else total[rows]
            logs = by_hand.train_on_batch(X[rows], Y[rows], part, reset_metrics=i == 0)
        for name, value in logs.items():
            assert history.history[name][epoch] == pytest.approx(value, rel=1e-4, abs=1e-6)


@pytest.mark.slow
@settings(max_examples=6)
@given(
    size=st.sampled_from([2, 4, 11]),
    source=st.sampled_from(["arrays", "tuples", "lists", "loader"]),
    as_dict=st.booleans(),
    sample_weight=st.booleans(),
    eagerly=st.booleans(),
)
def test_evaluations_agree_with_numpy(size, source, as_dict, sample_weight, eagerly):
    weights = W if sample_weight else None
    model = net(run_eagerly=eagerly)
    model.optimizer.learning_rate = 0.0
    x = {"x": X} if as_dict else X
    made = Again(size, weights, as_dict, list if source == "lists" else tuple)
    if source == "arrays":
        found = model.evaluate(x, Y, batch_size=size, sample_weight=weights, verbose=0)
    else:
        found = model.evaluate(made if source == "loader" else list(made), verbose=0)
    expected = by_numpy([v.numpy() for v in model.variables], size, weights)
    assert found == pytest.approx(expected, rel=1e-4)
    if source == "arrays":
        validation = (x, Y) if weights is None else (x, Y, weights)
        history = model.fit(
            x, Y, batch_size=size, sample_weight=weights, shuffle=False, validation_data=validation, verbose=0
        ).history
        for name, value in expected.items():
            assert history[name][0] == pytest.approx(value, rel=1e-4)
            assert history[f"val_{name}"][0] == pytest.approx(value, rel=1e-4)
    for i, rows in enumerate(cuts(size)):
        part = None if weights is None else weights[rows]
        logs = model.test_on_batch({"x": X[rows]} if as_dict else X[rows], Y[rows], part, reset_metrics=i == 0)
    assert logs == pytest.approx(expected, rel=1e-4)
    predicted = model.predict(x, batch_size=size, verbose=0)
    np.testing.assert_allclose(predicted, model(x), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@settings(max_examples=4)
@given(
    metrics=st.lists(st.sampled_from(["mae", "mse"]), min_size=1, max_size=2, unique=True),
    weighted_metrics=st.lists(st.sampled_from(["mae", "mse"]), max_size=1),
    size=st.sampled_from([3, 4]),
    rate=st.sampled_from([0.0, 0.05]),
)
def test_metrics_are_those_of_keras(keras, metrics, weighted_metrics, size, rate):
    targets = RNG.normal(size=(11, 2)).astype("float32")
    ours, theirs = gx.Sequential([layers.Dense(2)]), keras.Sequential([keras.layers.Dense(2)])
    ours.build((None, 3))
    theirs.build((None, 3))
    theirs.set_weights([v.numpy() for v in ours.variables])
    ours.compile(gx.optimizers.SGD(rate), "mse", metrics, weighted_metrics)
    theirs.compile(keras.optimizers.SGD(rate), "mse", metrics=metrics, weighted_metrics=weighted_metrics)
    options = {"batch_size": size, "epochs": 2, "shuffle": False, "verbose": 0, "sample_weight": W}
    found = ours.fit(X, targets, validation_split=0.3, **options).history
    expected = theirs.fit(X, targets, validation_split=0.3, **options).history
    if set(metrics).isdisjoint(weighted_metrics):
        assert set(found) == {*expected, "learning_rate"}
    for name in set(found) & set(expected):
        if name.removeprefix("val_") not in set(metrics) & set(weighted_metrics):
            np.testing.assert_allclose(found[name], expected[name], rtol=2e-4, atol=1e-5)
