"""DoRA against torch and the formula of the paper."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.reparam import DoRA

X = np.sin(np.arange(12, dtype="float32")).reshape(3, 4)


@pytest.fixture
def layer():
    layer = layers.Dense(3, use_bias=False)
    layer(X)
    gx.graft(layer, DoRA(2, alpha=6), where="kernel")
    rng = np.random.default_rng(0)
    for v in layer.trainable_variables:
        v.assign_add(rng.normal(0, 0.3, v.shape).astype("float32"))
    return layer


def test_value_and_gradients_are_those_of_torch(layer):
    torch = pytest.importorskip("torch")
    adapter = layer.kernel.adapters["dora"]
    base = torch.from_numpy(layer.kernel.base.numpy().copy())
    down, up, magnitude = (
        torch.from_numpy(v.numpy().copy()).requires_grad_() for v in (adapter.down, adapter.up, adapter.magnitude)
    )
    v = base + 3 * down @ up
    weight = (magnitude * base.norm(dim=0)) * v / v.norm(dim=0)
    (torch.from_numpy(X) @ weight).pow(3).sum().backward()
    np.testing.assert_allclose(layer.kernel.numpy(), weight.detach().numpy(), atol=1e-6)
    gradients = gx.grad(lambda: ops.sum(layer(X) ** 3), wrt=[adapter.down, adapter.up, adapter.magnitude])()
    for ours, theirs in zip(gradients, (down, up, magnitude), strict=True):
        np.testing.assert_allclose(ours, theirs.grad.numpy(), rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("sign", [1, -1])
def test_assigning_moves_the_base_only(layer, sign):
    adapter = layer.kernel.adapters["dora"]
    adapter.up.assign(adapter.up * 0.3)
    adapter.magnitude.assign(sign * adapter.magnitude.value)
    before = [v.numpy() for v in layer.trainable_variables]
    wanted = np.random.default_rng(1).normal(size=(4, 3)).astype("float32")
    layer.kernel.assign(wanted)
    np.testing.assert_allclose(layer.kernel.numpy(), wanted, atol=1e-5)
    assert all(np.array_equal(v.numpy(), old) for v, old in zip(layer.trainable_variables, before, strict=True))


@pytest.mark.broad
def test_a_column_of_zeros_stays_zero():
    layer = layers.Dense(2, use_bias=False, kernel_initializer="zeros")
    layer(X)
    gx.graft(layer, DoRA(1), where="kernel")
    gradients = gx.grad(lambda: ops.sum(layer(X)), wrt=layer.trainable_variables)()
    assert all(np.isfinite(g).all() for g in gradients)
    assert not layer.kernel.numpy().any()
    gradient = gx.grad(lambda value: ops.sum(layer.kernel.assign(value).value))(np.zeros((4, 2), "float32"))
    assert np.isfinite(gradient).all()
