"""The same gradients in every way that there is to take them: what `test_ways_of_gradients.py` asks of all tables."""

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np

import graftax as gx
from graftax import ops

Function = Callable[[], Any]
Sources = Sequence[gx.Variable]


def of_compiled_grad(function: Function, sources: Sources) -> list[Any]:
    return gx.jit(gx.grad(function, wrt=list(sources)))()


def of_tapes(function: Function, sources: Sources) -> list[Any]:
    """A persistent tape inside of another one, which sees the gradient of the inner one."""
    scale = gx.Variable(1.0)
    with gx.GradientTape() as outer:
        with gx.GradientTape(persistent=True) as inner:
            inner.watch([*sources])
            total = function() * scale
        first, again = (inner.gradient(total, [*sources]) for _ in range(2))
        known = [one for one in first if one is not None]
        summed = sum((ops.sum(one) for one in known), ops.asarray(0.0))
    for one, other in zip(first, again, strict=True):
        assert (one is None) == (other is None)
        np.testing.assert_allclose(0 if one is None else one, 0 if other is None else other, rtol=1e-4, atol=1e-5)
    if known:  # linear in the scale
        np.testing.assert_allclose(outer.gradient(summed, scale), summed, rtol=1e-3, atol=1e-4)
    return first


def of_jacobian(function: Function, sources: Sources) -> list[Any]:
    with gx.GradientTape() as tape:
        tape.watch([*sources])
        total = function()
    return tape.jacobian(total, [*sources])  # type: ignore[no-any-return]


def check_forward(function: Function, sources: Sources, expected: Sequence[np.ndarray]) -> None:
    """Along one direction, the slope is the product with the gradients."""
    rng = np.random.default_rng(0)
    tangents = [rng.normal(size=v.shape).astype("float32") for v in sources]
    with gx.ForwardAccumulator(
        [*sources], [ops.asarray(t, v.dtype) for t, v in zip(tangents, sources, strict=True)]
    ) as a:
        total = function()
    found = float(a.jvp(total, unconnected_gradients="zero"))
    parts = [np.asarray(g, "float64") * t for g, t in zip(expected, tangents, strict=True)]
    size = sum(float(np.abs(part).sum()) for part in parts)
    np.testing.assert_allclose(found, sum(float(part.sum()) for part in parts), rtol=1e-3, atol=1e-3 * (size or 1.0))


def check_ways(
    name: str, function: Function, sources: Sources, state: Sources, tolerance: float = 1e-3, is_smooth: bool = True
) -> None:
    """Compare tapes with `gx.grad`, and with one more way, which depends on the name.

    Args:
        name: That of the row.
        function: Gives one number.
        sources: What gradients are taken of.
        state: What gets its values back before each.
        tolerance: How far gradients may be apart, relative to the largest.
        is_smooth: Whether forward mode gives the same, too.
    """
    kept = [(v, np.array(v.numpy())) for v in state]

    def again() -> None:
        for v, value in kept:
            v.assign(value)
        gx.set_random_seed(0)

    again()
    expected = [np.asarray(one, "float32") for one in gx.grad(function, wrt=[*sources])()]
    assert all(np.isfinite(one).all() for one in expected)
    scale = max((float(np.abs(one).max(initial=0)) for one in expected), default=0) or 1.0
    one_more = [of_compiled_grad, of_jacobian, None][crc32(name.encode()) % (3 if is_smooth else 2)]
    for way in (of_tapes, one_more):
        again()
        if way is None:
            check_forward(function, sources, expected)
            continue
        for v, one, other in zip(sources, way(function, sources), expected, strict=True):
            found = np.zeros(v.shape, "float32") if one is None else np.asarray(one, "float32")
            label = f"{way.__name__}: {v.path or v.shape}"
            np.testing.assert_allclose(found, other, rtol=tolerance, atol=tolerance * scale, err_msg=label)
    again()
