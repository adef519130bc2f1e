"""What fit leaves out: classes to ignore, masks of layers, samples of weight 0."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics, ops

X = np.int32([[1, 2, 0], [3, 0, 0], [1, 1, 1], [2, 0, 0]])
Y = np.int32([[0, 2, -1], [1, -1, -1], [2, 2, 2], [0, -1, -1]])
LOSS = losses.SparseCategoricalCrossentropy


def compiled(mask_zero, loss, **options):
    """A model of which one class is always the prediction."""
    last = layers.Dense(3, kernel_initializer="zeros", bias_initializer=[0.0, 0.0, 1.0])
    model = gx.Sequential([layers.Embedding(6, 4, mask_zero=mask_zero), last])
    model.compile(gx.optimizers.SGD(0.0), loss, **options)
    return model


@pytest.mark.broad
@pytest.mark.parametrize("eagerly", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("ignored", "mask_zero"), [(-1, False), (None, True)])
def test_l5_accuracy_leaves_out_what_the_loss_ignores_or_a_mask_hides(eagerly, ignored, mask_zero):
    loss = LOSS(from_logits=True, ignore_class=ignored)
    names = ["accuracy", "sparse_categorical_crossentropy"]
    model = compiled(mask_zero, loss, metrics=names, run_eagerly=eagerly)
    history = model.fit(X, Y, batch_size=4, verbose=0).history
    assert history["accuracy"] == [pytest.approx(4 / 7)]
    assert history["sparse_categorical_crossentropy"] == pytest.approx(history["loss"], rel=1e-6)
    assert model.evaluate(X, Y, batch_size=4, verbose=0)["accuracy"] == pytest.approx(4 / 7)


@pytest.mark.broad
def test_l5_three_of_three_are_right():
    x, y = np.eye(4, dtype="float32"), np.int32([0, 1, -1, 2])
    model = gx.Sequential([layers.Dense(4, use_bias=False, kernel_initializer="identity")])
    model.compile("sgd", LOSS(ignore_class=-1), metrics=["accuracy"])
    model.build_for(x)
    assert model.evaluate(x, np.int32([0, 1, -1, 3]), verbose=0)["accuracy"] == 1
    assert model.evaluate(x, y, verbose=0)["accuracy"] == pytest.approx(2 / 3)


@pytest.mark.broad
def test_l5_metrics_made_by_hand_say_what_they_do_not_know():
    model = compiled(False, LOSS(from_logits=True, ignore_class=-1), metrics=[metrics.SparseCategoricalAccuracy()])
    with pytest.raises(
        gx.errors.IndexRangeError, match=r"(?s)labels\[\d, \d\] = -1.*SparseCategoricalAccuracy.*ignore_c"
    ):
        model.fit(X, Y, verbose=0)


@pytest.mark.broad
def test_l5_labels_that_nothing_hides_still_raise():
    for bad, mask_zero in ((np.where(Y < 0, 7, Y), False), (np.where(X == 3, 7, Y), True)):
        with pytest.raises(gx.errors.IndexRangeError, match="= 7 is not in"):
            compiled(mask_zero, LOSS(from_logits=True)).fit(X, bad, verbose=0)


@pytest.mark.broad
def test_l5_weights_of_0_hide_labels_from_the_loss_and_from_metrics_that_count_them():
    weights = (Y >= 0).astype("float32")
    model = compiled(False, LOSS(from_logits=True), weighted_metrics=["accuracy"])
    history = model.fit(X, Y, sample_weight=weights, batch_size=4, verbose=0).history
    assert history["accuracy"] == [pytest.approx(4 / 7)]
    assert np.isfinite(history["loss"]).all()
    model = compiled(False, LOSS(from_logits=True), metrics=["accuracy"])
    with pytest.raises(gx.errors.IndexRangeError, match="weighted_metrics= leave out"):
        model.fit(X, Y, sample_weight=weights, verbose=0)


def test_l5_labels_for_a_loss_that_looks_at_none():
    model = gx.Sequential([layers.Dense(3)])
    model.compile("sgd", lambda y, p: ops.mean(p, -1), metrics=["accuracy"])
    with pytest.raises(gx.errors.IndexRangeError, match=r"labels\[1\] = 3 is not in"):
        model.fit(np.ones((2, 2), "float32"), np.int32([0, 3]), verbose=0)


class Counted(metrics.Metric):
    """As one writes it for Keras: what counts, by its weights."""

    def __init__(self, name="counted", **options):
        super().__init__(name=name, **options)
        self.total = self.add_weight(name="total", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        ones = ops.ones(ops.shape(y_true))
        self.total.assign_add(ops.sum(ones if sample_weight is None else ones * sample_weight))

    def result(self):
        return self.total


class Careless(metrics.Metric):
    """One that asks for neither weights nor masks."""

    def __init__(self):
        super().__init__()
        self.total = self.add_variable(())

    def update(self, y_true, y_pred):
        self.total.assign_add(1.0)

    def result(self):
        return self.total.value


@pytest.mark.broad
def test_a4_metrics_as_in_keras_work_in_fit_and_get_masks_as_weights():
    model = compiled(True, LOSS(from_logits=True), metrics=[Counted()], weighted_metrics=[Counted(name="weighed")])
    history = model.fit(X, Y, sample_weight=2 * np.ones(4, "float32"), epochs=2, verbose=0).history
    assert history["counted"] == [7, 7]
    assert history["weighed"] == [14, 14]


@pytest.mark.broad
def test_a4_metrics_without_weights_work_where_there_are_none_and_are_refused_where_there_are():
    x, y = np.ones((2, 3), "float32"), np.ones((2, 1), "float32")
    for options, given in (
        ({"metrics": [Careless()]}, {}),
        ({"weighted_metrics": [Careless()]}, {"sample_weight": y[:, 0]}),
    ):
        model = gx.Sequential([layers.Dense(1)])
        model.compile("sgd", "mse", **options)
        if given:
            with pytest.raises(gx.errors.ArgumentTypeError, match=r"(?s)update\(y_true, y_pred\).*sample_weight=None"):
                model.fit(x, y, verbose=0, **given)
        else:
            assert model.fit(x, y, verbose=0).history["careless"] == [1]


def test_l5_names_of_metrics_read_logits_where_the_loss_does():
    loss = losses.BinaryCrossentropy(from_logits=True)
    assert metrics.get("binary_accuracy", (8, 1), (8, 1), loss).threshold == 0
    assert metrics.get("precision", (8, 1), (8, 1), loss).threshold == 0
    assert metrics.get("bce", (8, 1), (8, 1), loss).from_logits
    assert metrics.get("categorical_accuracy", (8, 3, 4), (8, 3, 4), losses.CategoricalCrossentropy(axis=1)).axis == 1
    found = metrics.get("ce", (8, 4), (8, 3, 4), LOSS(axis=1, ignore_class=-1, from_logits=True))
    assert (found.axis, found.ignore_class, found.from_logits) == (1, -1, True)
    assert metrics.get("binary_accuracy", (8, 1), (8, 1), losses.MeanSquaredError()).threshold == 0.5
    assert metrics.get(metrics.BinaryAccuracy(), (8, 1), (8, 1), loss).threshold == 0.5
