"""Constant folding of expressions: they are computed once, at the export, and the program gets plain weights."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core.errors import SelectorError
from graftax.core.selectors import SelectorLike, compile_selector
from graftax.core.tally import pick
from graftax.reparam.base import Reparam
from graftax.reparam.quantized import QuantizedWeight
from graftax.transforms.lifting.frames import Substitution
from graftax.variables.graph.node import Node
from graftax.variables.graph.walking import walk
from graftax.variables.state.memo import Computation, Memo, computations
from graftax.variables.state.storage import Storage, autocast, frames, stand_ins


class Folded:
    """The values that stand for expressions in the programs of one artefact, where each path has one value."""

    def __init__(self) -> None:
        self._values = Memo()
        self._places: dict[Reparam, Storage] = {}

    def value(self, node: Reparam) -> tuple[Storage, Computation] | None:
        """Return the value of an expression, as it is stored, and what it is computed from.

        None if another one stands for it already, such as that with another training flag.
        """
        found: tuple[Storage, Computation] = self._values.value(node, lambda: _compute(node))
        return found if self._places.setdefault(node, found[0]) is found[0] else None


class Folding:
    """Replaces expressions by plain values while a function is traced. Each is computed at its first read.

    An expression is not folded if it, or a part of it, stores integers; if computing it assigns a Variable; or if one
    of its Variables has another value at that point of the function than in its buffer.

    Args:
        chosen: True for all that can be folded, or a selector of expressions, including those with integers.
        known: The values of expressions that were folded before, in other programs.
        moving: The Variables that other programs of the artefact assign; expressions of these are not folded.
        integers: Whether expressions that store integers themselves are folded, since their values will be stored as
            integers. Defaults to False.
    """

    def __init__(
        self,
        chosen: bool | SelectorLike,
        folded: Folded,
        moving: frozenset[Storage] = frozenset(),
        integers: bool = False,
    ) -> None:
        self._chosen = chosen
        self._moving = moving
        self._integers = integers
        self._selector = None if isinstance(chosen, bool) else compile_selector(chosen)
        self._known = folded
        self._met: dict[int, Reparam] = {}
        self.folded: dict[Storage, Reparam] = {}
        """The values that stand for expressions."""

    def __call__(self, node: Node) -> Storage | None:
        """Return the storage with the value of an expression; None if it is not folded."""
        if not isinstance(node, Reparam):
            return None
        self._met[id(node)] = node
        if not self._folds(node):
            return None
        found = self._known.value(node)
        if found is None:
            return None
        value, computation = found
        frame = frames.top
        if (
            computation.moved
            or self._moving & computation.read
            or (frame is not None and any(frame.has_changed(_storage(one)) for one in computation.read))
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
            SelectorError: the selector matches nothing.
        """
        if self._selector is None:
            return
        if not self._met:
            raise SelectorError(
                f"fold={self._selector.text}, for a function that reads no weight that is an expression",
                "fold= selects expressions, such as weights with LoRA or Int8, and here it has no effect",
                "leave fold= out",
            )
        pick(self._selector, (((one._gx_path,), one) for one in self._met.values()), "fold=")


def _compute(node: Reparam) -> tuple[Storage, Computation]:
    """Return a new storage with the value of an expression as it is stored, and what it is computed from."""
    seen = Computation()
    alone = Substitution(None, (), None)
    with (
        stand_ins.replaced(()),
        frames.replaced((alone,)),
        computations.replaced((seen,)),
        autocast.entered(None),  # a layer of mixed precision rounds what it reads, as with plain weights
        registry.current().arrays.eager(),
    ):
        value = node.value
    seen.moved |= set(alone.written)
    if (kept := computations.top) is not None:
        seen.add_to(kept)  # what is kept holds as long as the settings, such as the training flag, are these
    return Storage(value, registry.current(), node), seen


def _storage(cell: Any) -> Storage:
    assert isinstance(cell, Storage)
    return cell
