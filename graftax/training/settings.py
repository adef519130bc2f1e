"""Settings of a model, its optimizer and its losses that callbacks change during training: saved, and set again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.checkpoint.adapters_in_use import set_use
from graftax.core import user_line
from graftax.core.errors import GraftaxError
from graftax.reparam.adapted import Adapted
from graftax.training.hooks.plain_attributes import write_into
from graftax.training.whole.adapted_layers import AdaptedLayers
from graftax.training.whole.description import Describing
from graftax.training.whole.differences import is_plain_object, left_out
from graftax.training.whole.policies import Policies
from graftax.training.whole.public_classes import look_up as named
from graftax.training.whole.rebuilding import Rebuilding
from graftax.variables.graph.module import Module, walk_with_edges
from graftax.variables.graph.node import holds_node, ignored_attributes
from graftax.variables.graph.prints import print_of

log = logging.getLogger("graftax")

_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_SMALL = 1000
"""The number of elements up to which an array is saved."""


class Settings:
    """The plain attributes of Modules, and of objects in them, that differ from what they were before training.

    So values that the program gives to constructors are those of the present program, unless a callback changed them.

    Args:
        roots: Returns the Modules, by the beginnings of their paths.

    Example:
        >>> import graftax as gx
        >>> dropout = gx.layers.Dropout(0.1)
        >>> settings = Settings(lambda: {"model": dropout})
        >>> settings.note()
        >>> dropout.rate = 0.5
        >>> settings.changed_values()
        {'values': {'model.rate': 0.5}, 'lost': {}, 'written': []}
    """

    def __init__(self, roots: Callable[[], Mapping[str, Any]]) -> None:
        self._roots = roots
        self._begun: dict[str, tuple[object, Any]] = {}  # by place: the value and what it is compared by
        self._owners: set[str] = set()  # what has been noted whole
        self._taken: set[str] = set()  # places that were set when the run was resumed

    def __reduce__(self) -> tuple[type[Settings], tuple[Callable[[], Mapping[str, Any]]]]:
        return Settings, (self._roots,)  # what is noted compares objects by identity, and a copy has others

    def note(self) -> None:
        """Note what there is now, of all that has not been noted, or was not built then: building sets attributes."""
        known: set[str] = set()
        for place, owner, _, value in self._iterate_all():
            at = place.rpartition(".")[0]
            if not isinstance(owner, Module) or vars(owner).get("built", True):
                known.add(at)
            if at not in self._owners:
                self._begun[place] = value, _print_of(value)
        self._owners |= known

    def changed_values(self) -> dict[str, Any]:
        """Return descriptions of the values that have changed, by place; and types of those that have none.

        And the places of arrays that were written to: they are the objects of the start, which others may hold, too.
        """
        values: dict[str, Any] = {}
        lost: dict[str, str] = {}
        written: list[str] = []
        for place, _, _, value in self._iterate_all():
            before = self._begun.get(place)
            if place not in self._taken and before is not None and not _has_changed(before, value):
                continue
            try:
                if isinstance(value, np.ndarray) and value.size > _SMALL:
                    raise TypeError("it is not small")
                described = Describing().value(value, place)
                _rebuilt(described)  # what only the program knows by name cannot be found again
            except (GraftaxError, TypeError, ValueError, AttributeError, RuntimeError):
                lost[place] = type(value).__name__
            else:
                values[place] = described
                if isinstance(value, np.ndarray) and before is not None and before[0] is value:
                    written.append(place)
        return {"values": values, "lost": lost, "written": written}

    def go_back(self, changed: Mapping[str, Any]) -> None:
        """Set the values of a result of `changed_values`; numbers and texts that are not in it, as before training."""
        for place, owner, name, value in list(self._iterate_all()):
            if place in changed["values"]:
                target = _rebuilt(changed["values"][place])
                if place not in changed.get("written", ()) or not write_into(value, target):
                    _set(owner, name, value, target)
            elif place in self._begun and type(begun := self._begun[place][0]) in _ATOMS:
                _set(owner, name, value, begun)

    def take(self, changed: Mapping[str, Any]) -> None:
        """Set the values of a result of `changed_values`; log these, and warn of those that could not be saved.

        Args:
            changed: The result, in the run that is resumed.
        """
        told = []
        settings = {place: (owner, name, value) for place, owner, name, value in self._iterate_all()}
        owners: dict[str, Any] = dict(self._modules())
        owners |= {place.rpartition(".")[0]: owner for place, (owner, _, _) in settings.items()}
        missing = set()
        for place, described in changed["values"].items():
            at, _, name = place.rpartition(".")
            if at not in owners:
                missing.add(place)
                continue
            # an attribute that only the class has so far, such as a default, is made
            owner, name, value = settings.get(place, (owners[at], name, getattr(owners[at], name, None)))
            target = _rebuilt(described)
            self._taken.add(place)
            if place not in settings or _print_of(value) != _print_of(target):
                if place not in changed.get("written", ()) or not write_into(value, target):
                    _set(owner, name, value if place in settings else None, target)
                told.append(f"{place} = {target!r:.60}")
        if told:
            log.info(
                "fit(resume=...): set as in the run that is resumed, whose callbacks changed them: %s", ", ".join(told)
            )
        if lost := {**changed["lost"], **dict.fromkeys(missing, "gone")}:
            shown = ", ".join(f"{place} ({kind})" for place, kind in lost.items())
            user_line.warn(
                f"fit(resume=...): callbacks of the run that is resumed changed {shown}, which could not be saved, and "
                "now the values of the program stay. Instead: numbers, texts, public functions and objects of graftax "
                "with settings, or lists, tuples and dicts of these; or set them in on_train_begin of the callback"
            )

    def _modules(self) -> Iterator[tuple[str, Module]]:
        """Yield each Module with its path."""
        seen: set[int] = set()
        for root, one in self._roots().items():
            for edges, node in walk_with_edges(one) if isinstance(one, Module) else ():
                if isinstance(node, Module) and id(node) not in seen:
                    seen.add(id(node))
                    yield "/".join([root, *map(str, edges)]), node

    def _iterate_all(self) -> Iterator[tuple[str, Any, str, Any]]:
        """Yield the place, the owner, the name and the value of each setting."""
        seen: set[int] = set()
        for at, node in self._modules():
            yield from _settings_of(node, at, ignored_attributes(type(node)) | {"built"}, seen)


def _settings_of(owner: Any, at: str, skip: frozenset[str], seen: set[int]) -> Iterator[tuple[str, Any, str, Any]]:
    is_array = registry.current().arrays.is_array
    for name, value in list(vars(owner).items()):
        if name in skip or name.startswith("_gx_") or is_array(value) or holds_node(value):
            continue  # arrays of the device are what a step leaves behind, or constants that are too large to compare
        place = f"{at}.{name}"
        if is_plain_object(value) and id(value) not in seen:
            seen.add(id(value))
            yield from _settings_of(value, place, left_out(type(value)), seen)
        yield place, owner, name, value


def _has_changed(before: tuple[object, Any], value: object) -> bool:
    if value is before[0] and type(value) in _ATOMS:
        return False
    return bool(_print_of(value) != before[1])


def _print_of(value: object) -> Any:
    """Return what a value is compared by; of a plain object its class, since what is in it is compared by itself."""
    return type(value) if is_plain_object(value) else print_of(value)


def _rebuilt(described: object) -> Any:
    made = Rebuilding(lambda name: named(name, {}, set(), {}), Policies([]), AdaptedLayers([]))
    return made.value(described)


def _set(owner: Any, name: str, value: Any, target: Any) -> None:
    """Set an attribute; what is in a dict or a list is replaced, since others may hold it, too."""
    if isinstance(owner, Adapted) and name == "active":
        set_use(owner, tuple(target))  # those that are not in use rest
    elif type(value) is dict and type(target) is dict:
        value.clear()
        value.update(target)
    elif type(value) is list and type(target) is list:
        value[:] = target
    elif value is not target:
        setattr(owner, name, target)
