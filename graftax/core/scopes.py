"""One stack class for every scope: a context variable, safe across threads and async tasks, nesting checked."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

from graftax.core.errors import ScopeError

T = TypeVar("T")


class ScopeStack(Generic[T]):
    """A stack of scopes; what one thread or task enters, no other sees.

    Args:
        name: What the scopes are called in error messages.

    Example:
        >>> stack = ScopeStack("colour")
        >>> with stack.entered("red"), stack.entered("blue"):
        ...     stack.top, stack.items
        ('blue', ('red', 'blue'))
        >>> stack.top is None
        True
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._items: ContextVar[tuple[T, ...]] = ContextVar(f"graftax.{name}", default=())
        self.read: Callable[[], tuple[T, ...]] = self._items.get
        """Returns `items`, for code that runs at each call: no Python runs in between."""

    @property
    def items(self) -> tuple[T, ...]:
        """Return all scopes, outermost first."""
        return self.read()

    @property
    def top(self) -> T | None:
        """Return the innermost scope, or None."""
        items = self.read()
        return items[-1] if items else None

    def entered(self, *scopes: T) -> "_Entered[T]":
        """Push scopes, the last one innermost, and check at the exit that they are still on top."""
        return _Entered(self, scopes)

    def put(self, scopes: tuple[T, ...]) -> None:
        """Put a whole other stack in place for good; for scopes that may be left in another order than entered."""
        self._items.set(scopes)

    @contextmanager
    def replaced(self, scopes: tuple[T, ...]) -> Iterator[None]:
        """Put a whole other stack in place for a while."""
        token = self._items.set(scopes)
        try:
            yield
        finally:
            self._items.reset(token)


class _Entered(Generic[T]):
    """What `ScopeStack.entered` gives; a class takes 1.3 us, a generator 3.3, at each layer call."""

    __slots__ = ("_before", "_mine", "_scopes", "_stack")

    def __init__(self, stack: ScopeStack[T], scopes: tuple[T, ...]) -> None:
        self._stack = stack
        self._scopes = scopes

    def __enter__(self) -> None:
        items = self._stack._items
        self._before = items.get()
        self._mine = (*self._before, *self._scopes)
        items.set(self._mine)

    def __exit__(self, *failure: object) -> None:
        items, mine = self._stack._items, self._mine
        found = items.get()
        if found is mine:
            items.set(self._before)  # the very tuple, so that the scope around it finds what it left
            return
        if len(found) >= len(mine) and all(a is b for a, b in zip(mine, found, strict=False)):
            items.set(self._before)
        # else this one is closed already, and what was open around it must not come back
        raise ScopeError(
            f"a {self._stack._name} scope was left while {len(found)} scopes were open, {len(mine)} expected",
            "scopes must be left in the reverse order of their entry",
            "use 'with' blocks, and do not suspend a generator inside one",
        )


_ambient: list[Callable[[], Hashable]] = []
_names: list[str] = []
_signs: list[Callable[[], object]] = []


def register_ambient(
    read: Callable[[], Hashable], sign: Callable[[], object] | None = None, name: str = "a global setting"
) -> None:
    """Declare a setting that code depends on without being passed it; it is read at each compiled call.

    Args:
        read: Returns the setting.
        sign: Returns something, quicker, that is equal only where the setting is, too. Defaults to None: the setting.
        name: What the setting is called in the log of traces.
    """
    _ambient.append(read)
    _names.append(name)
    register_sign(sign or read)


def register_sign(sign: Callable[[], object]) -> None:
    """Declare something else than a setting that says whether a compiled call may be run as the one before it was."""
    _signs.append(sign)


def ambient() -> tuple[Hashable, ...]:
    """Return all such settings now; a compiled function is traced anew for each combination."""
    return tuple([read() for read in _ambient])


def describe_ambient(before: tuple[Hashable, ...], after: tuple[Hashable, ...]) -> str:
    """Tell which setting differs between two results of `ambient`, with its values where these are short."""
    pairs = zip(_names, before, after, strict=False)
    name, *values = next((one for one in pairs if one[1] != one[2]), ("a global setting",))
    if not values or not all(isinstance(value, str | bool | None) for value in values):
        return f"{name} changed"
    return f"{name}: {values[0]!r} -> {values[1]!r}"


def signs() -> list[object]:
    """Return what is equal at two moments of one thread only if `ambient` is, at a fraction of its cost."""
    return [sign() for sign in _signs]
