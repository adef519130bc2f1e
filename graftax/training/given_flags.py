"""What a program trains and what it freezes, where a run begins: a resumed run does so, unless the run changed it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from graftax.checkpoint.report import RestoreReport
from graftax.checkpoint.trained_as_saved import set_frozen, set_trainability
from graftax.variables.graph.module import Module, walk_with_edges
from graftax.variables.trainability import Trainability
from graftax.variables.variable import Variable

log = logging.getLogger("graftax")

_NEVER_TRAINED = ("slot", "counter", "hyper")
_Flag: TypeAlias = bool | Trainability
"""Of a Module, whether it is frozen as a whole; of a Variable, its trainability."""


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
        >>> flags.note()
        >>> dense.trainable = False
        >>> flags.frozen
        ['model/kernel']
    """

    def __init__(self, roots: Callable[[], Mapping[str, Any]]) -> None:
        self._roots = roots
        self._given: dict[str, _Flag] = {}  # by path
        self._saved: frozenset[str] | None = None

    @property
    def frozen(self) -> list[str]:
        """Return the paths of what was not trained where training began."""
        return [path for path, flag in self._given.items() if not _is_free(flag)]

    def note(self) -> None:
        """Note the flags of the program; later, those of what has been built since, as the program would have them."""
        known, now = dict(self._given), {path: _flag_of(node) for path, node in self._iterate()}
        for path in now:
            if path not in known:
                self._given[path] = _without_changes(path, known, now)

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
        for path, node in self._iterate():
            given, now = self._given.get(path), _flag_of(node)
            if given is None or _is_free(given) == _is_free(now):
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

    def _iterate(self) -> Iterator[tuple[str, Variable | Module]]:
        seen: set[int] = set()
        for root, one in self._roots().items():
            for edges, node in walk_with_edges(one) if isinstance(one, Module) else ():
                if id(node) in seen or not isinstance(node, Variable | Module):
                    continue
                seen.add(id(node))
                if isinstance(node, Module) or node.role not in _NEVER_TRAINED:
                    yield "/".join([root, *map(str, edges)]), node


def _without_changes(path: str, known: Mapping[str, _Flag], now: Mapping[str, _Flag]) -> _Flag:
    """Return the flag of something that is new, if callbacks had changed none above it meanwhile."""
    found, above = now[path], path.rpartition("/")[0]
    while above and type(known.get(above)) is not bool:
        above = above.rpartition("/")[0]
    was_frozen = bool(known.get(above, False))
    if not known or (not was_frozen and _is_free(now.get(above, False))):
        return found
    return found.with_frozen(was_frozen) if isinstance(found, Trainability) else was_frozen


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
