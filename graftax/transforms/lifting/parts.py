"""State in the parts of a program (branches, bodies of loops): what they write becomes a part of what they hand on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from graftax.backend import registry, traced_checks
from graftax.core.errors import StateError
from graftax.core.typedefs import Array
from graftax.transforms.lifting.attribute_frame import AttributeFrame
from graftax.transforms.lifting.frames import Around
from graftax.transforms.lifting.lifted import Lifted, assign
from graftax.transforms.lifting.outline import Outline, arrays_of
from graftax.variables.state.storage import Storage, next_number

if TYPE_CHECKING:
    from graftax.backend.control_flow import Staged
    from graftax.backend.program import Lift


class _StagedFrame(AttributeFrame):
    """State inside a part that is being traced: what it reads outside becomes an input."""

    def __init__(self, around: Around, values: Sequence[Any], lift: Lift) -> None:
        super().__init__(around, values)
        self._lift = lift
        self.found: dict[Storage, Array] = {}

    def read(self, storage: Storage) -> Array:
        """Return the value assigned, else an input that stands for the one outside."""
        if storage not in self._now:
            # the program is run for other values, too, so that a Variable is never a constant of it
            self.found[storage] = self._around.read(storage)
            self._now[storage] = self._lift.read(storage, self.found[storage])
        return self._now[storage]


_MAY_NOT_RUN = frozenset({"cond", "switch", "while_loop"})


class Part:
    """A part of a program, traced once: a function of arrays, of what it closes over, and of the Variables it reads.

    Args:
        name: What the control flow is called in messages.
        function: Returns a structure of arrays for each of its results.
        leaves: The arguments, or what stands for them.
        given: The user's function behind it, and what else may hold Modules whose attributes it changes.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[list[Any]], tuple[Any, ...]],
        leaves: Sequence[Any],
        values: Sequence[Any] = (),
    ) -> None:
        since = next_number()
        around = Around()
        lifted = Lifted(_leaves_of_each)
        frame: Any = None

        def run(lift: Lift, leaves: list[Any]) -> list[Any]:
            nonlocal frame
            frame = _StagedFrame(around, values, lift)
            # what fails in a branch that does not run has not failed
            with traced_checks.perhaps.entered(*([name] if name in _MAY_NOT_RUN else [])):
                results = lifted.run(frame, lambda: function(leaves))
            return [*results, *frame.written.values()]

        self.program, self.constants = registry.current().control_flow.stage(run, list(leaves))
        self.found: dict[Storage, Array] = frame.found
        self.changed: list[str] = frame.changed_attributes()
        self.changed_around: list[str] = frame.changed_surroundings()
        self.keeping: list[str] = frame.attributes_with_traced()
        self.written = lifted.written
        abstract = iter(self.program.results)
        self.outlines = [
            Outline(structure, [next(abstract) for _ in range(size)]) for structure, size in lifted.structure
        ]
        # a Variable that only the traced function knew is gone by now
        for storage in self.written:
            if storage.is_abandoned(since):
                raise StateError(
                    f"a function given to {name} makes a Variable of shape {tuple(storage.buffer.shape)}, assigns it, "
                    "and does not keep it",
                    "the function is traced once for all its runs, so that the Variable would be one and the same",
                    "make the Variable outside and keep it; what lives for one run is an array",
                )


def _leaves_of_each(results: tuple[Any, ...]) -> tuple[list[Any], list[tuple[Any, int]]]:
    """Return the leaves of several results, and the structure of each with the number of its leaves."""
    flat = [arrays_of(one) for one in results]
    return [leaf for leaves, _ in flat for leaf in leaves], [(structure, len(leaves)) for leaves, structure in flat]


class Threaded:
    """The parts of one piece of control flow, and the Variables that any of them writes."""

    def __init__(self, *parts: Part) -> None:
        self.written = list(dict.fromkeys(storage for part in parts for storage in part.written))
        self._place = {storage: i for i, storage in enumerate(self.written)}

    def state(self) -> list[Any]:
        """Return the present values of what is written."""
        return [storage.read() for storage in self.written]

    def commit(self, state: Sequence[Any]) -> None:
        """Assign the values after the control flow."""
        assign(self.written, state)

    def bind(self, part: Part) -> Bound:
        """Return a part as a function of the state."""
        # what any part writes goes from part to part; the rest is the same for all runs, and closed over
        found = [(self._place.get(storage, -1), value) for storage, value in part.found.items()]
        return Bound(
            part.program,
            tuple(place for place, _ in found),
            tuple(self._place[storage] for storage in part.written),
            [*part.constants, *(value for place, value in found if place < 0)],
            len(part.constants),
        )


class Bound(NamedTuple):
    """A part as a function of state and arguments; all but ``closed`` is known before anything is computed."""

    program: Staged
    reads: tuple[int, ...]  # for each Variable that is read, its place in the state; -1 if it is not there
    writes: tuple[int, ...]
    closed: list[Any]  # constants, then the Variables that are not in the state
    constants: int

    def run(self, closed: Sequence[Any], state: Sequence[Any], leaves: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the leaves of the results, and the state after."""
        others = iter(closed[self.constants :])
        cells = [next(others) if place < 0 else state[place] for place in self.reads]
        arrays = registry.current().arrays
        results = [
            one if arrays.is_array(one) else arrays.asarray(one, str(kind.dtype))  # a number in the program
            for one, kind in zip(
                self.program.run(closed[: self.constants], cells, leaves), self.program.results, strict=True
            )
        ]
        count = len(results) - len(self.writes)
        after = list(state)
        for place, value in zip(self.writes, results[count:], strict=True):
            after[place] = value
        return results[:count], after
