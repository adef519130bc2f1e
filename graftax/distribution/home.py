"""The homes that a distribution gives: where a Variable is stored over the mesh, and how it is computed with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graftax.backend.meshes import Axes, Mesh
from graftax.core.typedefs import Shape
from graftax.distribution.axes import parts
from graftax.distribution.placing import PlacedHome, Placing
from graftax.variables.state.home import Described, Housed, Placement


class DistributionHome:
    """Where an array lies.

    Args:
        distribution: Whose home it is.
        axes: For each dimension, the axes that split it.
        computed: The same for the computation, where that is another; None for as it is stored.
        fixed: Whether it was given, or is where the others of a program are. Defaults to True.
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
        """Return the distribution: parts of a weight are placed by the rules that placed it."""
        return self.distribution if self.fixed else None

    def for_slot(self, shape: Shape) -> Placement:
        """Return what places the slots of a variable that has this home."""
        return SlotPlacement(self, shape)

    def beside(self) -> PlacedHome:
        """Return the home of what has none, in a program of what has this one: a copy on each device."""
        return self.distribution.home_beside

    def before_first_run(
        self, cells: Sequence[Housed], arguments: Sequence[Any], writes: bool, text: Callable[[], str]
    ) -> None:
        """Look at a program of Variables with such homes before its first run."""
        self.distribution._gx_before_first_run(cells, arguments, writes, text)

    def __deepcopy__(self, memo: dict[int, Any]) -> DistributionHome:
        return self  # a copy of a Variable lies where the Variable does

    def __repr__(self) -> str:
        return f"{type(self.distribution).__name__} over {dict(self.mesh.shape)}: {self.axes}"


class SlotPlacement:
    """Slots lie as their variable does: those of its shape alike, others by the dimensions that they share with it.

    Args:
        home: That of the variable.
        shape: That of the variable.
    """

    def __init__(self, home: DistributionHome, shape: Shape) -> None:
        self._home, self._shape = home, shape

    def home(self, spec: Described) -> PlacedHome:
        """Return where a slot is to lie."""
        distribution = self._home.distribution
        if not self._home.fixed:
            return distribution.home_beside
        return distribution.home_of_axes(shared_axes(spec.shape, self._shape, self._home.axes))


def shared_axes(shape: Shape, whole: Shape, axes: Axes) -> Axes:
    """Return the axes of an array some of whose dimensions are those of another one, from the left.

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
