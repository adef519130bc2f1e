"""The function constrain: sets the sharding of an activation inside of a layer."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.backend.meshes import Axes
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.distribution.axes import check_axes, size_of
from graftax.distribution.of_module import active_distribution
from graftax.variables.state.storage import frames


@door
def constrain(x: ArrayLike, axes: Axes) -> Array:
    """Return the same values, sharded over the mesh by the given axes; unchanged if there is no distribution.

    The mesh is that of the enclosing scope, else that of the Variables and arguments of the enclosing compiled
    function, else that of the array. If there is none, for example in a call of a layer without Variables on an array
    of the host, the call has no effect. A dimension that its axes do not divide, such as the rows of a last batch, is
    not sharded.

    Args:
        x: An activation.
        axes: One entry for each dimension: the name of an axis of the mesh, a tuple of names, or None.

    Raises:
        ArgumentError: the number of entries differs from that of dimensions, or the mesh has no axis of a name.

    Example:
        >>> import numpy as np, graftax as gx
        >>> class Block(gx.layers.Layer):
        ...     def call(self, x):
        ...         return gx.distribution.constrain(gx.ops.relu(x), ("data", None))
        >>> Block()(np.ones((2, 3), "float32")).shape
        (2, 3)
    """
    backend = registry.current()
    value: Any = backend.arrays.asarray(unwrap(x))
    if len(axes) != len(value.shape):
        raise ArgumentError(
            f"constrain got axes {axes!r} for an array of shape {tuple(value.shape)}",
            "there is one entry for each dimension",
            f"{(*axes[: len(value.shape)], *(None,) * (len(value.shape) - len(axes)))}",
        )
    mesh = _mesh_in_play(value)
    if mesh is None:
        return value  # type: ignore[no-any-return]
    wanted = check_axes(axes, mesh, "constrain")
    fitting = tuple(
        None if size % size_of(mesh, entry) else entry for size, entry in zip(value.shape, wanted, strict=True)
    )
    return backend.meshes.constrain(value, backend.meshes.sharding(mesh, fitting))


def _mesh_in_play(value: object) -> Any:
    if (around := active_distribution()) is not None:
        return around.mesh
    frame = frames.top
    if frame is not None and (mesh := frame.mesh()) is not None:
        return mesh
    backend = registry.current()
    return backend.meshes.mesh_of(value) if backend.has("meshes") else None
