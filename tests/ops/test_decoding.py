"""The likeliest labels of aligned sequences: by the best alignment, and by beam search."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError

RNG = np.random.default_rng(5)
LOGITS = RNG.normal(size=(4, 9, 5), scale=1.5).astype("float32")
LENGTHS = np.array([9, 7, 1, 0], "int32")


def hosts(found):
    return [np.asarray(one) for one in found]


def read(labels, counts):
    return [[row[:count].tolist() for row, count in zip(*of, strict=True)] for of in zip(labels, counts, strict=True)]


SLOW = pytest.mark.slow


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("width", [pytest.param(1, marks=SLOW), 2, pytest.param(7, marks=SLOW), 50])
def test_the_search_is_that_of_the_reference_at_every_width(width):
    """The reference looks prefixes up in a dict; the compiled one carries which prefix begins which."""
    options = {"blank": width % 2, "beam_width": width, "top_paths": min(width, 4)}
    found = hosts(gx.jit(lambda x: ops.ctc_decode(x, LENGTHS, **options))(LOGITS))
    with gx.backend.use("numpy"):
        expected = ops.ctc_decode(LOGITS, LENGTHS, **options)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-4)


@SLOW
def test_prefixes_that_leave_the_beam_and_come_back_are_counted_once():
    """Two classes and few places: parents drop out and are made again from their own parents."""
    x = np.random.default_rng(11).normal(size=(64, 14, 3), scale=2.5).astype("float32")
    found = hosts(ops.ctc_decode(x, beam_width=3, top_paths=3))
    with gx.backend.use("numpy"):
        expected = ops.ctc_decode(x, beam_width=3, top_paths=3)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-3)
    assert all(len(set(map(tuple, row))) == 3 for row in read(*found[:2]))


@pytest.mark.broad
def test_repeats_need_a_blank_between_them():
    steps = np.log(np.full((1, 4, 3), 1e-4, "float32"))
    for at, label in enumerate([1, 1, 0, 1]):
        steps[0, at, label] = 0
    for width in (None, 5):
        labels, counts, logs = ops.ctc_decode(steps, beam_width=width)
        assert read(np.asarray(labels), np.asarray(counts)) == [[[1, 1]]]
        assert labels.tolist() == [[[1, 1, -1, -1]]]
        assert -0.01 < float(logs[0, 0]) <= 0


@pytest.mark.broad
def test_what_stands_beyond_the_lengths_does_not_count():
    dirty = LOGITS.copy()
    dirty[1, 7:], dirty[2, 1:], dirty[3] = np.nan, np.inf, np.nan
    for width in (None, 4):
        for found, expected in zip(
            ops.ctc_decode(dirty, LENGTHS, beam_width=width),
            ops.ctc_decode(LOGITS, LENGTHS, beam_width=width),
            strict=True,
        ):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.broad
def test_paths_that_there_are_not_are_empty_and_impossible():
    labels, counts, logs = ops.ctc_decode(LOGITS[:1, :1], beam_width=9, top_paths=7)
    assert counts[0].tolist() == [*np.where(np.argsort(-LOGITS[0, 0]) == 0, 0, 1).tolist(), 0, 0]
    assert labels[0, 5:].tolist() == [[-1], [-1]]
    assert logs[0, 5:].tolist() == [-np.inf, -np.inf]
    assert np.exp(logs[0]).sum() == pytest.approx(1)


@SLOW
def test_steps_in_half_precision_are_searched_in_float32():
    found = ops.ctc_decode(LOGITS.astype("float16"), beam_width=8)
    assert found[2].dtype == "float16"
    expected = ops.ctc_decode(LOGITS.astype("float16").astype("float32"), beam_width=8)
    np.testing.assert_array_equal(found[0], expected[0])


def test_what_does_not_fit_is_told():
    with pytest.raises(ShapeError, match=r"batch, steps, classes"):
        ops.ctc_decode(LOGITS[0])
    with pytest.raises(ShapeError, match="logit_lengths"):
        ops.ctc_decode(LOGITS, [9])
    with pytest.raises(IndexRangeError):
        ops.ctc_decode(LOGITS, [9, 9, 9, 10])
    with pytest.raises(DTypeError):
        ops.ctc_decode(LOGITS, [9.0, 9.0, 9.0, 9.0])
    with pytest.raises(ArgumentError, match="there are 5 classes"):
        ops.ctc_decode(LOGITS, blank=5)
    with pytest.raises(ArgumentError, match=r"best alignment gives one path(.|\n)*beam_width=16"):
        ops.ctc_decode(LOGITS, top_paths=2)
    with pytest.raises(ArgumentError, match="beam_width"):
        ops.ctc_decode(LOGITS, beam_width=0)


def test_log_probabilities_are_those_of_the_loss_of_torch():
    torch = pytest.importorskip("torch")
    labels, counts, logs = hosts(ops.ctc_decode(LOGITS[:2], LENGTHS[:2], beam_width=3000, top_paths=3))
    steps = torch.log_softmax(torch.tensor(LOGITS[:2]), -1).transpose(0, 1)
    for path in range(3):
        theirs = torch.nn.functional.ctc_loss(
            steps,
            torch.tensor(np.maximum(labels[:, path], 1)),
            torch.tensor(LENGTHS[:2]),
            torch.tensor(counts[:, path]),
            reduction="none",
        )
        np.testing.assert_allclose(-logs[:, path], theirs, rtol=1e-4)


def test_the_labels_are_those_of_keras(keras):
    theirs, _ = keras.ops.ctc_decode(LOGITS[:3], LENGTHS[:3])
    labels, _, _ = ops.ctc_decode(LOGITS[:3], LENGTHS[:3])
    np.testing.assert_array_equal(labels[:, 0], theirs[0])
    theirs, logs = keras.ops.ctc_decode(LOGITS[:2], LENGTHS[:2], strategy="beam_search", beam_width=500, top_paths=3)
    found = hosts(ops.ctc_decode(LOGITS[:2], LENGTHS[:2], beam_width=500, top_paths=3))
    np.testing.assert_array_equal(found[0], np.moveaxis(np.asarray(theirs), 0, 1))
    np.testing.assert_allclose(found[2], logs, rtol=1e-4)


def test_the_labels_are_those_of_tensorflow():
    tf = pytest.importorskip("tensorflow")
    steps = np.roll(LOGITS[:3], -1, axis=2).transpose(1, 0, 2)  # there the blank is the last class
    paths, logs = tf.nn.ctc_beam_search_decoder(steps, LENGTHS[:3], beam_width=500, top_paths=2)
    labels, counts, found = hosts(ops.ctc_decode(LOGITS[:3], LENGTHS[:3], beam_width=500, top_paths=2))
    theirs = [tf.sparse.to_dense(path, default_value=-2).numpy() + 1 for path in paths]
    assert read(labels, counts) == [[[c for c in path[row] if c >= 0] for path in theirs] for row in range(3)]
    np.testing.assert_allclose(found, logs, rtol=1e-4)
