"""Losses and metrics take what people have: lists, arrays of every kind, labels of every integer dtype, weights."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import DataError, ShapeError
from tests.conformance import loss_rows, metric_rows
from tests.conformance.lanes import crossed

INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "int64", "uint64"]
ROWS = {f"loss_{name}": row for name, row in loss_rows.ROWS.items()} | {
    f"metric_{name}": row for name, row in metric_rows.ROWS.items()
}


def values(row):
    kind = loss_rows if isinstance(row, loss_rows.Row) else metric_rows
    return kind.data(row, (6, 3))


def number(made, *args, **options):
    """What a loss gives, or a metric for one batch."""
    if hasattr(made, "reset"):
        made.reset()
    return float(made(*args, **options))


@pytest.fixture(params=ROWS.values(), ids=ROWS.keys())
def row(request):
    return request.param


@pytest.mark.in_turn(12, broad=7)
def test_lists_and_arrays_of_every_kind_are_the_same(row):
    y, p = values(row)
    made = row.make()
    wanted = number(made, y, p)
    lists = (y.tolist(), p.tolist())
    for pair in (lists, (ops.asarray(y), ops.asarray(p)), (y, ops.asarray(p)), (gx.Variable(y), gx.Variable(p))):
        np.testing.assert_allclose(number(made, *pair), wanted, rtol=1e-6)


@pytest.mark.in_turn(3, 1)
def test_l6_targets_of_every_integer_dtype_give_the_same_numbers(row):
    y, p = values(row)
    if y.dtype.kind != "i":
        y = (y > 0.5).astype("int32") if y.ndim == p.ndim else y
    made = row.make()
    wanted = number(made, y, p)
    for dtype in INTEGERS:
        np.testing.assert_allclose(number(made, y.astype(dtype), p), wanted, rtol=1e-6)
    if y.max() <= 1:
        np.testing.assert_allclose(number(made, y.astype(bool), p), wanted, rtol=1e-6)


LABELLED = {name: row for name, row in ROWS.items() if "sparse" in name and "weight" not in name}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("row", LABELLED.values(), ids=LABELLED.keys())
def test_l11_narrow_labels_of_many_classes(row):
    p = np.random.default_rng(1).uniform(0.1, 1, (4, 300)).astype("float32")
    labels = np.int32([0, 127, 5, 100])
    made = row.make()
    wanted = number(made, labels, p)
    for dtype in ("int8", "uint8", "int16"):
        np.testing.assert_allclose(number(made, labels.astype(dtype), p), wanted, rtol=1e-6)
    made_anew = row.make()
    checked = gx.jit(lambda y, p: made_anew(y, p), checked=True)
    np.testing.assert_allclose(checked(labels.astype("int8"), p), wanted, rtol=1e-6)
    with pytest.raises(gx.errors.IndexRangeError, match=r"labels\[1\] = -100 is not in \[0, 300\)"):
        checked(np.int8([0, -100, 5, 100]), p)
    with pytest.raises(gx.errors.IndexRangeError, match=r"labels\[1\] = -100"):
        made(np.int8([0, -100, 5, 100]), p)


@pytest.mark.in_turn(2, 1)
def test_l8_large_numbers_in_half_precision(row):
    y, p = values(row)
    if (p < 0).any():  # shares and probabilities have no large numbers
        p = np.float16(3e4) * np.sign(p).astype("float16")
        y = -p if y.dtype.kind == "f" else y
    made = row.make()
    wide = (y.astype("float32") if y.dtype.kind == "f" else y), p.astype("float32")
    wanted = number(made, *wide)
    assert np.isfinite(wanted)
    for half in ("float16", "bfloat16"):
        narrow = ops.cast(p, half)
        found = number(made, ops.cast(y, half) if y.dtype.kind == "f" else y, narrow)
        np.testing.assert_allclose(found, wanted, rtol=0.05, atol=0.02)


@pytest.mark.in_turn(6, 1, broad=3)
def test_weights_of_every_shape(row):
    y, p = values(row)
    made = row.make()
    each = np.float32([1, 2, 0, 3, 1, 1])
    wanted = number(made, y, p, each)
    per_value = [each[:, None], each.tolist(), each.astype("int64"), each.astype("float16"), ops.asarray(each)]
    for weights in per_value:
        np.testing.assert_allclose(number(made, y, p, weights), wanted, rtol=1e-6)
    np.testing.assert_allclose(number(made, y, p, 1), number(made, y, p), rtol=1e-6)
    np.testing.assert_allclose(number(made, y, p, np.ones(6, bool)), number(made, y, p), rtol=1e-6)


@pytest.mark.broad
def test_l15_one_row_of_weights_is_no_weight_for_each_sample():
    y, p = np.zeros((2, 3, 1), "float32"), np.ones((2, 3, 1), "float32")
    for call in (gx.losses.MeanSquaredError().__call__, gx.metrics.MeanSquaredError().update):
        with pytest.raises(ShapeError, match=r"instead: ops.broadcast_to\(sample_weight, \(2, 3\)\)"):
            call(y, p, sample_weight=np.ones((1, 3)))
        call(y, p, sample_weight=ops.broadcast_to(np.ones((1, 3), "float32"), (2, 3)))


def test_l15_means_count_elements():
    mean = gx.metrics.Mean()
    mean.update([[1.0, 1.0, 1.0]])
    mean.update([[5.0]])
    assert float(mean.result()) == 2
    assert float(mean.count) == 4


@pytest.mark.parametrize("row", loss_rows.ROWS.values(), ids=loss_rows.ROWS.keys())
def test_l13_losses_of_empty_batches_raise_eagerly_and_compiled(row):
    y, p = values(row)
    loss = row.make()
    for call in (loss, gx.jit(lambda y, p: loss(y, p))):
        with pytest.raises(DataError, match=r"shape \[0(, 3)?\]"):
            call(y[:0], p[:0])


BAD = {
    "lengths": lambda y, p: ((y[:2], p), {}),
    "weights": lambda y, p: ((y, p, np.ones(3, "float32")), {}),
    "mask": lambda y, p: ((y, p), {"mask": np.ones((6, 3, 3), bool)}),
    "one row": lambda y, p: ((y, p), {"mask": np.ones((1, 7), bool)}),
    "complex": lambda y, p: ((y, p.astype("complex64")), {}),
}


@pytest.mark.in_turn(3, 2)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        case
        for case in crossed([*ROWS], [*BAD])
        if case.values[0] != "metric_mean_metric_wrapper"
        or case.values[1] not in ("lengths", "complex")  # a function checks its own
    ],
)
def test_compiled_code_raises_what_eager_code_raises(name, kind):
    row = ROWS[name]
    args, options = BAD[kind](*values(row))
    made = row.make()
    found = []
    for call in (made, gx.jit(lambda *args, **options: made(*args, **options))):
        with pytest.raises(gx.errors.GraftaxError) as caught:
            call(*args, **options)
        found.append((type(caught.value), caught.value.received, caught.value.reason, caught.value.instead))
    assert found[0] == found[1]
