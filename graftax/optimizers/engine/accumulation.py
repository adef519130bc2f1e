"""Accumulation: several small batches that move the weights as one large batch would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from graftax import ops
from graftax.optimizers.engine.gradients import Pair
from graftax.optimizers.engine.slot_table import Row
from graftax.transforms.flow.branches import cond
from graftax.variables.variable import Variable

SLOT = "accumulated_gradient"


def accumulate(
    pairs: list[Pair],
    rows: Mapping[int, Row],
    still: Iterable[Variable],
    absent: Mapping[Variable, Sequence[Variable]],
    gathered: Variable,
    steps: int,
    move: Callable[[list[Pair]], None],
) -> None:
    """Add gradients up; with the last of ``steps``, move along their mean and start anew.

    Args:
        pairs: Variables with the gradients of one small batch.
        rows: The rows of the variables by their identity, of those that are absent, too.
        still: Sums of variables that are frozen: they are dropped with the update.
        absent: Variables without a gradient in this batch, and their slots: those that had one before move, too.
        gathered: How many small batches there are so far.
        steps: How many it takes.
        move: Does the update.
    """
    kept = [(variable, rows[id(variable)].slots[SLOT]) for variable, _ in pairs]
    for (_, slot), (_, gradient) in zip(kept, pairs, strict=True):
        slot.assign_add(ops.cast(gradient, slot.dtype))
    gathered.assign_add(1)

    def last() -> None:
        earlier = [(variable, rows[id(variable)].slots[SLOT]) for variable in absent]
        had_one = [ops.any(ops.not_equal(slot.value, 0)) for _, slot in earlier]
        before = [[(part, part.value) for part in (variable, *slots)] for variable, slots in absent.items()]
        move([(variable, slot.value / ops.cast(gathered, slot.dtype)) for variable, slot in (*kept, *earlier)])
        for moves, parts in zip(had_one, before, strict=True):  # without a gradient nothing moves, nor decays
            for part, value in parts:
                part.assign(ops.where(moves, part.value, value))
        for slot in (*(slot for _, slot in (*kept, *earlier)), *still):
            slot.assign(ops.zeros_like(slot))
        gathered.assign(ops.zeros_like(gathered))

    cond(gathered.value >= steps, last, lambda: None)
