"""Which adapters a program uses where a run begins: a resumed run does so, unless the run has changed it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graftax.checkpoint.adapters_in_use import set_use
from graftax.checkpoint.report import RestoreReport
from graftax.core import user_line
from graftax.reparam.adapted import Adapted
from graftax.training.nodes_of_roots import paths_of
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable

log = logging.getLogger("graftax")


class GivenAdapters:
    """The adapters in use where training begins, which a checkpoint of the run remembers.

    Args:
        roots: Returns the objects that are trained and saved, by the beginnings of their paths.

    Example:
        >>> import graftax as gx
        >>> dense = gx.layers.Dense(2)
        >>> dense.build((None, 3))
        >>> _ = gx.graft(dense, gx.reparam.LoRA(1, name="poet"), where="kernel")
        >>> adapters = GivenAdapters(lambda: {"model": dense})
        >>> adapters.note(dense.submodules)
        >>> gx.adapters.use(dense)
        >>> adapters.in_use
        {'model/kernel': ['poet']}
    """

    def __init__(self, roots: Callable[[], Mapping[str, Any]]) -> None:
        self._roots = roots
        self._given: dict[int, tuple[Adapted, list[str]]] = {}  # by the id of the weight
        self._saved: Mapping[str, list[str]] | None = None

    def __reduce__(self) -> tuple[type[GivenAdapters], tuple[Callable[[], Mapping[str, Any]]]]:
        return GivenAdapters, (self._roots,)  # what is noted is known by identity, and a copy has other objects

    @property
    def in_use(self) -> dict[str, list[str]]:
        """Return the adapters in use where training began, by the path of their weight."""
        paths = paths_of(self._roots()) if self._given else {}
        return {paths[at]: names for at, (_, names) in self._given.items() if at in paths}

    def note(self, nodes: Iterable[Variable | Module]) -> None:
        """Note what the program uses.

        Args:
            nodes: All that is below the roots.
        """
        for node in nodes:
            if isinstance(node, Adapted) and id(node) not in self._given:
                self._given[id(node)] = node, list(node.active)

    def remember(self, saved: Mapping[str, list[str]] | None) -> None:
        """Keep what was in use where the run that is resumed began, for `choose`; None if that is not known."""
        self._saved = saved

    def choose(self, report: RestoreReport, goes_on: bool = True) -> list[str]:
        """Use, after a restore, the adapters of the program, where nothing else had chosen the saved ones.

        What was chosen during the run that is resumed stays; a warning tells if the program has changed it, too.

        Args:
            report: The report of the restore, after which values may wait for what is not built yet.
            goes_on: Whether anything is left to train; else nothing is told. Defaults to True.

        Returns:
            What differs, as text.
        """
        if self._saved is None:
            return []
        report._gx_leave_uses({path: tuple(names) for path, names in self._saved.items()})
        chosen: list[str] = []
        kept: list[str] = []
        paths = paths_of(self._roots()) if self._given else {}
        for weight, given in self._given.values():
            path, now = paths.get(id(weight), ""), list(weight.active)
            begun = self._saved.get(path)
            if begun is None or given in (now, begun):
                continue
            if now == begun:
                set_use(weight, tuple(given))
                chosen.append(f"{path} with {_shown(given)}")
            else:
                kept.append(f"{path} with {_shown(now)}, and not {_shown(given)}")
        if chosen and goes_on:
            log.warning("resume=: the adapters in use are those of this program: %s", _some(chosen))
        if kept and goes_on:
            user_line.warn(
                f"resume=: the run goes on with the adapters that were chosen during that run: {_some(kept)}. Instead, "
                "if the program is to count: gx.adapters.use(model, ...) in on_train_begin of a callback"
            )
        return [f"{_some(told)} in this program" for told in (chosen, kept) if told]


def _shown(names: list[str]) -> str:
    return " on ".join(reversed(names)) or "none"


def _some(told: list[str]) -> str:
    return "; ".join(told[:3]) + (f" and {len(told) - 3} more" if len(told) > 3 else "")
