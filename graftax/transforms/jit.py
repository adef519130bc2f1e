"""gx.jit: compile a function that reads and writes Variables; it compiles or raises, and no value ever goes stale.

The first call traces the Python once. Variables it reads become inputs, Variables it writes become outputs, and the
buffers of exactly those that are both are donated. Later calls compare three things: the arguments' structure, shapes and
dtypes; ambient settings; and, only if something changed anywhere (`graftax.module.structure`), the plain attributes of the
modules that the trace went through. A difference traces anew and says so in one line of the log.
"""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Callable, Hashable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from graftax import scopes
from graftax.backend import registry
from graftax.backend.protocol import Program, Transforms
from graftax.errors import CompileError, RetraceError, StateError
from graftax.module import Module, structure
from graftax.transforms.state import CompileFrame
from graftax.typedefs import VariableLike, unwrap
from graftax.variables.storage import Storage, frames

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("graftax")

_SCALARS = (bool, int, float, complex)


class _Entry:
    """One trace, and what has to stay as it was for the trace to be valid."""

    def __init__(self, program: Program, frame: CompileFrame, out_structure: Any, statics: list[Any]) -> None:
        self.program = program
        self.out_structure = out_structure
        self.written = cast("list[Storage]", list(program.written))
        self.donated = cast("list[Storage]", list(program.donated))
        self.kept = cast("list[Storage]", list(program.kept))
        self.version = structure.version
        self._touched = [(ref, ref().fingerprint()) for ref in frame.touched.values()]  # type: ignore[union-attr]
        self._lengths = [
            (value, len(value))
            for ref in frame.touched.values()
            for _, value in ref().children()  # type: ignore[union-attr]
            if isinstance(value, list | dict)
        ]
        self.statics = statics  # kept alive, so that their identity stays theirs

    def difference(self) -> str | None:
        """What has changed since the trace, in words; None if nothing has."""
        if self.version != structure.version:
            for ref, before in self._touched:
                module = ref()
                if module is not None and (after := module.fingerprint()) != before:
                    return _describe_difference(module, before, after)
            self.version = structure.version
        for container, length in self._lengths:
            if len(container) != length:
                return f"a {type(container).__name__} of modules now has {len(container)} entries, not {length}"
        return None


def _describe_difference(module: Module, before: dict[str, Any], after: dict[str, Any]) -> str:
    name = next(n for n in {**before, **after} if before.get(n) != after.get(n))
    where = f"{module.path or type(module).__name__}.{name}"
    old, new = (
        f"{d[name][1]!r}" if name in d and d[name][0] in _PRINTABLE else "another object" for d in (before, after)
    )
    return f"{where}: {old} -> {new}" if old != new else f"{where} changed"


_PRINTABLE = ("bool", "int", "float", "str", "NoneType")


