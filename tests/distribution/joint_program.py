"""Variables that lie on devices in all the ways there are, for programs that several processes run."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import graftax as gx

VALUES = {
    "split": (np.arange(16 * 6, dtype="float32").reshape(16, 6), P("data", "model")),
    "rows": (np.arange(4096 * 129, dtype="int32").reshape(4096, 129), P("data")),
    "replicated": (np.arange(1024 * 300, dtype="float32").reshape(1024, 300), P()),
    "columns": (np.arange(40, dtype="float16").reshape(2, 20), P(None, "model")),
    "scalar": (np.asarray(3.5, "float32"), P()),
}
HOST = np.full((7,), 2.0, "float32")


def mesh():
    return Mesh(np.array(jax.devices()).reshape(-1, 2), ("data", "model"))


def spread(variable, value, spec):
    """Let a Variable have its value on all devices, as the spec says."""
    sharding = NamedSharding(mesh(), spec)
    variable._storage.buffer = jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])


def program(is_filled=True):
    found = {}
    for name, (value, spec) in VALUES.items():
        found[name] = gx.Variable(np.zeros_like(value))
        spread(found[name], value if is_filled else np.zeros_like(value), spec)
    found["host"] = gx.Variable(HOST if is_filled else np.zeros_like(HOST))
    return found


def check(found):
    """Raise unless all values are there, and lie as they did."""
    for name, (value, spec) in VALUES.items():
        array = found[name]._storage.buffer
        assert array.sharding.is_equivalent_to(NamedSharding(mesh(), spec), array.ndim), name
        for shard in array.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), value[shard.index])
    np.testing.assert_array_equal(found["host"].numpy(), HOST)
