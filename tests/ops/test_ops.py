"""Ops: instant errors (semantics, section 17), and Python numbers among arrays."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graftax import ops
from graftax.backend.registry import current, use
from graftax.core.errors import (
    ArgumentError,
    DTypeError,
    IndexRangeError,
    NumericsError,
    ShapeError,
)
from graftax.ops.checks import check_subscript

both = pytest.mark.parametrize("backend", ["jax", "numpy"])
THREE = np.array([1.0, 2.0, 3.0], "float32")


@pytest.fixture(autouse=True)
def _backend(request: pytest.FixtureRequest) -> Any:
    name = request.node.callspec.params.get("backend", "jax") if hasattr(request.node, "callspec") else "jax"
    with use(name):
        yield


def message(kind: type[Exception], function: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        function(*args, **options)
    assert caught.value.reason, "three beats"
    assert caught.value.instead, "three beats"
    return str(caught.value).splitlines()[0]


# --- section 17: indices --------------------------------------------------------------------------------------------


@both
def test_s17_take_names_the_index(backend: str) -> None:
    assert "indices[1] = 7 is not in [0, 3)" in message(IndexRangeError, ops.take, THREE, [0, 7])
    assert "indices[1, 0] = 3 is not in [0, 3)" in message(IndexRangeError, ops.take, THREE, [[0, 1], [3, 9]])


@both
def test_s17_negative_indices_are_errors(backend: str) -> None:
    assert "indices = -1 is not in [0, 3)" in message(IndexRangeError, ops.take, THREE, -1)
    assert "= -1 is not in [0, 3)" in message(IndexRangeError, ops.take_along_axis, THREE, [-1], 0)


@both
def test_s17_gather_nd_names_tuple_and_shape(backend: str) -> None:
    x = np.zeros((3, 2), "float32")
    assert "indices[1] = (0, 7) is not in the shape (3, 2)" in message(
        IndexRangeError, ops.gather_nd, x, [[0, 1], [0, 7]]
    )
    message(ShapeError, ops.gather_nd, x, [[0, 1, 2]])


@both
def test_s17_labels_out_of_range(backend: str) -> None:
    assert "indices = 5 is not in [0, 3)" in message(IndexRangeError, ops.one_hot, 5, 3)
    assert "segment_ids[2] = 2 is not in [0, 2)" in message(IndexRangeError, ops.segment_sum, THREE, [0, 1, 2], 2)
    assert "indices[0] = 3 is not in [0, 3)" in message(IndexRangeError, ops.scatter_add, THREE, [3], [1.0])
    assert "x[1] = 9 is not in [0, 4)" in message(IndexRangeError, ops.bincount, [0, 9], 4)


@both
def test_s17_slice_outside(backend: str) -> None:
    assert "begin[0] = 2 is not in [0, 2)" in message(IndexRangeError, ops.slice, THREE, [2], 2)
    message(ShapeError, ops.slice, THREE, [0], 4)


@both
def test_s17_index_errors_are_index_and_value_errors(backend: str) -> None:
    with pytest.raises(IndexError):
        ops.take(THREE, 3)
    with pytest.raises(ValueError, match="not in"):
        ops.take(THREE, 3)


def test_s17_indices_are_unchecked_while_traced() -> None:
    assert jax.jit(lambda i: ops.one_hot(i, 3))(jnp.array([1, 5])).tolist() == [[0, 1, 0], [0, 0, 0]]


def test_s17_concrete_indices_are_checked_while_tracing() -> None:
    with pytest.raises(IndexRangeError):
        jax.jit(lambda x: ops.take(x, [0, 7]))(THREE)


def test_s17_indices_are_checked_under_grad() -> None:
    with pytest.raises(IndexRangeError):
        jax.grad(lambda x: ops.sum(ops.take(x, [0, 7])))(THREE)


@both
def test_s17_indices_must_be_integers(backend: str) -> None:
    assert "float32" in message(DTypeError, ops.take, THREE, [0.0])
    message(DTypeError, ops.one_hot, [True], 2)


@both
@given(st.lists(st.integers(-3, 6), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_take_raises_exactly_when_numpy_would_wrap_or_fail(backend: str, indices: list[int]) -> None:
    with use(backend):
        if all(0 <= i < 3 for i in indices):
            assert ops.to_numpy(ops.take(THREE, indices)).tolist() == THREE[indices].tolist()
        else:
            with pytest.raises(IndexRangeError):
                ops.take(THREE, indices)


@both
@pytest.mark.parametrize("key", [5, -3, (0, 3), (..., 3), (None, 2), [0, 2], (slice(None), np.array([0, -4]))])
def test_s17_subscript_outside(backend: str, key: Any) -> None:
    with pytest.raises(IndexRangeError, match="which has"):
        check_subscript(current().arrays, (2, 3), key)


@both
@pytest.mark.parametrize("key", [1, -2, (0, -3), (..., 2), (None, 1), [0, 1], slice(0, 9), np.ones((2, 3), bool), True])
def test_s17_subscript_inside(backend: str, key: Any) -> None:
    check_subscript(current().arrays, (2, 3), key)
    np.empty((2, 3))[key]


# --- section 17: shapes ---------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("name", "shapes", "options", "shown"),
    [
        ("matmul", [(2, 3), (2, 3)], {}, ["matmul", "[2, 3]"]),
        ("matmul", [(5, 2, 3), (4, 3, 2)], {}, ["[5, 2, 3]", "[4, 3, 2]"]),
        ("add", [(2, 3), (4,)], {}, ["add", "[2, 3]", "[4]"]),
        ("where", [(2,), (2,), (3,)], {}, ["where", "[2]", "[3]"]),
        ("reshape", [(6,)], {"shape": (4,)}, ["reshape", "6 elements", "4"]),
        ("conv", [(1, 5, 5, 3), (3, 3, 2, 4)], {}, ["conv", "3 channels", "takes 2"]),
        ("conv", [(1, 2, 2, 3), (3, 3, 3, 4)], {}, ["conv", "window of 3"]),
        ("conv_transpose", [(1, 5, 3), (3, 2, 4)], {}, ["3 channels", "takes 2"]),
        ("max_pool", [(5, 5)], {"window": 2}, ["max_pool", "[5, 5]"]),
        ("sum", [(2, 3)], {"axis": 5}, ["sum", "axis = 5", "[2, 3]"]),
        ("softmax", [(2, 3)], {"axis": -3}, ["softmax", "axis = -3"]),
        ("split", [(5,)], {"sections": 2}, ["split", "[5]"]),
        ("solve", [(2, 2), (3,)], {}, ["solve", "[2, 2]", "[3]"]),
        ("inv", [(2, 3)], {}, ["inv", "[2, 3]"]),
        ("segment_sum", [(3, 2), (2,)], {"num_segments": 2}, ["segment_sum", "[3, 2]"]),
        ("take_along_axis", [(3, 2), (2,)], {"axis": 0}, ["take_along_axis", "[3, 2]"]),
    ],
)
def test_s17_shape_errors_show_op_and_shapes(
    backend: str, traced: bool, name: str, shapes: Any, options: Any, shown: list[str]
) -> None:
    if traced and backend == "numpy":
        pytest.skip("the reference backend does not trace")
    integers = {"take_along_axis": [1], "segment_sum": [1]}.get(name, [])
    values = [np.ones(s, "int32" if i in integers else "float32") for i, s in enumerate(shapes)]
    if name == "where":
        values[0] = values[0] > 0

    def call(*arrays: Any) -> Any:
        return getattr(ops, name)(*arrays, **options)

    told = message(ShapeError, jax.jit(call) if traced else call, *values)
    assert all(part in told for part in shown), told


@both
def test_s17_concatenate_shows_the_dimension(backend: str) -> None:
    with pytest.raises(ShapeError) as caught:
        ops.concatenate([np.ones((2, 3), "float32"), np.ones((2, 4), "float32")], axis=0)
    assert "[2, 3]" in caught.value.received
    assert "[2, 4]" in caught.value.received
    assert "axis 1 has size 3 and 4" in caught.value.reason
    message(ShapeError, ops.stack, [THREE, THREE[:2]])
    message(ArgumentError, ops.concatenate, [])


@both
def test_s17_einsum_names_the_letter(backend: str) -> None:
    with pytest.raises(ShapeError) as caught:
        ops.einsum("ij,jk->ik", np.ones((2, 3), "float32"), np.ones((4, 5), "float32"))
    assert "'j' is 3 in one operand and 4" in caught.value.reason


@both
def test_ragged_lists(backend: str) -> None:
    message(ShapeError, ops.asarray, [[1, 2], [3]])


# --- section 17: dtypes ---------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(("left", "right"), [("int32", "float32"), ("float16", "float32"), ("bool", "float32")])
@pytest.mark.parametrize("name", ["add", "matmul", "maximum", "equal"])
def test_s17_dtypes_never_promote(backend: str, name: str, left: str, right: str) -> None:
    x, y = np.ones((2, 2), left), np.ones((2, 2), right)
    with pytest.raises(DTypeError) as caught:
        getattr(ops, name)(x, y)
    assert left in caught.value.received
    assert right in caught.value.received
    assert caught.value.instead == f'ops.cast(x, "{right}")'
    with pytest.raises(DTypeError):
        ops.concatenate([x, y])
    with pytest.raises(TypeError):
        ops.add(y, x)


def test_s17_dtypes_never_promote_while_traced() -> None:
    with pytest.raises(DTypeError):
        jax.jit(ops.add)(np.ones(2, "float32"), np.ones(2, "int32"))


@both
def test_float64_input_is_float32_here(backend: str) -> None:
    assert ops.add(np.ones(2), np.ones(2, "float32")).dtype == "float32"
    assert ops.exp(np.ones(2)).dtype == "float32"
    assert ops.asarray(np.arange(3)).dtype == "int32"


@pytest.mark.in_turn(3)
@both
@pytest.mark.parametrize(
    ("array", "number", "dtype"),
    [
        ("float16", 2.0, "float16"),
        ("float16", 2, "float16"),
        ("int32", 2, "int32"),
        ("int32", 2.0, "float32"),
        ("int8", 2, "int8"),
        ("bool", 2, "int32"),
        ("float16", np.float64(2), "float16"),
        ("bfloat16", 0.5, "bfloat16"),
    ],
)
@pytest.mark.parametrize("name", ["add", "multiply", "maximum"])
def test_python_numbers_adapt(backend: str, name: str, array: str, number: Any, dtype: str) -> None:
    x = ops.ones((2,), array)
    assert getattr(ops, name)(x, number).dtype == dtype
    assert getattr(ops, name)(number, x).dtype == dtype


def test_python_numbers_adapt_when_traced_as_arrays() -> None:
    x = jnp.ones(2, "float16")
    assert jax.jit(ops.multiply)(x, 2.0).dtype == "float16"
    assert jax.jit(ops.concatenate)([x, x]).dtype == "float16"


@both
def test_two_python_numbers(backend: str) -> None:
    assert ops.add(1, 2).dtype == "int32"
    assert ops.add(1, 2.0).dtype == "float32"
    assert ops.where([True, False], 1, 0.5).dtype == "float32"
    assert not getattr(ops.asarray(1.0), "weak_type", False)
    assert not getattr(ops.add(1, 2.0), "weak_type", False)


@both
def test_true_division_of_integers(backend: str) -> None:
    assert ops.divide([1, 2], [2, 2]).dtype == "float32"
    assert ops.divide(np.array([1], "int8"), np.array([2], "int8")).dtype == "float32"


@both
def test_unknown_dtype(backend: str) -> None:
    assert "float7" in message(DTypeError, ops.zeros, (2,), "float7")


@both
def test_integers_that_do_not_fit(backend: str) -> None:
    assert str(2**40) in message(ArgumentError, ops.asarray, np.array([1, 2**40]))
    assert str(2**40) in message(ArgumentError, ops.asarray, 2**40)


# --- section 17: values ---------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_s17_integer_division_by_zero(backend: str, name: str) -> None:
    assert "division by zero" in message(NumericsError, getattr(ops, name), [4, 5], [2, 0])
    message(NumericsError, getattr(ops, name), [4, 5], 0)
    assert np.isfinite(ops.to_numpy(getattr(ops, name)([4, 5], [2, 3]))).all()


@both
def test_s17_float_division_by_zero_is_inf(backend: str) -> None:
    assert ops.to_numpy(ops.divide([1.0, -1.0], 0.0)).tolist() == [np.inf, -np.inf]
    assert ops.to_numpy(ops.divide([1], [0])).tolist() == [np.inf]
    assert np.isnan(ops.to_numpy(ops.log(-1.0)))


@both
def test_integer_to_a_negative_power(backend: str) -> None:
    message(NumericsError, ops.power, [2, 3], -1)
    message(NumericsError, ops.power, [2, 3], [1, -1])
    assert ops.power([2.0], -1).tolist() == [0.5]


@both
def test_s17_cholesky_of_indefinite_raises(backend: str) -> None:
    assert "cholesky" in message(NumericsError, ops.cholesky, np.array([[1.0, 2.0], [2.0, 1.0]], "float32"))
    assert np.isnan(ops.to_numpy(ops.cholesky(np.full((2, 2), np.nan, "float32")))).any() or backend == "numpy"


@both
def test_singular_matrices_raise(backend: str) -> None:
    singular = np.array([[1.0, 2.0], [2.0, 4.0]], "float32")
    message(NumericsError, ops.inv, singular)
    message(NumericsError, ops.solve, singular, [1.0, 2.0])


def test_s17_arrays_are_immutable_and_have_no_truth() -> None:
    with pytest.raises(TypeError):
        ops.asarray([1, 2])[0] = 1
    with pytest.raises(ValueError, match="truth|ambiguous"):
        bool(ops.asarray([1, 2]))


@pytest.mark.parametrize("axes", [(0, 1), (1, 2), (2, 0), [-1, 0]], ids=str)
@pytest.mark.parametrize("k", [1, -2, 7])
def test_rot90_turns_any_two_axes(axes, k):
    x = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(ops.rot90(x, k, axes), np.rot90(x, k, axes))
    np.testing.assert_array_equal(ops.rot90(x, k=k, axes=axes), np.rot90(x, k, axes))


@pytest.mark.parametrize(
    ("axes", "said"),
    [((1, 1), "twice"), ((0, -3), "twice"), ((0,), "two axes"), ((0, 1, 2), "two axes"), (1, "two axes")],
    ids=str,
)
def test_rot90_takes_two_axes(axes, said):
    with pytest.raises(ArgumentError, match=rf"rot90: axes = .*(.|\n)*{said}"):
        ops.rot90(np.zeros((2, 3, 4)), axes=axes)
