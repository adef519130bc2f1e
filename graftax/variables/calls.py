"""What flows down a tree of layer calls beside the arrays: the training flag, added losses; and what masks it met."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from graftax.scopes import ScopeStack, register_ambient
from graftax.variables import masks
from graftax.variables.memo import looked_at

if TYPE_CHECKING:
    from graftax.module import Module

_numbers = itertools.count(1)


class CallContext:
    """One per layer call; calls inside it inherit the training flag.

    Args:
        root: The outermost layer being called, or None for a context opened by a training step.
        training: The flag that inner layers inherit.
        outer: The context around this one.
    """

    root: Module | None
    training: bool | None

    def __init__(self, root: Module | None, training: bool | None, outer: CallContext | None) -> None:
        self.root = outer.root if outer is not None and outer.root is not None else root
        self.training = training
        self.number: int = outer.number if outer is not None else next(_numbers)
        self.masks_met = False
        """Whether a layer inside was given an array with a mask."""

    def mask_of(self, value: Any) -> Any:
        """The mask of an array, or the structure of masks of a structure of arrays; None where there is none."""
        return masks.mask_of(value)

    def set_mask(self, value: Any, mask: Any) -> None:
        """Give an array (or each of a structure) its mask."""
        masks.set_mask(value, mask)


contexts: ScopeStack[CallContext] = ScopeStack("layer call")
register_ambient(lambda: contexts.top.training if contexts.top is not None else None)


def training() -> bool:
    """Whether the weights are read by a layer call of training; for expressions that move or draw only then.

    Example:
        >>> training()
        False
    """
    return looked_at(_training)


def _training() -> bool:
    return contexts.top is not None and bool(contexts.top.training)
