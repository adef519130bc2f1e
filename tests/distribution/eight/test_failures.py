"""What goes wrong where arrays are only put on the mesh (F2 to F5, F9, F10): here it does not."""

from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import distribution as gd
from graftax import ops
from graftax.backend.jax.meshes import JaxMeshes
from graftax.variables import initial_value
from tests.distribution.eight.programs import compilations

X = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")
TENSOR = [("**/kernel", (None, "model")), ("**/bias", ("model",))]


def small(distribution: gd.Distribution) -> gx.Layer:
    with distribution.scope():
        layer = gx.Sequential([gx.layers.Dense(8), gx.layers.Dense(8), gx.layers.Dense(8), gx.layers.Dense(8)])
    layer.build_for(X)
    return layer


def step_of(layer: gx.Layer, optimizer: gx.Optimizer) -> Any:
    @gx.jit
    def step(x: Any) -> Any:
        return optimizer.minimize(lambda: ops.mean(layer(x) ** 2), layer.trainable_variables)

    return step


def test_f2_small_split_weights_and_slots_stay_split_step_after_step() -> None:
    d = gd.ModelParallel(gd.mesh(data=4, model=2), TENSOR)
    layer, optimizer = small(d), gx.optimizers.Adam(1e-3)
    step = step_of(layer, optimizer)
    for _ in range(3):
        step(d.shard(X))
    for variable in [*layer.variables, *(record.slot for record in optimizer.slots())]:
        spec = variable.value.sharding.spec
        assert "model" in spec, variable.path


def test_f2_what_is_whole_still_shares_buffers() -> None:
    d = gd.DataParallel()
    layer, optimizer = small(d), gx.optimizers.Adam(1e-3)
    step = step_of(layer, optimizer)
    step(d.shard(X))
    step(d.shard(X))
    assert type(layer.layers[0].kernel._storage.place[0]).__name__ == "Pack"
    assert layer.layers[0].kernel.value.is_fully_replicated


def test_f3_each_device_computes_its_share_of_the_rows() -> None:
    whole, spread = (
        step_of(small(d), gx.optimizers.SGD(0.1)).lower(d.shard(X)).cost.flops
        for d in (gd.DataParallel(gd.mesh(data=1)), gd.DataParallel())
    )
    assert spread < whole / 4  # an eighth of the rows, and the whole of the update


def test_f4_a_step_is_compiled_once_whatever_was_made_where() -> None:
    d = gd.FullyShardedDataParallel(min_size=16)
    with d.scope():
        model = gx.Sequential([gx.layers.Dense(16), gx.layers.Dropout(0.1), gx.layers.Dense(8)])
    model.compile("adam", "mse", metrics=["mae"])  # outside of the scope
    with compilations() as count:
        model.fit(X, X, batch_size=8, epochs=3, verbose=0)
        assert count() == 1


def test_f5_what_is_assigned_stays_split() -> None:
    d = gd.FullyShardedDataParallel(min_size=16)
    layer = small(d)
    kernel = layer.layers[0].kernel
    kernel.assign(np.ones((8, 8)))
    assert {shard.data.shape for shard in kernel.value.addressable_shards} == {(1, 8)}


def test_f9_large_weights_are_drawn_in_parts_with_the_bits_of_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initial_value, "_LARGE", 2**10)
    made: list[Any] = []
    make = JaxMeshes.make

    def watched(self: Any, function: Any, sharding: Any) -> Any:
        made.append(sharding)
        return make(self, function, sharding)

    monkeypatch.setattr(JaxMeshes, "make", watched)
    found = []
    for d in (gd.DataParallel(gd.mesh(data=1)), gd.FullyShardedDataParallel(min_size=16)):
        gx.set_random_seed(0)
        with d.scope():
            layer = gx.layers.Dense(64)
            layer.build((None, 64))
        found.append(layer)
        optimizer = gx.optimizers.Adam(1e-3)
        optimizer.build(layer)
    np.testing.assert_array_equal(found[0].kernel.numpy(), found[1].kernel.numpy())
    assert len(made) == 6  # a kernel and two slots, twice
    assert {shard.data.shape for shard in found[1].kernel.value.addressable_shards} == {(8, 64)}


@pytest.mark.parametrize("initializer", ["glorot_uniform", "random_normal", "zeros", "ones"])
def test_f9_at_the_size_where_xla_draws_the_bits_are_those_of_no_distribution(initializer: str) -> None:
    found = []
    for d in (None, gd.FullyShardedDataParallel(min_size=16)):
        gx.set_random_seed(0)
        spec = {"shape": (1024, 1032), "initializer": initializer}
        if d is None:
            found.append(gx.Variable(**spec))
        else:
            with d.scope():
                found.append(gx.Variable(**spec))
    np.testing.assert_array_equal(found[0].numpy(), found[1].numpy())


@pytest.mark.parametrize("way", ["function", "tape", "compiled"])
def test_f10_gradients_lie_as_their_weights_do(way: str) -> None:
    d = gd.FullyShardedDataParallel(min_size=16)
    layer = small(d)
    kernel, x = layer.layers[0].kernel, d.shard(X)
    gradient: Any
    if way == "tape":
        with gx.GradientTape() as tape:
            loss = ops.mean(layer(x) ** 2)
        gradient = tape.gradient(loss, kernel)
    else:
        function = gx.grad(lambda: ops.mean(layer(x) ** 2), wrt=kernel)
        gradient = gx.jit(function)() if way == "compiled" else function()
    assert {shard.data.shape for shard in gradient.addressable_shards} == {(1, 8)}
    alone = small(gd.DataParallel(gd.mesh(data=1)))
    alone.set_weights(layer.get_weights())
    wanted = gx.grad(lambda: ops.mean(alone(X) ** 2), wrt=alone.layers[0].kernel)()
    np.testing.assert_allclose(gradient, wanted, atol=1e-6)


def test_plain_shard_map_works_around_and_inside_of_layers() -> None:
    d = gd.DataParallel()
    layer = small(d)

    def total(x: Any) -> Any:
        spread = jax.sharding.PartitionSpec("data")
        return jax.shard_map(lambda r: jax.lax.psum(r.sum(0), "data"), mesh=d.mesh, in_specs=spread, out_specs=jax.P())(
            layer(x)
        )

    np.testing.assert_allclose(gx.jit(total)(d.shard(X)), np.asarray(layer(X)).sum(0), rtol=1e-5, atol=1e-5)
