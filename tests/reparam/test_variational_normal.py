"""VariationalNormal: draws, gradients and the divergence against torch and formulas."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, CreatorError
from graftax.reparam import Int8, VariationalNormal

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 5)).astype("float32")


def dense(**options):
    with gx.variable_creator_scope(VariationalNormal(**options), where="kernel"):
        layer = gx.layers.Dense(4, use_bias=False)
        layer.build_for(X)
    return layer


def test_the_divergence_is_that_of_torch():
    torch = pytest.importorskip("torch")
    layer = dense(prior_stddev=0.7, kl_weight=0.25, stddev=0.3)
    mean = layer.kernel.base.numpy()
    normal = torch.distributions.Normal
    expected = torch.distributions.kl_divergence(normal(torch.tensor(mean), 0.3), normal(0.0, 0.7)).sum() * 0.25
    np.testing.assert_allclose(layer.losses, [expected], rtol=1e-5)


@pytest.mark.broad
def test_draws_have_the_mean_and_the_spread_and_gradients_reach_both():
    layer = dense(stddev=0.5)

    @gx.jit
    def run():
        def loss():
            drawn = layer(np.eye(5, dtype="float32"), training=True)
            return ops.sum(drawn), drawn

        (_, drawn), gradients = gx.value_and_grad(loss, wrt=layer, has_aux=True)()
        return drawn, gradients

    draws, slopes = zip(*((np.asarray(out), g) for out, g in (run() for _ in range(400))), strict=True)
    mean = layer.kernel.base.numpy()
    np.testing.assert_allclose(np.mean(draws, 0), mean, atol=5 * 0.5 / 20)
    assert np.std(draws - mean) == pytest.approx(0.5, rel=0.05)
    np.testing.assert_allclose(slopes[0]["kernel/base"], 1)
    noise = (draws[0] - mean) / 0.5
    np.testing.assert_allclose(slopes[0]["kernel/rho"], noise * (1 - np.exp(-0.5)), rtol=1e-3, atol=1e-4)


def test_inference_reads_the_mean_and_each_path_has_its_own_stream():
    layer = dense()
    np.testing.assert_allclose(layer(X), X @ layer.kernel.base.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(layer.kernel.numpy(), layer.kernel.base.numpy())
    assert not np.array_equal(layer(X, training=True), layer(X, training=True))
    with gx.variable_creator_scope(VariationalNormal(), where="**/kernel"):
        model = gx.Sequential([gx.layers.Dense(4), gx.layers.Dense(4)])
        model.build_for(X)
    states = [layer.kernel.seed.state for layer in model.layers]
    assert [v.path for v in states] == ["layers/0/kernel/seed/state", "layers/1/kernel/seed/state"]
    assert states[0].role == "seed"
    assert not np.array_equal(*(v.numpy() for v in states))


@pytest.mark.broad
def test_fit_adds_the_divergence():
    model = gx.Sequential([gx.layers.Dense(1)])
    with gx.variable_creator_scope(VariationalNormal(kl_weight=10.0), where="**/kernel"):
        model(X)
    model.compile(gx.optimizers.Adam(0.3), loss="mse")
    first = float(model.losses[0])
    history = model.fit(X, np.zeros((3, 1), "float32"), epochs=20, batch_size=3, verbose=0)
    assert float(model.losses[0]) < 0.5 * first
    assert history.history["loss"][0] > 0.9 * first
    model.layers[0].freeze("kernel/**")
    assert model.losses == []


def test_graft_makes_the_weight_the_mean_and_ungraft_keeps_it():
    layer = gx.layers.Dense(4)
    expected = layer(X)
    kernel = layer.kernel
    gx.graft(layer, VariationalNormal(), where="kernel")
    assert layer.kernel.base is kernel
    np.testing.assert_array_equal(layer(X), expected)
    layer.kernel.assign(2 * kernel.numpy())
    gx.ungraft(layer)
    assert layer.kernel is kernel
    assert layer.losses == []


@pytest.mark.broad
def test_refused():
    for options in ({"prior_stddev": 0}, {"stddev": -1}, {"kl_weight": -1}):
        with pytest.raises(ArgumentError, match=next(iter(options))):
            VariationalNormal(**options)
    with gx.variable_creator_scope(Int8()), pytest.raises(CreatorError, match="cannot be trained"):
        dense()
    assert repr(VariationalNormal()) == "VariationalNormal(1, kl_weight=1, stddev=0.02)"


def test_on_the_reference_backend():
    with registry.use("numpy"):
        layer = dense()
        assert layer(X, training=True).shape == (3, 4)
