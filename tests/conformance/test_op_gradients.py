"""The gradients of the differentiable ops against central differences in float64."""

from typing import Any

import jax
import numpy as np
import pytest

from graftax import ops
from graftax.backend.testing.families.every import FAMILIES
from graftax.backend.testing.gradient_checks import CHOSEN, DIFFERENTIABLE, FIRST, SMOOTH
from graftax.backend.testing.op_cases import INPUTS
from graftax.ops.table import OPS

pytestmark = pytest.mark.optimized
NOT_DIFFERENTIABLE = (
    "positive sign floor ceil trunc round isfinite isinf isnan logical_not bitwise_not conj real imag angle "
    "nan_to_num floor_divide remainder copysign equal not_equal less less_equal greater greater_equal logical_and "
    "logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift isclose allclose "
    "array_equal any all argmax argmin count_nonzero meshgrid broadcast_arrays zeros ones eye identity tri "
    "asarray array cast full zeros_like ones_like full_like arange linspace to_numpy shape ndim size nonzero "
    "unique bincount one_hot argsort searchsorted isin stop_gradient vdot slogdet svd qr fft ifft rfft irfft"
).split() + [name for family in FAMILIES for name in family.NOT_DIFFERENTIABLE.split()]


def test_every_op_is_on_one_list() -> None:
    assert sorted(DIFFERENTIABLE + NOT_DIFFERENTIABLE) == sorted(OPS)


def widened(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype("float64") if value.dtype.kind == "f" else value
    return [widened(v) for v in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.in_turn(3, broad=2)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_is_the_central_difference(name: str) -> None:
    args, options = SMOOTH.get(name) or INPUTS[name][CHOSEN.get(name, 0)]
    with jax.enable_x64(True):
        args = tuple(a if isinstance(a, tuple) and name != "concatenate" else widened(a) for a in args)
        start = FIRST.get(name, 0)
        inputs = args[start]
        point = [np.asarray(v, "float64") for v in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        generator = np.random.default_rng(0)
        # a direction of its own for every element, off the grid of ties
        direction = [generator.normal(size=p.shape) for p in point]
        if name in ("cholesky", "eigh"):
            direction = [d + d.T for d in direction]

        def scalar(step: Any) -> Any:
            moved = [p + step * d for p, d in zip(point, direction, strict=True)]
            value = moved if isinstance(inputs, (list, tuple)) else moved[0]
            result = getattr(ops, name)(*args[:start], value, *args[start + 1 :], **options)
            parts = result if isinstance(result, (tuple, list)) else [result]
            if name == "eigh":
                parts = parts[:1]  # the sign of an eigenvector is free
            floating = [p for p in parts if p.dtype.kind == "f"]
            return sum(ops.sum(p * np.cos(1 + np.arange(p.size)).reshape(p.shape)) for p in floating)

        both = jax.jit(jax.value_and_grad(scalar))
        step = 1e-5
        expected = (np.asarray(both(step)[0]) - np.asarray(both(-step)[0])) / (2 * step)
        assert expected.dtype == "float64"
        np.testing.assert_allclose(both(0.0)[1], expected, rtol=2e-6, atol=1e-8)
