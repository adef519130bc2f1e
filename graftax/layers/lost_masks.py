"""Masks that get lost between the layers that a call of the user's puts together: an operation keeps none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.core import masked_arrays, tree, user_line
from graftax.core.typedefs import Array
from graftax.layers.signature import Signature
from graftax.variables import masks
from graftax.variables.state.storage import frames


class Watch:
    """The masks that layers inside of one call made or handed on, and those that a layer has made use of.

    A mask is used up where a layer takes it and gives an output without one, as a pooling over time does.
    """

    def __init__(self) -> None:
        self.given: Any = ()
        """What the call was given."""
        self._made: dict[int, Any] = {}  # by id; held, so that no other mask gets the same one
        self._used_up: set[int] = set()
        self._from: dict[int, list[Any]] = {}  # of a mask that a layer handed on: those that it took, which are held
        self._unmasked: list[tuple[str, tuple[int, ...]]] = []  # layers that would take a mask, and got none
        self._held: Any = None
        self._frame = frames.top  # what is traced within the call, such as a layer inside that is compiled, is apart

    def note_made(self, mask: Array) -> None:
        """Note a mask that an array has got."""
        if frames.top is not self._frame:
            return
        if not self._made:
            # while some array has a mask, layers look for one, also where the array that had it is gone
            self._held = np.zeros(1)
            masked_arrays.note(self._held, mask, calm=True)
        self._made[id(mask)] = mask

    def note_taken(self, layer: Any, signature: Signature, taken: dict[str, Any], inputs: object, out: object) -> None:
        """Note what a layer inside did with masks."""
        if frames.top is not self._frame:
            return
        if not taken:
            takes = signature.masks and tree.is_leaf(inputs)
            # an input of the call itself has lost nothing between layers
            if (
                takes
                and not any(inputs is leaf for leaf in tree.flatten(self.given))
                and type(layer).__module__.startswith("graftax.")
            ):
                self._unmasked.append((f"the input of {layer._gx_title()}", tuple(getattr(inputs, "shape", ()))))
        elif (handed_on := masks.mask_of(out)) is None:
            self._use_up(taken)
        else:
            self._from.setdefault(id(handed_on), []).extend([handed_on, *tree.flatten(list(taken.values()))])

    def _use_up(self, taken: dict[str, Any]) -> None:
        """Note that masks are used up, and with them those from which other layers made them."""
        waiting = tree.flatten(list(taken.values()))
        while waiting:
            mask = waiting.pop()
            if id(mask) not in self._used_up:
                self._used_up.add(id(mask))
                waiting += self._from.get(id(mask), [])

    def look(self, layer: Any, signature: Signature, out: object, taken: dict[str, Any]) -> None:
        """Warn of a mask that is gone, once for a layer.

        Args:
            layer: Whose call it was.
            signature: That of the `call`; one that takes masks makes use of them itself.
            out: The output.
            taken: The masks of the call, if layers inside met them.
        """
        if not self._made and not taken:
            return
        object.__setattr__(layer, "_gx_looks", vars(layer).get("_gx_looks", 0) + 1)
        if signature.masks:
            self._use_up(taken)
        leaves = [leaf for leaf in tree.flatten(out) if hasattr(leaf, "shape")]
        handed_on = [np.shape(mask) for leaf in leaves if (mask := masks.mask_of(leaf)) is not None]
        for mask in [*self._made.values(), *tree.flatten(list(taken.values()))]:
            shape = np.shape(mask)
            if len(shape) < 2 or id(mask) in self._used_up or shape in handed_on or layer._gx_warned:
                continue
            for what, found in [("its output", np.shape(leaf)) for leaf in leaves] + self._unmasked:
                if found[: len(shape)] == shape:
                    object.__setattr__(layer, "_gx_warned", True)
                    user_line.warn(_message(layer._gx_title(), what, shape, found))
                    break


_ENOUGH = 50
"""Calls with masks after which one that lost none is not watched: it takes time in each eager call, and what a call
does with masks is the same in most."""


def watched(layer: Any) -> tuple[Callable[..., Any], Watch | None]:
    """Return the ``call`` of a layer, and what watches one of the user's, or of a graph of layers."""
    kind = type(layer)
    puts_together = not kind.__module__.startswith("graftax.") or vars(layer).get("_gx_graph") is not None
    if not puts_together or layer._gx_makes_mask:
        return layer.call, None
    # one that is not watched any more is still none of what watches the call around
    watch = None if layer._gx_warned or vars(layer).get("_gx_looks", 0) >= _ENOUGH else Watch()

    def watched_call(*args: Any, **kwargs: Any) -> Any:
        if watch is not None:
            watch.given = args, kwargs
        outer = masks.watch.set(watch)
        try:
            return layer.call(*args, **kwargs)
        finally:
            masks.watch.reset(outer)

    return watched_call, watch


def _message(title: str, what: str, mask: tuple[int, ...], found: tuple[int, ...]) -> str:
    return (
        f"a mask of shape {mask} is lost in {title}: {what}, of shape {found}, has none, since operations between "
        "layers keep no masks, so hidden positions count there. Instead: layers for these steps, such as layers.Add(), "
        "or a class with supports_masking = True; or layer(x, mask=mask); or compute_mask, which returns that of the "
        "output, or None if it has none"
    )
