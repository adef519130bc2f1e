"""The ops of aligned sequences take their lengths from the masks that arrays carry, where no lengths are given."""

from functools import partial

import numpy as np
import pytest

import graftax as gx
from graftax import losses, ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.variables.masks import mask_of, set_mask

RNG = np.random.default_rng(5)
LOGITS = RNG.normal(size=(3, 6, 4)).astype("float32")
LABELS = np.array([[1, 2], [3, 0], [2, 2]], "int32")
LENGTHS, COUNTS = np.array([6, 4, 5], "int32"), np.array([2, 1, 2], "int32")
KEEP = np.arange(6) < LENGTHS[:, None]
GAPS = RNG.permuted(KEEP, axis=1)
GAPS[2] = KEEP[2]


def with_mask(value, mask):
    value = ops.asarray(value)
    set_mask(value, ops.asarray(mask))
    return value


def packed(keep):
    """The steps that count, moved to the front."""
    rows = [np.concatenate([row[of], np.full((sum(~of), 4), np.nan)]) for row, of in zip(LOGITS, keep, strict=True)]
    return np.asarray(rows, "float32")


USES = {
    "decode": lambda x, **lengths: ops.ctc_decode(x, **lengths),
    "search": lambda x, **lengths: ops.ctc_decode(x, beam_width=3, **lengths),
    "loss": lambda x, **lengths: ops.ctc_loss(LABELS, x, COUNTS, **lengths),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("keep", [KEEP, GAPS], ids=["prefix", "gaps"])
@pytest.mark.parametrize("name", USES)
def test_a_mask_of_steps_says_their_lengths(name, keep, compiled):
    use = USES[name]
    expected = use(packed(keep), logit_lengths=LENGTHS)
    run = gx.jit(lambda x: use(with_mask(x, keep))) if compiled else lambda x: use(with_mask(x, keep))
    for one, other in zip(run(LOGITS), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert any(not np.array_equal(a, b) for a, b in zip(use(LOGITS), expected, strict=True))


def test_lengths_that_are_given_count_in_place_of_the_mask():
    found = ops.ctc_loss(LABELS, with_mask(LOGITS, KEEP), COUNTS, np.full(3, 6))
    np.testing.assert_array_equal(found, ops.ctc_loss(LABELS, LOGITS, COUNTS, np.full(3, 6)))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("blank", [0, 3])
def test_labels_end_where_only_padding_follows(blank, compiled):
    labels = np.array([[1, 2, blank], [2, blank, blank], [blank, blank, blank], [1, -1, -1]], "int32")
    logits = RNG.normal(size=(4, 6, 4)).astype("float32")
    run = partial(ops.ctc_loss, blank=blank)
    found = (gx.jit(run) if compiled else run)(labels, logits)
    np.testing.assert_allclose(found, ops.ctc_loss(labels, logits, np.array([2, 1, 0, 1]), blank=blank), rtol=1e-6)
    np.testing.assert_allclose(ops.mean(found), losses.CTC(blank)(labels, logits), rtol=1e-6)


@pytest.mark.parametrize("lengths", [None, np.array([2, 1, 3])])
def test_a_blank_between_labels_is_refused(lengths):
    labels = np.array([[1, 2, 0], [2, 0, 0], [1, 0, 2]], "int32")
    with pytest.raises(ArgumentError, match=r"(?s)labels\[2, 1\] is the blank, 0.*pads labels at their end"):
        ops.ctc_loss(labels, LOGITS, lengths)


@pytest.mark.broad
def test_a_mask_of_labels_says_how_many_there_are():
    labels = with_mask(np.array([[1, 2], [3, 99], [2, 2]]), [[True, True], [True, False], [True, True]])
    np.testing.assert_allclose(ops.ctc_loss(labels, LOGITS), ops.ctc_loss(LABELS, LOGITS, COUNTS), rtol=1e-6)


@pytest.mark.broad
def test_the_loss_and_its_function_agree_with_the_op():
    expected = np.asarray(ops.ctc_loss(LABELS, LOGITS, COUNTS, LENGTHS))
    np.testing.assert_allclose(losses.ctc(LABELS, with_mask(LOGITS, KEEP)), expected, rtol=1e-5)
    loss = losses.CTC(reduction="none")
    np.testing.assert_allclose(loss(LABELS, with_mask(LOGITS, KEEP)), expected, rtol=1e-5)


@pytest.mark.broad
def test_a_mask_of_numpy_counts_too():
    given = LOGITS.copy()
    set_mask(given, KEEP)
    np.testing.assert_allclose(
        ops.ctc_loss(LABELS, given, COUNTS), ops.ctc_loss(LABELS, LOGITS, COUNTS, LENGTHS), rtol=1e-5
    )


@pytest.mark.broad
def test_gradients_of_hidden_steps_are_0():
    with gx.GradientTape() as tape:
        x = with_mask(LOGITS, KEEP)
        tape.watch(x)
        loss = ops.sum(ops.ctc_loss(LABELS, x, COUNTS))
    slopes = np.asarray(tape.gradient(loss, x))
    assert not slopes[~KEEP].any()
    assert np.abs(slopes[KEEP]).max() > 0.1


def test_a_mask_of_rows_says_nothing_about_steps_and_others_are_refused():
    found = ops.ctc_decode(with_mask(LOGITS, [True, False, True]))
    np.testing.assert_array_equal(found[0], ops.ctc_decode(LOGITS)[0])
    assert mask_of(found[0]) is None
    for use in USES.values():
        with pytest.raises(ShapeError, match="a mask of steps is"):
            use(with_mask(LOGITS, np.ones((3, 6, 4), bool)))
