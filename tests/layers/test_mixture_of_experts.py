import math

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from tests.conformance.lanes import crossed

X = np.random.default_rng(0).normal(size=(2, 6, 4)).astype("float32")
SHOWN = np.array([[True] * 4 + [False] * 2, [False, True] * 3])


def by_hand(layer, x, shown=None):
    """Row by row, first choices first."""
    router, w, b, v, c = (part.astype("float64") for part in layer.get_weights())
    rows = x.reshape(-1, x.shape[-1]).astype("float64")
    shown = np.ones(len(rows), bool) if shown is None else shown.reshape(-1)
    logits = rows @ router
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    order = np.argsort(-shares, axis=-1)[:, : layer.top_k]
    room = math.inf
    if layer.capacity_factor is not None:
        room = max(math.ceil(layer.capacity_factor * len(rows) * layer.top_k / layer.num_experts), 1)
    out, taken = np.zeros_like(rows), np.zeros(layer.num_experts)
    for choice in range(layer.top_k):
        for i in np.flatnonzero(shown):
            e = order[i, choice]
            if taken[e] < room:
                inner = np.maximum(rows[i] @ w[e] + b[e], 0)
                out[i] += shares[i, e] / shares[i, order[i]].sum() * (inner @ v[e] + c[e])
            taken[e] += 1
    return out.reshape(x.shape), shares, order


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("top_k", "capacity", "which"),
    crossed([(2, None), (1, None), (2, 0.5), (1, 0.75), (2, 9.0)], ["some", "all"]),
)
def test_each_row_uses_the_experts_that_it_chose(top_k, capacity, which):
    shown = SHOWN if which == "some" else None
    layer = layers.MixtureOfExperts(3, 5, top_k, capacity, activation="relu", bias_initializer=0.1)
    layer.build_for(X)
    x = X if shown is None else np.where(shown[..., None], X, np.nan)
    np.testing.assert_allclose(layer(x, mask=shown), by_hand(layer, X, shown)[0], rtol=1e-4, atol=1e-5)


def test_a_term_of_the_loss_asks_for_balance():
    layer = layers.MixtureOfExperts(3, 5, 2, balance_weight=0.5)
    layer(X)
    assert not layer.losses
    layer(X, training=True)
    _, shares, order = by_hand(layer, X)
    used = np.bincount(order.ravel(), minlength=3) / order.size
    assert float(sum(layer.losses)) == pytest.approx(0.5 * 3 * (used * shares.mean(0)).sum(), rel=1e-4)


@pytest.mark.broad
def test_gradients_are_those_of_all_experts_where_there_is_room():
    one, other = layers.MixtureOfExperts(3, 5, 2), layers.MixtureOfExperts(3, 5, 2, 9.0)
    for layer in (one, other):
        layer.build_for(X)
    other.set_weights(one.get_weights())
    slopes = [gx.jit(gx.value_and_grad(lambda x, f=f: ops.sum(f(x) ** 2)))(ops.asarray(X))[1] for f in (one, other)]
    np.testing.assert_allclose(*slopes, rtol=1e-3, atol=1e-4)


def test_bad_settings_are_refused():
    for settings, message in (
        ({"top_k": 4}, "top_k=4, num_experts=3"),
        ({"capacity_factor": 0}, "capacity_factor=0"),
        ({"capacity_factor": -1.0}, "capacity_factor=-1"),
        ({"balance_weight": -1}, "balance_weight=-1"),
        ({"intermediate_dim": 0}, "intermediate_dim=0"),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            layers.MixtureOfExperts(**{"num_experts": 3, "intermediate_dim": 5, **settings})
    layer = layers.MixtureOfExperts(3, 5)
    layer(X)
    with pytest.raises(gx.errors.ShapeError, match="the weights were made for 4"):
        layer(X[..., :2])


@pytest.mark.broad
def test_each_expert_starts_as_a_layer_of_its_size_would():
    layer = layers.MixtureOfExperts(8, 64)
    layer.build_for(np.ones((2, 32), "float32"))
    spread = np.asarray(layer.expert_kernel).std(axis=(1, 2))
    np.testing.assert_allclose(spread, math.sqrt(2 / (32 + 64)), rtol=0.1)
    assert len({float(kernel[0, 0]) for kernel in np.asarray(layer.expert_kernel)}) == 8
    layer = layers.MixtureOfExperts(3, 4, kernel_initializer="orthogonal")
    layer.build_for(np.ones((2, 4), "float32"))
    for kernel in np.asarray(layer.output_kernel):
        np.testing.assert_allclose(kernel @ kernel.T, np.eye(4), atol=1e-5)
