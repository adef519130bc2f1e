"""Settling: before a program runs, all that it reads and assigns lies over one mesh, or on the default device.

Of Variables that a distribution has placed, the others of their program are beside: each device gets a copy. So nothing
moves while the program runs, and it is compiled once. What was beside others before and is not now goes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from graftax.core.errors import StateError
from graftax.variables.state.home import Home, HomesMoved
from graftax.variables.state.storage import Storage

if TYPE_CHECKING:
    from graftax.transforms.compile.trace import Entry


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
