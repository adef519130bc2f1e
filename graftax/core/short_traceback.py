"""Short tracebacks: at the doors of graftax an exception loses the frames of libraries, and keeps those of the user.

From ``fit`` to the line of a layer's ``call`` there are dozens of frames of graftax and of its libraries. A door is a
public function that runs code of the user, or may raise for what the user gives. ``GRAFTAX_TRACEBACK=full`` in the
environment keeps everything. Without an exception a door costs nothing, or one call of Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from graftax.core import libraries, user_line
from graftax.core.argument_kinds import flags_of, no_flag
from graftax.core.errors import ArgumentTypeError, GraftaxError
from graftax.core.later import import_later
from graftax.core.wrapping import wraps

if TYPE_CHECKING:
    from graftax.core import misbound
else:
    misbound = import_later("graftax.core.misbound")

P = ParamSpec("P")
R = TypeVar("R")

SWITCH = "GRAFTAX_TRACEBACK"
_HIDDEN = f"  {SWITCH}=full in the environment shows the frames inside of libraries"


def door(fn: Callable[P, R]) -> Callable[P, R]:
    """Return the function, from which exceptions come without the frames of libraries.

    A call whose arguments do not fit the signature raises what `graftax.core.misbound` says of it; what is annotated as
    ``bool`` must be one.

    Where every nanosecond counts, write what it does in place: ``except Exception as error: shorten(error); raise``.

    Example:
        >>> @door
        ... def fail():
        ...     raise ValueError("no")
        >>> fail()
        Traceback (most recent call last):
        ValueError: no
    """
    flags = flags_of(fn)

    @wraps(fn)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if flags and (error := no_flag(flags, args, kwargs)) is not None:
                raise misbound.explain_call(fn, args, kwargs) or error
            return fn(*args, **kwargs)
        except Exception as error:
            if type(error) is TypeError and (wrong := misbound.explain_call(fn, args, kwargs)) is not None:
                try:
                    raise wrong from None
                except ArgumentTypeError:
                    wrong.__traceback__ = None  # a bare raise does not add this frame again
                    raise
            shorten(error)
            raise

    return run


def door_around(fn: Callable[P, Any]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Return a decorator, a `door` for what calls ``fn`` with the arguments that it gets itself, and is called like it.

    Arguments that ``fn`` does not take are told as those of public functions are. What the decorated function takes by
    keyword only is its own.

    Example:
        >>> @door_around(lambda x: x)
        ... def twice(*args, **kwargs):
        ...     return 2 * (lambda x: x)(*args, **kwargs)
        >>> twice(3)
        6
    """

    def decorate(run: Callable[..., R]) -> Callable[P, R]:
        @wraps(fn)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return run(*args, **kwargs)
            except Exception as error:
                own = getattr(run, "__kwdefaults__", None) or ()
                if (wrong := not_taken(error, fn, args, {k: v for k, v in kwargs.items() if k not in own})) is not None:
                    raise wrong from None
                shorten(error)
                raise

        return guarded

    return decorate


def not_taken(
    error: Exception, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> ArgumentTypeError | None:
    """Return the error for arguments that a user's function does not take, if that is what its call raised."""
    if type(error) is not TypeError or error.__traceback__ is None:
        return None
    innermost = error.__traceback__
    while innermost.tb_next is not None:
        innermost = innermost.tb_next
    # raised in a line of ours, thus before the first one of the function
    return misbound.explain_call(fn, args, kwargs) if user_line.root_of(innermost.tb_frame) == "graftax" else None


def cause_to_show(translated: GraftaxError, error: Exception) -> Exception | None:
    """Return what an error is to be raised from that says in our words all that another one says: `raise told from`.

    It takes the frames of that one, which is no part of the traceback, since that would tell everything twice; it is
    where all frames are shown.

    Args:
        translated: The error to raise.
        error: What was caught.
    """
    translated.__traceback__ = error.__traceback__
    return error if os.environ.get(SWITCH, "short") != "short" else None


def shorten(error: BaseException) -> None:
    """Take the frames of libraries out of an exception, and out of those that it came from; to be raised again.

    What is raised inside of graftax and is none of its errors keeps the frame of graftax that it came from, and a note
    that says how to see all.
    """
    if os.environ.get(SWITCH, "short") != "short":
        return
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        current.__traceback__ = _of_user(current)
        notes = getattr(current, "__notes__", None)
        if notes:
            notes[:] = [note for note in notes if not note.startswith(libraries.notices())]
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _of_user(error: BaseException) -> TracebackType | None:
    entries: list[TracebackType] = []
    inside: TracebackType | None = None  # of graftax, further in than the last of the user
    entry = error.__traceback__
    while entry is not None:
        root = user_line.root_of(entry.tb_frame)
        if not root:
            entries.append(entry)
            inside = None
        elif root == "graftax" and entry.tb_frame.f_code.co_filename != __file__:
            inside = entry
        entry = entry.tb_next
    if inside is not None and not isinstance(error, GraftaxError):
        entries.append(inside)
        if _HIDDEN not in getattr(error, "__notes__", ()):
            error.add_note(_HIDDEN)
    kept: TracebackType | None = None
    for entry in reversed(entries):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept
