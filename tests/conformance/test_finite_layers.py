"""Every layer at points where formulas lose what mathematics has: results, gradients and states stay finite.

Large numbers are for float32 and bfloat16 here; `test_layer_extremes` has those of float16. A layer that makes a nan
and is not in `EXCEPTIONS` fails, as does an exception that no point needs any more.
"""

from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core import tree
from tests.conformance import test_layers
from tests.conformance.hostile import HALVES, POINTS, at, excused, finite, floats
from tests.conformance.lanes import in_lanes
from tests.conformance.layer_rows import ROWS, TRAINED

pytestmark = pytest.mark.optimized
FLOATING = [name for name, row in ROWS.items() if row.below is None]
SCORES = (r".*1e30: .*", "scores are products, and overflow: as in torch, inf - inf is nan")
EXCEPTIONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("multi_head_attention", "attention", "transformer_encoder"), SCORES),
    "multiply": (r".*1e30: value", "a product overflows"),
    **dict.fromkeys(
        ("batch_normalization", "batch_normalization_axis"), (r".*1e30: state", "so does a variance, which is a square")
    ),
}
"""What is not finite for a reason: an expression that mistakes match as a whole, and the reason."""


def mistakes(name: str, dtype: str) -> list[str]:
    """What goes wrong, such as ``"1e30: gradient"``: at which point, and what is not finite."""
    training = name in TRAINED
    layer, x = test_layers.built(ROWS[name], dtype=dtype)
    state = gx.state(layer)
    weights = {path: state[path] for path, v in layer.named_variables().items() if v.trainable}

    def loss(weights: dict[str, Any], x: Any) -> Any:
        options = {"training": True} if training else {}
        out, after = gx.functional_call(layer, {**state, **weights}, x, **options)
        parts = [ops.cast(one, "float32") for one in floats(out)]
        total = sum(
            ops.sum(one * np.cos(1 + np.arange(one.size)).reshape(one.shape).astype("float32")) for one in parts
        )
        return total * 1e-3, (floats(out), floats(after))

    run = jax.jit(jax.grad(loss, argnums=(0, 1), has_aux=True))
    found = []
    for point in POINTS:
        if dtype == "float16" and abs(POINTS[point][0]) >= 1e4:
            continue
        gradients, (out, after) = run(weights, tree.map_structure(lambda one, p=point: at(p, one, dtype), x))
        parts = {"value": out, "gradient": floats(gradients), "state": after}
        found += [f"{point}: {kind}" for kind, arrays in parts.items() if not finite(arrays)]
    return found


def check(name: str, dtype: str) -> list[str]:
    return excused(f"{name} in {dtype}", mistakes(name, dtype), EXCEPTIONS.get(name))


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", in_lanes(FLOATING, test_layers.SIBLINGS & {*FLOATING}))
def test_layers_are_finite(name):
    assert bool(check(name, "float32")) == (name in EXCEPTIONS), "the exception is not needed"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", FLOATING)
def test_they_are_in_half_precision(name, dtype):
    check(name, dtype)
