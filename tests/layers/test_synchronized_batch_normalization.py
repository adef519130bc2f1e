"""BatchNormalization(synchronized=): the statistics of all that a map has beside a batch, on devices and on none."""

import os
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError

X = np.random.default_rng(0).normal(size=(4, 6, 3)).astype("float32") * 2 + 1


def built(**settings):
    layer = gx.layers.BatchNormalization(momentum=0.9, **settings)
    layer(X[0])
    return layer


def mapped(layer, x, mask=None, name="shards"):
    """Outputs and moving averages of a call in training for each part of a batch."""
    state = gx.state(layer)

    def part(x, mask):
        return gx.functional_call(layer, state, x, training=True, mask=mask)

    return jax.vmap(part, axis_name=name)(x, mask)


def whole(layer, x, mask=None):
    joined = None if mask is None else mask.reshape(-1)
    return gx.functional_call(layer, gx.state(layer), x.reshape(-1, 3), training=True, mask=joined)


@pytest.mark.broad
@pytest.mark.parametrize("synchronized", [True, "shards"])
def test_parts_of_a_batch_have_the_statistics_of_all(synchronized):
    layer = built(synchronized=synchronized, unbiased_moving_variance=True)
    (out, state), (expected, after) = mapped(layer, X), whole(built(unbiased_moving_variance=True), X)
    np.testing.assert_allclose(np.asarray(out).reshape(-1, 3), expected, atol=1e-5)
    for path, value in after.items():
        np.testing.assert_allclose(state[path], np.broadcast_to(value, (4, 3)), rtol=1e-5)


@pytest.mark.broad
def test_masks_count_across_the_parts():
    mask = np.random.default_rng(1).random((4, 6)) < 0.4
    mask[2] = False
    layer = built(synchronized=True)
    (out, _), (expected, _) = mapped(layer, X, mask), whole(layer, X, mask)
    np.testing.assert_allclose(np.asarray(out)[mask], np.asarray(expected)[mask.reshape(-1)], atol=1e-5)


@pytest.mark.broad
def test_else_each_part_has_its_own():
    out, _ = mapped(built(), X)
    np.testing.assert_allclose(np.asarray(out).mean(axis=1), 0, atol=1e-5)


@pytest.mark.broad
def test_gradients_are_those_of_the_whole_batch():
    layer = built(synchronized=True)
    state = gx.state(layer)

    def loss(x):
        out = jax.vmap(lambda part: gx.functional_call(layer, state, part, training=True)[0], axis_name="shards")(x)
        return (out**3).sum()

    def plain(x):
        centred = x - x.mean(0)
        return ((centred / jax.numpy.sqrt((centred**2).mean(0) + 1e-3)) ** 3).sum()

    np.testing.assert_allclose(
        np.asarray(jax.grad(loss)(X)).reshape(-1, 3), jax.grad(plain)(X.reshape(-1, 3)), atol=1e-3
    )


def test_a_name_that_no_map_has_is_refused_in_training_alone():
    layer = built(synchronized="shards")
    layer(X[0])
    with pytest.raises(ArgumentError, match="no map around it has an axis of that name"):
        layer(X[0], training=True)
    with pytest.raises(ArgumentError, match=r"within \['others'\]"):
        mapped(layer, X, name="others")


@pytest.mark.broad
def test_outside_of_maps_true_changes_nothing():
    np.testing.assert_array_equal(built(synchronized=True)(X[0], training=True), built()(X[0], training=True))
    with gx.backend.use("numpy"):
        assert built(synchronized=True)(X[0], training=True).shape == (6, 3)


def test_it_is_true_or_false_or_a_name():
    with pytest.raises(ArgumentError, match="synchronized=2"):
        gx.layers.BatchNormalization(synchronized=2)


@pytest.mark.slow
def test_on_eight_devices():
    program = """
    import jax, numpy as np, graftax as gx
    from jax.sharding import NamedSharding, PartitionSpec as P

    x = np.random.default_rng(0).normal(size=(32, 3)).astype("float32") * 2 + np.arange(32)[:, None]
    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    layer = gx.layers.BatchNormalization(momentum=0.9, synchronized=True)
    layer(x)
    state = gx.state(layer)

    def train(x):
        return gx.functional_call(layer, state, x, training=True)

    expected, after = train(x)
    sharded = jax.device_put(x, NamedSharding(mesh, P("data")))
    assert len(sharded.devices()) == 8
    for run in (
        jax.jit(jax.shard_map(train, mesh=mesh, in_specs=P("data"), out_specs=(P("data"), P()))),
        jax.jit(train),  # one program for all devices: the batch is the whole one
    ):
        out, new = run(sharded)
        np.testing.assert_allclose(out, expected, atol=1e-5)
        for path in after:
            np.testing.assert_allclose(new[path], after[path], rtol=1e-5)

    alone = gx.layers.BatchNormalization()
    alone(x)
    first = gx.state(alone)
    own = jax.jit(
        jax.shard_map(
            lambda x: gx.functional_call(alone, first, x, training=True)[0],
            mesh=mesh, in_specs=P("data"), out_specs=P("data"),
        )
    )(sharded)
    np.testing.assert_allclose(np.asarray(own).reshape(8, 4, 3).mean(axis=1), 0, atol=1e-4)
    print("eight agree")
    """
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "NPROC": "32"}  # threads: see tests/conftest.py
    environment = {**os.environ, **flags, "JAX_PLATFORMS": "cpu"}
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "eight agree"
