"""vectorized_map, against Python loops over rows; names carry the ids of the semantics notes."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ShapeError, StateError

ROWS = np.random.default_rng(0).normal(size=(7, 3)).astype("float32")


def compiled(fn):
    return gx.jit(fn)


def plain(fn):
    return fn


modes = pytest.mark.parametrize("mode", [plain, compiled], ids=["eager", "compiled"])


@pytest.mark.in_turn(4)
@modes
@pytest.mark.parametrize("chunk_size", [None, 1, 2, 7, 100])
def test_vm1_squares(mode, chunk_size):
    run = mode(lambda x: gx.vectorized_map(lambda v: v**2, x, chunk_size=chunk_size))
    np.testing.assert_allclose(run(ROWS), ROWS**2, rtol=1e-6)


@modes
def test_vm2_structures_in_and_out_and_constants_are_repeated(mode):
    def one(row):
        return {"sum": row["a"] + row["b"][0], "same": ops.asarray([1.0, 2.0]), "number": 3, "none": None}

    out = mode(lambda x: gx.vectorized_map(one, {"b": [x], "a": x * 2}))(ops.asarray([1.0, 2.0, 3.0]))
    assert out["sum"].tolist() == [3.0, 6.0, 9.0]
    assert out["same"].tolist() == [[1.0, 2.0]] * 3
    assert out["number"].tolist() == [3] * 3
    assert out["none"] is None


def test_vm3_numbers_of_rows_that_differ_are_told_before_running():
    ran = []
    with pytest.raises(ShapeError) as caught:
        gx.vectorized_map(lambda row: ran.append(row), {"x": np.ones(2), "y": {"z": np.ones(3)}})
    assert "'elems/x' has 2 rows, 'elems/y/z' has 3" in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert not ran


def test_vm4_one_row_goes_with_any_number():
    out = gx.vectorized_map(lambda row: row[0] + row[1], (np.float32([[10]]), np.float32([[1], [2], [3]])))
    assert out.tolist() == [[11.0], [12.0], [13.0]]


@pytest.mark.parametrize("elems", [3.0, [np.ones(2), 1.0]])
def test_vm5_scalars(elems):
    with pytest.raises(ShapeError, match="is a scalar"):
        gx.vectorized_map(lambda row: row, elems)


def test_nothing_to_map():
    with pytest.raises(ArgumentError, match="no array"):
        gx.vectorized_map(lambda row: row, [])


@pytest.mark.parametrize("chunk_size", [0, -1, 2.0, True])
def test_chunk_sizes_that_are_none(chunk_size):
    with pytest.raises(ArgumentError, match="chunk_size"):
        gx.vectorized_map(lambda row: row, ROWS, chunk_size=chunk_size)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@modes
@pytest.mark.parametrize("chunk_size", [None, 3])
def test_vm6_rows_draw_their_own_numbers_and_the_stream_moves_on(mode, chunk_size):
    generator = gx.SeedGenerator(seed=1)
    run = mode(lambda: gx.vectorized_map(lambda _: gx.random.normal((2,), seed=generator), ROWS, chunk_size=chunk_size))
    first, second = np.asarray(run()), np.asarray(run())
    assert len(np.unique(np.concatenate([first, second]))) == 28
    after_two = gx.SeedGenerator(seed=1)
    after_two.next(), after_two.next()
    np.testing.assert_array_equal(generator.state.value, after_two.state.value)


@pytest.mark.broad
def test_vm6_two_draws_in_a_row_differ_and_chunks_change_nothing():
    def draw(_):
        return gx.random.uniform((2,)), gx.random.uniform((2,))

    gx.set_random_seed(3)
    one, two = map(np.asarray, gx.vectorized_map(draw, ROWS))
    assert len(np.unique(np.stack([one, two]))) == 28
    gx.set_random_seed(3)
    np.testing.assert_array_equal(gx.vectorized_map(draw, ROWS, chunk_size=2)[1], two)


@pytest.mark.broad
def test_vm6_dropout_masks_differ_and_nested_maps_too():
    dropout = layers.Dropout(0.5)
    out = np.asarray(gx.vectorized_map(lambda row: dropout(row, training=True), np.ones((6, 64), "float32")))
    assert len(np.unique(out, axis=0)) == 6
    out = gx.vectorized_map(lambda r: gx.vectorized_map(lambda _: gx.random.normal(()), r), np.ones((3, 4), "float32"))
    assert len(np.unique(np.asarray(out))) == 12


@modes
def test_vm7_assignments_are_refused(mode):
    v = gx.Variable(1.0, name="total")
    with pytest.raises(StateError, match="assigned the variable 'total'"):
        mode(lambda x: gx.vectorized_map(lambda row: v.assign_add(row), x))(ops.asarray([1.0, 2.0]))
    assert float(v) == 1


@pytest.mark.broad
def test_vm7_batch_statistics_are_refused_in_training_and_fine_otherwise():
    norm = layers.BatchNormalization()
    norm(ROWS)
    with pytest.raises(StateError, match="moving_mean"):
        gx.vectorized_map(lambda row: norm(row[None], training=True), ROWS)
    out = gx.vectorized_map(lambda row: norm(row[None], training=False)[0], ROWS)
    np.testing.assert_allclose(out, norm(ROWS, training=False), rtol=1e-5)


@modes
def test_vm8_predicates_of_each_row(mode):
    def choose(x):
        return gx.cond(x > 1, lambda v: v, lambda v: v * 10, x)

    def grow(x):
        return gx.while_loop(lambda v: v < 10, lambda v: v * 2, x)

    x = ops.asarray([1.0, 2.0, 3.0])
    assert mode(lambda x: gx.vectorized_map(choose, x))(x).tolist() == [10.0, 2.0, 3.0]
    assert mode(lambda x: gx.vectorized_map(grow, x))(x).tolist() == [16.0, 16.0, 12.0]


@pytest.mark.broad
@modes
@pytest.mark.parametrize("chunk_size", [None, 3])
def test_vm10_per_example_gradients_by_grad_and_by_tape(mode, chunk_size):
    dense = layers.Dense(2)
    dense(ROWS)

    def by_grad(row):
        return gx.grad(lambda: ops.sum(dense(row[None]) ** 2), wrt=dense.trainable_variables)()

    def by_tape(row):
        with gx.GradientTape() as tape:
            loss = ops.sum(dense(row[None]) ** 2)
        return tape.gradient(loss, dense.trainable_variables)

    loop = [np.stack(g) for g in zip(*([np.asarray(g) for g in by_grad(row)] for row in ROWS), strict=True)]
    for one in by_grad, by_tape:
        found = mode(lambda x, one=one: gx.vectorized_map(one, x, chunk_size=chunk_size))(ROWS)
        for a, b in zip(found, loop, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_vm10_the_numbers_of_the_notes():
    w = gx.Variable(3.0)

    def one(x):
        with gx.GradientTape() as tape:
            y = w * w * x
        return tape.gradient(y, w)

    assert gx.vectorized_map(one, ops.asarray([1.0, 2.0])).tolist() == [6.0, 12.0]


@pytest.mark.broad
@modes
@pytest.mark.parametrize("chunk_size", [None, 1])
def test_vm11_gradient_through_it(mode, chunk_size):
    w = gx.Variable(2.0)

    def total(x):
        return ops.sum(gx.vectorized_map(lambda v: w * v**3, x, chunk_size=chunk_size))

    x = ops.asarray([1.0, 2.0])
    assert mode(gx.grad(total))(x).tolist() == [6.0, 24.0]
    assert float(mode(gx.grad(total, wrt=w))(x)) == 9.0


@pytest.mark.broad
def test_layers_are_built_inside():
    dense = layers.Dense(4)
    out = gx.vectorized_map(lambda row: dense(row[None])[0], ROWS)
    np.testing.assert_allclose(out, dense(ROWS), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_a_new_value_of_a_variable_is_seen_by_the_same_function():
    v = gx.Variable(1.0)

    def one(row):
        return row * v

    for value in 1.0, 2.0:
        v.assign(value)
        np.testing.assert_allclose(gx.vectorized_map(one, ROWS, chunk_size=2), ROWS * value)


@pytest.mark.broad
def test_chunks_bound_the_memory():
    jax = pytest.importorskip("jax")

    def peak(chunk_size):
        def run(x):
            one = lambda v: ops.sum(ops.exp(ops.sin(v[:, None] * v[None, :]) @ v))  # noqa: E731
            return gx.vectorized_map(one, x, chunk_size=chunk_size)

        shape = jax.ShapeDtypeStruct((64, 128), "float32")
        return jax.jit(run).lower(shape).compile().memory_analysis().temp_size_in_bytes

    assert peak(4) < peak(None) / 4
