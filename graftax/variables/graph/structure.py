"""Structure: a count of changes on which traces may depend, besides values of Variables; Adjustable counts its own."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from graftax.core import user_line
from graftax.core.keywords import Constructed
from graftax.core.later import import_later

if TYPE_CHECKING:
    from graftax.core import misspelt_attributes
else:
    misspelt_attributes = import_later("graftax.core.misspelt_attributes")


class Structure:
    """A count of structural changes; a compiled function compares it to know whether to look closer."""

    def __init__(self) -> None:
        self.version = 0
        self.made = 0
        """How many Variables have been made: who listed some before a call sees whether it has to look again."""

    def bump(self) -> None:
        """Note that something has changed that a trace may depend on."""
        self.version += 1


structure = Structure()


class Listing(NamedTuple):
    """The trainable Variables of a Module, as it gave them when somebody asked.

    Args:
        module: The Module, weakly.
        ids: The ids of the Variables.
        number: How many lists had been given before.
    """

    module: weakref.ref[object]
    ids: tuple[int, ...]
    number: int


class Listings:
    """The latest list of each Module: a step may be given it, and not the Module itself."""

    def __init__(self) -> None:
        self._by_id: dict[int, Listing] = {}  # an expression compares by its elements, so it is no key
        self.latest: Listing | None = None

    def note(self, module: object, variables: Sequence[object]) -> None:
        """Note that a Module has listed its trainable Variables."""
        number, key = 0 if self.latest is None else self.latest.number + 1, id(module)
        known = self._by_id.get(key)
        reference = weakref.ref(module, lambda _: self._by_id.pop(key, None)) if known is None else known.module
        self.latest = self._by_id[key] = Listing(reference, tuple(map(id, variables)), number)

    def of(self, module: object) -> Listing | None:
        """Return the latest list of a Module; None if it has given none."""
        return self._by_id.get(id(module))


listings = Listings()


class Adjustable(Constructed):
    """An object with settings: compiled functions that depend on them notice when one is changed.

    Example:
        >>> class Scale(Adjustable):
        ...     def __init__(self, factor=1.0):
        ...         self.factor = factor
        >>> scale, before = Scale(), structure.version
        >>> scale.factor = 2.0  # nothing depends on it yet
        >>> structure.version == before
        True
        >>> watch(scale)
        >>> scale.factor = 3.0
        >>> structure.version == before
        False
    """

    __slots__ = ("_gx_is_watched",)  # beside the settings, which are in ``__dict__``

    def __setattr__(self, name: str, value: object) -> None:
        if name not in vars(self) and not user_line.is_ours(frame := sys._getframe(1)):
            misspelt_attributes.warn_of_slip(self, name, frame)
        super().__setattr__(name, value)
        _note_change(self)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        _note_change(self)


def settings_of(adjustable: Adjustable) -> dict[str, object]:
    """Return the settings; of an object that is a Module, too, without what the graph keeps on it."""
    return {name: value for name, value in vars(adjustable).items() if not name.startswith("_gx_")}


def show_settings(adjustable: Adjustable, with_none: bool = True) -> str:
    """Return the class and the settings as in a call.

    Args:
        adjustable: The object.
        with_none: Whether settings that are None are shown. Defaults to True.
    """
    found = settings_of(adjustable).items()
    shown = ", ".join(f"{name}={value!r}" for name, value in found if with_none or value is not None)
    return f"{type(adjustable).__name__}({shown})"


def watch(adjustable: Adjustable) -> None:
    """Note that a trace depends on the settings of this object."""
    _mark(adjustable, True)


_mark = Adjustable._gx_is_watched.__set__  # type: ignore[attr-defined]


def _note_change(adjustable: Adjustable) -> None:
    if getattr(adjustable, "_gx_is_watched", False):
        structure.bump()
