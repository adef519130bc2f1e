"""Which variables a compiled update moves together: many small ones, each of them an input of its own, cost more time
to pass than to update."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from graftax.backend import registry
from graftax.optimizers.slot import Row
from graftax.variables.storage import frames
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.optimizers.gradients import Pair
    from graftax.optimizers.optimizer import Optimizer

Work = tuple["Pair", Row]

_SMALL = 64 * 1024  # bytes; to copy a larger array costs more than to pass it
_MOST = 16  # in a group; compiling a larger one takes longer, and saves little


def groups(optimizer: Optimizer, work: Sequence[Work]) -> Iterator[list[Work]]:
    """Pieces to be done at once: what is alike and small, in a compiled elementwise update; else one by one."""
    if not optimizer.elementwise or frames.top is None or registry.current().transforms.eager():
        yield from ([one] for one in work)
        return
    alike: dict[Hashable, list[Work]] = {}
    for one in work:
        kind = _kind(optimizer, one)
        alike.setdefault(id(one) if kind is None else kind, []).append(one)
    for found in alike.values():
        for start in range(0, len(found), _MOST):
            group = found[start : start + _MOST]
            if len(group) > 1:
                frames.top.group([variable._storage for (variable, _), _ in group])
                for name in group[0][1].slots:
                    frames.top.group([row.slots[name]._storage for _, row in group])
            yield group


def _kind(optimizer: Optimizer, one: Work) -> Hashable:
    """Equal for what may be updated as one array; None for what goes alone."""
    (variable, _), row = one
    slots = list(row.slots.items())
    if prod(variable.shape) * 4 > _SMALL or any(type(slot) is not Variable for _, slot in slots):
        return None
    if any(slot.shape != variable.shape for _, slot in slots):
        return None
    return (
        variable.dtype,
        row.settings.decays(optimizer.weight_decay, optimizer.l2),
        row.settings.learning_rate_multiplier,
        tuple((name, slot.dtype) for name, slot in slots),
        _place(variable),
    )


def _place(variable: Variable) -> Hashable:
    """Where its buffer lies, as the backend tells it."""
    return str(getattr(variable._storage.buffer, "sharding", ""))


def joined(values: Sequence[Any]) -> Any:
    """One array of all elements; the value itself where there is one."""
    return values[0] if len(values) == 1 else registry.current().arrays.join(values)


def split(value: Any, group: Sequence[Work]) -> list[Any]:
    """What belongs to each variable of a group."""
    shapes = [variable.shape for (variable, _), _ in group]
    return [value] if len(shapes) == 1 else registry.current().arrays.split(value, shapes)
