"""Flags on a class that promise something of a method: a subclass that replaces the method has not promised it."""

from __future__ import annotations


def withdraw(cls: type, root: type, flag: str, *methods: str) -> None:
    """Give a class the default of a flag that a base class sets for a method, if the class has another such method.

    A class that sets the flag itself keeps it, and so does one whose method is that of the base class. A base class
    that sets the flag without such a method, as a mixin, speaks of the methods of its subclasses.

    Args:
        cls: The class, which has just been defined.
        root: The class that has the flag with its default, and the methods as nobody has written them yet.
        flag: The name of the flag.
        methods: The names of the methods that the flag is about.

    Example:
        >>> class Rule:
        ...     elementwise = False
        ...
        ...     def update(self): ...
        >>> class Plain(Rule):
        ...     elementwise = True
        ...
        ...     def update(self): ...
        >>> class Normalized(Plain):
        ...     def update(self): ...
        >>> withdraw(Normalized, Rule, "elementwise", "update")
        >>> Plain.elementwise, Normalized.elementwise
        (True, False)
    """
    default = vars(root)[flag]
    if getattr(cls, flag) != default and replaces(cls, root, flag, *methods):
        setattr(cls, flag, default)


def replaces(cls: type, root: type, flag: str, *methods: str) -> bool:
    """Tell whether a class has another method than the one of which a base class says something by a flag."""
    line = cls.__mro__
    states = next(one for one in line if flag in vars(one))
    for name in methods:
        said_of = _definition_of(states, name)
        if (
            said_of is not None
            and said_of is not _definition_of(root, name)
            and _definition_of(cls, name) is not said_of
        ):
            return True
    return False


def _definition_of(cls: type, name: str) -> object:
    """Return what a class or one of its bases defines; for a class itself, `getattr` finds ``__call__`` of its type."""
    return next((vars(one)[name] for one in cls.__mro__ if name in vars(one)), None)
