"""One row per reparametrisation: what a layer of mixed precision computes with is its weight, rounded once."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from tests.conformance.reparam_cases import PAIRS, ROWS
from tests.conformance.reparam_cases import Row as Case

REPARAMS = ROWS | PAIRS
MIXED = ["mixed_bfloat16", "mixed_float16"]
X = np.ones((2, 6), "float32")


class Reading(gx.Layer):
    """Gives the weight that its ``call`` sees."""

    def build(self, shape):
        self.kernel = self.add_weight((shape[-1], 4), name="kernel")

    def call(self, x):
        return ops.asarray(self.kernel)


def made(row: Case, policy: str) -> Reading:
    """With parts that half precision would round, away from where they start as zeros."""
    rng = np.random.default_rng(5)
    layer = Reading(dtype=policy)
    with gx.variable_creator_scope(row.creator() if row.afresh else row.creator):
        layer.build(X.shape)
    for v in layer.trainable_variables:
        v.assign_add(rng.uniform(0.011, 0.057, v.shape).astype("float32"))
    return layer


def assert_rounded_once(seen, weight):
    assert str(weight.dtype) == "float32"
    wanted = np.asarray(weight).astype(seen.dtype)
    np.testing.assert_array_equal(np.asarray(seen).astype("float32"), wanted.astype("float32"))


def check_eager(name: str, policy: str) -> None:
    layer = made(REPARAMS[name], policy)
    before = layer(X)
    assert str(before.dtype) == layer.compute_dtype
    assert_rounded_once(before, layer.kernel.value)
    gx.ungraft(layer, untie=True)
    np.testing.assert_array_equal(np.asarray(layer(X)), np.asarray(before))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("policy", MIXED)
@pytest.mark.parametrize("name", REPARAMS)
def test_the_layer_sees_the_weight_rounded_and_ungraft_changes_no_bit(name, policy):
    with registry.use("numpy"):
        check_eager(name, policy)


@pytest.mark.broad
@pytest.mark.in_turn(4, 1)
@pytest.mark.parametrize("policy", MIXED)
@pytest.mark.parametrize("name", REPARAMS)
def test_compiled_code_sees_it_so_in_loops_and_maps_and_where_it_is_differentiated(name, policy):
    check_eager(name, policy)
    layer = made(REPARAMS[name], policy)

    def loss():
        seen = layer(X)
        return ops.sum(ops.cast(seen, "float32") ** 2), seen

    @gx.jit
    def look():
        found = {"call": layer(X)}
        found["remat"] = gx.remat(lambda x: layer(x))(X)
        found["scan"] = gx.scan(lambda carry, row: (carry, layer(row[None])), 0.0, X)[1][1]
        found["map"] = gx.vectorized_map(lambda row: layer(row[None]), X)[1]
        if layer.trainable_variables:
            (_, found["grad"]), _ = gx.value_and_grad(loss, wrt=layer, has_aux=True)()
            with gx.GradientTape() as tape:
                value, found["tape"] = loss()
            tape.gradient(value, layer)
        return found, layer.kernel.value

    found, weight = look()
    for seen in found.values():
        assert_rounded_once(seen, weight)
