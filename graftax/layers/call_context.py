"""What flows down a tree of layer calls beside the arrays: the training flag, masks, added losses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graftax import tree
from graftax.backend import registry
from graftax.module import Module
from graftax.scopes import ScopeStack, register_ambient
from graftax.typedefs import Array

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


@contextmanager
def call_context(training: bool | None = None) -> Iterator[CallContext]:
    """Open a context around several layer calls, to see their masks afterwards.

    Args:
        training: The flag that layers inherit which are given none.

    Example:
        >>> import numpy as np, graftax as gx
        >>> embedding = gx.layers.Embedding(5, 2, mask_zero=True)
        >>> with call_context() as context:
        ...     out = embedding(np.array([[1, 0]]))
        ...     mask = context.mask_of(out)
        >>> mask.tolist()
        [[True, False]]
    """
    outer = contexts.top
    if training is None and outer is not None:
        training = outer.training
    with contexts.entered(CallContext(None, training, outer)):
        yield contexts.top  # type: ignore[misc]


_parts: ScopeStack[str] = ScopeStack("part of a program")


@contextmanager
def named_part(path: str) -> Iterator[None]:
    """Inside, what is traced belongs to the layer of that path, which profilers show and `graftax.find_nan` tells."""
    backend = registry.current()
    if not backend.has("transforms"):
        yield
        return
    outer = _parts.top
    if outer is not None and path.startswith(f"{outer}/"):
        name = path[len(outer) + 1 :]
    else:
        name = path if outer is None else f"/{path}"  # of a layer that another one holds: its path begins anew
    with _parts.entered(path), backend.transforms.named(name):
        yield
