"""Which variables a compiled step updates together: many small inputs cost more time to pass than to update."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from graftax.backend import registry
from graftax.optimizers.engine.numbers import identity
from graftax.optimizers.engine.rule import Rule
from graftax.optimizers.engine.update import Update
from graftax.variables.state.pack import in_groups, place_of
from graftax.variables.state.storage import Frame, frames
from graftax.variables.variable import Variable


def can_group(rule: Rule) -> bool:
    """Tell whether updates may be done at once: in a step that is being compiled, of an elementwise rule."""
    frame, backend = frames.top, registry.current()
    promised = rule.elementwise and "update" not in vars(rule)  # a function put on one object has promised nothing
    return promised and frame is not None and backend.has("compiling") and not backend.tracing.eager()


def groups(updates: Sequence[Update]) -> Iterator[list[Update]]:
    """Yield updates to be done at once, where they `can_group`: alike and small ones; the others one by one."""
    frame = frames.top
    assert frame is not None
    for group in chain(*_divide(frame, updates)):
        if len(group) > 1:
            frame.group([update.variable._storage for update in group])
            for name in group[0].rule_slots():
                frame.group([update.slots[name]._storage for update in group])
        yield group


def _divide(frame: Frame, updates: Sequence[Update]) -> Iterator[Iterable[list[Update]]]:
    """Yield groups of variables that the program reads as one array anyway (`gx.stack`), then of other small ones."""
    by_storage = {update.variable._storage: update for update in updates}
    left = dict.fromkeys(by_storage)
    for row in dict.fromkeys(frame.row_of(storage) for storage in by_storage):
        if 1 < len(row) == len(set(row)) and left.keys() >= set(row):  # a shared weight is updated once
            group = [by_storage[storage] for storage in row]
            kind = _kind(group[0], small=False)
            if kind is not None and all(_kind(update, small=False) == kind for update in group[1:]):
                yield [group]
                for storage in row:
                    del left[storage]
    yield in_groups((by_storage[storage], _kind(by_storage[storage])) for storage in left)


def _kind(update: Update, small: bool = True) -> Hashable | None:
    """Return what is equal for updates that may be done as one array; None for one that goes alone."""
    slots, shape = update.rule_slots(), update.variable.shape
    if update.rows is not None or any(type(slot) is not Variable or slot.shape != shape for slot in slots.values()):
        return None
    # of one dtype on the same devices: what is joined moves nowhere and is cast nowhere
    places = [place_of(kept._storage, small) for kept in (update.variable, *slots.values())]
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
