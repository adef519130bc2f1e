"""Indices outside, below 0 and beyond the end alike: eager code raises, compiled code gives nan, or drops."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import IndexRangeError

SIZE = 5
X = np.arange(1.0, SIZE + 1, dtype="float32")
ONES = np.ones(3, "float32")
NAN = np.nan

# what three indices 1, i, 3 give where i is outside; the value at the place of i, or what the other two leave
READS: dict[str, Callable[[Any, Any], Any]] = {
    "take": lambda x, i: ops.take(x, i),
    "take rows": lambda x, i: ops.take(ops.reshape(x, (SIZE, 1)), i, axis=0)[:, 0],
    "take_along_axis": lambda x, i: ops.take_along_axis(x, i, 0),
    "gather_nd": lambda x, i: ops.gather_nd(x, ops.expand_dims(i, -1)),
    "gather_nd rows": lambda x, i: ops.gather_nd(ops.stack([x, x], 1), ops.expand_dims(i, -1))[:, 0],
    "gather_nd second axis": lambda x, i: ops.gather_nd(ops.stack([x, x]), ops.stack([ops.zeros_like(i), i], -1)),
}
WRITES: dict[str, tuple[Callable[[Any, Any], Any], list[float]]] = {
    "scatter_add": (lambda x, i: ops.scatter_add(np.zeros(SIZE, "float32"), i, x), [0, 1, 0, 1, 0]),
    "scatter": (lambda x, i: ops.scatter(ops.expand_dims(i, -1), x, (SIZE,)), [0, 1, 0, 1, 0]),
    "scatter_update": (
        lambda x, i: ops.scatter_update(np.zeros(SIZE, "float32"), ops.expand_dims(i, -1), x),
        [0, 1, 0, 1, 0],
    ),
    "segment_sum": (lambda x, i: ops.segment_sum(x, i, SIZE), [0, 1, 0, 1, 0]),
    "segment_mean": (lambda x, i: ops.segment_mean(x, i, SIZE), [0, 1, 0, 1, 0]),
    "segment_max": (lambda x, i: ops.maximum(ops.segment_max(x, i, SIZE), 0.0), [0, 1, 0, 1, 0]),
    "segment_min": (lambda x, i: ops.minimum(ops.segment_min(x, i, SIZE), 9.0), [9, 1, 9, 1, 9]),
    "IndexedRows": (lambda x, i: gx.IndexedRows(i, x, (SIZE,)).dense(), [0, 1, 0, 1, 0]),
}
COUNTS: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "one_hot": (lambda i: ops.sum(ops.one_hot(i, SIZE), 0), [0, 1, 0, 1, 0]),
    "multi_hot": (lambda i: ops.multi_hot(i, SIZE), [0, 1, 0, 1, 0]),
    "bincount": (lambda i: ops.bincount(i, SIZE), [0, 1, 0, 1, 0]),
    "in_top_k": (lambda i: ops.in_top_k(i, np.ones((3, SIZE), "float32"), 1), [True, False, True]),
    "unravel_index": (lambda i: ops.unravel_index(i, (1, SIZE))[1], [1, SIZE, 3]),
}
outside = pytest.mark.parametrize("index", [-1, SIZE, -SIZE - 1])


def _indices(index: int) -> Any:
    return np.array([1, index, 3], "int32")


def _raises(function: Callable[[Any], Any], index: int) -> None:
    with pytest.raises(IndexRangeError, match=f"{index}"):
        function(_indices(index))


@pytest.mark.in_turn(8)
@outside
@pytest.mark.parametrize("name", READS)
def test_what_is_read_outside_is_nan_and_has_no_gradient(name: str, index: int) -> None:
    read = READS[name]
    _raises(lambda i: read(X, i), index)

    def loss(x: Any, i: Any) -> Any:
        return ops.sum(read(x, i)), read(x, i)

    (_, found), gradient = gx.jit(gx.value_and_grad(loss, has_aux=True))(X, _indices(index))
    np.testing.assert_array_equal(found, [2, NAN, 4])
    np.testing.assert_array_equal(gradient, [0, 1, 0, 1, 0])


@pytest.mark.in_turn(12, 1)
@outside
@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_outside_is_dropped_and_has_no_gradient(name: str, index: int) -> None:
    write, wanted = WRITES[name]
    _raises(lambda i: write(ONES, i), index)

    def loss(x: Any, i: Any) -> Any:
        return ops.sum(write(x, i)), write(x, i)

    (_, found), gradient = gx.jit(gx.value_and_grad(loss, has_aux=True))(ONES, _indices(index))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(gradient, [1, 0, 1])


@pytest.mark.in_turn(6, 2)
@outside
@pytest.mark.parametrize("name", COUNTS)
def test_what_is_counted_outside_is_dropped(name: str, index: int) -> None:
    count, wanted = COUNTS[name]
    _raises(count, index)
    np.testing.assert_array_equal(gx.jit(count)(_indices(index)), wanted)


@outside
def test_rows_outside_have_no_softmax_and_take_no_part(index: int) -> None:
    softmax = gx.jit(lambda i: ops.segment_softmax(np.zeros(3, "float32"), i, SIZE))
    np.testing.assert_array_equal(softmax(_indices(index)), [1, NAN, 1])


@pytest.mark.in_turn(2)
@outside
def test_integers_outside_are_far_off(index: int) -> None:
    x = np.arange(SIZE, dtype="int32")
    for read in (lambda i: ops.take(x, i), lambda i: ops.gather_nd(x, ops.expand_dims(i, -1))):
        assert gx.jit(read)(_indices(index)).tolist() == [1, np.iinfo("int32").min, 3]


@pytest.mark.broad
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32"])
def test_indices_of_every_dtype_work_in_compiled_code(dtype: str) -> None:
    indices = np.array([1, 200 if dtype == "uint8" else 100, 3]).astype(dtype)
    for read in READS.values():
        np.testing.assert_array_equal(gx.jit(lambda i, read=read: read(X, i))(indices), [2, NAN, 4])


@pytest.mark.parametrize(("begin", "wanted"), [(-1, [1, 2]), (-9, [1, 2]), (1, [2, 3]), (4, [4, 5])])
def test_a_block_outside_is_moved_inside_at_the_nearer_end(begin: int, wanted: list[float]) -> None:
    at = np.array([begin], "int32")
    assert gx.jit(lambda i: ops.slice(X, i, (2,)))(at).tolist() == wanted
    written = gx.jit(lambda i: ops.slice_update(X, i, np.zeros(2, "float32")))(at)
    assert np.flatnonzero(np.asarray(written) == 0).tolist() == [int(one) - 1 for one in wanted]


def test_loops_called_plainly_give_nan_for_what_eager_code_refuses() -> None:
    found = gx.map_fn(lambda i: ops.take(X, i), np.array([0, -1], "int32"))
    np.testing.assert_array_equal(found, [1, NAN])


@pytest.mark.broad
def test_an_embedding_gives_nan_and_trains_nothing() -> None:
    layer = layers.Embedding(SIZE, 2)
    layer(np.array([0]))

    def loss(i: Any) -> Any:
        return ops.sum(layer(i)[:1])

    _, gradient = gx.jit(gx.value_and_grad(loss, wrt=layer.embeddings))(np.array([1, -1], "int32"))
    np.testing.assert_array_equal(gradient[:, 0], [0, 1, 0, 0, 0])
    assert np.isnan(gx.jit(lambda i: layer(i))(np.array([-1], "int32"))).all()


@pytest.mark.in_turn(4)
@outside
@pytest.mark.parametrize("lazy", [False, True])
def test_an_update_of_rows_leaves_those_outside_out(lazy: bool, index: int) -> None:
    table = gx.Variable(np.zeros((SIZE, 1), "float32"))
    optimizer = gx.optimizers.SGD(1.0, lazy=lazy)

    def step(i: Any) -> None:
        optimizer.apply([gx.IndexedRows(i, np.ones((3, 1), "float32"), table.shape)], [table])

    _raises(step, index)
    assert not table.numpy().any()
    gx.jit(step)(_indices(index))
    assert table.numpy()[:, 0].tolist() == [0, -1, 0, -1, 0]


@pytest.mark.broad
def test_subscripts_of_variables_in_compiled_code() -> None:
    v = gx.Variable(X)
    read = gx.jit(lambda i: v[i])

    def write(i: Any) -> None:
        v[i] = 0.0

    assert [float(read(np.int32(i))) for i in (-1, SIZE, -SIZE - 1)] == [5, 5, 1]  # counted from the end; the nearest
    for i in (SIZE, -SIZE - 1):
        gx.jit(write)(np.int32(i))
        gx.jit(write)(i)
    assert v.numpy().tolist() == X.tolist()
    gx.jit(write)(np.int32(-1))
    assert v.numpy().tolist() == [1, 2, 3, 4, 0]
