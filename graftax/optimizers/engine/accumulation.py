"""Accumulation: several small batches that change the weights as one large batch would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from graftax import ops
from graftax.optimizers.engine.update import Update
from graftax.transforms.flow.branches import cond
from graftax.variables.variable import Variable

SLOT = "accumulated_gradient"


def accumulate(
    updates: list[Update],
    absent: Sequence[tuple[Update, Sequence[Variable]]],
    frozen: Iterable[Variable],
    gathered: Variable,
    steps: int,
    then: Callable[[list[Update]], None],
) -> None:
    """Add gradients up; with the last of ``steps``, go on along their mean and start anew.

    Args:
        updates: Along the gradients of one small batch.
        absent: Updates of variables without a gradient in this batch, and their slots: those that had a gradient in an
            earlier batch change, too.
        frozen: Sums of variables that are frozen: they are dropped with the update.
        gathered: How many small batches there are so far.
        steps: How many it takes.
        then: Does the update.
    """
    sums = [update.slots[SLOT] for update in updates]
    # sums, divided once in the end: a mean of what there is so far would be rounded at each batch
    for slot, update in zip(sums, updates, strict=True):
        slot.assign_add(ops.cast(update.gradient, slot.dtype))
    gathered.assign_add(1)

    def apply_sums() -> None:
        earlier = [update.slots[SLOT] for update, _ in absent]
        had_one = [ops.any(ops.not_equal(slot.value, 0)) for slot in earlier]
        before = [[(part, part._gx_stored) for part in (update.variable, *slots)] for update, slots in absent]
        both = zip((*updates, *(update for update, _ in absent)), (*sums, *earlier), strict=True)
        then([update.with_gradient(slot.value / ops.cast(gathered, slot.dtype)) for update, slot in both])
        for changes, parts in zip(had_one, before, strict=True):  # without a gradient nothing changes, nor decays
            for part, value in parts:
                part.assign(ops.where(changes, part._gx_stored, value))
        for slot in (*sums, *earlier, *frozen):
            slot.assign(ops.zeros_like(slot))
        gathered.assign(ops.zeros_like(gathered))

    cond(gathered.value >= steps, apply_sums, lambda: None)
