"""Each layer refuses complex numbers, or computes with them what its formula says; so do ops that take squares."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.backend.registry import use
from graftax.core.errors import DTypeError
from graftax.layers.layer import Layer
from tests.conformance.layer_rows import ROWS, TRAINED, Row

DRAW = np.random.default_rng(0)
MODES = [(name, False) for name, row in ROWS.items() if row.below is None] + [(name, True) for name in TRAINED]


def draw(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return (DRAW.normal(size=shape) + 1j * DRAW.normal(size=shape)).astype("complex64")


def example(row: Row) -> Any:
    return [draw(shape) for shape in row.inputs] if isinstance(row.inputs, list) else draw(row.inputs)


def parts(x: Any) -> tuple[Any, Any]:
    if isinstance(x, list):
        return [one.real.copy() for one in x], [one.imag.copy() for one in x]
    return x.real.copy(), x.imag.copy()


def result(row: Row, x: Any, training: bool) -> np.ndarray[Any, Any]:
    """What a new layer gives, built for real numbers; its draws are the same each time."""
    gx.set_random_seed(3)
    layer = row.make()
    layer.build_for(parts(x)[0] if np.iscomplexobj(x[0]) else x)
    return np.asarray(layer(x, training=True) if training else layer(x))


LINEAR = frozenset(
    """
    average_pooling1d average_pooling2d average_pooling3d average_pooling2d_circular global_average_pooling1d
    global_average_pooling2d global_average_pooling3d adaptive_average_pooling1d adaptive_average_pooling2d
    adaptive_average_pooling3d flatten reshape permute repeat_vector zero_padding1d zero_padding2d zero_padding3d
    cropping1d cropping2d cropping3d up_sampling1d up_sampling2d up_sampling3d pixel_shuffle rotary_embedding masking
    add subtract average concatenate identity dropout dropout_noise dropout_spatial1d dropout_spatial2d
    dropout_spatial3d dropout_path gaussian_dropout
    """.split()
)
"""Layers that do the same to both parts: weights, factors and places are real."""
OTHERS: dict[str, Callable[[Any, Row], np.ndarray[Any, Any]]] = {
    "multiply": lambda x, row: x[0] * x[1],
    "lambda": lambda x, row: np.tanh(x),
    "position_embedding": lambda x, row: result(row, parts(x)[0], False),  # of the shape alone
    "sine_position_encoding": lambda x, row: result(row, parts(x)[0], False),
}


@pytest.mark.parametrize(("name", "training"), MODES)
@pytest.mark.in_turn(4, broad=60)
def test_a_layer_refuses_them_or_computes_its_formula(name: str, training: bool) -> None:
    row = ROWS[name]
    x = example(row)
    if name not in LINEAR and name not in OTHERS:
        with pytest.raises(DTypeError, match="got complex numbers, complex64") as caught:
            result(row, x, training)
        assert "ops.real(x)" in str(caught.value)
        with pytest.raises(DTypeError, match="got complex numbers, complex64"):  # before it has weights
            row.make()(x)
        return
    if name in OTHERS:
        expected = OTHERS[name](x, row)
    else:
        real, imag = (result(row, part, training) for part in parts(x))
        expected = real + 1j * imag
    np.testing.assert_allclose(result(row, x, training), expected, rtol=1e-5, atol=1e-6)


MASKED: dict[str, Callable[[], Layer]] = {
    "layer": layers.LayerNormalization,
    "layer, all axes": lambda: layers.LayerNormalization((1, 2)),
    "group": lambda: layers.GroupNormalization(2),
    "instance": layers.InstanceNormalization,
    "rms": lambda: layers.RMSNormalization((1, 2)),
    "unit": lambda: layers.UnitNormalization((1, 2)),
    "batch": layers.BatchNormalization,
    "max": lambda: layers.MaxPooling1D(2),
    "global max": layers.GlobalMaxPooling1D,
    "adaptive max": lambda: layers.AdaptiveMaxPooling1D(2),
    "regularization": lambda: layers.ActivityRegularization(l2=1.0),
}


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_changes_nothing_of_that(name: str) -> None:
    with pytest.raises(DTypeError, match="got complex numbers, complex64"):
        MASKED[name]()(draw((2, 3, 4)), mask=np.array([[True, True, False]] * 2))


@pytest.mark.parametrize(
    "layer", [layers.ReLU(6.0), layers.ReLU(threshold=1.0), layers.Discretization([0.0]), layers.GaussianNoise(0.0)]
)
def test_settings_of_a_layer_change_nothing_of_that(layer: Layer) -> None:
    with pytest.raises(DTypeError, match="got complex numbers, complex64"):
        layer(draw((2, 4)))


class OwnNormalization(layers.LayerNormalization):
    pass


def test_a_subclass_of_a_user_refuses_them_too() -> None:
    with pytest.raises(DTypeError, match=r"complex numbers, complex64\[2, 4\]"):
        OwnNormalization()(draw((2, 4)))


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
def test_standardize_divides_by_the_variance_of_numpy(backend: str, axis: Any) -> None:
    z = draw((4, 6))
    expected = (z - z.mean(axis, keepdims=True)) / np.sqrt(z.var(axis, keepdims=True) + 1e-3)
    with use(backend):
        np.testing.assert_allclose(np.asarray(ops.standardize(z, axis)), expected, rtol=1e-5, atol=1e-6)


def test_the_gradient_of_standardize_is_that_of_its_formula() -> None:
    z, weights = draw((4, 6)), draw((4, 6))

    def plainly(re: Any, im: Any) -> Any:
        re, im = re - ops.mean(re, -1, keepdims=True), im - ops.mean(im, -1, keepdims=True)
        factor = ops.rsqrt(ops.mean(re**2 + im**2, -1, keepdims=True) + 1e-3)
        return ops.sum((re * weights.real - im * weights.imag) * factor)

    def fused(re: Any, im: Any) -> Any:
        return ops.sum(ops.real(ops.standardize(re + 1j * im) * weights))

    found, expected = (gx.gradients_function(f, params=[0, 1])(*parts(z)) for f in (fused, plainly))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_scores_of_attention_are_real(backend: str) -> None:
    z = draw((1, 3, 2, 4))
    with use(backend), pytest.raises(DTypeError, match="query of dtype complex64"):
        ops.dot_product_attention(z, z, z)


def test_accuracy_refuses_them_as_other_metrics_do() -> None:
    z, labels = draw((3, 2)), np.ones((3, 2), "float32")
    for pair in ((labels, z), (z, labels)):
        with pytest.raises(DTypeError, match="complex64"):
            gx.metrics.Accuracy().update(*pair)


class Complex(layers.Layer):
    def build(self, shape: Any) -> None:
        self.w = self.add_weight((4, 3), "random_normal", dtype="complex64", name="w")

    def call(self, x: Any) -> Any:
        return ops.matmul(ops.cast(x, "complex64"), self.w)


def test_turns_of_orthogonal_are_real() -> None:
    layer = Complex()
    layer(np.ones((2, 4), "float32"))
    before = layer.w.numpy()
    with pytest.raises(DTypeError, match=r"Orthogonal of 'w', complex64\[4, 3\]"):
        gx.graft(layer, gx.reparam.Orthogonal(), tolerance=float("inf"))
    np.testing.assert_array_equal(layer.w.numpy(), before)


def test_the_table_names_layers_that_have_a_row() -> None:
    assert set(ROWS) >= LINEAR | set(OTHERS)
    assert not LINEAR & set(OTHERS)
