"""Masks that get lost between the layers that a call of the user's puts together: an operation keeps none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from graftax.core import masked_arrays, tree, user_line
from graftax.core.ours import is_ours
from graftax.core.typedefs import Array
from graftax.layers import mask_losses
from graftax.layers.mask_losses import Loss, Screen
from graftax.layers.signature import Signature
from graftax.variables import masks
from graftax.variables.state.storage import frames


class _Notes:
    """What a watch has seen."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}  # by id; held, so that no other mask gets the same one
        self.used_up: set[int] = set()
        self.sources: dict[int, list[Any]] = {}  # of a mask that a layer handed on: those that it took, which are held
        # and whether it counts where shapes are all there is
        self.unmasked: list[tuple[mask_losses.Consumer, bool]] = []
        self.held: Any = None

    def use_up(self, waiting: list[Any]) -> None:
        """Note that masks are used up, and with them those from which other layers made them."""
        while waiting:
            mask = waiting.pop()
            if id(mask) not in self.used_up:
                self.used_up.add(id(mask))
                waiting += self.sources.get(id(mask), [])


class Watch(Screen):
    """The masks that layers inside of one call made or handed on, and what has as many steps, but no mask.

    That is cheap, and only a suspicion: a vector of features may be as long as the sequence. `mask_losses` follows it
    up. Where it cannot, a mask counts as used up where a layer takes it and gives an output without one.
    """

    def __init__(self, is_apart: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.is_apart = is_apart
        self.notes: _Notes | None = None  # most calls meet no masks
        self.frames: tuple[Any, ...] = ()
        """Those of the call: what is traced within it, such as a layer inside that is compiled, is apart."""
        self._args = args
        self._kwargs = kwargs

    def note_made(self, value: Array, mask: Array) -> None:
        """Note a mask that an array has got."""
        if frames.read() is not self.frames:
            return
        notes = self._notes()
        if not notes.made:
            # while some array has a mask, layers look for one, also where the array that had it is gone
            notes.held = np.zeros(1)
            masked_arrays.note(notes.held, mask, calm=True)
        notes.made[id(mask)] = mask

    def note_call(self, layer: Any, taken: dict[str, Any], out: Any) -> None:
        """Note what a layer inside did with masks."""
        if frames.read() is not self.frames:
            return
        handed_on = masks.mask_of(out)
        made = [mask for mask in tree.flatten(handed_on) if mask is not None]
        for mask in made:
            self.note_made(out, mask)
        if not taken:
            return
        if not made:
            self._notes().use_up(tree.flatten(list(taken.values())))
        for mask in made:
            self._notes().sources.setdefault(id(mask), []).extend([mask, *tree.flatten(list(taken.values()))])

    def note_unmasked(self, consumer: mask_losses.Consumer) -> None:
        """Note that a layer inside, which takes masks, got an array without one."""
        if frames.read() is self.frames:
            # an input of the call itself has lost nothing between layers
            is_given = any(consumer.value is leaf for leaf in tree.flatten([list(self._args), self._kwargs]))
            takes = is_ours(type(consumer.layer))
            counts = takes and not is_given and masks.watches.get()[-1] is self
            self._notes().unmasked.append((consumer._replace(value=None), counts))

    def _notes(self) -> _Notes:
        if self.notes is None:
            self.notes = _Notes()
        return self.notes

    def look(self, layer: Any, signature: Signature, out: object, taken: dict[str, Any], met: bool) -> None:
        """Warn of a mask that is gone, once for a layer.

        Args:
            layer: Whose call it was.
            signature: That of the `call`; one that takes masks makes use of them itself.
            out: The output.
            taken: The masks of the call.
            met: Whether layers inside met them.
        """
        if not taken and (self.notes is None or not self.notes.made):
            return
        came = tree.flatten(list(taken.values()))
        own = came if signature.masks else []
        if not met and not layer.supports_masking:
            came = []  # the layer drops them, and says so
        notes = self._notes()
        object.__setattr__(layer, "_gx_looks", vars(layer).get("_gx_looks", 0) + 1)
        wanted = {id(mask): mask for mask in [*notes.made.values(), *came]}
        shapes = {np.shape(mask) for key, mask in wanted.items() if not any(mask is one for one in own)}
        outputs = [mask_losses.OUTPUT._replace(shape=np.shape(leaf)) for leaf in tree.flatten(out) if _has_shape(leaf)]
        suspects = {
            (shape, one.name, one.shape)
            for one in [*(consumer for consumer, _ in notes.unmasked), *outputs]
            for shape in shapes
            if len(shape) > 1 and one.shape[: len(shape)] == shape
        }
        harmless = _harmless.setdefault(layer, set())
        fresh = {(shape[1:], name, found[1:]) for shape, name, found in suspects} - harmless
        if not fresh or layer._gx_warned:
            return
        losses = mask_losses.find(layer, self._args, self._kwargs, own)
        if losses is None:
            notes.use_up(own)
            losses = _guess(notes, list(wanted.values()), outputs, out)
        if not losses:
            harmless |= fresh
            return
        object.__setattr__(layer, "_gx_warned", True)
        user_line.warn(_message(layer._gx_title(), losses[0]))


def _guess(notes: _Notes, found: list[Any], outputs: list[mask_losses.Consumer], out: object) -> list[Loss]:
    """Return what is lost by the look of it: of masks that nothing used up, where the shapes say so."""
    handed_on = [np.shape(mask) for leaf in tree.flatten(out) if (mask := masks.mask_of(leaf)) is not None]
    unmasked = [consumer for consumer, counts in notes.unmasked if counts]
    return [
        Loss(shape, "", one, "", None)
        for mask in found
        if len(shape := np.shape(mask)) > 1 and id(mask) not in notes.used_up and shape not in handed_on
        for one in [*unmasked, *outputs]
        if one.shape[: len(shape)] == shape
    ]


_ENOUGH = 50
"""Calls with masks after which one that lost none is not watched: it takes time in each eager call, and what a call
does with masks is the same in most."""
_harmless: WeakKeyDictionary[Any, set[tuple[tuple[int, ...], str, tuple[int, ...]]]] = WeakKeyDictionary()
"""Shapes that looked like a loss in a layer, and were none: of a mask and of an array, without the batch."""


def watched(
    layer: Any, taken: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], Watch | None]:
    """Return the ``call`` of a layer, and what watches one of the user's, or of a graph of layers.

    Args:
        layer: The layer.
        taken: The masks of the call.
        args: What the ``call`` is given.
        kwargs: What it is given by name.
    """
    kind = type(layer)
    puts_together = not is_ours(kind) or vars(layer).get("_gx_graph") is not None
    if not puts_together or layer._gx_makes_mask:
        return layer.call, None
    # one that is not watched any more is still none of what watches the call around
    is_over = layer._gx_warned or vars(layer).get("_gx_looks", 0) >= _ENOUGH or mask_losses.is_looking()
    watch = None if is_over else Watch(bool(taken), args, kwargs)
    screen = Screen(bool(taken)) if watch is None else watch

    def watched_call(*args: Any, **kwargs: Any) -> Any:
        if watch is not None:
            watch.frames = frames.read()
        outer = masks.watches.set((*masks.watches.get(), screen))
        try:
            return layer.call(*args, **kwargs)
        finally:
            masks.watches.reset(outer)

    return watched_call, watch


