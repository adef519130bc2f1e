"""Several steps in one run of a compiled loop."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core import tree
from graftax.core.errors import ArgumentError
from graftax.training.groups import Group, group_batches, groups_of, stack_batches
from graftax.training.sources.array_source import ArraySource

pytestmark = pytest.mark.optimized
X = np.sin(np.arange(36, dtype="float32")).reshape(18, 2)
Y = X[:, :1] - X[:, 1:]


class Hooks(gx.callbacks.Callback):
    def __init__(self, stop_after=None):
        self.seen, self.stop_after = [], stop_after

    def on_train_batch_begin(self, batch, logs=None):
        self.seen.append(("begin", batch))

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(("end", batch))
        self.model.stop_training = batch == self.stop_after


def net(**options):
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(4, activation="tanh"), layers.BatchNormalization(), layers.Dropout(0.2)])
    model.layers.append(layers.Dense(1))
    model.build_for(X)
    model.compile(gx.optimizers.Adam(0.01), "mse", ["mae"], **options)
    return model


@pytest.mark.broad
def test_ft13_the_same_training_and_the_last_index_is_one_that_exists():
    one, many, hooks = net(), net(steps_per_execution=2), Hooks()
    weights = np.linspace(0, 1, 18, dtype="float32")
    expected = one.fit(X, Y, batch_size=4, epochs=2, sample_weight=weights, verbose=0).history
    found = many.fit(X, Y, batch_size=4, epochs=2, sample_weight=weights, verbose=0, callbacks=[hooks]).history
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5)
    for a, b in zip(one.variables, many.variables, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-6)
    epoch = [("begin", 0), ("end", 1), ("begin", 2), ("end", 3), ("begin", 4), ("end", 4)]
    assert hooks.seen == epoch * 2
    assert many._gx_compiled_step("train_steps").trace_count == 1
    assert many.optimizer.iterations.numpy() == 10


@pytest.mark.broad
def test_a_callback_stops_after_an_execution():
    model, hooks = net(steps_per_execution=2), Hooks(stop_after=3)
    model.fit(X[:16], Y[:16], batch_size=2, verbose=0, callbacks=[hooks])
    assert hooks.seen[-1] == ("end", 3)
    assert int(model.optimizer.iterations) == 4


@pytest.mark.broad
def test_what_is_frozen_between_two_fits_stays():
    model = net(steps_per_execution=2)
    model.fit(X[:16], Y[:16], batch_size=4, verbose=0)
    model.freeze("layers/0/**")
    before = model.layers[0].kernel.numpy()
    model.fit(X[:16], Y[:16], batch_size=4, verbose=0)
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), before)


@pytest.mark.slow
def test_one_by_one_where_steps_are_not_compiled_or_nans_are_looked_for():
    for options, arguments in (({"run_eagerly": True}, {}), ({}, {"check_nans": True})):
        model, hooks = net(steps_per_execution=4, **options), Hooks()
        model.fit(X[:8], Y[:8], batch_size=4, verbose=0, callbacks=[hooks], **arguments)
        assert hooks.seen == [("begin", 0), ("end", 0), ("begin", 1), ("end", 1)]


def test_groups_are_of_one_kind_and_of_two_lengths():
    batches = [{"a": np.ones(n, dtype), "b": n} for n, dtype in ((2, "f4"), (2, "f4"), (2, "f8"), (3, "f4"), (3, "f4"))]
    groups = list(group_batches(iter((batch, None) for batch in batches), 2))
    assert [len(group) for group in groups] == [2, 1, 2]
    whole = stack_batches([(gx.ops.ones(2), {"n": np.float32([1])}), (gx.ops.zeros(2), {"n": np.float32([2])})])
    assert whole[0].tolist() == [[1, 1], [0, 0]]
    assert whole[1]["n"].tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("rows", "steps", "start"), [(24, 9, 0), (22, 9, 0), (22, 9, 2), (6, 5, 0), (3, 4, 1), (24, None, 0)]
)
@pytest.mark.parametrize("shuffle", [False, True])
def test_groups_of_arrays_are_those_of_their_batches(rows, steps, start, shuffle):
    x = {"a": np.arange(rows), "b": [np.arange(2 * rows).reshape(rows, 2)]}
    source = ArraySource(x, np.arange(rows), None, 4, shuffle, steps)
    for epoch in range(3):
        found = list(groups_of(source, epoch, start, 3))
        expected = [Group(group, None, len(group)) for group in group_batches(source.epoch(epoch, start), 3)]
        assert [len(group) for group in found] == [len(group) for group in expected]
        for one, other in zip(found, expected, strict=True):
            for a, b in zip(tree.flatten([one.stack(), one[:]]), tree.flatten([other.stack(), other[:]]), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "auto"])
def test_what_does_not_count_is_refused(size):
    with pytest.raises(ArgumentError, match="steps_per_execution"):
        net(steps_per_execution=size)


class Changing(gx.Model):
    """A model whose step changes what the next one is."""

    def __init__(self, counts):
        super().__init__()
        self.dense, self.ready, self.n, self.counts = layers.Dense(1, kernel_initializer="ones"), False, 0, counts

    def call(self, x):
        return self.dense(x)

    def train_step(self, batch):
        x, y = batch
        factor = (1 if self.ready else 10) * (1 + self.n)
        self.ready = True
        self.n += self.counts
        loss, gradients = gx.value_and_grad(lambda: ops.mean((self(x) * factor - y) ** 2), self.trainable_variables)()
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


@pytest.mark.broad
@pytest.mark.parametrize("counts", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_steps_that_change_what_the_next_one_is_train_as_one_by_one(counts):
    found = []
    for options in ({}, {"steps_per_execution": 3}, {"run_eagerly": True}):
        model = Changing(counts)
        model.build_for(X[:2])
        model.compile(gx.optimizers.SGD(1e-4), "mse", **options)
        history = model.fit(X, Y, batch_size=2, shuffle=False, verbose=0).history
        found.append((*history["loss"], *model.dense.kernel.numpy().ravel()))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-5)
