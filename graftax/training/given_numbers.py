"""Numbers that a program gives to its optimizers and that are state from then on: learning rates, loss scales."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from graftax.core import user_line
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.engine.keeper import SlotKeeper
from graftax.optimizers.engine.loss_scale import LossScale
from graftax.optimizers.engine.planning import Planning
from graftax.training.compiled_loss import WEIGHTS
from graftax.variables.graph.module import Module, walk_with_edges
from graftax.variables.variable import Variable

log = logging.getLogger("graftax")

Edges: TypeAlias = "tuple[str | int, ...]"

_ROLES = ("hyper", "state", "weight")


class GivenNumbers:
    """The numbers of optimizers as they are where training begins, which a checkpoint of the run remembers.

    They are in Variables, so a restore assigns the saved ones, also where nothing but a constructor set these.

    Args:
        roots: Returns the objects that are trained and saved, by the beginnings of their paths.

    Example:
        >>> import graftax as gx
        >>> optimizer = gx.optimizers.SGD(0.1)
        >>> numbers = GivenNumbers(lambda: {"optimizer": optimizer})
        >>> numbers.note()
        >>> optimizer.learning_rate = 0.5
        >>> numbers.given
        {'optimizer.learning_rate': 0.1}
    """

    def __init__(self, roots: Callable[[], Mapping[str, Any]]) -> None:
        self._roots = roots
        self.given: dict[str, float] | None = None
        """The numbers by the expression that gives their Variable; None before they are noted."""
        self._saved: Mapping[str, float] = {}

    def note(self) -> None:
        """Note the numbers of the program, unless they have been noted."""
        if self.given is None:
            self.given = {key: _number_of(variable) for key, _, variable in self._iterate()}

    def remember(self, saved: Mapping[str, float]) -> None:
        """Keep the numbers that the program of the run that is resumed had given, for `choose`."""
        self._saved = saved

    def choose(self, goes_on: bool = True) -> list[str]:
        """Assign, after a restore, the numbers of the program where nothing but a constructor had set the saved ones.

        What changed during the run that is resumed stays; a warning tells of a number that the program changed, too.

        Args:
            goes_on: Whether anything is left to train; else nothing is told. Defaults to True.

        Returns:
            What differs, as text.
        """
        chosen: list[str] = []
        kept: list[tuple[str, str, float]] = []
        for key, place, variable in self._iterate():
            # runs that were saved before have numbers in place of rules
            new, old, now = (
                (self.given or {}).get(key),
                self._saved.get(key, self._saved.get(place)),
                _number_of(variable),
            )
            if new is None or old is None:
                continue
            old = _in_dtype_of(variable, old)
            if new in (now, old):
                continue
            if now == old:
                variable.assign(np.asarray(new, variable.dtype))
                chosen.append(f"{place} = {new:g}, where that run had {now:g}")
            else:
                how = f"which that run had changed from {old:g}, and not with the {new:g} of this program"
                kept.append((place, f"{now:g}, {how}", new))
        told = [f"{place} = {what}" for place, what, _ in kept]
        if chosen and goes_on:
            log.info("resume=: the numbers of this program count, which are others: %s", "; ".join(chosen))
        if kept and goes_on:
            lines = "; ".join(f"{place}.assign({new:g})" for place, _, new in kept)
            user_line.warn(
                f"resume=: the run goes on with {'; with '.join(told)}. "
                f"Instead, if the new number is to count: {lines} in on_train_begin of a callback"
            )
        return chosen + told

    def _iterate(self) -> Iterator[tuple[str, str, Variable]]:
        """Yield what a number is known by, the expression that gives its Variable, and the Variable."""
        seen: set[int] = set()
        for root, one in self._roots().items():
            for edges, node in walk_with_edges(one) if isinstance(one, Module) else ():
                if isinstance(node, SlotKeeper | AroundOptimizer | LossScale):
                    found = list(walk_with_edges(node))
                elif WEIGHTS in edges:
                    found = [((), node)]
                else:
                    continue
                rules = _rules_that_name(found)
                for way, leaf in found:
                    if isinstance(leaf, Variable) and _is_number(leaf) and id(leaf) not in seen:
                        seen.add(id(leaf))
                        by_rules = tuple(rules.get(way[: i + 1], edge) for i, edge in enumerate(way))
                        place = root + _as_attributes(edges)
                        yield place + _as_attributes(by_rules), place + _as_attributes(way), leaf


def _rules_that_name(found: Iterable[tuple[Edges, object]]) -> dict[Edges, str]:
    """Return the ways to optimizers that rules name, each with the selectors, which stay where the order does not."""
    named = {
        way: " | ".join(one._gx_selectors) for way, one in found if isinstance(one, Planning) and one._gx_selectors
    }
    counts = Counter((way[:-1], rules) for way, rules in named.items())
    return {way: rules for way, rules in named.items() if counts[way[:-1], rules] == 1}


def _is_number(variable: Variable) -> bool:
    return variable.role in _ROLES and not variable.trainable and tuple(variable.shape) == ()


def _as_attributes(edges: Edges) -> str:
    """Return edges as Python reaches them: ``.others[0].learning_rate``."""
    return "".join(f".{edge}" if isinstance(edge, str) and edge.isidentifier() else f"[{edge!r}]" for edge in edges)


def _number_of(variable: Variable) -> float:
    return float(str(variable.numpy()))  # 0.1 as written, not its float32


def _in_dtype_of(variable: Variable, number: float) -> float:
    return float(str(np.asarray(number, variable.dtype)))
