"""Ops: arguments that cannot be used, values at the edges, and the module itself."""

import inspect
import runpy
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax import ops
from graftax.backend.registry import use
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
)
from graftax.core.typedefs import VariableLike
from graftax.ops.table import OPS

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


# --- arguments that are no arrays -----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("value", ["text", None, object(), {"a": 1}, [None], ["a"], [object()]])
def test_no_array_names_op_and_argument(backend: str, value: Any) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        ops.matmul(THREE, value)
    assert "matmul" in str(caught.value)
    assert "y" in str(caught.value)


@both
def test_sequence_arguments(backend: str) -> None:
    assert "concatenate: arrays = 3" in message(ArgumentTypeError, ops.concatenate, 3)
    assert "arrays[1]" in message(ArgumentTypeError, ops.concatenate, [THREE, None])
    assert ops.concatenate((THREE, THREE)).shape == (6,)


def test_unknown_and_missing_arguments_are_type_errors() -> None:
    with pytest.raises(TypeError, match=r"softmax\(\) got axes="):
        ops.softmax(THREE, axes=0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"matmul\(\) got no y"):
        ops.matmul(THREE)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional arguments"):
        ops.exp(THREE, THREE)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match=r"graftax\.ops\.matmull"):
        _ = ops.matmull  # type: ignore[attr-defined]


def test_errors_of_a_variable_come_through() -> None:
    class Broken(VariableLike):
        @property
        def value(self) -> Any:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ops.exp(Broken())


def test_tracing_errors_of_jax_are_told_in_our_words() -> None:
    with pytest.raises(CompileError, match="shape depends on values") as caught:
        jax.jit(ops.unique)(np.array([1, 2]))
    assert isinstance(caught.value.__cause__, jax.errors.ConcretizationTypeError)
    assert "ops.unique(x int32[2])" in str(caught.value)


@both
def test_bad_options_name_the_op(backend: str) -> None:
    x, kernel = np.ones((1, 4, 1), "float32"), np.ones((2, 1, 1), "float32")
    assert "conv" in message(ArgumentError, ops.conv, x, kernel, padding="full")
    assert "pad" in message(ArgumentError, ops.pad, THREE, 1, mode="zero")
    assert "strides" in message(ArgumentError, ops.conv, x, kernel, strides=0)
    assert "top_k" in message(ArgumentError, ops.top_k, THREE, 4)
    assert "norm" in message(ArgumentError, ops.norm, THREE, 0)


@both
def test_lists_and_arrays_as_static_arguments(backend: str) -> None:
    x = np.ones((2, 3), "float32")
    assert ops.reshape(x, [3, 2]).shape == ops.reshape(x, np.array([3, 2])).shape == (3, 2)
    assert ops.sum(x, axis=[0, 1]).shape == ()
    assert ops.pad(x, [[1, 1], [0, 2]]).shape == (4, 5)


# --- values at the edges --------------------------------------------------------------------------------------------


@both
def test_softmax_over_masked_axis_is_zero(backend: str) -> None:
    x = np.array([[-np.inf, -np.inf], [0.0, -np.inf]], "float32")
    assert ops.to_numpy(ops.softmax(x)).tolist() == [[0, 0], [1, 0]]
    assert ops.to_numpy(ops.log_softmax(x)).tolist() == [[-np.inf, -np.inf], [0, -np.inf]]
    assert ops.to_numpy(ops.logsumexp(x, axis=-1)).tolist() == [-np.inf, 0]


@pytest.mark.broad
@pytest.mark.parametrize("name", ["softmax", "logsumexp"])
def test_masked_axis_has_no_nan_gradient(name: str) -> None:
    x = np.full((2, 3), -np.inf, "float32")
    x[1, 0] = 0
    gradient = jax.grad(lambda x: ops.sum(ops.where(ops.isfinite(y := getattr(ops, name)(x, axis=-1)), y, 0.0)))(x)
    assert np.isfinite(gradient).all()


