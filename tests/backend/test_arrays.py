"""The primitives of both backends, and what they hide: 64 bits, scalars, shared memory, warnings."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graftax import ops
from graftax.backend.jax import windows
from graftax.backend.numpy.namespace import x64
from graftax.backend.numpy.special import erf, erfinv
from graftax.backend.registry import load, use
from graftax.core.errors import ArgumentError
from graftax.ops.signatures import format_parameters
from graftax.ops.table import OPS
from tests.conformance.lanes import crossed

both = pytest.mark.parametrize("backend", ["jax", "numpy"])
JAX, NUMPY = load("jax").arrays, load("numpy").arrays


def arrays(backend: str) -> Any:
    return load(backend).arrays


def aligned(size: int) -> np.ndarray[Any, Any]:
    """Memory that starts at a multiple of 64 bytes, which JAX would gladly share."""
    raw = np.zeros(size * 4 + 64, "uint8")
    start = -raw.ctypes.data % 64
    return raw[start : start + size * 4].view("float32")


@both
def test_callers_memory_is_never_shared(backend: str) -> None:
    source = aligned(1024)
    array = arrays(backend).asarray(source)
    same = arrays(backend).asarray(source, "float32")
    source[:] = 7
    assert not np.asarray(array).any()
    assert not np.asarray(same).any()


@both
@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int32"),
        (1.0, "float32"),
        (True, "bool"),
        (1j, "complex64"),
        ([1, 2], "int32"),
        (np.float64(1), "float32"),
        (np.int64(1), "int32"),
        (np.arange(3, dtype="uint64"), "uint32"),
        (np.ones(2, "complex128"), "complex64"),
        (np.ones(2, "float16"), "float16"),
        (np.ones(2, "int8"), "int8"),
        ([], "float32"),
    ],
)
def test_dtypes_are_canonical(backend: str, value: Any, dtype: str) -> None:
    array = arrays(backend).asarray(value)
    assert arrays(backend).is_array(array)
    assert array.dtype == dtype
    assert not arrays(backend).is_weak(array)


def test_jax_keeps_64_bits_when_told() -> None:
    with jax.enable_x64(True):
        assert JAX.asarray(1.0).dtype == "float64"
        assert JAX.canonical_dtype("int64") == "int64"
    assert JAX.canonical_dtype("int64") == "int32"


def test_numpy_keeps_64_bits_when_told() -> None:
    with x64(), use("numpy"):
        assert ops.exp(1.0).dtype == "float64"
        assert ops.mean([1, 2]).dtype == "float64"
    assert NUMPY.asarray(1.0).dtype == "float32"


@both
def test_concrete_traced_weak(backend: str) -> None:
    a = arrays(backend)
    assert a.is_concrete(a.asarray(1.0))
    assert not a.is_array([1.0])
    assert not a.is_array("x")


def test_traced_values_are_arrays_but_not_concrete() -> None:
    def check(x: Any) -> Any:
        assert JAX.is_array(x)
        assert not JAX.is_concrete(x)
        return x

    jax.jit(check)(1.0)
    assert JAX.is_weak(jnp.asarray(1.0))


def test_eager_runs_now_while_tracing() -> None:
    constant = jnp.ones(2)

    def look(x: Any) -> Any:
        with JAX.eager():
            assert JAX.is_concrete(constant + 1)
        return x

    jax.jit(look)(1.0)


def test_host_values_stay_concrete_while_tracing() -> None:
    def look(x: Any) -> Any:
        assert JAX.is_concrete(JAX.asarray([1, 2]))
        return x + JAX.asarray(np.float32(1))

    assert jax.jit(look)(1.0) == 2


def test_to_numpy_is_readable() -> None:
    assert JAX.to_numpy(jnp.arange(3)).tolist() == [0, 1, 2]


@both
def test_no_warning_reaches_the_user(backend: str) -> None:
    with use(backend):
        assert np.isnan(np.asarray(ops.log([-1.0]))).all()
        assert np.isinf(np.asarray(ops.exp([1000.0]))).all()
        assert np.isnan(np.asarray(ops.cast(ops.divide(0.0, 0.0), "float16")))


FLOATING = [
    n for n, op in OPS.items() if format_parameters(op) in ("x", "x, y", "x, axis=None, keepdims=False", "x, axis=-1")
]
HALVES = (
    "shape",
    "ndim",
    "size",
    "to_numpy",
    "unique",
    "nonzero",
    "round",
    "cross",
    "solve",
    "cholesky",
    "inv",
    "vdot",
)


@pytest.mark.in_turn(3, broad=2)
@pytest.mark.parametrize(
    ("name", "dtype"), crossed([n for n in FLOATING if n not in HALVES], ["int8", "bool", "bfloat16"])
)
def test_result_dtypes_agree(name: str, dtype: str) -> None:
    if dtype == "bool" and name in ("positive", "conj", "negative", "subtract", "sign", "kron"):
        pytest.skip("no arithmetic of booleans")
    found = {}
    for backend in ("jax", "numpy"):
        with use(backend):
            x, y = ops.asarray([[1, 2], [3, 1]], dtype), ops.asarray([[2, 1], [1, 3]], dtype)
            try:
                result = getattr(ops, name)(*((x, y) if "y" in format_parameters(OPS[name]) else (x,)))
            except (TypeError, ValueError) as error:
                found[backend] = type(error).__name__, None
                continue
        parts = [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]
        found[backend] = [p.dtype.name for p in parts], [p.astype("complex64") for p in parts]
    assert found["jax"][0] == found["numpy"][0]
    for left, right in zip(found["jax"][1] or [], found["numpy"][1] or [], strict=True):
        if name != "eigh":  # the sign of an eigenvector is free
            np.testing.assert_allclose(left, right, rtol=2e-2, atol=2e-2)


@both
def test_set_at_leaves_the_array_alone(backend: str) -> None:
    a = arrays(backend)
    x = a.asarray(np.zeros((2, 3), "float32"))
    changed = a.set_at(x, (slice(None), 1), a.asarray([1.0, 2.0]))
    assert np.asarray(changed).tolist() == [[0, 1, 0], [0, 2, 0]]
    assert not np.asarray(x).any()


# --- special functions ----------------------------------------------------------------------------------------------


def test_erf_is_exact_to_half_a_unit_of_float32() -> None:
    x = np.concatenate([np.linspace(-7, 7, 4001), [0.46875, np.nextafter(0.46875, 1), 1e-30, 4.0, 100.0]])
    exact = np.array([math.erf(v) for v in x])
    np.testing.assert_allclose(erf(x), exact, rtol=1e-15, atol=0)
    narrow = x.astype("float32")
    units = np.abs(erf(narrow) - np.array([math.erf(v) for v in narrow])) / np.spacing(np.abs(erf(narrow)))
    assert units.max() <= 0.51
    assert np.isnan(erf(np.float32("nan")))


def test_erfinv_inverts() -> None:
    u = np.linspace(-0.9999, 0.9999, 1001).astype("float32")
    np.testing.assert_allclose(erf(erfinv(u)), u, atol=3e-7)
    assert erfinv(np.float32(1)) == np.inf
    np.testing.assert_allclose(erfinv(u), jax.scipy.special.erfinv(u), rtol=3e-6, atol=1e-7)


# --- windows --------------------------------------------------------------------------------------------------------


@pytest.mark.broad
@given(st.data())
@settings(max_examples=12)
def test_convolutions_agree(data: Any) -> None:
    space = data.draw(st.integers(1, 3))
    sizes = tuple(data.draw(st.integers(3, 6)) for _ in range(space))
    window = tuple(data.draw(st.integers(1, 3)) for _ in range(space))
    strides = tuple(data.draw(st.integers(1, 3)) for _ in range(space))
    dilation = tuple(data.draw(st.integers(1, 2)) for _ in range(space))
    stretch = data.draw(st.none() | st.tuples(*[st.integers(1, 3)] * space))
    padding = [(data.draw(st.integers(0, 4)), data.draw(st.integers(2, 4))) for _ in range(space)]
    groups = data.draw(st.integers(1, 2))
    x = np.random.default_rng(0).normal(size=(2, *sizes, 2 * groups)).astype("float32")
    kernel = np.random.default_rng(1).normal(size=(*window, 2, 3 * groups)).astype("float32")
    mine = NUMPY.conv(x, kernel, strides, padding, dilation, groups, stretch)
    theirs = JAX.conv(jnp.array(x), jnp.array(kernel), strides, padding, dilation, groups, stretch)
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.broad
@pytest.mark.parametrize(("strides", "dilation"), [((1, 1), (1, 1)), ((2, 1), (1, 2))])
def test_convolution_by_matmul_equals_xla(strides: Any, dilation: Any) -> None:
    x, kernel = jax.random.normal(jax.random.key(0), (1, 5, 6, 3)), jax.random.normal(jax.random.key(1), (3, 3, 3, 5))

    def by_matmul(x: Any, k: Any) -> Any:
        return windows.conv_by_matmul(x, k, strides, [(1, 0), (2, 1)], dilation)

    def by_xla(x: Any, k: Any) -> Any:
        wide = jnp.concatenate([k, jnp.zeros((3, 3, 2, 5))], 2)  # five channels, which go the other way
        grown = jnp.concatenate([x, jnp.zeros((1, 5, 6, 2))], -1)
        return JAX.conv(grown, wide, strides, [(1, 0), (2, 1)], dilation, 1)

    assert windows.prefers_matmul(kernel.shape)
    for left, right in zip(results(by_matmul, x, kernel), results(by_xla, x, kernel), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


def results(convolve: Any, x: Any, kernel: Any) -> list[Any]:
    """The value and both gradients of its square."""

    def both(x: Any, kernel: Any) -> list[Any]:
        gradients = jax.grad(lambda *a: jnp.sum(convolve(*a) ** 2), (0, 1))(x, kernel)
        return [convolve(x, kernel), *gradients]

    return jax.jit(both)(x, kernel)  # type: ignore[no-any-return]


@pytest.mark.in_turn(12, 2)
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize("name", ["max_pool", "sum_pool"])
@pytest.mark.parametrize(("window", "strides"), [((2, 2), (2, 2)), ((3, 2), (1, 2)), ((5, 4), (1, 1))])
def test_pools_agree_and_padding_never_wins(name: str, dtype: str, window: Any, strides: Any) -> None:
    values = np.arange(2 * 6 * 6 * 2).reshape(2, 6, 6, 2) % 23 - 30
    found = [
        np.asarray(getattr(a, name)(a.asarray(values, dtype), window, strides, [(1, 0), (0, 1)])) for a in (JAX, NUMPY)
    ]
    assert found[0].dtype == found[1].dtype == dtype
    if dtype != "int8" or name == "max_pool":
        np.testing.assert_allclose(found[0].astype("f8"), found[1].astype("f8"), rtol=2e-2)
    if name == "max_pool":
        assert found[0].max() < 0


@given(hnp.arrays("float32", (3, 5), elements=st.integers(-3, 3)), st.sampled_from([0, 2, 5]))
def test_top_k_agrees_on_ties(x: Any, k: int) -> None:
    for mine, theirs in zip(NUMPY.top_k(x, k), JAX.top_k(jnp.array(x), k), strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


# --- devices --------------------------------------------------------------------------------------------------------


@both
def test_devices(backend: str) -> None:
    devices = load(backend).devices
    names = devices.list()
    assert all(":" in name for name in names)
    assert "cpu:0" in names
    array = devices.put(arrays(backend).asarray([1.0]), "cpu")
    assert np.asarray(devices.wait({"a": array})["a"]).tolist() == [1]
    with pytest.raises(ArgumentError, match="tpu:9"):
        devices.put(array, "tpu:9")
