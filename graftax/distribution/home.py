"""Homes: how a Variable is sharded over the mesh when it is stored, and when it is used in computations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graftax.backend.meshes import Axes, Mesh
from graftax.core.typedefs import Shape
from graftax.distribution.axes import parts
from graftax.distribution.placing import PlacedHome, Placing
from graftax.variables.state.home import Described, Housed, Placement


class DistributionHome:
    """The placement of an array.

    Args:
        distribution: The distribution that it belongs to.
        axes: The axes that split each dimension.
        computed: The axes during computations, if they differ; None for those of the stored array.
        fixed: Whether the Variable was placed explicitly, rather than with others of a program. Defaults to True.
    """

    def __init__(self, distribution: Placing, axes: Axes, computed: Axes | None = None, fixed: bool = True) -> None:
        meshes, mesh = distribution.backend.meshes, distribution.mesh
        self.distribution = distribution
        self.axes = axes
        self.mesh: Mesh = mesh
        self.stored = meshes.sharding(mesh, axes)
        self.computed = None if computed is None else meshes.sharding(mesh, computed)
        self.splits = parts(mesh, axes) > 1
        self.fixed = fixed

    @property
    def placement(self) -> Placement | None:
        """Return the distribution: the parts of a weight are placed by the same rules."""
        return self.distribution if self.fixed else None

    def for_slot(self, shape: Shape) -> Placement:
        """Return the placement of the slots of a Variable with this home."""
        return SlotPlacement(self, shape)

    def beside(self) -> PlacedHome:
        """Return the home of Variables without one in a program with this one: replicated."""
        return self.distribution.home_beside

    def before_first_run(
        self, cells: Sequence[Housed], arguments: Sequence[Any], writes: bool, text: Callable[[], str]
    ) -> None:
        """Check a program with placed Variables before its first run."""
        self.distribution._gx_before_first_run(cells, arguments, writes, text)

    def __deepcopy__(self, memo: dict[int, Any]) -> DistributionHome:
        return self  # a copy of a Variable shares its home

    def __repr__(self) -> str:
        return f"{type(self.distribution).__name__} over {dict(self.mesh.shape)}: {self.axes}"


class SlotPlacement:
    """Placement of slots: those with the shape of their Variable like it, others by the dimensions that they share.

    Args:
        home: The home of the Variable.
        shape: The shape of the Variable.
    """

    def __init__(self, home: DistributionHome, shape: Shape) -> None:
        self._home, self._shape = home, shape

    def home(self, spec: Described) -> PlacedHome:
        """Return the home of a slot."""
        distribution = self._home.distribution
        if not self._home.fixed:
            return distribution.home_beside
        return distribution.home_of_axes(shared_axes(spec.shape, self._shape, self._home.axes))


def shared_axes(shape: Shape, whole: Shape, axes: Axes) -> Axes:
    """Return the axes of an array that has some dimensions of another one, matched from the left.

    Example:
        >>> shared_axes((4,), (4, 6), ("data", "model")), shared_axes((6,), (4, 6), ("data", "model"))
        (('data',), ('model',))
        >>> shared_axes((5, 6), (4, 6), ("data", "model"))
        (None, 'model')
    """
    if shape == whole:
        return axes
    found: list[Any] = []
    left = list(zip(whole, axes, strict=True))
    for size in shape:
        place = next((i for i, (other, _) in enumerate(left) if other == size), None)
        found.append(None if place is None else left[place][1])
        if place is not None:
            left = left[place + 1 :]
    return tuple(found)
