"""Which variables a compiled step updates together: many small inputs cost more time to pass than to update."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from graftax.backend import registry
from graftax.optimizers.engine.numbers import identity
from graftax.optimizers.engine.rule import Rule
from graftax.optimizers.engine.update import Update
from graftax.variables.state.pack import in_groups, place_of
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable


def joins(rule: Rule) -> bool:
    """Tell whether updates may be done at once: in a step that is being compiled, of an elementwise rule."""
    frame, backend = frames.top, registry.current()
    return rule.elementwise and frame is not None and backend.has("compiling") and not backend.tracing.eager()


def groups(updates: Sequence[Update]) -> Iterator[list[Update]]:
    """Yield updates to be done at once, where they `joins`: alike and small ones; the others one by one."""
    frame = frames.top
    assert frame is not None
    # the weights of alike layers in a row, each kind after the other: where a loop takes them stacked (`gx.stack`), the
    # compiler sees through the joining and the stacking, and the program does not grow with the number of layers
    for group in in_groups(((update, _kind(update)) for update in updates), lambda update: update.variable.shape):
        if len(group) > 1:
            frame.group([update.variable._storage for update in group])
            for name in group[0].rule_slots():
                frame.group([update.slots[name]._storage for update in group])
        yield group


def _kind(update: Update) -> Hashable | None:
    """Return what is equal for updates that may be done as one array; None for one that goes alone."""
    slots, shape = update.rule_slots(), update.variable.shape
    if update.rows is not None or any(type(slot) is not Variable or slot.shape != shape for slot in slots.values()):
        return None
    # of one dtype on the same devices: what is joined moves nowhere and is cast nowhere
    places = [place_of(kept._storage) for kept in (update.variable, *slots.values())]
    if None in places:
        return None
    settings = update.settings
    numbers = (identity(n) for n in (settings.weight_decay, settings.l2, settings.learning_rate_multiplier))
    return tuple(numbers), tuple(slots), tuple(places)


def join(values: Sequence[Any]) -> Any:
    """Return one array of all elements."""
    return registry.current().arrays.join(values)


def split(value: Any, group: Sequence[Update]) -> list[Any]:
    """Return what belongs to each variable of a group."""
    return registry.current().arrays.split(value, [update.variable.shape for update in group])
