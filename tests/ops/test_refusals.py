"""Arguments of ops that make no sense, each refused on both backends with what to write instead."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.registry import use
from graftax.core.errors import CompileError, GraftaxError

both = pytest.mark.parametrize("backend", ["jax", "numpy"])
X = np.arange(6, dtype="float32").reshape(2, 3)
IMAGE = np.zeros((1, 4, 4, 2), "float32")
HEADS = np.ones((1, 1, 1, 2), "float32")
KERNEL = np.zeros((2, 2, 2, 3), "float32")

REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("axis = 1.0", lambda: ops.sum(X, axis=1.0)),
    ("axis = True", lambda: ops.softmax(X, axis=True)),
    ("axis = 'rows'", lambda: ops.mean(X, axis="rows")),
    ("axis = 2", lambda: ops.max(X, axis=2)),
    ("axis = (0, 0)", lambda: ops.sum(X, axis=(0, 0))),
    ("axis = (0, -2)", lambda: ops.logsumexp(X, axis=(0, -2))),
    ("axes = (0, 0)", lambda: ops.transpose(X, (0, 0))),
    ("axes = (0,)", lambda: ops.transpose(X, (0,))),
    ("axis = 0", lambda: ops.sum(np.float32(1), axis=0)),
    ("axis = None", lambda: ops.expand_dims(X, None)),
    ("axis = (0, 1)", lambda: ops.argmax(X, axis=(0, 1))),
    ("keepdims = 1", lambda: ops.sum(X, 0, 1)),
    ("keepdims = 'no'", lambda: ops.mean(X, keepdims="no")),
    ("shape = -2", lambda: ops.zeros((2, -2))),
    ("shape = 2.0", lambda: ops.ones((2.0, 3))),
    ("shape = -2", lambda: ops.reshape(X, (-2, 3))),
    ("shape = -1", lambda: ops.broadcast_to(X, (-1, 3))),
    ("shape = -1", lambda: ops.slice(X, [0, 0], (1, -1))),
    ("num = -1", lambda: ops.linspace(0.0, 1.0, -1)),
    ("num = 2.5", lambda: ops.linspace(0.0, 1.0, 2.5)),
    ("num_classes = -3", lambda: ops.one_hot([0], -3)),
    ("num_segments = 2.0", lambda: ops.segment_sum(X, [0, 1], 2.0)),
    ("rows = -1", lambda: ops.eye(-1)),
    ("k = 1.5", lambda: ops.tril(X, 1.5)),
    ("k = True", lambda: ops.top_k(X, True)),
    ("k = -1", lambda: ops.top_k(X, -1)),
    ("length = -1", lambda: ops.bincount([0], -1)),
    ("n = 0", lambda: ops.fft(X, 0)),
    ("decimals = 0.5", lambda: ops.round(X, 0.5)),
    ("ddof = -1", lambda: ops.var(X, ddof=-1)),
    ("epsilon = -0.1", lambda: ops.standardize(X, epsilon=-0.1)),
    ("epsilon = nan", lambda: ops.standardize(X, epsilon=float("nan"))),
    ("rtol = -1.0", lambda: ops.isclose(X, X, rtol=-1.0)),
    ("q = 1.5", lambda: ops.quantile(X, 1.5)),
    ("q = (0.5, -0.1)", lambda: ops.quantile(X, [0.5, -0.1])),
    ("ord = 'fro'", lambda: ops.norm(X, "fro")),
    ("ord = -1.0", lambda: ops.norm(X, -1)),
    ("mode = 'circular'", lambda: ops.pad(X, 1, mode="circular")),
    ("constant_values = 5", lambda: ops.pad(X, 1, mode="edge", constant_values=5)),
    ("pad_width = -1", lambda: ops.pad(X, -1)),
    ("pad_width = ((1, 1), (0, 0), (2, 2))", lambda: ops.pad(X, ((1, 1), (0, 0), (2, 2)))),
    ("side='middle'", lambda: ops.searchsorted([1.0], [1.0], side="middle")),
    ("indexing='xz'", lambda: ops.meshgrid([1.0], [2.0], indexing="xz")),
    ("repeats = -1", lambda: ops.repeat(X, -1)),
    ("repeats = 1.5", lambda: ops.repeat(X, 1.5)),
    ("reps = -1", lambda: ops.tile(X, (1, -1))),
    ("shift = 0.5", lambda: ops.roll(X, 0.5)),
    ("sections = 0.5", lambda: ops.split(X, 0.5)),
    ("0 parts", lambda: ops.split(X, 0)),
    ("axis1 = 0, axis2 = -2", lambda: ops.diagonal(X, axis1=0, axis2=-2)),
    ("axis1 = 0, axis2 = -2", lambda: ops.trace(X, axis1=0, axis2=-2)),
    ("axes = 3", lambda: ops.tensordot(X, X, 3)),
    ("strides = 0", lambda: ops.conv(IMAGE, KERNEL, strides=0)),
    ("strides = True", lambda: ops.conv(IMAGE, KERNEL, strides=True)),
    ("groups = 0", lambda: ops.conv(IMAGE, KERNEL, groups=0)),
    ("padding = 'SAME'", lambda: ops.conv(IMAGE, KERNEL, padding="SAME")),
    ("padding = ((-1, 0), (0, 0))", lambda: ops.conv(IMAGE, KERNEL, padding=((-1, 0), (0, 0)))),
    ("padding = ((1.5, 0), (0, 0))", lambda: ops.max_pool(IMAGE, 2, padding=((1.5, 0), (0, 0)))),
    ("padding = 'causal'", lambda: ops.conv_transpose(IMAGE, KERNEL, padding="causal")),
    ("window = (2, 2, 2)", lambda: ops.max_pool(IMAGE, (2, 2, 2))),
    ("window = 0", lambda: ops.sum_pool(IMAGE, 0)),
    ("dtype None", lambda: ops.cast(X, None)),
    ("dtype 'object'", lambda: ops.zeros((2,), object)),
    ("dtype 'str", lambda: ops.asarray([1], "str")),
    ("start = True", lambda: ops.arange(True)),
    ("stop = 'end'", lambda: ops.arange(0, "end")),
    ("subscripts = 3", lambda: ops.einsum(3, X)),
    ("is_causal = 1", lambda: ops.dot_product_attention(IMAGE, IMAGE, IMAGE, is_causal=1)),
    ("equal_nan = 0", lambda: ops.isclose(X, X, equal_nan=0)),
    ("median: x [0]", lambda: ops.median(np.zeros(0, "float32"))),
    ("fft: axis = -1", lambda: ops.fft(np.zeros((2, 0), "float32"))),
    ("softplus: x complex64", lambda: ops.softplus(np.ones(2, "complex64"))),
    # what went on with other values than were given
    ("complex numbers as float32", lambda: ops.asarray([ops.asarray(1j), ops.asarray(2j)], "float32")),
    ("complex numbers as float32", lambda: gx.Variable(ops.asarray([1j]), dtype="float32")),
    (
        "bias of dtype complex64",
        lambda: ops.dot_product_attention(HEADS, HEADS, HEADS, bias=np.full((1, 1, 1, 1), 1j, "complex64")),
    ),
    ("complex numbers as float32", lambda: ops.image.map_coordinates(IMAGE, np.full((1, 1, 2), 1j, "complex64"))),
    ("maximum: y = 1j", lambda: ops.maximum(X, 1j)),
    ("minimum: x of dtype complex64", lambda: ops.minimum(np.array([np.nan], "complex64"), 1.0)),
    ("arctan2: y = 1j", lambda: ops.arctan2(X, 1j)),
    ("hypot: y of dtype complex64", lambda: ops.hypot(1.0, np.ones(2, "complex64"))),
    ("logaddexp: y = 1j", lambda: ops.logaddexp(X, 1j)),
    ("logaddexp2: x = 1j", lambda: ops.logaddexp2(1j, X)),
    ("clip: max = 1j", lambda: ops.clip(X, 0.0, 1j)),
    ("arange: a value = 300", lambda: ops.arange(0.0, 400.0, 100.0, dtype="uint8")),
    ("linspace: a value = 300", lambda: ops.linspace(0, 300, 4, dtype="int8")),
    ("logspace: a value = 1000", lambda: ops.logspace(0, 3, 4, dtype="int8")),
    ("geomspace: a value = 1000", lambda: ops.geomspace(1, 1000, 4, dtype="int8")),
    ("y = -1 places", lambda: ops.right_shift(np.array([-8]), -1)),
    ("y = -3 places", lambda: ops.left_shift(np.array([1, 2]), np.array([-3, 1]))),
    ("histogram: x [2]", lambda: ops.histogram([1.0, np.nan], 3)),
    ("digitize: bins", lambda: ops.digitize([1.0, 2.0], [3.0, 1.0])),
    ("fftshift: axes = (0, -2)", lambda: ops.fftshift(X, (0, -2))),
    ("posinf = 1000000.0", lambda: ops.nan_to_num(np.array([np.inf], "float16"), posinf=1e6)),
]


@both
@pytest.mark.parametrize(("shown", "call"), REFUSED, ids=[f"{i}-{shown}" for i, (shown, _) in enumerate(REFUSED)])
def test_what_makes_no_sense_is_refused(backend: str, shown: str, call: Callable[[], Any]) -> None:
    with use(backend), pytest.raises(GraftaxError) as caught:
        call()
    assert shown.lower() in caught.value.received.lower()
    assert caught.value.reason
    assert caught.value.instead
    assert "see help(" not in caught.value.instead


@both
def test_integers_of_numpy_and_of_variables_are_integers(backend: str) -> None:
    with use(backend):
        two = gx.Variable(2)
        assert ops.sum(X, axis=np.int64(1)).shape == (2,)
        assert ops.sum(X, axis=np.array([0, 1])).shape == ()
        assert ops.zeros((two, np.int32(3))).shape == (2, 3)
        assert ops.reshape(X, ops.asarray([3, 2])).shape == (3, 2)
        assert ops.eye(two).shape == (2, 2)
        assert ops.transpose(X, range(1, -1, -1)).shape == (3, 2)
        assert ops.standardize(X, epsilon=np.float32(0.1)).dtype == "float32"
        assert ops.sum(X, keepdims=np.bool_(True)).shape == (1, 1)
        assert ops.sum(X, axis=()).shape == (2, 3)  # over no axis, as in NumPy


def test_a_size_that_is_traced_is_told_in_our_words() -> None:
    for call in (
        lambda n: ops.zeros((n,)),
        lambda n: ops.reshape(ops.zeros((6,)), (n, 2)),
        lambda n: ops.top_k(ops.zeros((6,)), n)[0],
        lambda n: ops.sum(X, axis=n),
    ):
        with pytest.raises(CompileError, match=r"Python integer|traced value|values"):
            gx.jit(call)(2)


def test_bounds_of_a_range_may_be_traced_where_its_size_is_known() -> None:
    compiled = gx.jit(lambda stop: ops.linspace(0.0, stop, 3))
    assert compiled(4.0).tolist() == [0, 2, 4]


@both
def test_no_dtype_is_the_default_and_nothing_else(backend: str) -> None:
    with use(backend):
        for one in (
            ops.eye(2, dtype=None),
            ops.one_hot([0], 2, dtype=None),
            ops.zeros(2, None),
            ops.tri(2, dtype=None),
        ):
            assert one.dtype == "float32"
        assert ops.full((2,), 3, None).dtype == "int32"


@pytest.mark.parametrize("fill", [lambda z: ops.full((2,), z, "float32"), lambda z: ops.full_like(X, z)])
def test_a_traced_complex_number_fills_no_real_array(fill: Callable[[Any], Any]) -> None:
    with pytest.raises(GraftaxError) as caught:
        gx.jit(fill)(ops.asarray(1j))
    assert "dtype complex64" in caught.value.received
    assert "ops.real" in caught.value.instead


@both
def test_what_fits_is_taken(backend: str) -> None:
    with use(backend):
        assert ops.histogram([1.0, np.nan], 2, range=(0.0, 2.0))[0].tolist() == [0, 1]
        assert ops.arange(0.0, 250.1, 50.0, dtype="uint8").tolist() == [0, 50, 100, 150, 200, 250]
        assert ops.linspace(0.0, 127.9, 2, dtype="int8").tolist() == [0, 127]
