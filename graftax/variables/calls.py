"""What flows down a tree of layer calls beside the arrays: the training flag, masks, added losses."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from graftax import tree
from graftax.scopes import ScopeStack, register_ambient
from graftax.typedefs import Array
from graftax.variables.memo import looked_at

if TYPE_CHECKING:
    from graftax.module import Module

_numbers = itertools.count(1)


class CallContext:
    """One per layer call; calls inside it inherit the training flag and share the masks.

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
        # masks by the identity of the array they belong to; the array is kept, so that the identity stays its own
        self._masks: dict[int, tuple[Any, Array]] = outer._masks if outer is not None else {}

    @property
    def has_masks(self) -> bool:
        """True if an array has a mask."""
        return bool(self._masks)

    def mask_of(self, value: Any) -> Any:
        """The mask of an array, or the structure of masks of a structure of arrays; None where there is none."""
        if not self._masks:
            return None
        if tree.is_leaf(value):
            found = self._masks.get(id(value))
            return found[1] if found is not None else None
        masks = tree.map_structure(self.mask_of, value)
        return masks if any(mask is not None for mask in tree.flatten(masks)) else None

    def set_mask(self, value: Any, mask: Any) -> None:
        """Give an array (or each of a structure) its mask."""
        if mask is None:
            return
        if tree.is_leaf(value):
            self._masks[id(value)] = (value, mask)
        else:
            for leaf, part in zip(tree.flatten(value), tree.flatten(mask), strict=False):
                self.set_mask(leaf, part)


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
