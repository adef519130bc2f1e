"""Repeated: a call of a compiled function like the one before it, recognized without flattening or hashing.

Most calls are: a training step takes arrays of the same shapes as the last one. For a small function, to flatten the
arguments, to make a key of them and to look it up takes as long as to run it. What is compared here runs in C where
that is possible, since a line of Python at each call shows in the time of a small step.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from graftax.backend import registry
from graftax.backend.host import copy_for_device
from graftax.core import scopes
from graftax.transforms.compile import run_eagerly as eagerly
from graftax.transforms.compile.run import buffer_of, run_donating
from graftax.variables import masks
from graftax.variables.state.home import HomesMoved
from graftax.variables.state.storage import frames

if TYPE_CHECKING:
    from graftax.transforms.compile.trace import Entry

MISSED: Final = object()
"""What `Repeated.run` gives where the call has to be looked at as a whole."""


class Repeated:
    """One call, whose arguments were arrays, of the device or the host, or a tuple of these; and the trace that it ran.

    Args:
        args: Its arguments.
        entry: The trace, whose function does not return masks.
    """

    __slots__ = (
        "_alone", "_backend", "_changes_nothing", "_entry", "_from_host", "_in_tuple", "_kind", "_kind_of",
        "_kinds", "_names", "_settings", "_signs", "_types",
    )  # fmt: skip

    def __init__(self, args: tuple[Any, ...], entry: Entry) -> None:
        leaves = _leaves(args)
        compiling = registry.current().compiling
        self._backend = registry.current()
        self._in_tuple = leaves is not args
        self._types = [*map(type, leaves)]
        self._from_host = np.ndarray in self._types
        self._kind = compiling.kind
        self._kind_of = [host_kind if kind is np.ndarray else compiling.kind for kind in self._types]
        self._kinds = [look(one) for look, one in zip(self._kind_of, leaves, strict=True)]
        self._signs, self._settings = scopes.signs(), scopes.ambient()
        self._entry = entry
        self._changes_nothing = not entry.written and not entry.fresh
        self._names: tuple[str, ...] | None = None  # where a dict of arrays is returned; known after a first run
        self._alone = entry.out_structure == compiling.flatten(0)[1]

    @classmethod
    def from_entry(
        cls, before: Entry | None, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Repeated | None:
        """Return what recognizes one more call like the last two; None where arguments are more than a few arrays.

        Where shapes go to and fro, two calls in turn run different traces, and to expect a third alike is in vain.
        """
        leaves = _leaves(args)
        if before is not entry or kwargs or entry.masked or len(leaves) > _MOST or masks.any_set():
            return None
        arrays = registry.current().arrays
        for one in leaves:
            on_device = arrays.is_array(one) and arrays.is_concrete(one) and hasattr(one, "weak_type")
            if not on_device and type(one) is not np.ndarray:
                return None
        return cls(args, entry)

    def match(self, args: tuple[Any, ...]) -> Sequence[Any] | None:
        """Return the arrays among the arguments if the trace is good for them; None if it is not."""
        if frames.read() or eagerly.count or masks.entries:
            return None
        if self._in_tuple:
            if len(args) != 1 or type(args[0]) is not tuple:
                return None
            args = args[0]
        if [*map(type, args)] != self._types:
            return None
        if self._from_host:
            kinds = [look(one) for look, one in zip(self._kind_of, args, strict=True)]
        else:
            kinds = [*map(self._kind, args)]
        if kinds != self._kinds:
            return None
        if (signs := scopes.signs()) != self._signs and not self._is_at_home():
            return None
        if self._entry.difference() is not None:
            return None
        self._kinds, self._signs = kinds, signs  # the very objects that may come again: the same are equal at once
        return args

    def run(self, args: tuple[Any, ...]) -> Any:
        """Run the trace if it is good for these arguments, or return `MISSED`."""
        found = self.match(args)
        if found is None:
            return MISSED
        leaves = (
            [copy_for_device(one) if type(one) is np.ndarray else one for one in found] if self._from_host else [*found]
        )
        entry = self._entry
        if entry.before:
            entry.begin()
        if self._changes_nothing and entry.settled == HomesMoved.count:
            read_only = [*map(buffer_of, entry.read_only)] if entry.read_only else _NONE
            results = entry.program.run_donating(_NONE, read_only, leaves)
        else:
            results = run_donating(entry, leaves)
        if self._alone:
            return results[0]
        if self._names is not None:
            return dict(zip(self._names, results, strict=False))  # new values come after what is returned
        return self._rebuild_output(results[: entry.results])

    def _is_at_home(self) -> bool:
        """Return True where backend, settings and level are those that the trace was run at."""
        here = registry.current()
        return here is self._backend and here.compiling.eager() and scopes.ambient() == self._settings

    def _rebuild_output(self, results: list[Any]) -> Any:
        out = self._backend.compiling.unflatten(self._entry.out_structure, results)
        if type(out) is dict and [*map(id, out.values())] == [*map(id, results)]:
            self._names = tuple(out)  # next time in a third of the time
        return out


_NONE: list[Any] = []
_MOST = 16  # arguments, each of which takes a quarter of a microsecond
host_kind = attrgetter("shape", "dtype")
"""What the `kind` of a backend is, for arrays of NumPy."""


def _leaves(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments; those in a tuple, such as a batch, where it is the only one."""
    return args[0] if len(args) == 1 and type(args[0]) is tuple else args
