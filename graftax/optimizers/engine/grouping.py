"""Which variables a compiled update moves together: many small ones, each of them an input of its own, cost more time
to pass than to update."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graftax.backend import registry
from graftax.optimizers.engine.learning_rate import identity
from graftax.optimizers.engine.slot import Row
from graftax.variables.state.pack import in_groups, place_of
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.optimizers.engine.gradients import Pair
    from graftax.optimizers.optimizer import Optimizer

Work = tuple["Pair", Row]


def groups(optimizer: Optimizer, work: Sequence[Work]) -> Iterator[list[Work]]:
    """Pieces to be done at once: what is alike and small, in a compiled elementwise update; else one by one."""
    frame, backend = frames.top, registry.current()
    if not optimizer.elementwise or frame is None or not backend.has("compiling") or backend.tracing.eager():
        yield from ([one] for one in work)
        return
    for group in in_groups((one, _kind(one)) for one in work):
        if len(group) > 1:
            frame.group([variable._storage for (variable, _), _ in group])
            for name in group[0][1].of_the_rule():
                frame.group([row.slots[name]._storage for _, row in group])
        yield group


def _kind(one: Work) -> Hashable | None:
    """Equal for what may be updated as one array; None for what goes alone."""
    (variable, _), row = one
    slots = list(row.of_the_rule().items())
    if any(type(slot) is not Variable or slot.shape != variable.shape for _, slot in slots):
        return None
    places = [place_of(kept._storage) for kept in (variable, *(slot for _, slot in slots))]
    if None in places:
        return None
    settings = row.settings
    numbers = (identity(n) for n in (settings.weight_decay, settings.l2, settings.learning_rate_multiplier))
    return tuple(numbers), tuple(name for name, _ in slots), tuple(places)


def joined(values: Sequence[Any]) -> Any:
    """One array of all elements; the value itself where there is one."""
    return values[0] if len(values) == 1 else registry.current().arrays.join(values)


def split(value: Any, group: Sequence[Work]) -> list[Any]:
    """What belongs to each variable of a group."""
    shapes = [variable.shape for (variable, _), _ in group]
    return [value] if len(shapes) == 1 else registry.current().arrays.split(value, shapes)
