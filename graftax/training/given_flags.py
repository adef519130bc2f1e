"""What a program trains and what it freezes, where a run begins: a resumed run does so, unless the run changed it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from graftax.checkpoint.report import RestoreReport
from graftax.checkpoint.trained_as_saved import set_frozen, set_trainability
from graftax.training.nodes_of_roots import paths_of
from graftax.variables.graph.module import Module
from graftax.variables.trainability import Trainability
from graftax.variables.variable import Variable

log = logging.getLogger("graftax")

_NEVER_TRAINED = ("slot", "counter", "hyper")
_Flag: TypeAlias = bool | Trainability
"""Of a Module, whether it is frozen as a whole; of a Variable, its trainability."""
_Given: TypeAlias = dict[int, tuple[Variable | Module, _Flag]]
"""The flags by the id of what has them, which they keep alive."""


class GivenFlags:
    """What is frozen where training begins, which a checkpoint of the run remembers.

    A restore sets the saved flags, also where the program of the first run, and nothing else, had set these.

    Args:
        roots: Returns the objects that are trained and saved, by the beginnings of their paths.

    Example:
        >>> import graftax as gx
        >>> dense = gx.layers.Dense(2)
        >>> dense.build((None, 3))
        >>> frozen = dense.freeze("kernel")
        >>> flags = GivenFlags(lambda: {"model": dense})
        >>> flags.note([dense, *dense.variables])
        >>> dense.trainable = False
        >>> flags.frozen
        ['model/kernel']
    """

    def __init__(self, roots: Callable[[], Mapping[str, Any]]) -> None:
        self._roots = roots
        self._given: _Given = {}
        self._frozen: tuple[int, list[str]] = (0, [])  # of how many, since paths take a walk over all
        self._saved: frozenset[str] | None = None

    def __reduce__(self) -> tuple[type[GivenFlags], tuple[Callable[[], Mapping[str, Any]]]]:
        return GivenFlags, (self._roots,)  # what is noted is known by identity, and a copy has other objects

    @property
    def frozen(self) -> list[str]:
        """Return the paths of what was not trained where training began."""
        if self._frozen[0] != len(self._given):
            paths = paths_of(self._roots())
            found = [paths[at] for at, (_, flag) in self._given.items() if at in paths and not _is_free(flag)]
            self._frozen = len(self._given), found
        return self._frozen[1]

    def note(self, nodes: Iterable[Variable | Module]) -> None:
        """Note the flags of the program; later, those of what has been built since, as the program would have them.

        Args:
            nodes: All that is below the roots.
        """
        known = dict(self._given)
        for node in nodes:
            if id(node) not in known and (isinstance(node, Module) or node.role not in _NEVER_TRAINED):
                self._given[id(node)] = node, _without_changes(node, known)

    def remember(self, saved: Sequence[str] | None) -> None:
        """Keep what was frozen where the run that is resumed began, for `choose`; None if that is not known."""
        self._saved = None if saved is None else frozenset(saved)

    def choose(self, report: RestoreReport, goes_on: bool = True) -> list[str]:
        """Train, after a restore, what the program trains, where nothing else had set the saved flags.

        What was frozen or unfrozen during the run that is resumed stays so.

        Args:
            report: The report of the restore, after which values may wait for what is not built yet.
            goes_on: Whether anything is left to train; else nothing is told. Defaults to True.

        Returns:
            What differs, as text.
        """
        if self._saved is None:
            return []
        report._gx_leave_flags(self._saved)
        chosen: list[str] = []
        paths = paths_of(self._roots())
        for node, given in list(self._given.values()):
            path, now = paths.get(id(node)), _flag_of(node)
            if path is None or _is_free(given) == _is_free(now):
                continue
            if _is_free(now) == (path not in self._saved):
                _set(node, given)
                chosen.append(f"{path} {'trained' if _is_free(given) else 'frozen'}")
        if not chosen:
            return []
        some = ", ".join(chosen[:3]) + (f" and {len(chosen) - 3} more" if len(chosen) > 3 else "")
        if goes_on:
            log.warning("resume=: the program freezes and trains other parts than that run: %s", some)
        return [f"{some} in this program"]


def _without_changes(node: Variable | Module, known: _Given) -> _Flag:
    """Return the flag of something that is new, if callbacks had changed none above it meanwhile."""
    found, above = _flag_of(node), node._gx_owner
    while above is not None and id(above) not in known:
        above = above._gx_owner
    if above is None:
        return found
    was_free = _is_free(known[id(above)][1])
    if was_free and not (isinstance(above, Module) and above._gx_frozen):
        return found
    return found.with_frozen(not was_free) if isinstance(found, Trainability) else not was_free


def _flag_of(node: Variable | Module) -> _Flag:
    return node.trainability if isinstance(node, Variable) else node._gx_frozen


def _is_free(flag: _Flag) -> bool:
    """Return whether it is trained, or rests only because of an expression."""
    return flag.made and not flag.frozen if isinstance(flag, Trainability) else not flag


def _set(node: Variable | Module, given: _Flag) -> None:
    if isinstance(node, Module):
        set_frozen(node, bool(given))
    elif isinstance(given, Trainability):
        set_trainability(node, Trainability(given.made, given.frozen, node.trainability.resting))
