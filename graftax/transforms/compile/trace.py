"""One trace of a compiled function, and what must stay as it was for it to be valid."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, cast

from graftax.backend.program import Program
from graftax.core import user_line
from graftax.transforms.compile.guard import Guard
from graftax.transforms.compile.reach import traced_variable_of
from graftax.transforms.compile.seen import Seen, places_of_traced
from graftax.transforms.compile.surroundings import Surroundings
from graftax.variables.graph.config_objects import is_config
from graftax.variables.graph.node import Node
from graftax.variables.state.donation import Donation, at_rest, lock
from graftax.variables.state.home import Home
from graftax.variables.state.pack import Pack, pack_of
from graftax.variables.state.storage import Moves, Storage, gather_buffers


class Entry(Guard):
    """One trace, and what has to stay as it was for the trace to be valid."""

    def __init__(
        self,
        program: Program,
        touched: list[Node],
        seen: Seen,
        out_structure: object,
        results: int,
        statics: list[Any],
        masked: bool = False,
    ) -> None:
        self.program = program
        self.out_structure = out_structure
        self.results = results  # how many; new values come after them
        self.written = cast("list[Storage]", list(program.written))
        self.donated = cast("list[Storage]", list(program.donated))
        self.read_only = cast("list[Storage]", list(program.read_only))
        self.masked = masked  # whether the results come with their masks, as a pair
        self.statics = statics  # and what else is to be kept alive, so that its identity stays its own
        self.fresh = True  # not run yet
        self.before: list[Callable[[], None]] = []  # what is called before each run, and may raise
        self.commits: deque[object] = deque(maxlen=1)  # gets a new mark when the results of a run are in place
        self.settled = -1  # what `HomesMoved` counted when all that it reads and assigns lay together
        self._groups = [cast("Sequence[Storage]", one) for one in program.donated_packed if isinstance(one, Sequence)]
        count = len(self._groups)
        self._packs: list[Pack] = []
        self._alone = cast(
            "tuple[list[Storage], ...]", (program.donated_packed[count:], program.written_packed[count:])
        )
        self._together = self._alone[0] == self._alone[1] and count + len(self._alone[0]) > 0
        self._buffers: list[Any] = []
        self._moves = -1
        self._takes = 0
        self._homes = [_fixed_home(cell) for cell in (*self.read_only, *self.written)]
        self._seen = seen
        super().__init__(touched, seen)

    def begin(self) -> None:
        """Call what comes before a run, and note that it is run now."""
        for look in self.before:
            look()
        self.pay()

    def has_touched(self, node: Node) -> bool:
        """Tell whether the function that was traced has gone through a Module or Variable."""
        return any(ref() is node for ref, _ in self._touched)

    def _describe_move(self) -> str | None:
        for cell, before in zip((*self.read_only, *self.written), self._homes, strict=True):
            if _fixed_home(cell) is not before:
                return f"{cell.path} was placed elsewhere"
        return None

    def donated_cells(self) -> list[Storage | Pack]:
        """Return the cells whose buffers `run_donating` takes, in order."""
        return [*self._make_packs(), *self._alone[0]]

    def written_cells(self) -> list[Storage | Pack]:
        """Return the cells whose new values `run_donating` returns, in order."""
        return [*self._make_packs(), *self._alone[1]]

    def _make_packs(self) -> list[Pack]:
        """Return a pack for each group."""
        for i, group in enumerate(self._groups):
            if i == len(self._packs):
                self._packs.append(pack_of(group))
            elif not self._packs[i].is_of(group):
                self._packs[i] = pack_of(group)
        return self._packs

    def take(self, donation: Donation) -> list[Any] | None:
        """Let a donation take the buffers of all that is read and assigned.

        Returns:
            The list in which they were if all that is assigned is read, too; None otherwise.
        """
        while self._together:
            if self._moves != Moves.count:
                self._gather()
            with lock:
                buffers = self._buffers
                if self._moves != Moves.count or not self._together:
                    continue  # another thread was quicker
                held = buffers[:]  # another thread may put its results there at any time
                kinds = list(map(type, held))
                if Donation not in kinds:
                    for pack in self._packs:
                        pack.join()
                    donation.take_list(buffers)
                    return buffers
                busy = held[kinds.index(Donation)]  # of this function, or of one that takes some of these only
            busy.wait()
        while True:
            packs = list(self._make_packs())
            cells: list[Storage | Pack] = [*packs, *self._alone[0]]
            with at_rest(cells):
                if not all(map(Pack.is_of, packs, self._groups)):
                    continue  # another thread has just put some of these into a pack of its own
                for pack in packs:
                    pack.join()
                donation.take(cells)
            return None

    def _gather(self) -> None:
        """Put all that is assigned into one list."""
        with at_rest([*(storage for group in self._groups for storage in group), *self._alone[0]]):
            cells = self.donated_cells()
            if not all(one.place[0] is self._buffers for one in cells):
                self._takes += 1
                self._together = self._takes <= _OFTEN  # another function takes them again and again
                self._buffers = _one_list(cells) if self._together else []
            self._moves = Moves.count

    def has_leaks(self, level: object, around: Surroundings) -> bool:
        """Tell whether something holds values of the trace; see `warn_of_leaks`."""
        return any(True for _ in self._leaks(level, around))

    def warn_of_leaks(self, level: object, function: str, around: Surroundings, told: set[str]) -> None:
        """Warn of attributes that hold values of the trace, which are of no use after it.

        Such a trace is run once. The next call traces anew, with the values that have no numbers in place: where the
        function reads one, as state that it carries on, that raises. Where it only puts others there, they are
        overlooked from then on.

        Args:
            level: Where the function was called.
            function: What the function is called.
            around: What is around the function. Of functions inside of it, variables that something keeps are told by
                the attribute that does.
            told: The attributes of which earlier traces of the function have warned; those of this one come into it.
        """
        overlooked = False
        for node, name, value, places in self._leaks(level, around):
            inner = next(iter(places), None)
            where = f"{name}.{inner[0]}" if is_config(value) and isinstance(inner, tuple) else name
            title = f"{node._gx_path or type(node).__name__}.{where}"
            is_old = bool(places) and self._seen.held_dead(node, name, places)
            if is_old:
                overlooked = True
                self.overlook(node, name)
            # values that a look at shapes has left there are not of an earlier trace, and were not told
            if title not in told or (places and not is_old):
                told.add(title)
                user_line.warn(_describe_leak(node, title, where, value, level, function))
        if overlooked:
            self.settle()

    def _leaks(self, level: object, around: Surroundings) -> Iterator[tuple[Node, str, Any, frozenset[Hashable]]]:
        """Yield the attributes that hold values of the trace, with the places in them; no places for a function."""
        for node, name, value in self.attributes():
            if isinstance(node, Surroundings) and (node is not around or self._seen.was_left(node, name, value)):
                continue
            if (places := places_of_traced(value, level)) or traced_variable_of(value, level) is not None:
                yield node, name, value, places


def _describe_leak(node: Node, title: str, where: str, value: object, level: object, function: str) -> str:
    if (variable := traced_variable_of(value, level)) is not None:
        place = where if isinstance(node, Surroundings) else f"self.{where}"
        return (
            f"{title} keeps a function with a traced value of {function}, {variable!r}: it has no numbers, and using "
            f"it after the call fails. Give the function {variable} as an argument, or keep it no longer than the "
            f"call: {place} = None."
        )
    return (
        f"{title} keeps a traced value of {function}: it has no numbers, and using it after the call fails. Return it "
        f"from the function, or keep it in a Variable: self.{where.rpartition('.')[2]}.assign(...)."
    )


def _fixed_home(cell: Storage) -> Home | None:
    return cell.home if cell.home is not None and cell.home.fixed else None


def _one_list(cells: list[Storage | Pack]) -> list[Any]:
    """Return a list of the buffers of just these; a cell that has a list to itself keeps it, for other steps to use."""
    there = cells[0].place[0]
    return there if len(cells) == 1 and type(there) is list and len(there) == 1 else gather_buffers(cells)


_OFTEN = 3  # times that the buffers of a trace are put into one list, before each stays where it is
