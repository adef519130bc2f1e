"""Folding: expressions behind weights are computed once, at the export; the program gets their values as weights."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core.selectors import SelectorLike, compile_selector
from graftax.reparam.base import Reparam
from graftax.reparam.quantized import QuantizedWeight
from graftax.transforms.lifting.frames import Substitution
from graftax.variables.graph.node import Node
from graftax.variables.graph.walking import walk
from graftax.variables.state.memo import Computation, Memo, computations
from graftax.variables.state.storage import Storage, autocast, frames, stand_ins


class Folding:
    """Says, while a function is traced, where the value of an expression lies: it is computed when first read.

    An expression stays live where it stores integers, itself or below, where computing it moves a Variable, and where
    what it is computed from has another value at that point of the function than its buffer.

    Args:
        chosen: True for all that can be folded, or a selector of what is folded, integers included.
        moving: What other programs of the artefact assign: an expression of these stays live, too.
        integers: Whether one that is integers itself is folded, since its value will be stored as these. Defaults to
            False.
    """

    def __init__(
        self, chosen: bool | SelectorLike, moving: frozenset[Storage] = frozenset(), integers: bool = False
    ) -> None:
        self._chosen = chosen
        self._moving = moving
        self._integers = integers
        self._selector = None if isinstance(chosen, bool) else compile_selector(chosen)
        self._values = Memo()
        self._met: dict[int, Reparam] = {}
        self._places: dict[Reparam, Storage] = {}
        self.folded: dict[Storage, Reparam] = {}
        """The values that stand for expressions."""

    def __call__(self, node: Node) -> Storage | None:
        """Return where the value of an expression lies; None if it is to be computed."""
        if not isinstance(node, Reparam):
            return None
        self._met[id(node)] = node
        if not self._folds(node):
            return None
        # the training flag may be another one at the next read, which the memo sees
        found: tuple[Storage, Computation] = self._values.value((node, autocast.top), lambda: _computed(node))
        value, computation = found
        if self._places.setdefault(node, value) is not value:  # read in another dtype: a path has one value
            return None
        frame = frames.top
        if (
            computation.moved
            or self._moving & computation.read
            or (frame is not None and any(frame.moved(_storage(one)) for one in computation.read))
        ):
            return None
        self.folded[value] = node
        return value

    def _folds(self, node: Reparam) -> bool:
        if self._selector is not None:
            return self._selector.sees((node._gx_path,), node.role, node)
        if self._integers and isinstance(node, QuantizedWeight):
            return bool(self._chosen)
        return bool(self._chosen) and not any(isinstance(one, QuantizedWeight) for one in walk(node))

    def check(self) -> None:
        """Raise if the selector matches no expression that was read.

        Raises:
            SelectorError: it does not.
        """
        if self._selector is not None:
            self._selector.pick((((one._gx_path,), one) for one in self._met.values()), "the expressions that are read")


def _computed(node: Reparam) -> tuple[Storage, Computation]:
    """Return the value of an expression in a place of its own, and what it is computed from."""
    seen = Computation()
    alone = Substitution(None, (), None)
    with (
        stand_ins.replaced(()),
        frames.replaced((alone,)),
        computations.replaced((seen,)),
        registry.current().arrays.eager(),
    ):
        value = node.value
    seen.moved |= set(alone.written)
    return Storage(value, registry.current(), node), seen


def _storage(cell: Any) -> Storage:
    assert isinstance(cell, Storage)
    return cell
