"""Reparametrisations and initializers at points where formulas lose what mathematics has."""

from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import initializers, ops
from tests.conformance.hostile import HALVES, POINTS, at, excused, finite
from tests.conformance.reparam_cases import ROWS

pytestmark = pytest.mark.optimized
HUGE = r".*-?1e30: .*"
PRODUCTS = (HUGE, "products of parts overflow")
EXCEPTIONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("low_rank", "lora", "dora", "hyper_network"), PRODUCTS),
    "orthogonal_exp": (r".*(1e4|1e30): .*", "a turn by more than 512 radians"),
    "positive_exp": (r".*(1e4|1e30): .*", "an exponential overflows"),
}
"""What is not finite for a reason: an expression that mistakes match as a whole, and the reason."""

AS_ROUNDED = {
    "orthogonal_cayley": (r"-?1e30: .*", "whether a turn by 1e30 radians has an inverse is a matter of rounding"),
}
"""The same for what depends on the LAPACK of the processor."""

NOT_IN_HALVES = {"spectral_norm": "the slope at 0 is 1e12", "orthogonal_cayley": AS_ROUNDED["orthogonal_cayley"][1]}


def mistakes(name: str, dtype: str) -> list[str]:
    """What goes wrong with all parts of a weight at a point."""
    row = ROWS[name]
    gx.set_random_seed(0)
    layer = gx.layers.Dense(4, use_bias=False, dtype=dtype)
    with gx.variable_creator_scope(row.creator() if row.afresh else row.creator):
        layer.build((None, 4))
    state = gx.state(layer)
    parts = {path: state[path] for path, v in layer.named_variables().items() if v.trainable and v.role == "weight"}

    def loss(parts: dict[str, Any]) -> Any:
        out, _ = gx.functional_call(layer, {**state, **parts}, np.eye(4, dtype="float32"))
        return ops.sum(ops.cast(out, "float32") * np.float32(1e-2)), out

    run = jax.jit(jax.grad(loss, has_aux=True))
    found = []
    for point in POINTS:
        if dtype == "float16" and abs(POINTS[point][0]) >= 1e4:
            continue
        given = {path: at(point, part, str(part.dtype)) for path, part in parts.items()}
        gradients, out = run(given)
        kinds = {"value": [out], "gradient": gradients.values()}
        found += [f"{point}: {kind}" for kind, arrays in kinds.items() if not finite(list(arrays))]
    return found


def check(name: str, dtype: str) -> list[str]:
    return excused(f"{name} in {dtype}", mistakes(name, dtype), {**EXCEPTIONS, **AS_ROUNDED}.get(name))


@pytest.mark.broad
@pytest.mark.parametrize("name", ROWS)
def test_reparametrisations_are_finite(name):
    found = check(name, "float32")
    assert bool(found) == (name in EXCEPTIONS) or name in AS_ROUNDED, "the exception is not needed"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", [name for name in ROWS if name not in NOT_IN_HALVES])
def test_they_are_in_half_precision(name, dtype):
    check(name, dtype)


SHAPES = [(1,), (1, 1), (0, 3), (3, 0), (4, 4), (1, 1, 1, 2)]
KINDS = [
    one
    for one in (getattr(initializers, name) for name in sorted(dir(initializers)) if name != "BaseInitializer")
    if isinstance(one, type)
]


@pytest.mark.broad
@pytest.mark.parametrize("dtype", ["float32", *HALVES])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_initial_weights_are_finite(kind, dtype):
    made = 0
    for shape in SHAPES:
        layer = gx.layers.Layer()
        try:
            weight = layer.add_weight(shape, kind(), name="weight", dtype=dtype)
        except gx.errors.GraftaxError:  # not for this shape
            continue
        made += 1
        assert str(weight.value.dtype) == dtype
        assert finite([weight.value])
    assert made
