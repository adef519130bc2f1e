"""Losses for classes: what the conformance table does not show."""

import math

import numpy as np
import pytest

import graftax as gx
from graftax import losses, ops
from graftax.core.errors import ArgumentError, IndexRangeError, ShapeError

TENTHS = np.float32([[0.1, 0.9], [0.1, 0.9]])


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("ignored", [0, -1, 255])
def test_ignore_class_of_section_20(ignored):
    labels = [ignored, 1]
    each = losses.SparseCategoricalCrossentropy(ignore_class=ignored, reduction="none")(labels, TENTHS)
    np.testing.assert_allclose(each, [0, 0.10536], atol=5e-6)
    mean = losses.SparseCategoricalCrossentropy(ignore_class=ignored)
    np.testing.assert_allclose(mean(labels, TENTHS), 0.10536, atol=5e-6)
    np.testing.assert_allclose(mean(labels, TENTHS, mask=[True, False]), 0)
    np.testing.assert_allclose(mean([ignored, ignored], TENTHS), 0)
    compiled = gx.jit(lambda y, p: mean(y, p))
    np.testing.assert_allclose(compiled(np.int32(labels), TENTHS), 0.10536, atol=5e-6)


def test_labels_out_of_range_raise_at_once_even_inside_a_gradient():
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    with pytest.raises(IndexRangeError, match=r"(?s)labels\[1\] = 5 is not in \[0, 3\).*SparseCategoricalCrossentropy"):
        gx.grad(lambda p: loss([0, 5], p))(ops.zeros((2, 3)))


def test_check_targets_looks_at_the_host():
    sparse = losses.SparseCategoricalCrossentropy(ignore_class=-1)
    sparse.check_targets(np.array([0, 2, -1]), (3, 3))
    with pytest.raises(IndexRangeError, match=r"labels\[2\] = 3 is not in \[0, 3\)"):
        sparse.check_targets(np.array([0, 2, 3]), (3, 3))
    with pytest.raises(ArgumentError, match=r"y_true\[1\] = 2"):
        losses.BinaryCrossentropy().check_targets(np.array([0, 2]), (2, 1))
    losses.MeanSquaredError().check_targets(np.array([-7]), (1, 1))


@pytest.mark.broad
def test_the_sequence_of_labels():
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    labels, logits = np.int32([[0, 1, 2], [2, 1, 0]]), np.zeros((2, 3, 4), "float32")
    weights = [[1, 1, 0], [0, 0, 0]]
    assert float(loss(labels, logits)) == pytest.approx(math.log(4))
    assert float(loss(labels[..., None], logits, weights)) == pytest.approx(math.log(4) / 3)
    assert float(loss(labels, logits, mask=np.bool_(weights))) == pytest.approx(math.log(4))
    assert float(loss(labels, logits, [1, 3])) == pytest.approx(2 * math.log(4))


@pytest.mark.broad
@pytest.mark.parametrize("kind", ["CategoricalCrossentropy", "SparseCategoricalCrossentropy"])
def test_another_class_axis(kind):
    logits = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
    labels = np.int32([[0, 1, 2, 0, 1], [2, 2, 1, 0, 0]])
    sparse = kind.startswith("Sparse")
    one_hot = np.eye(3, dtype="float32")[labels]
    loss = getattr(losses, kind)
    first = loss(True, axis=1, reduction="none")(labels if sparse else np.moveaxis(one_hot, 2, 1), logits)
    last = loss(True, reduction="none")(labels if sparse else one_hot, np.moveaxis(logits, 1, 2))
    np.testing.assert_allclose(first, last, rtol=1e-6)


def test_one_class_is_a_mistake():
    for loss in (losses.CategoricalCrossentropy(), losses.SparseCategoricalCrossentropy()):
        with pytest.raises(ShapeError, match="binary variant"):
            loss(np.zeros((2, 1), "int32"), np.ones((2, 1)))


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, 2])
def test_label_smoothing_is_a_share(smoothing):
    for loss in (losses.BinaryCrossentropy, losses.CategoricalCrossentropy):
        with pytest.raises(ArgumentError, match="label_smoothing"):
            loss(label_smoothing=smoothing)


@pytest.mark.broad
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_a_negative_class_to_ignore_in_labels_without_a_sign(dtype):
    labels = np.array([0, -1, 1]).astype(dtype)
    wrapped = int(labels[1])
    told = rf"(?s)labels\[1\] = {wrapped} of dtype {dtype}.*-1 became {wrapped}.*ignore_class={wrapped}, or .*astype"
    with pytest.raises(gx.errors.IndexRangeError, match=told):
        gx.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)(labels, np.zeros((3, 4)))
    found = gx.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=wrapped)(labels, np.zeros((3, 4)))
    np.testing.assert_allclose(found, np.log(4), rtol=1e-6)


@pytest.mark.broad
@pytest.mark.parametrize("from_logits", [True, False])
@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("class_weight", [None, [1.0, 2.0, 0.5, 0.0]])
def test_smoothed_labels_are_smoothed_one_hot_rows(from_logits, axis, class_weight):
    draw = np.random.default_rng(5)
    scores, labels = draw.uniform(0.1, 1, (2, 3, 4)).astype("float32"), np.array([[0, 3, 2], [1, 9, 1]])
    options = {"from_logits": from_logits, "label_smoothing": 0.2, "axis": axis, "class_weight": class_weight}
    rows = np.moveaxis(np.eye(4, dtype="float32")[np.minimum(labels, 3)], -1, axis)
    scores = np.moveaxis(scores, -1, axis)
    expected = np.array(losses.CategoricalCrossentropy(**options, reduction="none")(rows, scores))
    expected[1, 1] = 0
    sparse = losses.SparseCategoricalCrossentropy(**options, ignore_class=9, reduction="none")(labels, scores)
    np.testing.assert_allclose(sparse, expected, rtol=1e-5, atol=1e-6)
    mean = losses.SparseCategoricalCrossentropy(**options, ignore_class=9)(labels, scores)
    np.testing.assert_allclose(mean, expected.sum() / 5, rtol=1e-5)


@pytest.mark.references
@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.5, 0.25]])
def test_label_smoothing_of_torch(weight):
    torch = pytest.importorskip("torch")
    draw = np.random.default_rng(6)
    logits, labels = draw.normal(size=(6, 4)).astype("float32"), np.array([0, -1, 3, 2, 2, -1])
    theirs = torch.tensor(logits, requires_grad=True)
    expected = torch.nn.functional.cross_entropy(
        theirs,
        torch.tensor(labels),
        weight=None if weight is None else torch.tensor(weight),
        ignore_index=-1,
        label_smoothing=0.1,
        reduction="none",
    )
    (expected.sum() / 4).backward()
    options = {"from_logits": True, "ignore_class": -1, "label_smoothing": 0.1, "class_weight": weight}
    each = losses.SparseCategoricalCrossentropy(**options, reduction="none")(labels, logits)
    np.testing.assert_allclose(each, expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    gradient = gx.grad(lambda z: losses.SparseCategoricalCrossentropy(**options)(labels, z))(logits)
    np.testing.assert_allclose(gradient, theirs.grad.numpy(), atol=1e-6)
