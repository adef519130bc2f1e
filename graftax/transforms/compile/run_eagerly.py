"""run_eagerly: compiled functions run as plain Python, with real values, for breakpoints and prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.backend import registry
from graftax.core.errors import ArgumentTypeError, CompileError
from graftax.core.scopes import ScopeStack
from graftax.core.short_traceback import door
from graftax.core.typedefs import VariableLike, unwrap
from graftax.transforms.lifting.frames import Substitution
from graftax.variables.state.storage import frames

count = 0
"""How many scopes and settings ask for it or forbid it, in all threads; while it is 0, calls need not look further."""
_everywhere = False
_scopes: ScopeStack[bool] = ScopeStack("run_eagerly")


class run_eagerly:  # noqa: N801 - used as a function, and as a scope
    """Let functions compiled by `graftax.jit` run as plain Python: from now on, or in a ``with`` block.

    The same function gives the same results, draws the same random numbers, and an exception leaves every Variable as
    it was. Results are arrays, as they are when compiled, and what a compiled function may not return is refused.

    Args:
        on: False to compile again. Defaults to True.

    Raises:
        ArgumentTypeError: ``on`` is no truth value.

    Example:
        >>> import graftax as gx
        >>> seen = []
        >>> double = gx.jit(lambda x: seen.append(x) or x * 2)
        >>> with run_eagerly():
        ...     float(double(2.0)), float(seen[0]), double.trace_count
        (4.0, 2.0, 0)
    """

    @door
    def __init__(self, on: bool = True) -> None:
        global _everywhere, count
        if not isinstance(on, bool):
            raise ArgumentTypeError(
                f"run_eagerly({on!r})", "it is switched on or off", "graftax.run_eagerly(True), then graftax.jit(fn)(x)"
            )
        self._on, self._before = on, _everywhere
        count += on - _everywhere
        _everywhere = on
        self._scope: Any = None

    def __enter__(self) -> None:
        global _everywhere, count
        count += self._before - _everywhere + 1  # what it set for good becomes a scope
        _everywhere = self._before
        self._scope = _scopes.entered(self._on)
        self._scope.__enter__()

    def __exit__(self, *error: Any) -> None:
        global count
        count -= 1
        self._scope.__exit__(*error)


def is_on() -> bool:
    """Return True if compiled functions run as plain Python here."""
    inner = _scopes.top
    return _everywhere if inner is None else inner


class EagerFrame(Substitution):
    """State of a compiled function that runs as plain Python: what it assigns is put in place at its end."""

    def __init__(self, allows_callback: bool) -> None:
        super().__init__(None, (), None)
        self.allows_callback = allows_callback


def call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], allows_callback: bool) -> Any:
    """Return what the compiled ``fn`` would do with these arguments."""
    backend = registry.current()
    transforms, numpy = backend.tracing, backend.arrays.numpy

    def array(value: Any) -> Any:
        value = unwrap(value)
        if isinstance(value, bool | int | float | complex):
            return numpy.asarray(value)
        return backend.arrays.asarray(value) if hasattr(value, "dtype") else value

    leaves, tree = transforms.flatten((args, kwargs))
    given = [leaf if isinstance(leaf, VariableLike) else array(leaf) for leaf in leaves]
    args, kwargs = transforms.unflatten(tree, given)
    frame = EagerFrame(allows_callback)
    with frames.entered(frame):
        results, structure = transforms.flatten(fn(*args, **kwargs))
        results = [array(one) for one in results]
        for one in results:
            if not backend.arrays.is_array(one):
                raise CompileError(
                    f"{getattr(fn, '__qualname__', fn)} returned {one!r} of type {type(one).__name__}",
                    "a compiled function returns arrays, numbers, None, and nested lists, tuples and dicts of these",
                    "return only those",
                )
    frame.commit()
    return transforms.unflatten(structure, results)
