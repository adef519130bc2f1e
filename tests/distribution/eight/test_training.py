"""Training over eight devices beyond fit: accumulation, averages, tapes, evaluation, activations that are split."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import distribution as gd
from graftax import layers, ops
from tests.distribution.eight.programs import KINDS, one

X = np.random.default_rng(0).normal(size=(32, 16)).astype("float32")
Y = np.random.default_rng(1).normal(size=(32, 8)).astype("float32")


def model() -> gx.Model:
    up, down = layers.Dense(16, activation="relu", name="up"), layers.Dense(8, name="down")
    return gx.Sequential([up, layers.BatchNormalization(), down])


def trained(d: gd.Distribution, optimizer: gx.Optimizer, **fit: Any) -> gx.Model:
    gx.set_random_seed(0)
    with d.scope():
        made = model()
        made.compile(optimizer, "mse", metrics=["mae"])
    made.fit(X, Y, batch_size=8, epochs=2, verbose=0, **fit)
    return made


@pytest.mark.parametrize("kind", ["sharded", "both"])
def test_dt4_batch_norms_norms_sums_and_averages_are_of_the_whole_batch(kind: str) -> None:
    def optimizer() -> gx.Optimizer:
        return gx.optimizers.SGD(
            0.1, momentum=0.9, accumulation_steps=2, ema_momentum=0.9, global_clipnorm=0.5, adaptive_clip=0.1
        )

    found, wanted = trained(KINDS[kind](), optimizer()), trained(one(), optimizer())
    for path, variable in wanted.named_variables().items():
        np.testing.assert_allclose(found.named_variables()[path].numpy(), variable.numpy(), atol=2e-6, err_msg=path)
    with found.optimizer.averaged(), wanted.optimizer.averaged():
        np.testing.assert_allclose(found.predict(X, verbose=0), wanted.predict(X, verbose=0), atol=1e-5)


@pytest.mark.parametrize("kind", ["data", "both"])
def test_dt22_evaluate_and_predict_give_whole_numbers(kind: str) -> None:
    found, wanted = trained(KINDS[kind](), gx.optimizers.Adam(1e-3)), trained(one(), gx.optimizers.Adam(1e-3))
    rows = X[:21]  # in batches of 8, 8 and 5
    np.testing.assert_allclose(
        found.predict(rows, batch_size=8, verbose=0), wanted.predict(rows, batch_size=8, verbose=0), atol=2e-6
    )
    one_is, other_is = (m.evaluate(rows, Y[:21], batch_size=8, verbose=0) for m in (found, wanted))
    np.testing.assert_allclose(list(one_is.values()), list(other_is.values()), rtol=1e-5)
    np.testing.assert_allclose(found.predict_on_batch(X[:8]), wanted.predict_on_batch(X[:8]), atol=2e-6)


def test_eager_steps_with_a_tape_give_the_numbers_of_one_device() -> None:
    found = []
    for d in (one(), KINDS["both"]()):
        gx.set_random_seed(0)
        with d.scope():
            made = model()
        made.build_for(X)
        optimizer = gx.optimizers.AdamW(1e-2)
        x, y = d.shard((X, Y))
        for _ in range(2):
            with gx.GradientTape() as tape:
                loss = ops.mean(ops.square(made(x, training=True) - y))
            optimizer.apply(tape.gradient(loss, made.trainable_variables), made.trainable_variables)
        found.append([v.numpy() for v in made.variables])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=5e-6)


def test_a_model_that_was_trained_is_placed_and_its_slots_follow() -> None:
    d, wanted = KINDS["sharded"](), trained(one(), gx.optimizers.Adam(1e-3))
    made = trained(one(), gx.optimizers.Adam(1e-3))
    report = d.place(made)
    assert report.bytes_per_device < report.bytes / 3
    slot = made.optimizer.slots()[0].slot
    assert slot.value.sharding.spec == made.layers[0].kernel.value.sharding.spec
    for each in (made, wanted):
        each.fit(X, Y, batch_size=8, epochs=1, verbose=0)
    np.testing.assert_allclose(made.layers[0].kernel.numpy(), wanted.layers[0].kernel.numpy(), atol=2e-6)
    assert slot.value.sharding.spec == made.layers[0].kernel.value.sharding.spec


def test_replicas_of_groups_that_share_weights() -> None:
    d = gd.FullyShardedDataParallel(
        gd.mesh(replica=2, data=4), data=("replica", "data"), over="data", min_size=16, tolerance=1.0
    )
    found, wanted = trained(d, gx.optimizers.Adam(1e-3)), trained(one(), gx.optimizers.Adam(1e-3))
    kernel = found.layers[0].kernel
    assert {shard.data.shape for shard in kernel.value.addressable_shards} == {(4, 16)}
    np.testing.assert_allclose(kernel.numpy(), wanted.layers[0].kernel.numpy(), atol=2e-6)


class SequenceBlock(gx.Layer):
    """A block whose activations between the matrix products are split along the sequence, too."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = layers.LayerNormalization(), layers.Dense(32), layers.Dense(16)

    def call(self, x: Any) -> Any:
        x = gd.constrain(x, ("data", "model", None))
        return gd.constrain(x + self.down(ops.relu(self.up(self.norm(x)))), ("data", "model", None))


@pytest.mark.parametrize("scoped", [True, False])
def test_a_constraint_splits_the_activations_of_a_compiled_step(scoped: bool) -> None:
    d = gd.ModelParallel(gd.mesh(data=4, model=2), gd.tensor_parallel())
    with d.scope():
        block = SequenceBlock()
    x = np.random.default_rng(0).normal(size=(8, 6, 16)).astype("float32")
    block.build_for(x)
    function = gx.jit(lambda x: block(x))
    if scoped:
        with d.scope():
            y = function(d.shard(x))
    else:
        y = function(d.shard(x))
    assert tuple(y.sharding.spec)[:2] == ("data", "model")
    np.testing.assert_allclose(y, block(x), atol=1e-5)
    odd = function(d.shard(x[:5]))  # five rows, which four devices do not share
    np.testing.assert_allclose(odd, np.asarray(y)[:5], atol=1e-5)


def test_sequence_parallel_needs_gathers_and_scatters_in_place_of_whole_sums() -> None:
    d = gd.ModelParallel(gd.mesh(data=4, model=2), gd.tensor_parallel())
    with d.scope():
        block = SequenceBlock()
    x = np.zeros((8, 6, 16), "float32")
    block.build_for(x)
    told = gx.jit(lambda x: block(x)).lower(d.shard(x)).collectives
    assert "all-gather" in told


def test_experts_are_split_over_an_axis_of_their_own() -> None:
    found = []
    rules = [(f"**{name}_kernel", ("expert", None, None)) for name in ("expert", "output")]
    for d in (one(), gd.Distribution(gd.mesh(data=2, expert=4), rules)):
        gx.set_random_seed(0)
        with d.scope():
            layer = layers.MixtureOfExperts(4, 16)
        x = np.random.default_rng(0).normal(size=(8, 8)).astype("float32")
        layer.build_for(x)
        found.append(np.asarray(gx.jit(lambda x, layer=layer: layer(x))(d.shard(x))))
    assert layer.expert_kernel.value.sharding.spec[0] == "expert"
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)
