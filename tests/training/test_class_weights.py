"""Weights of rows by the class of their target, by themselves."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError
from graftax.training.class_weights import ClassWeights

GIVEN = {0: 0.5, np.int64(2): 4}
LABELS = np.array([0, 1, 2, 2])


@pytest.mark.parametrize(
    "y",
    [LABELS.astype("int32"), LABELS.astype("uint8"), LABELS.astype("float32"), LABELS[:, None], np.eye(3)[LABELS]],
    ids=["int", "uint8", "float", "column", "one-hot"],
)
def test_targets_in_each_form_give_the_weights_of_their_classes(y):
    assert ClassWeights(GIVEN).times(y, None).tolist() == [0.5, 1, 4, 4]


def test_sample_weights_are_multiplied_row_by_row():
    found = ClassWeights(GIVEN).times(LABELS, np.float32([1, 2, 3, 0]))
    assert (found.tolist(), found.dtype) == ([0.5, 2, 12, 0], np.float32)
    steps = np.float32([[1, 2], [3, 4], [5, 6], [7, 8]])
    np.testing.assert_array_equal(ClassWeights(GIVEN).times(LABELS, steps), np.float32([[0.5], [1], [4], [4]]) * steps)
    for wrong in (np.ones(3), {"a": np.ones(4)}):
        with pytest.raises(DataError, match=r"sample_weight of shape \(4,\)"):
            ClassWeights(GIVEN).times(LABELS, wrong)


@pytest.mark.parametrize("given", [[1.0, 2.0], 3.0, "balanced"])
def test_what_is_no_dict_is_refused(given):
    with pytest.raises(ArgumentTypeError, match="a weight for each class number"):
        ClassWeights(given)


@pytest.mark.parametrize(
    "given", [{}, {-1: 1.0}, {"cat": 1.0}, {True: 1.0}, {0: -1.0}, {0: np.inf}, {0: "2"}, {1.5: 1}]
)
def test_classes_and_weights_that_cannot_be_are_refused(given):
    with pytest.raises(ArgumentError):
        ClassWeights(given)


def test_labels_of_positions_are_answered_with_weights_of_positions():
    tokens = np.array([[0, 1, 1], [1, 0, 1]])
    with pytest.raises(DataError, match=r"np\.take\(\[0\.5, 1\.0, 4\.0\], y\), of shape \(2, 3\)"):
        ClassWeights(GIVEN).times(tokens, None)
    with pytest.raises(DataError, match=r"y\[\.\.\., 0\]\), of shape \(2, 3\)"):
        ClassWeights(GIVEN).times(tokens[..., None], None)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (None, "no targets"),
        ({"a": LABELS}, "several outputs"),
        (np.float32([[0.5, 0.2]]), "no one-hot rows"),
        (np.eye(2), "the targets have 2 classes"),
        (np.float32([0.5, 1.0]), "no integers"),
        (np.zeros((2, 1, 3)), "not one class a row"),
        (np.array(1), "not one class a row"),
    ],
)
def test_targets_that_are_no_classes_are_refused(y, said):
    with pytest.raises(DataError, match=said):
        ClassWeights(GIVEN).times(y, None)


def test_a_class_that_no_target_has_is_named():
    ClassWeights(GIVEN).require_all(LABELS)
    with pytest.raises(DataError, match="class_weight for the class 3"):
        ClassWeights({3: 2.0}).require_all(LABELS)


@pytest.mark.broad
def test_a_step_on_one_batch_weighs_classes_as_fit_does():
    x, y = np.linspace(-1, 1, 8, dtype="float32").reshape(4, 2), np.array([0, 1, 2, 2])
    more = np.float32([1, 2, 3, 4])

    def trained(step):
        gx.set_random_seed(0)
        model = gx.Sequential([gx.layers.Dense(3)])
        model.compile(gx.optimizers.SGD(0.5), gx.losses.SparseCategoricalCrossentropy(from_logits=True))
        loss = step(model)
        return loss, model.get_weights()

    for given in ({}, {"sample_weight": more}):
        loss, weights = trained(lambda m, given=given: m.train_on_batch(x, y, class_weight={1: 5.0, 7: 2.0}, **given))
        by_hand = np.float32([1, 5, 1, 1]) * given.get("sample_weight", 1)
        expected, same = trained(lambda m, by_hand=by_hand: m.train_on_batch(x, y, sample_weight=by_hand))
        assert loss == expected
        for one, other in zip(weights, same, strict=True):
            np.testing.assert_array_equal(one, other)
    with pytest.raises(ArgumentTypeError, match=r"class_weight=\[1\]"):
        trained(lambda m: m.train_on_batch(x, y, class_weight=[1]))
    with pytest.raises(ArgumentTypeError, match=r"test_on_batch got class_weight(.|\n)*sample_weight=\.\.\."):
        trained(lambda m: m.test_on_batch(x, y, class_weight={0: 1.0}))


@pytest.mark.broad
def test_weights_for_one_of_several_outputs_have_a_way_that_runs():
    x, labels = np.ones((4, 2), "float32"), np.array([0, 1, 1, 0])
    inputs = gx.Input((2,))
    model = gx.Model(inputs, {"kind": gx.layers.Dense(2)(inputs), "size": gx.layers.Dense(1)(inputs)})
    model.compile("sgd", {"kind": gx.losses.SparseCategoricalCrossentropy(from_logits=True), "size": "mse"})
    y = {"kind": labels, "size": x[:, :1]}
    with pytest.raises(ArgumentError, match="of a model with one output") as caught:
        model.fit(x, y, class_weight={"kind": {0: 1.0, 1: 5.0}}, verbose=0)
    assert "sample_weight={'kind': np.array([1.0, 5.0])[labels]}" in caught.value.instead
    model.fit(x, y, sample_weight={"kind": np.array([1.0, 5.0])[labels]}, verbose=0)


def test_labels_at_each_position_and_one_that_is_no_class():
    y = np.array([[0, 1, 2], [0, 1, 255]])
    model = gx.Sequential([gx.layers.Dense(3)])
    model.compile("sgd", gx.losses.SparseCategoricalCrossentropy(from_logits=True))
    loss = r"SparseCategoricalCrossentropy\(class_weight=\[1.0, 2.0, 5.0\], ignore_class=255\)"
    with pytest.raises(DataError, match=loss) as caught:
        model.fit(np.ones((2, 3, 2), "float32"), y, class_weight={1: 2.0, 2: 5.0}, verbose=0)
    assert "np.take" not in str(caught.value)
    with pytest.raises(DataError, match=r"np\.take\(\[1\.0, 2\.0, 1\.0\], y\)"):  # which has a weight for each label
        model.fit(np.ones((2, 3, 2), "float32"), np.minimum(y, 2), class_weight={1: 2.0}, verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 3.0, 4.0]])
@pytest.mark.parametrize("goes_on", [False, True])
def test_classes_are_weighed_in_batches_that_a_thread_reads_ahead(weights, goes_on):
    x, y = np.arange(8, dtype="float32").reshape(4, 2), np.array([0, 1, 1, 0], "int32")
    rest = () if weights is None else (np.array(weights, "float32"),)
    batches = [tuple(part[i : i + 2] for part in (x, y, *rest)) for i in (0, 2)]

    def trained(data):
        gx.set_random_seed(0)
        model = gx.Sequential([gx.layers.Dense(2)])
        model.compile(gx.optimizers.SGD(0.1), gx.losses.SparseCategoricalCrossentropy(from_logits=True))
        history = model.fit(data, class_weight={0: 1.0, 1: 5.0}, epochs=1, verbose=0)
        return history.history["loss"], model.layers[0].kernel.numpy()

    ahead = gx.data.prefetch(iter(batches) if goes_on else batches)
    for one, other in zip(trained(batches), trained(ahead), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(DataError, match="no integers"):
        trained(gx.data.prefetch([(x, y + 0.5)]))