class CompiledFunction(Generic[P, R]):
    """What `jit` returns: call it like the function; ``trace_count`` says how often the Python ran.

    Args:
        fn: The function.
        max_retraces: After the first trace, how many more there may be before `RetraceError`; None for any number.
    """

    def __init__(self, fn: Callable[P, R], max_retraces: int | None = None) -> None:
        self._fn = fn
        self._max_retraces = max_retraces
        self._entries: dict[Hashable, _Entry] = {}
        self._bound: weakref.WeakKeyDictionary[Any, CompiledFunction[Any, R]] = weakref.WeakKeyDictionary()
        self.trace_count = 0
        update_wrapper(self, fn)

    def __get__(self, instance: Any, owner: type | None = None) -> CompiledFunction[..., R]:
        if instance is None:
            return self
        if instance not in self._bound:
            alive = weakref.ref(instance)  # the instance must not be kept alive by its own compiled methods

            def method(*args: Any, **kwargs: Any) -> R:
                return self._fn(alive(), *args, **kwargs)  # type: ignore[arg-type, call-arg]

            update_wrapper(method, self._fn)
            self._bound[instance] = CompiledFunction(method, self._max_retraces)
        return self._bound[instance]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run compiled; trace first if need be."""
        if isinstance(frames.top, CompileFrame):
            return self._fn(*args, **kwargs)  # part of the function being compiled around it
        transforms = registry.current().transforms
        leaves, tree = transforms.flatten((args, kwargs))
        key, dynamic = _key(leaves, tree)
        entry = self._entries.get(key)
        if entry is None or (entry.difference() is not None):
            entry = self._trace(transforms, key, leaves, tree, entry)
        if frames.top is None and transforms.eager():
            results = _run_donating(entry, dynamic)
        else:
            results = _run_nested(entry, dynamic)
        return cast(R, transforms.unflatten(entry.out_structure, results[: len(results) - len(entry.written)]))

    def _trace(
        self, transforms: Transforms, key: Hashable, leaves: list[Any], tree: Any, stale: _Entry | None
    ) -> _Entry:
        if self.trace_count:
            reason = stale.difference() if stale is not None else None
            reason = reason or _describe_key(next(reversed(self._entries)), key)
            if self._max_retraces is not None and self.trace_count > self._max_retraces:
                raise RetraceError(
                    f"{_name(self._fn)} would be traced for the {self.trace_count + 1}th time: {reason}",
                    f"max_retraces={self._max_retraces}",
                    "keep shapes and settings the same, or allow more",
                )
            log.info("graftax.jit: %s traced again (%d): %s", _name(self._fn), self.trace_count + 1, reason)
        found: dict[str, Any] = {}

        def run(lift: Any, dynamic: list[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
            frame = CompileFrame(lift)
            values = iter(dynamic)
            filled = [leaf if _is_static(leaf) else next(values) for leaf in leaves]
            args, kwargs = transforms.unflatten(tree, filled)
            with frames.replaced((frame,)):
                out = self._fn(*args, **kwargs)
                results, out_structure = transforms.flatten(out)
                results = [_result(self._fn, r) for r in results]
            found.update(frame=frame, out=out_structure)
            return results, cast("list[tuple[Any, Any]]", frame.written())

        dynamic = [_plain(leaf) for leaf in leaves if not _is_static(leaf)]
        program = transforms.trace(run, dynamic)
        self.trace_count += 1
        statics = [leaf for leaf in leaves if _is_static(leaf)]
        entry = self._entries[key] = _Entry(program, found["frame"], found["out"], statics)
        return entry

    def __repr__(self) -> str:
        return f"<graftax.jit of {_name(self._fn)}, traced {self.trace_count} times>"


@overload
def jit(fn: Callable[P, R], *, max_retraces: int | None = None) -> CompiledFunction[P, R]: ...
@overload
def jit(fn: None = None, *, max_retraces: int | None = None) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...
def jit(fn: Callable[..., Any] | None = None, *, max_retraces: int | None = None) -> Any:
    """Compile a function that may read and write Variables anywhere in its call tree.

    Arrays and Python numbers among the arguments are traced (no new trace for a new value); strings, functions, modules and
    other objects are static, told apart by type and value. It compiles or raises; it never runs uncompiled. An exception in the
    function leaves every Variable as it was.

    Args:
        fn: The function; without it, a decorator is returned.
        max_retraces: How many traces after the first are allowed; None for any number. Each is one line in the log
            ``graftax`` at level INFO.

    Raises:
        CompileError: at the call: the function needs a traced value, or returns something that is no array.
        RetraceError: at the call: more retraces than allowed.
        BackendCapabilityError: at the call: the backend does not compile.

    Example:
        >>> import graftax as gx
        >>> total = gx.Variable(0.0, trainable=False)
        >>> @jit
        ... def add(x):
        ...     total.assign_add(x)
        ...     return total * 2
        >>> float(add(1.0)), float(add(2.0)), float(total), add.trace_count
        (2.0, 6.0, 3.0, 1)
    """
    if fn is None:
        return lambda f: CompiledFunction(f, max_retraces)
    if not callable(fn):
        raise CompileError(f"jit got {fn!r}", "only functions can be compiled", "@graftax.jit above a function")
    return CompiledFunction(fn, max_retraces)


# --- keys -----------------------------------------------------------------------------------------------------------


def _is_static(leaf: Any) -> bool:
    return not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")) and not isinstance(leaf, _SCALARS)


def _plain(leaf: Any) -> Any:
    return unwrap(leaf) if isinstance(leaf, VariableLike) else leaf


def _key(leaves: list[Any], tree: Any) -> tuple[Hashable, list[Any]]:
    parts: list[Any] = [tree, scopes.ambient()]
    dynamic = []
    for leaf in leaves:
        if isinstance(leaf, _SCALARS):
            parts.append(type(leaf))
            dynamic.append(leaf)
        elif hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
            value = _plain(leaf)
            parts.append((value.shape, value.dtype, getattr(value, "weak_type", False)))
            dynamic.append(value)
        else:
            try:
                hash(leaf)
            except TypeError as error:
                raise CompileError(
                    f"an argument {leaf!r} of type {type(leaf).__name__}",
                    "an argument that is no array is static, and must be hashable to be told apart",
                    "pass arrays, numbers, strings, tuples, functions or modules",
                ) from error
            parts.append((type(leaf), leaf))
    return tuple(parts), dynamic


def _describe_key(before: Hashable, after: Hashable) -> str:
    old, new = cast("tuple[Any, ...]", before), cast("tuple[Any, ...]", after)
    if old[0] != new[0]:
        return "the arguments have another structure"
    if old[1] != new[1]:
        return "a global setting changed"
    for i, (a, b) in enumerate(zip(old[2:], new[2:], strict=True)):
        if a != b:
            return f"argument leaf {i}: {_show(a)} -> {_show(b)}"
    return "the same arguments as before"


def _show(part: Any) -> str:
    if isinstance(part, type):
        return f"a Python {part.__name__}"
    if len(part) == 3:
        return f"{part[1]}{list(part[0])}" + (" (weak)" if part[2] else "")
    return repr(part[1])


def _result(fn: Callable[..., Any], value: Any) -> Any:
    value = unwrap(value)
    if _is_static(value):
        raise CompileError(
            f"{_name(fn)} returned {value!r} of type {type(value).__name__}",
            "a compiled function returns arrays, numbers, None, and nested lists, tuples and dicts of these",
            "return only those",
        )
    return value


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", None) or repr(fn)


# --- running --------------------------------------------------------------------------------------------------------


def _references_of_a_lone_buffer() -> int:
    storage = Storage.__new__(Storage)
    storage.buffer = cast(Any, object())
    buffers = [s.buffer for s in [storage]]
    return max(map(sys.getrefcount, buffers))


_LONE = _references_of_a_lone_buffer()
"""What `sys.getrefcount` says of a buffer that nobody but its Storage and one list holds."""


def _run_donating(entry: _Entry, leaves: list[Any]) -> list[Any]:
    """Run, and put the new values in place, such that no exception, not even Ctrl-C, can lose a Variable."""
    donated = [storage.buffer for storage in entry.donated]
    if donated and max(map(sys.getrefcount, donated)) > _LONE:
        # somebody else holds one of these arrays (a value read before, two Variables with one array): theirs must live on
        arrays = registry.current().arrays
        donated = [
            arrays.numpy.copy(buffer) if sys.getrefcount(buffer) > _LONE + 1 else buffer for buffer in donated
        ]
    kept = [storage.buffer for storage in entry.kept]
    box: list[list[Any]] = []
    try:
        # one C call from the run to the box: an interrupt cannot come between the two
        box.extend(map(entry.program.run_donating, (donated,), (kept,), (leaves,)))
    except Exception as error:
        lost = [s.path for s in entry.donated if not box and getattr(s.buffer, "is_deleted", bool)()]
        if lost:
            raise StateError(
                f"the device failed during a step, and the Variables {', '.join(lost[:5])} were lost with it: {error}",
                "their memory had been given to the step",
                "restore the last checkpoint",
            ) from error
        raise
    finally:
        if box:
            _commit(entry, box[0])
    return box[0]


def _commit(entry: _Entry, results: list[Any]) -> None:
    new = results[len(results) - len(entry.written) :]
    try:
        for storage, value in zip(entry.written, new, strict=True):
            storage.buffer = value
    except BaseException:  # an interrupt in the middle: finish, then let it through
        for storage, value in zip(entry.written, new, strict=True):
            storage.buffer = value
        raise


def _run_nested(entry: _Entry, leaves: list[Any]) -> list[Any]:
    """Run as a part of a gradient, a functional call or a transformation of plain jax: state goes through the frames."""
    donated = [storage.read() for storage in entry.donated]
    results = entry.program.run(donated, [storage.read() for storage in entry.kept], leaves)
    for storage, value in zip(entry.written, results[len(results) - len(entry.written) :], strict=True):
        storage.write(value)
    return results
