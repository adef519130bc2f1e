"""Expressions in layers of mixed precision: computed in the dtypes of their parts, and rounded at the end."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops, reparam
from graftax.backend import registry

EYE = np.eye(64, dtype="float32")
MIXED = ["mixed_bfloat16", "mixed_float16"]


class OwnWeightNorm(gx.Reparam):
    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.v = next_creator(spec.replace(name="v"))
        self.g = next_creator(spec.replace(name="g", shape=spec.shape[-1:], initializer=gx.initializers.Ones()))

    def forward(self):
        return self.g * self.v / ops.sqrt(ops.sum(self.v**2, axis=0))


class OwnSpectralNorm(gx.Reparam):
    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))
        u = spec.replace(name="u", shape=spec.shape[-1:], role="state", trainable=False)
        self.u = next_creator(u.replace(initializer=gx.initializers.Ones()))

    def forward(self):
        v = ops.matmul(self.base, self.u)
        v = v / ops.norm(v)
        u = ops.matmul(v, self.base)
        self.u.assign(ops.stop_gradient(u / ops.norm(u)))
        return self.base / ops.norm(u)


def dense(creator, policy, **settings):
    with gx.variable_creator_scope(creator, where="kernel"):
        layer = layers.Dense(4, use_bias=False, dtype=policy, **settings)
        layer.build(EYE.shape)
    return layer


@pytest.mark.parametrize("stddev", [1e-5, 1.0, 100.0])
@pytest.mark.parametrize("policy", MIXED)
def test_what_half_precision_could_not_hold_on_the_way_is_computed(policy, stddev):
    with registry.use("numpy"):
        layer = dense(OwnWeightNorm, policy, kernel_initializer=gx.initializers.RandomNormal(stddev=stddev))
        v = layer.kernel.v.numpy().astype("float64")
        wanted = v / np.sqrt((v**2).sum(0))
        np.testing.assert_allclose(np.asarray(layer(EYE)).astype("float64"), wanted, rtol=0.01)


@pytest.mark.broad
@pytest.mark.parametrize("policy", MIXED)
def test_a_part_that_is_state_meets_weights_of_its_own_dtype(policy):
    layer = dense(OwnSpectralNorm, policy)
    before = layer.kernel.u.numpy()
    gx.jit(layer)(EYE)
    assert layer.kernel.u.dtype == "float32"
    assert (layer.kernel.u.numpy() != before).any()
    base = layer.kernel.base.numpy()
    for _ in range(60):
        seen = layer(EYE)
    wanted = base / np.linalg.norm(base, 2)
    np.testing.assert_allclose(np.asarray(seen).astype("float32"), wanted, rtol=0.02, atol=1e-3)


@pytest.mark.broad
@pytest.mark.parametrize("bits", [4, 8])
def test_the_grid_that_is_trained_is_the_one_that_ungraft_leaves(bits):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64, 16)).astype("float32"), rng.normal(size=(64, 4)).astype("float32")
    net = gx.Sequential([layers.Dense(32, "relu", dtype="mixed_bfloat16"), layers.Dense(4, dtype="mixed_bfloat16")])
    net(x)
    gx.graft(net, reparam.FakeQuant(bits), where="**/kernel", tolerance=1.0)
    net.compile(gx.optimizers.Adam(1e-2), "mse")
    net.fit(x, y, epochs=3, verbose=0)
    trained = np.asarray(net(x)).astype("float32")
    gx.ungraft(net)
    np.testing.assert_array_equal(np.asarray(net(x)).astype("float32"), trained)


class Moving(gx.Layer):
    """Assigns its own weight in its call."""

    def build(self, shape):
        self.w = self.add_weight((3,), "ones", name="w")

    def call(self, x):
        self.w.assign_add(ops.full((3,), 0.001))
        self.w.assign_sub(ops.full((3,), 0.0005))
        self.w += ops.full((3,), 0.0005)
        return ops.asarray(self.w)


@pytest.mark.parametrize("policy", MIXED)
def test_what_a_call_adds_to_an_expression_is_added_in_its_stored_dtype(policy):
    with registry.use("numpy"), gx.variable_creator_scope(reparam.Positive(map="exp")):
        layer = Moving(dtype=policy)
        layer.build((3,))
        for _ in range(10):
            seen = layer(np.ones(3, "float32"))
        np.testing.assert_allclose(layer.w.numpy(), 1.01, rtol=1e-6)
        assert str(seen.dtype) == layer.compute_dtype


@pytest.mark.parametrize("policy", ["float32", *MIXED])
def test_parts_that_a_creator_stores_in_half_precision_make_a_weight_of_the_compute_dtype(policy):
    def halves(next_creator, spec):
        return OwnWeightNorm(lambda part: next_creator(part.replace(dtype="bfloat16")), spec)

    with registry.use("numpy"):
        layer = dense(halves, policy)
        assert str(layer.kernel.value.dtype) == layer.kernel.v.dtype == "bfloat16"
        seen = layer(EYE)
        assert str(seen.dtype) == layer.compute_dtype
        np.testing.assert_array_equal(np.asarray(seen), layer.kernel.numpy().astype(seen.dtype))


@pytest.mark.broad
@pytest.mark.parametrize("creator", [reparam.Int8(), reparam.Int4()])
def test_a_compiled_step_holds_no_float32_copy_of_stored_integers(creator):
    def held(*creators):
        layer = layers.Dense(256, use_bias=False, dtype="mixed_bfloat16")
        x = np.ones((4, 256), "float32")
        layer.build(x.shape)
        for one in creators:
            gx.graft(layer, one, where="kernel", tolerance=1.0)
        return gx.jit(layer).lower(x).memory.temporary

    assert held(creator) <= held() + 1024
