"""What flows down a tree of layer calls beside the arrays: the training flag, added losses; and what masks it met."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from graftax.core.scopes import ScopeStack, register_ambient
from graftax.variables import masks
from graftax.variables.state.memo import read_setting
from graftax.variables.state.storage import Frame, frames

if TYPE_CHECKING:
    from graftax.variables.graph.node import Branch

_numbers = itertools.count(1)


def next_number() -> int:
    """Return a number that no outermost call has had."""
    return next(_numbers)


class CallContext:
    """One per layer call; calls inside it inherit the training flag.

    Args:
        root: The outermost layer being called, or None for a context opened by a training step.
        training: The flag that inner layers inherit.
        outer: The context around this one.
    """

    is_training: bool | None

    def __init__(self, root: Branch | None, training: bool | None, outer: CallContext | None) -> None:
        self.training = training
        self.root: Branch | None
        self.number: int
        self.frames: tuple[Frame, ...]
        if outer is not None and outer.root is not None:
            self.root, self.number, self.frames = outer.root, outer.number, outer.frames
        else:
            self.root, self.number, self.frames = root, next(_numbers), frames.items
        self.masks_met = False
        """Whether a layer inside was given an array with a mask."""

    def mask_of(self, value: object) -> Any:
        """Return the mask of an array, or the structure of masks of a structure of arrays; None where there is none."""
        return masks.mask_of(value)

    def set_mask(self, value: object, mask: object) -> None:
        """Give an array (or each of a structure) its mask."""
        masks.set_mask(value, mask)


contexts: ScopeStack[CallContext] = ScopeStack("layer call")


def _read_training() -> bool | None:
    inside = contexts.read()
    return inside[-1].training if inside else None


register_ambient(_read_training, name="the training flag of the call around")


def is_training() -> bool:
    """Return whether the weights are read by a layer call of training; for expressions that move or draw only then.

    Example:
        >>> is_training()
        False
    """
    return read_setting(_is_training)


def _is_training() -> bool:
    return contexts.top is not None and bool(contexts.top.training)
