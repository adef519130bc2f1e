"""Limits of indices and labels belong to a trace: to shapes, to the step, to settings of the model."""

import copy
import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core import tree
from graftax.core.errors import IndexRangeError


class Rows(gx.Model):
    """Looks up rows of its own batch, as graphs, pointers and in-batch negatives do."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x):
        return ops.take(self.dense(x["x"]), x["at"], axis=0)


class Pairs(gx.Model):
    """Gives scores of each row against each other one, (rows, rows)."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x):
        rows = self.dense(x)
        return ops.matmul(rows, ops.transpose(rows))


def rows_batch(rows, highest):
    at = np.arange(rows, dtype="int32")
    at[-1] = highest
    return {"x": np.ones((rows, 3), "float32"), "at": at}, np.zeros((rows, 2), "float32")


def pairs_batch(rows, highest):
    labels = np.zeros(rows, "int32")
    labels[-1] = highest
    return np.ones((rows, 3), "float32"), labels


MODELS = {
    "indices": (Rows, rows_batch, "mse"),
    "labels": (Pairs, pairs_batch, gx.losses.SparseCategoricalCrossentropy(from_logits=True)),
}


def made(kind, **options):
    gx.set_random_seed(0)
    model, batch, loss = MODELS[kind]
    model = model()
    model.compile(gx.optimizers.SGD(1e-3), loss, **options)
    return model, batch


def finite(model):
    return all(np.isfinite(v.numpy()).all() for v in model.variables)


@pytest.mark.broad
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rows", [(8, 4), (4, 8)])
def test_training_and_validation_have_their_own(kind, rows):
    model, batch = made(kind)
    train, validation = ([batch(count, count - 1)] for count in rows)
    model.fit(train, epochs=2, validation_data=validation, verbose=0)
    with pytest.raises(IndexRangeError, match=rf"= {rows[1]} is not in \[0, {rows[1]}\)"):
        model.fit(train, validation_data=[batch(rows[1], rows[1])], verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("kind", MODELS)
def test_an_uneven_last_batch_has_its_own(kind):
    model, batch = made(kind)
    parts = [batch(4, 3), batch(4, 3), batch(2, 1)]
    together = [np.concatenate(leaves) for leaves in zip(*(tree.flatten(part) for part in parts), strict=True)]
    x, y = ({"x": together[0], "at": together[1]}, together[2]) if kind == "indices" else together
    model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    for _ in range(2):
        model.evaluate(x, y, batch_size=4, verbose=0)
    (x["at"] if kind == "indices" else y)[-1] = 3  # good for four rows, not for these two
    before = [v.numpy() for v in model.variables]
    with pytest.raises(IndexRangeError, match=r"= 3 is not in \[0, 2\)"):
        model.evaluate(x, y, batch_size=4, verbose=0)
    for old, variable in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, variable.numpy())
    with pytest.raises(IndexRangeError, match=r"= 3 is not in \[0, 2\)"):
        model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    assert finite(model)


def runs_of(model, how, batches):
    if how == "fit":
        model.fit(batches, verbose=0)
    elif how == "evaluate":
        model.evaluate(batches, verbose=0)
    elif how == "predict":
        model.predict([x for x, _ in batches], verbose=0)
    else:
        for x, y in batches:
            getattr(model, how)(x, y)


HOWS = ["fit", "evaluate", "predict", "train_on_batch", "test_on_batch"]


@pytest.mark.broad
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("options", [{}, {"steps_per_execution": 2}, {"run_eagerly": True}], ids=str)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", range(2))
def test_what_is_out_of_range_for_numpy_raises_and_nothing_else_does(kind, options, seed):
    draw = np.random.default_rng(seed)
    model, batch = made(kind, **options)
    hows = HOWS if kind == "indices" else [how for how in HOWS if how != "predict"]
    runs_of(model, "fit", [batch(3, 0)])
    for _ in range(15):
        how = hows[draw.integers(len(hows))]
        shapes = [int(draw.choice([3, 5, 7])) for _ in range(draw.integers(1, 5))]
        highest = [int(draw.integers(0, 7 if draw.random() < 0.3 else count)) for count in shapes]
        batches = [batch(*pair) for pair in zip(shapes, highest, strict=True)]
        wrong = [pair for pair in zip(shapes, highest, strict=True) if pair[1] >= pair[0]]
        if wrong:
            with pytest.raises(IndexRangeError, match=rf"= {wrong[0][1]} is not in \[0, {wrong[0][0]}\)"):
                runs_of(model, how, batches)
        else:
            runs_of(model, how, batches)
        assert finite(model)


@pytest.mark.broad
@pytest.mark.parametrize("kind", MODELS)
def test_settings_that_go_to_and_fro_bring_their_own(kind):
    """A model remembers its traces, and runs the one that fits; the limits of the one traced last would be others."""

    class Table(gx.Model):
        def __init__(self):
            super().__init__()
            self.size = 3
            self.dense = layers.Dense(6)

        def call(self, x):
            rows = self.dense(x["x"])[:, : self.size]
            return rows if kind == "labels" else ops.take(rows, x["at"], axis=1)

    model = Table()
    loss = "mse" if kind == "indices" else gx.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss)
    five = np.int32([5])
    for size, highest in itertools.product((3, 6, 3, 6), (2, 5)):
        model.size = size
        at = np.int32([highest]) if kind == "indices" else five * 0
        x = {"x": np.ones((1, 2), "float32"), "at": at}
        y = np.zeros((1, 1), "float32") if kind == "indices" else np.int32([highest])
        if highest < size:
            model.fit([(x, y)], verbose=0)
        else:
            with pytest.raises(IndexRangeError, match=rf"= {highest} is not in \[0, {size}\)"):
                model.fit([(x, y)], verbose=0)


@pytest.mark.broad
def test_a_metric_by_hand_has_the_classes_of_its_own_trace():
    model, batch = made("labels")
    metric = gx.metrics.SparseCategoricalAccuracy()
    model.compile("sgd", lambda y, p: ops.mean(p**2), [metric])
    model.fit([batch(4, 3), batch(2, 1), batch(4, 3)], verbose=0)
    with pytest.raises(IndexRangeError, match=r"= 3 is not in \[0, 2\)"):
        model.fit([batch(4, 3), batch(2, 3)], verbose=0)


def test_arrays_of_the_device_are_looked_at_too():
    model, batch = made("indices")
    wrong = tree.map_structure(ops.asarray, batch(4, 4))
    with pytest.raises(IndexRangeError, match=r"= 4 is not in \[0, 4\)"):
        model.fit([batch(4, 3), wrong], verbose=0)
    assert finite(model)


@pytest.mark.broad
def test_a_resumed_run_has_them(tmp_path):
    model, batch = made("indices")
    saver = gx.callbacks.ModelCheckpoint(tmp_path)
    model.fit([batch(8, 7), batch(4, 3)], epochs=1, callbacks=[saver], verbose=0)
    model, _ = made("indices")
    with pytest.raises(IndexRangeError, match=r"= 5 is not in \[0, 4\)"):
        model.fit([batch(8, 7), batch(4, 5)], epochs=2, resume=tmp_path, verbose=0)


def test_copies_look_at_their_own_batches():
    model, batch = made("indices")
    model.fit([batch(4, 3)], verbose=0)
    other = copy.deepcopy(model)
    other.compile("sgd", "mse")
    with pytest.raises(IndexRangeError):
        other.fit([batch(4, 4)], verbose=0)
    model.fit([batch(4, 3)], verbose=0)
