"""Repeated: a call of a compiled function like the one before it, recognized without flattening or hashing.

Most calls are: a training step takes arrays of the same shapes as the last one. For a small function, to flatten the
arguments, to make a key of them and to look it up takes as long as to run it.
"""

from __future__ import annotations

from typing import Any, Final

from graftax.backend import registry
from graftax.core import scopes
from graftax.transforms.compile import run_eagerly as eagerly
from graftax.transforms.compile.run import run_donating
from graftax.transforms.compile.trace import Entry
from graftax.variables import masks
from graftax.variables.state.storage import frames

MISSED: Final = object()
"""What `Repeated.run` gives where the call has to be looked at as a whole."""


class Repeated:
    """One call, whose arguments were plain arrays, each of them one, and the trace that it ran.

    Args:
        args: Its arguments.
        entry: The trace, whose function does not return masks.
    """

    __slots__ = ("_alone", "_backend", "_changes_nothing", "_compiling", "_entry", "_kinds", "_settings", "_types")

    def __init__(self, args: tuple[Any, ...], entry: Entry) -> None:
        self._backend = registry.current()
        self._compiling = self._backend.compiling
        self._types = [*map(type, args)]
        self._kinds = [(one.shape, one.dtype, one.weak_type) for one in args]
        self._settings = scopes.ambient()
        self._entry = entry
        self._changes_nothing = not entry.written and not entry.fresh
        self._alone = entry.out_structure == self._compiling.flatten(0)[1]

    @classmethod
    def after(
        cls, before: Entry | None, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Repeated | None:
        """Return what recognizes one more call like the last two; None where arguments are more than a few arrays.

        Where shapes go to and fro, two calls in turn run different traces, and to expect a third alike is in vain.
        """
        if before is not entry or kwargs or entry.masked or len(args) > _MOST or masks.any_set():
            return None
        arrays = registry.current().arrays
        plain = all(arrays.is_array(one) and arrays.is_concrete(one) and hasattr(one, "weak_type") for one in args)
        return cls(args, entry) if plain else None

    def run(self, args: tuple[Any, ...]) -> Any:
        """Run the trace if it is good for these arguments, or return `MISSED`."""
        entry = self._entry
        if frames.top is not None or eagerly.count or masks.any_set() or [*map(type, args)] != self._types:
            return MISSED
        if [(one.shape, one.dtype, one.weak_type) for one in args] != self._kinds:
            return MISSED
        if registry.current() is not self._backend or not self._compiling.eager():
            return MISSED
        if scopes.ambient() != self._settings or entry.difference() is not None:
            return MISSED
        if self._changes_nothing:
            results = entry.program.run_donating([], [cell.buffer for cell in entry.kept], [*args])
        else:
            results = run_donating(entry, [*args])
        return results[0] if self._alone else self._compiling.unflatten(entry.out_structure, results[: entry.results])


_MOST = 16  # arguments, each of which takes a quarter of a microsecond