def note_call(
    layer: Any,
    signature: Signature,
    taken: dict[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    out: object,
) -> None:
    """Tell those that watch the calls around what a layer did with masks."""
    around = masks.watches.get()
    if not around:
        return
    around[-1].note_call(layer, taken, out)
    for consumer in mask_losses.unmasked(layer, signature, taken, args, kwargs):
        for one in reversed(around):
            one.note_unmasked(consumer)
            if one.is_apart:
                break


def _has_shape(leaf: object) -> bool:
    return hasattr(leaf, "shape") and masks.mask_of(leaf) is None


def _message(title: str, loss: Loss) -> str:
    consumer = loss.consumer
    source = f"{loss.source} has it, and " if loss.source else ""
    place = f" ({user_line.show_place(loss.place)})" if loss.place is not None else ""
    op = f"Operations keep no masks; the first one is {loss.op}{place}" if loss.op else "Operations keep no masks"
    own = "compute_mask of the class, which returns that of the output, or None if it has none"
    if consumer.layer is not None:
        argument, name = consumer.argument, consumer.layer.name
        own = f"{argument}=mask in the call of {name!r}, or {argument}=None if all positions are to count"
    return (
        f"a mask of shape {loss.shape} is lost in {title}: {source}{consumer.name}, of shape {consumer.shape}, has "
        f"none, so hidden positions count there. {op}. Instead: layers for these steps, such as layers.Add(), or a "
        f"class with supports_masking = True; or {own}"
    )
