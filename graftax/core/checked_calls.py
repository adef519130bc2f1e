"""Methods that every update passes: a `door` of its own, which a value enters only once on its way to the buffer."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from graftax.core.errors import ArgumentTypeError
from graftax.core.later import import_later
from graftax.core.ours import is_ours
from graftax.core.short_traceback import shorten
from graftax.core.wrapping import wraps

if TYPE_CHECKING:
    from graftax.core import misbound
else:
    misbound = import_later("graftax.core.misbound")

P = ParamSpec("P")
R = TypeVar("R")


def checked_call(method: Callable[P, R]) -> Callable[P, R]:
    """Return the method; a call that does not fit its signature raises what `graftax.core.misbound` says of it.

    Like `graftax.core.short_traceback.door`, but for methods without flags, and with less work for each call.

    Example:
        >>> @checked_call
        ... def scale(x, factor=2.0):
        ...     return factor * x
        >>> scale(3.0)
        6.0
        >>> try:
        ...     scale(3.0, factr=1.0)
        ... except ArgumentTypeError as error:
        ...     print(error.received)
        scale() got factr=1.0
    """

    @wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except Exception as error:
            if type(error) is TypeError and (wrong := misbound.explain_call(method, args, kwargs)) is not None:
                try:
                    raise wrong from None
                except ArgumentTypeError:
                    wrong.__traceback__ = None  # a bare raise does not add this frame again
                    raise
            shorten(error)
            raise

    return run


def check_calls(cls: type[Any], *names: str) -> None:
    """Put a `checked_call` around methods that a class of this package defines; those of users stay as they are.

    Args:
        cls: The class, which has just been defined.
        names: The names of the methods; two names of one method get the same one.
    """
    if not is_ours(cls):
        return
    made: dict[Any, Callable[..., Any]] = {}
    for name in names:
        method = vars(cls).get(name)
        if isinstance(method, FunctionType):
            made[method] = made.get(method) or checked_call(method)
            setattr(cls, name, made[method])
