"""HyperNetwork: weights that a module computes."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, AssignmentError, CreatorError, ShapeError
from graftax.reparam import HyperNetwork, LowRank

X = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")


def net(module=None, where="**/kernel"):
    with gx.variable_creator_scope(HyperNetwork(module or gx.layers.Dense(7), embedding_size=2), where=where):
        model = gx.Sequential([gx.layers.Dense(4), gx.layers.Dense(2)])
        model.build_for(X)
    return model


@pytest.mark.broad
def test_weights_are_the_rows_that_the_shared_module_makes():
    model = net()
    first, second = (layer.kernel for layer in model.layers)
    assert first.module is second.module
    assert [(v.path, v.shape) for v in model.trainable_variables if "bias" not in v.path] == [
        ("layers/0/kernel/embedding", (3, 2)),
        ("layers/0/kernel/module/kernel", (2, 7)),
        ("layers/1/kernel/embedding", (2, 2)),
    ]
    f, b = first.module.kernel.numpy(), first.module.bias.numpy()
    for w in (first, second):
        expected = (w.embedding.numpy() @ f + b).ravel()[: w.size].reshape(w.shape)
        np.testing.assert_allclose(w.numpy(), expected, atol=1e-6)


@pytest.mark.broad
def test_gradients_reach_the_embeddings_and_the_module():
    model = net()
    weights = model.trainable_variables
    gradients = gx.jit(lambda: gx.grad(lambda: ops.sum(model(X) ** 2), wrt=weights)())()
    assert all(np.abs(np.asarray(g)).max() > 0 for g in gradients)
    f = model.layers[0].kernel.module.kernel
    at = [v is f for v in weights].index(True)
    step = np.zeros((2, 7), "float32")
    step[1, 2] = 1e-2
    values = []
    for sign in (1, -2):
        f.assign_add(sign * step)
        values.append(float(ops.sum(model(X) ** 2)))
    assert float(gradients[at][1, 2]) == pytest.approx((values[0] - values[1]) / 2e-2, rel=2e-2, abs=1e-2)


@pytest.mark.broad
def test_copies_and_checkpoints(tmp_path):
    model = net()
    expected = model(X)
    gx.Checkpoint(model=model).save(tmp_path / "c")
    other = net()
    gx.Checkpoint(model=other).restore(tmp_path / "c").assert_consumed()
    np.testing.assert_allclose(other(X), expected, atol=1e-6)
    twin = copy.deepcopy(other)
    assert twin.layers[0].kernel.module is twin.layers[1].kernel.module is not other.layers[0].kernel.module
    gx.ungraft(twin)
    np.testing.assert_allclose(twin(X), expected, atol=1e-6)


@pytest.mark.broad
def test_in_half_precision():
    with gx.variable_creator_scope(HyperNetwork(gx.layers.Dense(8), 2), where="kernel"):
        layer = gx.layers.Dense(4, dtype="mixed_bfloat16")
        assert str(layer(X).dtype) == "bfloat16"


def test_refused():
    with pytest.raises(ArgumentTypeError, match="module=function"):
        HyperNetwork(lambda x: x)
    with pytest.raises(ArgumentError, match="embedding_size=0"):
        HyperNetwork(gx.layers.Dense(2), 0)
    creator = HyperNetwork(gx.layers.Reshape((1, 2)), 2)
    with gx.variable_creator_scope(creator), pytest.raises(ShapeError, match=r"\(1, 1, 2\)"):
        gx.Variable(shape=(2, 2), initializer="glorot_uniform")
    with gx.variable_creator_scope(creator), pytest.raises(CreatorError, match="given value"):
        gx.Variable(np.ones((2, 2), "float32"))
    model = net()
    with pytest.raises(AssignmentError, match="no inverse"):
        model.layers[0].kernel.assign(np.ones((5, 4), "float32"))
    assert repr(creator) == "HyperNetwork(Reshape, embedding_size=2)"


def test_over_another():
    with gx.variable_creator_scope(LowRank(1)), gx.variable_creator_scope(HyperNetwork(gx.layers.Dense(4), 2)):
        w = gx.Variable(shape=(3, 4), initializer="glorot_uniform")
    assert [v.path for v in w.embedding.variables] == ["embedding/left", "embedding/right"]
