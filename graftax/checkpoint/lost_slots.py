"""Optimizers that are saved, or restored, without their slots: they would go on with fresh ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from graftax.checkpoint.children import keeps_slots
from graftax.checkpoint.graph import Place, SlotPlace
from graftax.checkpoint.index import Kind
from graftax.checkpoint.matching import Match
from graftax.checkpoint.paths import slot_path
from graftax.checkpoint.subset import Spot
from graftax.core import user_line
from graftax.variables.graph.module import Module


class LostSlots(NamedTuple):
    """An optimizer that is saved while all of its slots are left out: its path, its class and the paths of these."""

    optimizer: str
    kind: str
    slots: tuple[str, ...]
    is_chosen: bool

    def warn(self) -> None:
        """Warn that the slots are not saved."""
        some = ", ".join(self.slots[:2]) + (", …" if len(self.slots) > 2 else "")
        instead = (
            f'only=["model/**", "{self.optimizer}/**"], with what is trained'
            if self.is_chosen
            else "Checkpoint(model=model, optimizer=optimizer)"
        )
        user_line.warn(
            f"the save of {self.optimizer!r} leaves out all slots of {self.kind} ({len(self.slots)}: {some}). They "
            "belong to variables that are not saved with it, so a training that is restored from it begins with fresh "
            f"ones. Instead: {instead}"
        )


def find_lost_slots(
    left_out: Iterable[SlotPlace], saved: Iterable[SlotPlace], is_chosen: bool
) -> tuple[LostSlots, ...]:
    """Return the optimizers that are saved without any of their slots, nor with those of optimizers in their rules.

    Args:
        left_out: The slots that are left out, of optimizers that are saved.
        saved: The slots that are saved.
        is_chosen: Whether only a part is saved.
    """
    whole = {slot.optimizer.path for slot in saved}
    lost: dict[str, list[SlotPlace]] = {}
    for slot in left_out:
        path = slot.optimizer.path
        if not any(_is_related(path, other) for other in whole):
            outer = next((known for known in lost if path.startswith(f"{known}/")), path)
            lost.setdefault(outer, []).append(slot)
    return tuple(
        [
            LostSlots(path, type(slots[0].optimizer.thing).__name__, tuple([s.slot.path for s in slots]), is_chosen)
            for path, slots in lost.items()
        ]
    )


def warn_of_fresh_slots(match: Match, values: Mapping[int, Any]) -> None:
    """Warn of optimizers that had made steps when they were saved, without any slot, and that keep slots.

    Args:
        match: The pairs of objects and nodes.
        values: The values that are restored, by node.
    """
    kept = {slot.optimizer for slot in match.index.slots}
    for node, places in match.objects.items():
        for place in places:
            steps = _steps(match, place, values)
            if steps < 1 or node in kept:
                continue
            paths = [path for other in kept if (path := match.paths.get(other)) is not None]
            if any(_is_related(match.paths.get(node, place.path), path) for path in paths):
                continue
            if fresh := _fresh_slot(match, place):
                kind = type(place.thing).__name__
                user_line.warn(
                    f"{place.path!r} is restored with iterations={steps}, and the checkpoint has no slots of it, such "
                    f"as {fresh}: {kind} goes on with fresh ones. Instead: a checkpoint that was saved together with "
                    "the variables, Checkpoint(model=model, optimizer=optimizer)"
                )


def _steps(match: Match, place: Place, values: Mapping[int, Any]) -> int:
    """Return the saved count of steps that is restored into an optimizer; 0 where there is none."""
    counter = place.edges.get("iterations")
    if counter is None or counter.kind is not Kind.VARIABLE or counter not in match.pairs:
        return 0
    if not isinstance(place.thing, Module) or not keeps_slots(place.thing):
        return 0
    value = values.get(match.pairs[counter])
    return int(value) if value is not None and value.shape == () else 0


def _fresh_slot(match: Match, optimizer: Place) -> str | None:
    """Return the path of a selected slot that stays fresh, or will be; None if there is none."""
    found = [slot.slot.spot for slot in match.graph.slots if slot.optimizer is optimizer]
    if not found:
        weights = [place for place in match.graph.places if place.role == "weight" and place.kind is Kind.VARIABLE]
        found = [
            Spot(slot_path(optimizer.path, name, place.path), "slot")
            for place in weights
            if place.thing.trainable
            for name in optimizer.thing._gx_slot_names(place.thing)
        ]
    return next((spot.path for spot in found if spot in match.subset), None)


def _is_related(path: str, other: str) -> bool:
    """Return whether the paths are of one optimizer, or one is in the rules of the other."""
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")
