"""The group *meshes*: arrays over several devices, each of which keeps a part, or the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from graftax.core.typedefs import Array

if TYPE_CHECKING:
    import numpy as np

Axes: TypeAlias = tuple[str | tuple[str, ...] | None, ...]
"""For each dimension of an array the axes of a mesh that split it; None for a dimension that nothing splits."""


class Mesh(Protocol):
    """Devices in a grid whose axes have names."""

    @property
    def shape(self) -> Mapping[str, int]:
        """Return the sizes of its axes by name, in order."""
        ...

    @property
    def devices(self) -> Any:
        """Return the devices, an array of objects with that shape."""
        ...


class Meshes(Protocol):
    """Where arrays lie that several devices keep together."""

    def devices(self) -> Sequence[Any]:
        """Return all devices of all processes, in order."""
        ...

    def mesh(self, axes: Mapping[str, int], devices: Sequence[Any]) -> Mesh:
        """Return the devices in a grid with these axes; the product of the sizes is their number."""
        ...

    def is_automatic(self, mesh: object) -> bool:
        """Tell whether it is a mesh of this backend over which the compiler spreads what it is not told about."""
        ...

    def sharding(self, mesh: Mesh, axes: Axes) -> Any:
        """Return how arrays lie over a mesh that are split so; equal ones compare equal."""
        ...

    def stacked(self, sharding: object) -> Any:
        """Return how several arrays lie in one, along a new first axis, each as it lay."""
        ...

    def place(self, x: Any, sharding: Any) -> Array:
        """Return the same values, lying so; with None on the default device, to go along with other arrays."""
        ...

    def constrain(self, x: Any, sharding: Any) -> Array:
        """Return the same values, traced or not, that are to lie so."""
        ...

    def make(self, function: Callable[[], Any], sharding: Any) -> Array:
        """Return what a function gives, each device computing its own part."""
        ...

    def mesh_of(self, x: object) -> Mesh | None:
        """Return the mesh over which an array lies that is there; None for one on one device, and anything else."""
        ...

    def local_parts(self, sharding: Any, axis: int) -> int:
        """Return into how many parts an axis is split among the devices of this process."""
        ...

    def join_rows(self, x: np.ndarray[Any, Any], sharding: Any) -> Array:
        """Return the array that lies so, of which each process gives the part of its own devices."""
        ...

    def for_shards(
        self, function: Callable[[list[Any]], list[Any]], mesh: Mesh, in_axes: Sequence[Axes], out_axes: Any
    ) -> Callable[[list[Any]], list[Any]]:
        """Return a function of whole arrays that runs another one on each device, on its shares.

        Args:
            function: Takes and returns a list of shares.
            mesh: The devices.
            in_axes: For each array that comes in, the axes that split it.
            out_axes: For each that goes out; or one for all.
        """
        ...

    def varying(self, x: Any, axes: tuple[str, ...]) -> Array:
        """Return, inside of such a function, the same values as ones that may differ between devices.

        So a gradient that is taken inside is that of the share of one device, and one from outside the sum of all.
        """
        ...

    def mean_of_shards(self, x: Any, axes: tuple[str, ...]) -> Array:
        """Return, inside of such a function, the mean over the devices along axes of the mesh."""
        ...

    def gather(self, x: Any) -> np.ndarray[Any, Any]:
        """Return the whole values on the host of every process; all processes call it."""
        ...
