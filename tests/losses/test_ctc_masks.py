"""CTC of sequences of several lengths: masks of steps, and labels padded with -1."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, ops

DRAW = np.random.default_rng(0)
LOGITS = DRAW.normal(size=(3, 6, 5)).astype("float32")
LABELS = np.array([[1, 2, 2, 0, 0, 0], [3, 0, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0]])  # as wide as there are steps
KEPT = np.array([[1, 1, 1, 1, 1, 0], [1, 0, 1, 0, 0, 0], [0, 1, 1, 1, 1, 1]], bool)


def alone(logits, blank=0, labels=LABELS):
    """Each sample by itself, cut to its steps and labels."""
    return [
        float(losses.CTC(blank)(label[(label != blank) & (label >= 0)][None], one[keep][None]))
        for label, one, keep in zip(labels, logits, KEPT, strict=True)
    ]


@pytest.mark.broad
@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "compiled"])
def test_hidden_steps_are_left_out(run):
    logits = np.where(KEPT[..., None], LOGITS, np.nan)
    found = run(lambda z: losses.CTC(reduction="none")(LABELS, z, mask=KEPT))(ops.asarray(logits))
    np.testing.assert_allclose(found, alone(LOGITS), rtol=1e-5)
    gradient = np.asarray(run(gx.grad(lambda z: losses.CTC()(LABELS, z, mask=KEPT)))(ops.asarray(LOGITS)))
    assert not gradient[~KEPT].any()
    assert gradient[KEPT].any()


def test_a_sample_without_steps_does_not_count():
    keep = KEPT.copy()
    keep[1] = False
    found = losses.CTC()(LABELS, LOGITS, mask=keep)
    each = alone(LOGITS)
    np.testing.assert_allclose(found, (each[0] + each[2]) / 2, rtol=1e-5)
    gradient = gx.grad(lambda z: losses.CTC()(LABELS, z, mask=keep))(ops.asarray(LOGITS))
    assert np.isfinite(np.asarray(gradient)).all()


@pytest.mark.in_turn(2, 1)
@pytest.mark.parametrize("blank", [0, 4])
def test_a_mask_that_a_model_carries_counts_in_evaluate(blank):
    labels = np.where(LABELS == 0, blank, LABELS)
    model = gx.Sequential([layers.Masking(), layers.Dense(5)])
    model.compile("sgd", losses.CTC(blank))
    x = np.where(KEPT[..., None], DRAW.normal(size=(3, 6, 3)), 0).astype("float32")
    expected = np.mean(alone(np.asarray(model(x)), blank, labels))
    np.testing.assert_allclose(model.evaluate(x, labels, verbose=0)["loss"], expected, rtol=1e-5)
    padded = np.where(LABELS == 0, -1, LABELS)
    np.testing.assert_allclose(model.evaluate(x, padded, verbose=0)["loss"], expected, rtol=1e-5)
    assert np.isfinite(model.fit(x, padded, verbose=0).history["loss"]).all()


@pytest.mark.broad
def test_padding_with_minus_one_is_padding():
    for blank in (0, 4):
        padded = np.where(LABELS == 0, -1, LABELS)
        with_blank = np.where(LABELS == 0, blank, LABELS)
        loss = losses.CTC(blank)
        np.testing.assert_allclose(loss(padded, LOGITS), loss(with_blank, LOGITS), rtol=1e-6)
    with pytest.raises(gx.errors.IndexRangeError):
        losses.CTC()(np.where(LABELS == 0, -2, LABELS), LOGITS)
