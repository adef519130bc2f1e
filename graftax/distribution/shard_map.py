"""shard_map: runs a function on the shards of each device, with explicit collectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graftax.backend import registry
from graftax.backend.meshes import Axes, Mesh
from graftax.core.errors import ArgumentError, StateError
from graftax.core.short_traceback import door, door_around
from graftax.core.typedefs import Array, unwrap
from graftax.core.user_functions import check_functions
from graftax.core.wrapping import function_name
from graftax.distribution.axes import check_axes, misfit
from graftax.distribution.distribution import Distribution
from graftax.transforms.lifting.frames import Around, PartFrame
from graftax.transforms.lifting.lifted import Lifted
from graftax.variables.state.storage import Storage


class ShardFrame(PartFrame):
    """The state inside of the mapped function: whole values can be read, and nothing can be assigned."""

    def __init__(self, around: Around, mesh: Mesh, name: str) -> None:
        super().__init__(around)
        self._mesh, self._name = mesh, name

    def shards(self) -> tuple[str, ...]:
        """Return the axes of the mesh."""
        return tuple(self._mesh.shape)

    def mesh(self) -> None:
        """Return None, since inside each device runs on its own."""

    def read(self, storage: Storage) -> Array:
        """Return the whole value, which was gathered outside."""
        if storage not in self._now:
            self._now[storage] = storage.backend.meshes.varying(self._around.read_whole(storage), self.shards())
        return self._now[storage]

    def write(self, storage: Storage, value: Array) -> None:
        """Refuse an assignment, since each device would assign another value.

        Raises:
            StateError: always; the message names the Variable.
        """
        raise StateError(
            f"the variable {storage.path!r} is assigned in {self._name}, which shard_map runs on each device",
            "each device computes another value from its share, and a Variable has one",
            "return the value and assign it outside; a layer with moving statistics: training=False, or outside",
        )


@door
def shard_map(
    fn: Callable[..., Any],
    mesh: Mesh | Distribution,
    in_axes: Sequence[Axes],
    out_axes: Axes | list[Axes],
) -> Callable[..., Any]:
    """Return a function of whole arrays that runs ``fn`` on each device of a mesh, on its shards.

    Inside, shapes are those of the shards, and devices communicate by collectives of the backend, such as
    ``jax.lax.psum(x, "data")``. Variables can be read, as a whole; assignments raise, since each device would assign
    another value. The result can be called from compiled functions, and differentiated.

    Args:
        fn: A function of arrays, or structures of arrays, that returns any structure of arrays.
        mesh: A result of `mesh`, or a distribution, whose mesh is used.
        in_axes: The axes that split the arrays of each argument, with an entry for each dimension: the name of an axis,
            a tuple of names, or None.
        out_axes: The axes for all arrays that ``fn`` returns, or a list with axes for each. Along axes that are not
            named, results must be equal on all devices.

    Raises:
        ArgumentError: an axis does not exist or does not divide a size, or an argument has no axes.
        StateError: ``fn`` assigns a Variable.

    Example:
        >>> import jax, numpy as np, graftax as gx
        >>> mesh = gx.distribution.mesh(data=1)
        >>> total = gx.jit(shard_map(lambda x: jax.lax.psum(x.sum(), "data"), mesh, [("data", None)], ()))
        >>> float(total(np.ones((4, 2), "float32")))
        8.0
    """
    check_functions("shard_map", "graftax.shard_map(fn, mesh, in_axes, out_axes)", fn)
    grid = mesh.mesh if isinstance(mesh, Distribution) else mesh
    name = function_name(fn)
    if isinstance(in_axes, str) or not isinstance(in_axes, list | tuple):
        raise ArgumentError(
            f"in_axes={in_axes!r} of shard_map({name})", "it has axes for each argument, in a list", '[("data", None)]'
        )
    taken = [check_axes(axes, grid, f"shard_map({name}), argument {i}") for i, axes in enumerate(in_axes)]
    several = isinstance(out_axes, list)
    given = [check_axes(axes, grid, f"shard_map({name}), out_axes") for axes in (out_axes if several else [out_axes])]

    @door_around(fn)
    def run(*args: Any) -> Any:
        if len(args) != len(taken):
            raise ArgumentError(
                f"shard_map({name}) got {len(args)} arguments, with in_axes for {len(taken)}",
                "there are axes for each argument",
                "in_axes=[...] with an entry for each; what is no array goes in by functools.partial",
            )
        backend = registry.current()
        leaves, structure = backend.tracing.flatten(args)
        axes = [taken[i] for i, one in enumerate(args) for _ in backend.tracing.flatten(one)[0]]
        values = [backend.arrays.asarray(unwrap(leaf)) for leaf in leaves]
        for value, split in zip(values, axes, strict=True):
            if (
                wrong := misfit((*split, *(None,) * (len(value.shape) - len(split))), tuple(value.shape), grid)
            ) is not None:
                raise ArgumentError(f"shard_map({name}) got an array of shape {tuple(value.shape)}", *wrong)
        around, lifted = Around(), Lifted()

        def part(shares: list[Any]) -> list[Any]:
            shares = [backend.meshes.varying(one, tuple(grid.shape)) for one in shares]
            found = lifted.run(
                ShardFrame(around, grid, name), lambda: fn(*backend.tracing.unflatten(structure, shares))
            )
            if several and len(found) != len(given):
                raise ArgumentError(
                    f"shard_map({name}) with out_axes for {len(given)} arrays, of which it returns {len(found)}",
                    "a list has axes for each array",
                    "one tuple of axes for all, or a list with an entry for each",
                )
            return found

        results = backend.meshes.for_shards(part, grid, axes, given if several else given[0])(values)
        return backend.tracing.unflatten(lifted.structure, results)

    return run
