"""Structure: a count of changes on which traces may depend, besides values of Variables; Adjustable counts its own."""

from __future__ import annotations

from graftax.core.keywords import Constructed


class Structure:
    """A count of structural changes; a compiled function compares it to know whether to look closer."""

    def __init__(self) -> None:
        self.version = 0

    def bump(self) -> None:
        """Note that something has changed that a trace may depend on."""
        self.version += 1


structure = Structure()


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

    __slots__ = ("_is_watched",)  # beside the settings, which are in ``__dict__``

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        _note_change(self)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        _note_change(self)


def watch(adjustable: Adjustable) -> None:
    """Note that a trace depends on the settings of this object."""
    _mark(adjustable, True)


_mark = Adjustable._is_watched.__set__  # type: ignore[attr-defined]


def _note_change(adjustable: Adjustable) -> None:
    if getattr(adjustable, "_is_watched", False):
        structure.bump()
