"""New attributes of objects whose names are slips of those that exist: nothing would read what is assigned there."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from graftax.core import user_line
from graftax.core.known_names import closest, squash
from graftax.core.ours import is_ours


def warn_of_slip(it: object, name: str, frame: FrameType) -> None:
    """Warn if the program, not a class, assigns an attribute that is new, and a setting has nearly that name.

    Notes that a program keeps on an object have names of their own: the plural of a setting (``layer.activations``) and
    the beginning of one (``layer.act``) are no slips. A class of the user's that names an attribute itself means it.

    Args:
        it: The object.
        name: The attribute, which it does not have yet.
        frame: What assigns: code that is none of this package.
    """
    if name[:1] == "_" or name[-1:] == "_" or _is_own_method(frame, it):
        return
    kind = type(it)
    if hasattr(kind, name) or (not is_ours(kind) and name in _names_used_by(kind)):
        return
    settings = [one for one in dict.fromkeys([*vars(it), *dir(kind)]) if _is_setting(it, one)]
    near = closest(name, settings)
    if near is None or name.rstrip("s") == near.rstrip("s"):
        return
    if squash(near).startswith(squash(name)) and squash(near) != squash(name):
        return
    user_line.warn(
        f"{kind.__name__}.{name} = ... makes a new attribute, which nothing reads. Did you mean {near}? For a note of "
        "your own, another name."
    )


def _is_own_method(frame: FrameType, it: object) -> bool:
    """Tell whether a method of the object's class assigns, whatever it calls its first argument."""
    code = frame.f_code
    if frame.f_locals.get("self") is it:
        return True
    methods = (f"{base.__qualname__}.{code.co_name}" for base in type(it).__mro__)
    return code.co_argcount > 0 and frame.f_locals.get(code.co_varnames[0]) is it and code.co_qualname in methods


def _is_setting(it: object, name: str) -> bool:
    """Tell whether an attribute may be assigned, and is no method."""
    if name.startswith("_"):
        return False
    held = next((vars(base)[name] for base in type(it).__mro__ if name in vars(base)), None)
    if held is None:
        return name in vars(it)
    if isinstance(held, property):
        return held.fset is not None
    return not callable(held) and not isinstance(held, classmethod | staticmethod)


def _names_used_by(kind: type[Any]) -> frozenset[str]:
    """Return the names that classes of the user's use in their methods, and declare."""
    users = [base for base in kind.__mro__ if not is_ours(base) and base is not object]
    found = {name for base in users for name in getattr(base, "__annotations__", {})}
    codes = (getattr(one, "__code__", None) for base in users for one in vars(base).values())
    return frozenset(found.union(*(_names_in(code) for code in codes if isinstance(code, CodeType))))


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)
        elif isinstance(inner, str):  # of getattr(self, "name")
            yield inner
