"""Slots that a checkpoint lacks, since the saved optimizer had not made them: a strict restore resets them."""

from __future__ import annotations

from collections.abc import Iterable

from graftax.checkpoint.graph import SlotPlace
from graftax.checkpoint.matching import Match
from graftax.checkpoint.transaction import Transaction
from graftax.variables.variable import Variable


def slots_to_reset(match: Match) -> list[SlotPlace]:
    """Return the selected slots without a value whose optimizer and Variable are restored.

    They would otherwise keep what the training made of them between the save and the restore. In mode ``"overlap"``,
    where what the checkpoint lacks stays as it is, there are none.
    """
    if match.mode == "overlap":
        return []
    restored = {place for places in match.objects.values() for place in places}
    return [
        slot
        for slot in match.graph.slots
        if slot.optimizer in restored
        and slot.variable in match.pairs
        and slot.slot not in match.pairs
        and slot.optimizer.thing._gx_resets_slots
        and match.is_selected(slot.slot)
    ]


def reset_slots(changes: Transaction, slots: Iterable[SlotPlace]) -> None:
    """Give slots the values that a new optimizer would give them, beside the restored values of their Variables."""
    made: dict[tuple[int, int], dict[str, Variable]] = {}
    for slot in slots:
        assert slot.variable is not None  # see `slots_to_reset`
        keeper, variable = slot.optimizer.thing, slot.variable.thing
        key = id(keeper), id(variable)
        if key not in made:
            made[key] = keeper._gx_new_slots(variable)
        new = made[key].get(slot.name)
        if new is not None:
            changes.write(slot.slot.thing._storage, new._gx_stored)
