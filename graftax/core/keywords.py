"""Constructors that take what they say, and refuse keywords beyond that.

`Constructed` is the base of layers, losses, metrics, optimizers, schedules, initializers, creators and the like.
`graftax.core.unknown_keywords` tells which keyword was meant.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from graftax.core.argument_kinds import misfit, plain_kinds
from graftax.core.errors import GraftaxError
from graftax.core.later import import_later
from graftax.core.ours import is_ours
from graftax.core.wrapping import wraps

if TYPE_CHECKING:
    from graftax.core import misbound, unknown_keywords
else:
    misbound = import_later("graftax.core.misbound")
    unknown_keywords = import_later("graftax.core.unknown_keywords")


class Constructed:
    """The base of what refuses keywords that its ``__init__`` does not take, and says which one was meant.

    Example:
        >>> from graftax.core.errors import ArgumentTypeError
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
            cls.__init__ = _wrap_constructor(cls.__init__, cls.__name__, is_ours(cls))  # type: ignore[method-assign]


def _wrap_constructor(init: Callable[..., None], owner: str, ours: bool) -> Callable[..., None]:
    """Return a constructor that tells what it does not take, or misses; of ours, values of a wrong kind, too."""
    kinds = {p.name: p.kind for p in inspect.signature(init).parameters.values()}
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds.values()  # then a base says what it takes
    known = [name for name, kind in kinds.items() if kind in (kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY)][1:]
    plain = plain_kinds(init) if ours else {}

    @wraps(init)
    def checked(self: object, *args: Any, **kwargs: Any) -> None:
        if not takes_any and (unknown := [name for name in kwargs if name not in known]):
            said = dict(zip(known, args, strict=False)) | kwargs
            raise unknown_keywords.explain_unknown(type(self), {name: kwargs[name] for name in unknown}, known, said)
        try:
            init(self, *args, **kwargs)
        except GraftaxError:  # which knows better
            raise
        except Exception as error:
            _check_kinds(self, checked, plain, known, args, kwargs)
            # a class that calls the constructor of its base wrongly is not at fault with its own arguments
            title = type(self).__name__ if type(self).__init__ is checked else owner
            if misbound.is_binding_error(error):
                wrong = misbound.explain_call(init, (self, *args), kwargs, title)
                if wrong is not None:
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


Constructed.__init__ = _wrap_constructor(Constructed.__init__, "Constructed", ours=False)  # type: ignore[method-assign]
