"""Running a compiled function: state in, state out, and no Variable lost whatever happens on the way.

Before a program runs, all that it reads and assigns is settled over one mesh, or on the default device. Of Variables
that a distribution has placed, the others of their program are beside: each device gets a copy. So nothing moves while
the program runs, and it is compiled once. What was beside others before and is not now goes back.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from graftax.backend import registry
from graftax.backend.traced_checks import traces
from graftax.core.errors import StateError
from graftax.transforms.lifting.lifted import assign
from graftax.variables.state.donation import Donation
from graftax.variables.state.home import Home, HomesMoved
from graftax.variables.state.storage import Storage
from graftax.variables.state.unallocated import require_allocated

if TYPE_CHECKING:
    from graftax.transforms.compile.trace import Entry

buffer_of = attrgetter("buffer")
_LONE = max(map(sys.getrefcount, [object()]))
"""What `sys.getrefcount` says of a buffer that nobody but one list holds."""


def run_donating(entry: Entry, leaves: list[Any]) -> list[Any]:
    """Run, and put the new values in place, such that no exception, not even Ctrl-C, can lose a Variable.

    ``entry.commits`` gets a mark at the moment from which the new values will be in place, whatever happens.
    """
    if entry.fresh or entry.settled != HomesMoved.count:
        _make_ready(entry, leaves)
    if not entry.written:  # nothing to lose
        entry.fresh = False
        return entry.program.run_donating([], [*map(buffer_of, entry.read_only)], leaves)
    read_only = [*map(buffer_of, entry.read_only)]  # first: who has taken buffers waits for nobody
    box: list[Any] = []
    donation = Donation()
    try:
        buffers = entry.take(donation)
        donated = donation.buffers
        if donated and max(map(sys.getrefcount, donated)) > _LONE:
            # somebody else holds one of these arrays (a value read before, two Variables with one array): theirs must
            # live on
            copy = registry.current().arrays.numpy.copy
            donated = [copy(buffer) if sys.getrefcount(buffer) > _LONE + 1 else buffer for buffer in donated]
        # An interrupt comes between two steps of Python, never inside one call of C, and from the run to the box is one
        # such call. Wherever it comes, what is in the box is put in place.
        if entry.fresh:
            with _delay_interrupt():
                box.append(entry.program.run_donating(donated, read_only, leaves))
                entry.commits.append(object())
            entry.fresh = False
        else:
            ran = map(entry.program.run_donating, (donated,), (read_only,), (leaves,))
            box.extend(chain(ran, map(entry.commits.append, (object(),))))
        if buffers is not None:
            buffers[:] = box[0][entry.results :]
        else:
            donation.begin_return()
            for cell, value in zip(entry.written_cells(), box[0][entry.results :], strict=True):
                cell.buffer = value
    except BaseException as error:
        if not box:
            donation.give_back()
        donation.begin_return()
        if box:
            deque(map(setattr, entry.written_cells(), repeat("buffer"), box[0][entry.results :]), 0)
        elif isinstance(error, Exception) and (
            lost := [c.path for c in entry.donated_cells() if _is_deleted(c.buffer)]
        ):
            raise StateError(
                f"the device failed during a step, and the Variables {', '.join(lost[:5])} were lost with it: {error}",
                "their memory had been given to the step",
                "restore the last checkpoint",
            ) from error
        raise
    finally:
        donation.end()
    return box[0]  # type: ignore[no-any-return]


def _make_ready(entry: Entry, leaves: list[Any]) -> None:
    if entry.fresh:
        require_allocated([*entry.read_only, *entry.written])
    if entry.settled != HomesMoved.count:
        settle(entry)
    if entry.fresh:
        before_first_run(entry, leaves)


def _is_deleted(buffer: object) -> bool:
    return bool(getattr(buffer, "is_deleted", bool)())


@contextmanager
def _delay_interrupt() -> Iterator[None]:
    """Let Ctrl-C wait: a first run goes through Python, where it could come after the buffers are given away."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *args: came.append(args))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])


def run_nested(entry: Entry, leaves: list[Any]) -> list[Any]:
    """Run as a part of a gradient, a functional call or a transformation of plain jax: state through the frames."""
    entry.touch()
    if entry.settled != HomesMoved.count:
        settle(entry)
    donated = [storage.read() for storage in entry.donated]
    # what its checks find is raised after the outermost compiled function has run
    run = entry.program.run if traces.top is not None else entry.program.run_checked
    results = run(donated, [storage.read() for storage in entry.read_only], leaves)
    assign(entry.written, results[entry.results :])
    return results


# --- where Variables lie --------------------------------------------------------------------------------------------


def settle(entry: Entry) -> None:
    """Let all that a program reads and assigns lie over one mesh; looks again whenever a home has changed.

    Raises:
        StateError: Variables have been placed over two meshes.
    """
    cells = [*entry.read_only, *entry.written]
    anchor = _anchor(cells)
    for cell in cells:
        if cell.home is not None and cell.home.fixed:
            continue
        wanted = None if anchor is None else anchor.beside()
        if not cell.passing and not _is_same_home(cell.home, wanted):
            cell.move(wanted)
    entry.settled = HomesMoved.count


def before_first_run(entry: Entry, leaves: Sequence[object]) -> None:
    """Look at a program and the arguments of its first run, if it is spread over a mesh."""
    cells = [*entry.read_only, *entry.written]
    if (anchor := _anchor(cells)) is not None:
        anchor.before_first_run(cells, leaves, bool(entry.written), lambda: _text(entry, leaves))


def _text(entry: Entry, leaves: Sequence[object]) -> str:
    """Return the program as it goes to the compiler."""
    donated, read_only = ([cell.buffer for cell in cells] for cells in (entry.donated_cells(), entry.read_only))
    return entry.program.lower(donated, read_only, list(leaves)).text()


def _is_same_home(one: Home | None, other: Home | None) -> bool:
    return one is other or (one is not None and other is not None and one.mesh == other.mesh)


def _anchor(cells: Sequence[Storage]) -> Home | None:
    """Return the home of one that was placed, if one was."""
    found: Storage | None = None
    for cell in cells:
        if cell.home is None or not cell.home.fixed:
            continue
        if found is None:
            found = cell
        elif cell.home.mesh != cast(Home, found.home).mesh:
            one, other = cast(Home, found.home).mesh, cell.home.mesh
            raise StateError(
                f"the variables {found.path!r} and {cell.path!r} in one compiled function, over the meshes "
                f"{dict(one.shape)} and {dict(other.shape)}",
                "a program runs over one mesh",
                "distribution.place(model, ...) for all that it reads and assigns, with one distribution",
            )
    return None if found is None else found.home
