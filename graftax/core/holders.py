"""Where a value is kept, for errors about values that should not have been: attributes, lists, globals."""

from __future__ import annotations

import gc
from types import FrameType, ModuleType
from typing import NamedTuple


class Kept(NamedTuple):
    """A place that keeps a value: how to write it, and whether it is an attribute of an object."""

    place: str
    is_attribute: bool


def where_kept(value: object) -> Kept | None:
    """Return a place that keeps a value, an attribute of an object if there is one; None if none is found.

    Every object of the program is asked, which takes a while: for errors only.

    Example:
        >>> class Box: ...
        >>> box = Box()
        >>> box.content = object()
        >>> where_kept(box.content)
        Kept(place='Box.content', is_attribute=True)
    """
    found = [kept for holder in _holders_of(value) if (kept := _place_in(holder, value)) is not None]
    return min(found, key=lambda kept: not kept.is_attribute, default=None)


def _holders_of(value: object) -> list[object]:
    """Return what holds a value, but for the calls that are running, and what Python keeps for itself."""
    return [one for one in gc.get_referrers(value) if not isinstance(one, FrameType)]


def _place_in(holder: object, value: object) -> Kept | None:
    if isinstance(holder, dict):
        key = next((key for key, one in list(holder.items()) if one is value), None)
        owner = _owner_of(holder, key, value)
        return _attribute(owner, str(key)) if owner is not None else _place_of_container(holder, f"[{key!r}]")
    if isinstance(holder, list):
        return _place_of_container(holder, f"[{next(i for i, one in enumerate(holder) if one is value)}]")
    # Python may keep attributes without a dict
    name = next((name for name, one in _attributes_of(holder).items() if one is value), None)
    return None if name is None else _attribute(holder, name)


def _place_of_container(container: object, element: str) -> Kept | None:
    """Return the place of an element of a list or dict: where that is kept, and the element."""
    for holder in _holders_of(container):
        attributes = holder if isinstance(holder, dict) else _attributes_of(holder)
        name = next((name for name, one in list(attributes.items()) if one is container), None)
        owner = _owner_of(holder, name, container) if isinstance(holder, dict) else holder
        if name is not None and owner is not None:
            return Kept(_attribute(owner, name).place + element, False)
    return None


def _owner_of(attributes: dict[str, object], name: object, value: object) -> object:
    """Return the object, the class or the module whose attributes a dict has; None if it is another dict."""
    return next((one for one in _holders_of(attributes) if _attributes_of(one).get(str(name)) is value), None)


def _attribute(owner: object, name: str) -> Kept:
    if isinstance(owner, ModuleType):
        return Kept(name, False)  # a global
    return Kept(f"{owner.__name__ if isinstance(owner, type) else type(owner).__name__}.{name}", True)


def _attributes_of(one: object) -> dict[str, object]:
    """Return the attributes of an object, a class or a module; none for what has none."""
    try:
        return dict(object.__getattribute__(one, "__dict__") if not isinstance(one, type) else vars(one))
    except (AttributeError, TypeError, ValueError):
        return {}
