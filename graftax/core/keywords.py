"""Keywords that a constructor does not take: the one that was meant, by its spelling or as other libraries call it.

`Constructed` is the base of layers, losses, metrics, optimizers, schedules, initializers, creators and the like: what
their ``__init__`` says is what they take, and a keyword beyond that is told in three beats.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from graftax.core.argument_kinds import misfit, plain_kinds
from graftax.core.errors import ArgumentTypeError, GraftaxError
from graftax.core.foreign_keywords import KEYWORDS, WORDS
from graftax.core.known_names import closest
from graftax.core.misbound import is_binding_error, misbound
from graftax.core.wrapping import wraps


class Constructed:
    """The base of what refuses keywords that its ``__init__`` does not take, and says which one was meant.

    Example:
        >>> class Scale(Constructed):
        ...     def __init__(self, factor=1.0): ...
        >>> try:
        ...     Scale(facter=2.0)
        ... except ArgumentTypeError as error:
        ...     print(error.instead)
        factor=2.0
    """

    def __init__(self) -> None:
        super().__init__()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            ours = cls.__module__.startswith("graftax.")
            cls.__init__ = _wrap_constructor(cls.__init__, cls.__name__, ours)  # type: ignore[method-assign]


def _wrap_constructor(init: Callable[..., None], owner: str, ours: bool) -> Callable[..., None]:
    """Return a constructor that tells what it does not take, or misses; of ours, values of a wrong kind, too."""
    kinds = {p.name: p.kind for p in inspect.signature(init).parameters.values()}
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds.values()  # then a base says what it takes
    known = [name for name, kind in kinds.items() if kind in (kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY)][1:]
    plain = plain_kinds(init) if ours else {}

    @wraps(init)
    def checked(self: object, *args: Any, **kwargs: Any) -> None:
        if not takes_any and (unknown := [name for name in kwargs if name not in known]):
            raise _combine({name: unknown_keyword(type(self), name, kwargs[name], known) for name in unknown})
        try:
            init(self, *args, **kwargs)
        except GraftaxError:  # which knows better
            raise
        except Exception as error:
            _check_kinds(self, checked, plain, known, args, kwargs)
            # a class that calls the constructor of its base wrongly is not at fault with its own arguments
            title = type(self).__name__ if type(self).__init__ is checked else owner
            if is_binding_error(error) and (wrong := misbound(init, (self, *args), kwargs, title)) is not None:
                raise wrong from None
            raise
        _check_kinds(self, checked, plain, known, args, kwargs)

    if ours:
        _OURS[checked] = frozenset(plain)
    return checked


_OURS: dict[Callable[..., None], frozenset[str]] = {}
"""Constructors of graftax itself, and of what they speak: of several on the way up, the outermost one does."""


def _check_kinds(
    instance: object,
    init: Callable[..., None],
    plain: Mapping[str, inspect.Parameter],
    names: list[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    outermost: Any = type(instance).__init__
    spoken = _OURS.get(outermost, ()) if outermost is not init else ()
    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        if name in plain and name not in spoken and (error := misfit(type(instance), plain[name], value)) is not None:
            raise error from None


def unknown_keyword(kind: type[Any], name: str, value: object, inherited: list[str]) -> ArgumentTypeError:
    """Return the error for a keyword of a constructor, where ``inherited`` are those that a base class takes."""
    own = inspect.signature(kind.__init__).parameters.values()
    names = list(dict.fromkeys([*(p.name for p in own if p.kind not in _COLLECTING and p.name != "self"), *inherited]))
    shown = f"{value!r:.40}"
    meant = next((near for near in KEYWORDS.get(name.lower(), ()) if near in names), None) or closest(name, names)
    if name == "filepath" and meant == "directory" and isinstance(value, str):
        value = _folder(value)
    needs, text = WORDS.get(name.lower(), ("", ""))
    if name == "betas" and isinstance(value, tuple | list):
        text = ", ".join(f"beta_{i}={beta!r:.40}" for i, beta in enumerate(value, 1))
    if name == "activity_regularizer" and (factors := _factors(value)):
        text = text.replace("l2=0.01", factors)
    if meant is None or needs in names:
        instead = text if needs in names else "leave it out"
    else:
        instead = _replacement(kind, meant, value)
    taken = f"it takes {', '.join(names)}" if names else "it takes no arguments"
    return ArgumentTypeError(f"{kind.__name__} got {name}={shown}", taken, instead)


def _factors(regularizer: object) -> str:
    """Return the factors of a regularizer of L1 and L2 as arguments; nothing for others."""
    if regularizer == "l1":
        return "l1=0.01"
    found = {name: getattr(regularizer, name, None) for name in ("l1", "l2")}
    return ", ".join(f"{name}={value!r}" for name, value in found.items() if isinstance(value, float) and value)


def _combine(errors: Mapping[str, ArgumentTypeError]) -> ArgumentTypeError:
    """Return one error for all keywords that a constructor does not take."""
    found = [*errors.values()]
    if len(found) == 1:
        return found[0]
    first, *others = (one.received for one in found)
    received = ", ".join([first, *(other.partition(" got ")[2] for other in others)])
    lines = [one.instead.replace("leave it out", f"leave {name}= out", 1) for name, one in errors.items()]
    return ArgumentTypeError(received, found[0].reason, "; ".join(lines))


def _folder(path: str) -> str:
    """Return what a file of checkpoints would be called as a folder: without its suffixes and places for numbers."""
    lead, slash, name = path.rpartition("/")
    return lead + slash + (re.split(r"[.{]", name)[0].rstrip("-_") or "checkpoints")


def _replacement(kind: type[Any], keyword: str, value: object) -> str:
    """Return the line with the right keyword and the same value, or with a value that the keyword takes."""
    parameter = plain_kinds(kind.__init__).get(keyword)
    if parameter is None or (error := misfit(kind, parameter, value)) is None:
        return f"{keyword}={value!r:.40}"
    if isinstance(value, list | tuple) and value and all(misfit(kind, parameter, one) is None for one in value):
        if len(value) == 1:
            return f"{keyword}={value[0]!r:.40}"
        several = ", ".join(f"{kind.__name__}({keyword}={one!r:.40})" for one in value)
        return f"one {kind.__name__} for each: {several}"
    return f"{error.instead}, since {error.reason}"


class ConstructorSignature:
    """The ``__signature__`` of a class: that of its ``__init__``, where ``__new__`` takes anything to pass it on.

    Example:
        >>> class Base:
        ...     __signature__ = ConstructorSignature()
        ...
        ...     def __new__(cls, *args, **kwargs):
        ...         return super().__new__(cls)
        ...
        ...     def __init__(self, units): ...
        >>> inspect.signature(Base)
        <Signature (units)>
    """

    def __get__(self, instance: object, owner: type[Any]) -> inspect.Signature:
        first = next(base for base in owner.__mro__ if {"__init__", "__new__"} & vars(base).keys())
        if instance is not None or "__init__" not in vars(first):  # an instance is called, and has arguments of its own
            raise AttributeError("__signature__")
        signature = inspect.signature(owner.__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


_COLLECTING = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)

Constructed.__init__ = _wrap_constructor(Constructed.__init__, "Constructed", ours=False)  # type: ignore[method-assign]
