"""A compiled stack computes what its layers compute one by one, whatever is set on some of them, at any time."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")


RUNS = []


class Block(gx.Layer):
    """Has all that may be set on a layer of a stack, and counts how often its Python runs."""

    def __init__(self):
        super().__init__()
        self.scale = 2.0
        self.norm = layers.BatchNormalization(momentum=0.5)
        self.dense = layers.Dense(4, kernel_regularizer="l2")

    def build(self, input_shape):
        self.w = self.add_weight((4,), "ones", name="w")

    def call(self, x, training=False):
        RUNS.append(None)
        x = self.dense(self.norm(x, training=training)) * self.scale
        x = ops.cast(x, "float32") * ops.cast(self.w * 1.1, "float32")
        self.add_loss(ops.mean(x**2))
        return x if self.trainable and self.w.trainable else -x


def _set_policy(layer, policy):
    gx.set_dtype_policy(policy, layer)


CHANGES = {
    "scale": lambda layer: setattr(layer, "scale", 3.0),
    "trainable": lambda layer: setattr(layer, "trainable", False),
    "trainable of the norm": lambda layer: setattr(layer.norm, "trainable", False),
    "trainable of a weight": lambda layer: setattr(layer.w, "trainable", False),
    "freeze": lambda layer: layer.freeze(),
    "momentum": lambda layer: setattr(layer.norm, "momentum", 0.1),
    "activation": lambda layer: setattr(layer.dense, "activation", gx.activations.relu),
    "dtype policy": lambda layer: _set_policy(layer, "mixed_bfloat16"),
    "dtype policy inside": lambda layer: _set_policy(layer.dense, "mixed_bfloat16"),
    "remat policy": lambda layer: gx.set_remat_policy("full", layer, where="dense"),
    "autocast": lambda layer: setattr(layer.w, "autocast", False),
    "low rank": lambda layer: gx.graft(layer, gx.reparam.LoRA(rank=1), where="**/kernel"),
    "other regularizer": lambda layer: setattr(layer.dense.kernel, "regularizer", gx.regularizers.L1(0.3)),
}


def outcome(how, change, chosen, policy="float32"):
    """Return output, losses, gradients and state after a call before the change, and one after it."""
    gx.set_random_seed(0)
    gx.set_dtype_policy(policy)
    try:
        blocks = gx.stack(Block(), 4)
    finally:
        gx.set_dtype_policy("float32")
    blocks.build_for(X)
    weights = np.random.default_rng(5)
    for v in blocks.trainable_variables:
        v.assign(weights.normal(size=v.shape).astype("float32"))

    def loss():
        out = X if how == "one by one" else blocks(X, training=True)
        for layer in blocks.layers if how == "one by one" else ():
            out = ops.cast(layer(out, training=True), "float32")
        return ops.mean(out**2) + sum(blocks.losses), out

    run = gx.value_and_grad(loss, wrt=blocks, has_aux=True)
    run = gx.jit(run) if how == "compiled" else run
    with gx.run_eagerly(how != "compiled"):
        run()
        for i in chosen:
            change(blocks.layers[i])
        (value, out), gradients = run()
    return [value, out, *(g for g in gradients.values() if g is not None), *gx.state(blocks).values()]


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("chosen", [(0,), (1, 2), (3,)], ids=str)
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_set_on_some_layers_counts_there(name, chosen):
    policy = "mixed_bfloat16" if name == "autocast" else "float32"
    expected = outcome("one by one", CHANGES[name], chosen, policy)
    for how in ("compiled", "eager"):
        found = outcome(how, CHANGES[name], chosen, policy)
        assert len(found) == len(expected)
        loose = "dtype" in name or name == "autocast"
        for one, other in zip(found, expected, strict=True):
            one, other = (np.asarray(a).astype("float64") for a in (one, other))
            np.testing.assert_allclose(
                one, other, rtol=0.05 if loose else 1e-3, atol=(0.05 if loose else 1e-3) * np.abs(other).max()
            )


def test_a_frozen_layer_of_a_stack_keeps_its_moving_averages():
    blocks = gx.stack(layers.BatchNormalization(), 3)
    blocks.build_for(X)
    blocks.layers[1].trainable = False
    run = gx.jit(lambda: blocks(X, training=True))
    run()
    assert [bool(np.any(layer.moving_mean.numpy())) for layer in blocks.layers] == [True, False, True]
    blocks.layers[1].trainable = True
    run()
    assert np.any(blocks.layers[1].moving_mean.numpy())


def test_a_dtype_policy_of_one_layer_of_a_stack_is_its_own():
    blocks = gx.stack(layers.Dense(4), 3)
    blocks.build_for(X)
    gx.set_dtype_policy("mixed_bfloat16", blocks, where="layers/1")
    expected = X
    for layer in blocks.layers:
        expected = ops.cast(layer(expected), "float32")
    np.testing.assert_allclose(gx.jit(lambda: blocks(X))(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(blocks(X), expected, rtol=1e-5, atol=1e-6)


def test_each_run_of_like_layers_is_traced_once():
    blocks = gx.stack(Block(), 20)
    blocks.build_for(X)
    for layer in blocks.layers[:10]:
        layer.trainable = False
    RUNS.clear()
    gx.jit(lambda: blocks(X))()
    assert len(RUNS) <= 6


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_tied_layers_of_a_stack_train_as_layers_one_by_one(optimizer):
    found = []
    for stacked in (False, True):
        gx.set_random_seed(0)
        source = layers.Dense(4, use_bias=False)
        source(X)
        with gx.variable_creator_scope(gx.reparam.Shared(source.kernel), where="**/kernel"):
            some = [layers.Dense(4, bias_initializer="ones") for _ in range(3)]
            tied = gx.stack(some[0], 3) if stacked else gx.Sequential(some)
            tied(X)
        model = gx.Sequential([source, tied, layers.Dense(1, kernel_initializer="ones")])
        model.compile(optimizer, "mse")
        found.append(model.fit(X, X[:, :1], epochs=3, shuffle=False, verbose=0).history["loss"])
    np.testing.assert_allclose(*found, rtol=1e-5)
