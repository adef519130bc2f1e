"""vectorized_map over several arguments: `in_axes` and `out_axes`, against jax.vmap."""

from itertools import product

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from tests.conformance.lanes import crossed

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 4, 5)).astype("float32")
B = RNG.normal(size=(4, 3)).astype("float32")


def several(a, b):
    return {"z": a.sum() * b, "a": (a * 2, [b.max()])}


AXES = [
    (0, 0, A, B.T),
    ((0, 1), 0, A, B),
    ((-3, -1), 0, A, B),
    ((1, 0), {"z": 0, "a": (1, 0)}, A, B[:, 0]),
    ((0, None), 0, A, B),
    ((2, None), {"z": 1, "a": 0}, A, B),
    ((2, None), {"z": -1, "a": (1, [0])}, A, B),
    ((1, None), {"z": 0, "a": (-1, 0)}, A, B),
]


@pytest.mark.in_turn(5)
@pytest.mark.parametrize(
    ("in_axes", "out_axes", "a", "b", "chunk_size", "run"), crossed(AXES, [*product([None, 1, 2], ["eager", "jit"])])
)
def test_x10_as_jax_vmap(in_axes, out_axes, a, b, chunk_size, run):
    expected = jax.vmap(several, in_axes=in_axes, out_axes=out_axes)(a, b)

    def mapped(a, b):
        return gx.vectorized_map(several, a, b, chunk_size=chunk_size, in_axes=in_axes, out_axes=out_axes)

    found = (gx.jit(mapped) if run == "jit" else mapped)(ops.asarray(a), ops.asarray(b))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_x10_structures_of_axes_keep_the_order_of_dicts():
    tree = {"second": A, "first": [B, np.float32(2)], "none": B}
    axes = ({"none": None, "first": [1, None], "second": 0},)

    def one(row):
        assert list(row) == ["second", "first", "none"]
        shapes = row["second"].shape, row["first"][0].shape, row["none"].shape
        assert shapes == ((4, 5), (4,), (4, 3))
        return {"b": row["second"].sum() * row["first"][1], "a": row["first"][0] + row["none"][:, 0]}

    found = gx.vectorized_map(one, tree, in_axes=axes)
    assert list(found) == ["b", "a"]
    np.testing.assert_allclose(found["b"], A.sum((1, 2)) * 2, rtol=1e-4)
    np.testing.assert_allclose(found["a"], B.T + B[:, 0], rtol=1e-5)


def test_x10_an_argument_that_is_not_mapped_is_passed_as_it_is():
    layer = gx.layers.Dense(2)
    layer(B)

    def one(row, layer, mode):
        assert mode == "a word"
        return layer(row[None])[0]

    found = gx.vectorized_map(one, B, layer, "a word", in_axes=(0, None, None))
    np.testing.assert_allclose(found, layer(B), rtol=1e-5)


@pytest.mark.broad
def test_x10_rows_of_every_argument_draw_their_own_numbers():
    gx.set_random_seed(0)
    draws = gx.vectorized_map(lambda a, b: a * 0 + gx.random.normal(()), np.zeros(5), np.zeros((2, 5)), in_axes=(0, 1))
    assert len({float(d) for d in np.ravel(draws)}) == 5
    same = gx.vectorized_map(lambda a, b: gx.random.normal((), seed=3), np.zeros(5), B, in_axes=(0, None))
    assert len({float(d) for d in np.ravel(same)}) == 1


def test_x10_one_row_goes_with_any_number_along_any_axis():
    found = gx.vectorized_map(lambda a, b: a[:, 0] * b, A, np.full((4, 1), 2.0, "float32"), in_axes=(0, 1))
    np.testing.assert_allclose(found, A[:, :, 0] * 2, rtol=1e-6)


@pytest.mark.broad
def test_x10_gradients_pass_through_all_arguments():
    def loss(ab):
        return ops.sum(gx.vectorized_map(lambda x, y: ops.sum(x) * y**2, *ab, in_axes=(1, None)))

    by_a, by_b = gx.grad(loss)((ops.asarray(A[0]), ops.asarray(2.0)))
    np.testing.assert_allclose(by_a, np.full((4, 5), 4.0), rtol=1e-6)
    np.testing.assert_allclose(by_b, 4 * A[0].sum(), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: gx.vectorized_map(lambda x, y: x, A, B), ShapeError, r"'x' has 3 rows, 'y' has 4"),
        (
            lambda: gx.vectorized_map(lambda x, y: x, A, B, in_axes=(1, 1)),
            ShapeError,
            r"'x' has 4 rows along axis 1 of its shape \(3, 4, 5\), 'y' has 3 along axis 1",
        ),
        (lambda: gx.vectorized_map(lambda x: x, A, in_axes=3), ShapeError, "axes are 0 to 2, or -3 to -1"),
        (lambda: gx.vectorized_map(lambda x: x, A, in_axes=-4), ShapeError, "axes are 0 to 2, or -3 to -1"),
        (lambda: gx.vectorized_map(lambda x: x, A, in_axes=(0, 0)), ArgumentError, "for 1 argument"),
        (
            lambda: gx.vectorized_map(lambda x: x, {"a": A}, in_axes={"a": 0}),
            ArgumentTypeError,
            r"in_axes=\(\{...\},\)",
        ),
        (
            lambda: gx.vectorized_map(lambda x: x, {"a": A}, in_axes=({"b": 0},)),
            ArgumentError,
            "'elems', which is .'a'.",
        ),
        (lambda: gx.vectorized_map(lambda x: x, [A, A], in_axes=([0],)), ArgumentError, "a list of 2"),
        (lambda: gx.vectorized_map(lambda x: x, A, in_axes=True), ArgumentTypeError, "an axis is an integer"),
        (lambda: gx.vectorized_map(lambda x: x, A, in_axes=("rows",)), ArgumentTypeError, "an axis is an integer"),
        (lambda: gx.vectorized_map(lambda x, y: x, A, B, in_axes=None), ArgumentError, "nothing to run over"),
        (lambda: gx.vectorized_map(lambda x: x, A, out_axes=None), ArgumentError, "out_axes=0"),
        (lambda: gx.vectorized_map(lambda x: x, A, out_axes=3), ShapeError, "out_axes has axis 3"),
        (lambda: gx.vectorized_map(lambda x: x, A, 2), ShapeError, "chunk_size=64, by its name"),
        (lambda: gx.vectorized_map(lambda: 1.0), ArgumentError, "got no array"),
    ],
)
def test_x10_mistakes_name_arguments_and_sizes(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert caught.value.instead
