"""Home: where the buffer of a Variable lies when several devices keep it, and how programs compute with it.

Homes come from a distribution. Here, all that is known of one is how the array is *stored* over a mesh, and how it is
*computed* with: a weight of which each device keeps a part may be gathered where it is used. A Variable without a home
lies on the default device; where a program has others, it gets one that is not `fixed`, and moves along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from weakref import WeakKeyDictionary

from graftax.core.selectors import Selectable
from graftax.core.typedefs import Shape

if TYPE_CHECKING:
    from graftax.backend.meshes import Mesh


class Described(Selectable, Protocol):
    """A Variable, or the spec of one."""

    @property
    def shape(self) -> Shape:
        """Return its shape."""
        ...

    @property
    def dtype(self) -> str:
        """Return its dtype by name."""
        ...


class Housed(Protocol):
    """What has a buffer, and may have a home."""

    home: Home | None

    @property
    def path(self) -> str:
        """Return the path of its Variable."""
        ...

    @property
    def user(self) -> Any:
        """Return its Variable, unless that is gone."""
        ...


class Home(Protocol):
    """Where an array lies."""

    mesh: Mesh
    stored: Any
    """How it is kept, as the backend names it."""
    computed: Any
    """How compiled functions compute with it; None for as it is kept, or as the compiler likes."""
    splits: bool
    """Whether devices keep different parts."""
    fixed: bool
    """Whether it was given; False for a Variable that is where the others of its program are."""

    @property
    def placement(self) -> Placement | None:
        """Return what gives the parts of a weight their homes that stands in the place of this one."""
        ...

    def for_slot(self, shape: Shape) -> Placement:
        """Return what gives homes to the slots of a variable of that shape that has this one."""
        ...

    def beside(self) -> Home:
        """Return the home of what has none of its own, in a program of what has this one."""
        ...

    def before_first_run(
        self, cells: Sequence[Housed], arguments: Sequence[Any], writes: bool, text: Callable[[], str]
    ) -> None:
        """Look at what a program reads, assigns and gets, and at its text; raise or warn if that cannot be meant."""
        ...


class Placement(Protocol):
    """What gives homes to Variables that are made."""

    def home(self, spec: Described) -> Home | None:
        """Return where the Variable of a spec is to lie; None for the default device."""
        ...


class HomesMoved:
    """A count of homes that were given, changed or taken away after their Variable was made."""

    count = 0


class Assigned:
    """Counts assignments in eager code, by what they change; several processes ask each other whether all made them.

    Compiled functions assign alike in all processes.
    """

    counts: ClassVar[WeakKeyDictionary[Housed, int]] = WeakKeyDictionary()

    @classmethod
    def note(cls, cell: Housed) -> None:
        """Count one more."""
        cls.counts[cell] = cls.counts.get(cell, 0) + 1

    @classmethod
    def counts_of(cls, cells: Iterable[Housed]) -> dict[Housed, int]:
        """Return how often each of some was assigned, in their order; without those that were not."""
        return {cell: count for cell in cells if (count := cls.counts.get(cell, 0))}

    @classmethod
    def forget(cls, cells: Iterable[Housed]) -> None:
        """Count these from nothing."""
        for cell in cells:
            cls.counts.pop(cell, None)