@both
def test_no_overflow(backend: str) -> None:
    x = np.array([-1000.0, 0.0, 1000.0], "float32")
    np.testing.assert_allclose(ops.softplus(x), [0, np.log(2), 1000], rtol=1e-6)
    np.testing.assert_allclose(ops.log_sigmoid(x), [-1000, -np.log(2), 0], rtol=1e-6)
    np.testing.assert_allclose(ops.sigmoid(x), [0, 0.5, 1])
    np.testing.assert_allclose(ops.softmax(x), [0, 0, 1])
    np.testing.assert_allclose(ops.logsumexp(x), 1000)


@pytest.mark.broad
def test_gt31_gradients_at_kinks_are_those_of_jax_and_norm_is_safe() -> None:
    zero = jnp.zeros(())
    assert jax.grad(lambda x: ops.norm(x))(jnp.zeros(2)).tolist() == [0, 0]
    assert jax.grad(lambda x: ops.norm(x, 3))(jnp.zeros(2)).tolist() == [0, 0]
    assert jax.grad(ops.sqrt)(zero) == jnp.inf
    assert jax.grad(lambda x: ops.maximum(x, 0.0))(zero) == 0.5
    assert jax.grad(lambda x: ops.clip(x, 0.0, 1.0))(zero) == 0.5
    assert jax.grad(lambda x: ops.max(x))(jnp.zeros(2)).tolist() == [0.5, 0.5]
    assert jax.grad(ops.abs)(zero) == jax.grad(jnp.abs)(zero)
    assert jax.grad(lambda x: ops.divide_no_nan(1.0, x))(zero) == 0
    assert jax.grad(ops.stop_gradient)(zero) == 0


@pytest.mark.broad
def test_max_pool_shares_the_gradient_among_ties() -> None:
    gradient = jax.grad(lambda x: ops.sum(ops.max_pool(x, 2)))(jnp.zeros((1, 2, 2, 1)))
    assert gradient.sum() == 1


@both
def test_half_precision_moments_are_summed_in_float32(backend: str) -> None:
    x = np.full((70000,), 2.0, "float16")  # the sum overflows float16
    mean, variance = ops.moments(x)
    assert (mean.dtype, float(mean), float(variance)) == ("float16", 2.0, 0.0)


# --- the module itself ----------------------------------------------------------------------------------------------


@pytest.mark.broad
def test_import_starts_no_backend() -> None:
    code = "import sys; from graftax import ops; ops.matmul; assert 'jax' not in sys.modules, 'jax was imported'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_signatures_are_real_and_documented() -> None:
    assert str(inspect.signature(ops.softmax)) == "(x, axis=-1)"
    for name in OPS:
        function = attrgetter(name)(ops)
        assert (function.__module__, function.__name__) == ("graftax.ops", name.rpartition(".")[2])
        assert function.__doc__
    assert {name.partition(".")[0] for name in OPS} <= set(dir(ops))


def test_stub_is_fresh() -> None:
    tool = Path(__file__).parents[2] / "tools" / "make_ops_stub.py"
    assert runpy.run_path(str(tool))["main"](["--check"]) == 0, "run python tools/make_ops_stub.py"


def test_each_function_is_made_once() -> None:
    assert ops.exp is ops.exp


def test_doctest_of_the_module() -> None:
    assert ops.matmul(ops.ones((2, 3)), ops.ones((3, 4))).shape == (2, 4)


@both
@pytest.mark.parametrize("name", [name for name in OPS if name != "einsum"])
def test_an_argument_by_place_and_by_name_is_told_in_three_beats(backend: str, name: str) -> None:
    first = next(iter(inspect.signature(getattr(ops, name)).parameters.values()))
    if first.kind is first.POSITIONAL_OR_KEYWORD:
        told = message(ArgumentTypeError, getattr(ops, name), 1.0, **{first.name: 2.0})
        assert told == f"{name}() got {first.name} twice"


def test_a_setting_by_place_and_by_name_is_told_with_the_call_to_write() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        ops.sum(THREE, 0, axis=0)
    assert caught.value.received == "sum() got axis twice"
    assert caught.value.instead == "ops.sum(x, axis=..., keepdims=...)"
