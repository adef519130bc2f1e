"""Arrays of JAX over several devices: `jax.sharding`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from graftax.backend import traced_checks
from graftax.backend.host import copy_for_device
from graftax.backend.meshes import Axes, Mesh


class JaxMeshes:
    """Meshes, and what lies over them."""

    def devices(self) -> Sequence[Any]:
        """Return all devices of all processes."""
        return jax.devices()

    def mesh(self, axes: Mapping[str, int], devices: Sequence[Any]) -> Mesh:
        """Return a `jax.sharding.Mesh` with axes of the type Auto: layers need not know of them."""
        types = (AxisType.Auto,) * len(axes)
        return cast(Mesh, jax.make_mesh(tuple(axes.values()), tuple(axes), devices=devices, axis_types=types))

    def is_automatic(self, mesh: object) -> bool:
        """Tell whether it is a `jax.sharding.Mesh` whose axes are all of the type Auto."""
        return isinstance(mesh, jax.sharding.Mesh) and all(kind == AxisType.Auto for kind in mesh.axis_types)

    def sharding(self, mesh: Mesh, axes: Axes) -> NamedSharding:
        """Return a `jax.sharding.NamedSharding`."""
        split = list(axes)
        while split and split[-1] is None:  # as XLA gives them back
            split.pop()
        return NamedSharding(cast(Any, mesh), PartitionSpec(*split))

    def stacked(self, sharding: Any) -> NamedSharding:
        """Return how several arrays lie in one, along a new first axis, each as it lay."""
        return NamedSharding(sharding.mesh, PartitionSpec(None, *sharding.spec))

    def place(self, x: Any, sharding: Any) -> Any:
        """Return the same values, lying so; nothing moves that lies so already."""
        if isinstance(x, jax.Array):
            if sharding is None:
                return x if x.is_fully_addressable and not x.committed else jnp.array(self.gather(x))
            there = x.sharding
            if there == sharding or (isinstance(there, NamedSharding) and there.is_equivalent_to(sharding, x.ndim)):
                return x
            if not x.is_fully_addressable:
                return jax.jit(_identity, out_shardings=sharding)(x)
        elif sharding is None:
            return jnp.array(x)
        if isinstance(x, jax.Array) and sharding.is_fully_addressable:
            return jax.device_put(x, sharding)
        host = copy_for_device(np.asarray(x))  # every process has all of it, and keeps what its devices are to have
        return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])

    def constrain(self, x: Any, sharding: Any) -> Any:
        """Return the same values, with a word to the compiler where they are to lie; an artefact is for one device."""
        if traced_checks.traces.top == traced_checks.EXPORTED:
            return x
        return jax.lax.with_sharding_constraint(x, sharding)

    def make(self, function: Callable[[], Any], sharding: Any) -> Any:
        """Return what a function gives; no device, and not the host, ever has more than its part."""
        return jax.jit(function, out_shardings=sharding)()

    def mesh_of(self, x: object) -> Mesh | None:
        """Return the mesh of an array with a `jax.sharding.NamedSharding`."""
        if not isinstance(x, jax.Array) or isinstance(x, jax.core.Tracer):
            return None
        return cast(Mesh, x.sharding.mesh) if isinstance(x.sharding, NamedSharding) else None

    def local_parts(self, sharding: Any, axis: int) -> int:
        """Return how many different parts its devices have."""
        shape = (*(1,) * axis, len(sharding.device_set))
        spec = sharding.spec
        indices = NamedSharding(sharding.mesh, PartitionSpec(*spec[: axis + 1])).addressable_devices_indices_map(shape)
        return len({repr(index) for index in indices.values()})

    def join_rows(self, x: np.ndarray[Any, Any], sharding: Any) -> Any:
        """Return `jax.make_array_from_process_local_data`."""
        return jax.make_array_from_process_local_data(sharding, copy_for_device(x))

    def for_shards(
        self, function: Callable[[list[Any]], list[Any]], mesh: Mesh, in_axes: Sequence[Axes], out_axes: Any
    ) -> Callable[[list[Any]], list[Any]]:
        """Return `jax.shard_map` of the function."""
        outs = [PartitionSpec(*axes) for axes in out_axes] if isinstance(out_axes, list) else PartitionSpec(*out_axes)
        ins = ([PartitionSpec(*axes) for axes in in_axes],)
        split: Any = jax.shard_map
        made: Callable[[list[Any]], list[Any]] = split(function, mesh=mesh, in_specs=ins, out_specs=outs)
        return made

    def varying(self, x: Any, axes: tuple[str, ...]) -> Any:
        """Return `jax.lax.pcast`, over the axes along which they are known to be the same."""
        same = tuple(axis for axis in axes if axis not in jax.typeof(x).manual_axis_type.varying)
        return jax.lax.pcast(x, same, to="varying") if same else x

    def mean_of_shards(self, x: Any, axes: tuple[str, ...]) -> Any:
        """Return `jax.lax.pmean`."""
        return jax.lax.pmean(x, axes)

    def gather(self, x: Any) -> np.ndarray[Any, Any]:
        """Return the whole values on the host."""
        if not isinstance(x, jax.Array) or x.is_fully_addressable:
            return np.asarray(x)
        if not x.is_fully_replicated:
            whole = NamedSharding(cast(Any, x.sharding).mesh, PartitionSpec())
            x = jax.jit(_identity, out_shardings=whole)(x)
        return np.asarray(x.addressable_data(0))


def _identity(x: Any) -> Any:
    return x
