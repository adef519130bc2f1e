"""CompiledFunction: what `graftax.jit` makes of a function that reads and writes Variables.

The first call traces the Python once. Variables it reads become inputs, Variables it writes become outputs, and the
buffers of exactly those that are both are donated. Later calls compare three things: the arguments' structure, shapes
and dtypes; ambient settings; and, only if something changed anywhere (`structure` of modules), the plain
attributes of the modules that the trace went through. A difference traces anew and says so in one line of the log.
"""

from __future__ import annotations

import gc
import logging
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, ParamSpec, TypeVar, cast

from graftax.backend import registry, traced_checks
from graftax.backend.compiling import Compiling
from graftax.backend.host import no_plain_numbers
from graftax.backend.program import Lift
from graftax.backend.traced_checks import CHECKED, PLAIN, RANGES
from graftax.backend.tracing import Tracing
from graftax.core import foreign_errors
from graftax.core.errors import CompileError, RetraceError, StateError
from graftax.core.short_traceback import cause_to_show, door, not_taken, shorten
from graftax.core.typedefs import unwrap
from graftax.core.wrapping import carry_names, carry_names_as_bound, function_name
from graftax.transforms.compile import run_eagerly as eagerly
from graftax.transforms.compile.abandoned import refuse_abandoned
from graftax.transforms.compile.key import SCALARS, argument_names, describe, is_static, key_of, result_names
from graftax.transforms.compile.lowered import Lowered
from graftax.transforms.compile.reach import find_modules
from graftax.transforms.compile.reads import watch_reads
from graftax.transforms.compile.repeated import MISSED, Repeated
from graftax.transforms.compile.retrace_reason import retrace_reason, times
from graftax.transforms.compile.run import run_donating, run_nested
from graftax.transforms.compile.trace import Entry
from graftax.transforms.lifting.carried import flatten_with_masks, give_masks, masks_of, with_masks
from graftax.transforms.lifting.frames import CompileFrame
from graftax.variables import masks
from graftax.variables.state.storage import frames, next_number

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("graftax")


class CompiledFunction(Generic[P, R]):
    """What `jit` returns: call it like the function; ``trace_count`` says how often the Python ran.

    Args:
        fn: The function.
        max_retraces: After the first trace, how many more there may be before `RetraceError`; None for any number.
        allow_callback: Whether `graftax.py_function` may be called inside.
        looks: What a run raises for (`graftax.backend.traced_checks`).
    """

    # In slots, so that `functools.wraps`, in whose hands a user's decorator puts this, finds names in its `__dict__`
    # and no state to merge into the decorator's function.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_allow_callback",
        "_before",
        "_bound",
        "_entries",
        "_fn",
        "_instance",
        "_last",
        "_looks",
        "_max_retraces",
        "_told_leaks",
        "commits",
        "trace_count",
    )

    def __init__(
        self, fn: Callable[P, R], max_retraces: int | None = None, allow_callback: bool = False, looks: str = PLAIN
    ) -> None:
        self._fn: Callable[..., R] = fn
        self._instance: weakref.ref[Any] | None = None  # what it is a method of
        self._max_retraces = max_retraces
        self._allow_callback = allow_callback
        self._looks = looks
        self._entries: dict[Hashable, list[Entry]] = {}  # for each key, the one used last first
        self._bound: dict[int, tuple[weakref.ref[Any], CompiledFunction[Any, R]]] = {}  # by id: not all can be hashed
        self._last: Repeated | None = None
        self._before: Entry | None = None  # what the last call ran that was looked at as a whole
        self._told_leaks: set[str] = set()  # attributes that keep values of a trace, and were warned of
        self.trace_count = 0
        self.commits: deque[object] = deque(maxlen=1)  # a mark of the last run whose results are in place
        carry_names(self, fn)

    def __get__(self, instance: object, owner: type | None = None) -> CompiledFunction[..., R]:
        if instance is None:
            return self
        key = id(instance)
        if key not in self._bound:
            bound = self._bound
            # what is kept here must not keep the instance alive; who asks for its method does, as of any method
            alive = weakref.ref(instance, lambda _: bound.pop(key, None))

            def method(*args: Any, **kwargs: Any) -> R:
                return self._fn(alive(), *args, **kwargs)

            carry_names_as_bound(method, self._fn)
            compiled = CompiledFunction(method, self._max_retraces, self._allow_callback, self._looks)
            compiled._instance = alive
            bound[key] = alive, compiled
        return BoundFunction(self, self._bound[key][1], instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run compiled; trace first if need be."""
        try:
            last = self._last
            if last is not None and not kwargs and (out := last.run(args)) is not MISSED:
                return cast(R, out)
            if (frames.read() and self._is_a_part()) or (eagerly.count and eagerly.is_on()):
                return self._run_eagerly(args, kwargs)
            transforms = registry.current().compiling
            leaves, tree = flatten_with_masks(transforms, args, kwargs)
            key, dynamic = key_of(leaves, tree)
            entries = self._entries.get(key)
            if entries is None or entries[0].difference() is not None:
                entry = self._find_or_trace(transforms, key, leaves, tree, runs=True)
            else:
                entry = entries[0]
                if entry.before:
                    entry.begin()
            if frames.top is None and transforms.eager():
                self._last = Repeated.from_entry(self._before, entry, args, kwargs)
                self._before = entry
                results = run_donating(entry, dynamic)
            else:
                results = run_nested(entry, dynamic)
            out = transforms.unflatten(entry.out_structure, results[: entry.results])
            return cast(R, out if not entry.masked else with_masks(transforms, *out))
        except Exception as error:
            fn, here = self._fn, args
            if self._instance is not None:  # as it is in its class
                fn, here = getattr(fn, "__wrapped__", fn), (self._instance(), *args)  # type: ignore[assignment]
            # besides, what the library finds only when it compiles
            told = not_taken(error, fn, here, kwargs) or foreign_errors.translate(error)
            if told is not None:
                cause = cause_to_show(told, error)
                shorten(told)
                raise told from cause
            shorten(error)
            raise

    def _run_eagerly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        if frames.top is not None or not registry.current().has("tracing"):
            return self._fn(*args, **kwargs)
        key_of(*registry.current().tracing.flatten((args, kwargs)))  # raises for what cannot be an argument
        return cast(R, eagerly.call(self._fn, args, kwargs, self._allow_callback))

    def _is_a_part(self) -> bool:
        """Return True if it belongs to the function being compiled, or run eagerly, around it."""
        if self._looks not in (PLAIN, RANGES) and traced_checks.traces.top == PLAIN:
            raise StateError(
                f"{function_name(self._fn)}, which is compiled with checks, inside of a function compiled without",
                "what fails is raised after the outermost compiled function has run, and that one does not look",
                "graftax.jit(..., checked=True) for the outer one, too; find_nan(step, batch) with the step itself",
            )
        return isinstance(frames.top, CompileFrame) or traced_checks.traces.top == CHECKED

    @door
    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Trace for these arguments, unless that has been done, and give the program to look at; nothing is run.

        Raises:
            StateError: a function that is being compiled asks for it.

        Example:
            >>> import graftax as gx
            >>> w = gx.Variable([1.0, 2.0])
            >>> lowered = gx.jit(lambda x: w.assign_add(x)).lower([3.0, 4.0])
            >>> len(lowered.read), len(lowered.written), lowered.memory.donated, w.numpy().tolist()
            (1, 1, 8, [1.0, 2.0])
        """
        if frames.top is not None:
            raise StateError(
                f"{function_name(self._fn)}.lower() inside of another function that is compiled or differentiated",
                "there the values of arguments and Variables are not at hand",
                "call lower() outside",
            )
        entry, dynamic, _ = self.trace_arguments(*args, **kwargs)
        return Lowered(function_name(self._fn), self.trace_count, entry, dynamic)

    def trace_arguments(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Entry, list[Any], list[str]]:
        """Return the trace for these arguments, the arrays among them, and what these are called."""
        transforms = registry.current().compiling
        leaves, tree = flatten_with_masks(transforms, args, kwargs)
        key, dynamic = key_of(leaves, tree)
        entry = self._find_or_trace(transforms, key, leaves, tree, runs=False)
        return entry, dynamic, self._names(transforms, leaves, tree)

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Trace for these arguments, unless that has been done; nothing is run."""
        if self._last is not None and not kwargs and self._last.match(args) is not None:
            return
        transforms = registry.current().compiling
        leaves, tree = flatten_with_masks(transforms, args, kwargs)
        key, _ = key_of(leaves, tree)
        entries = self._entries.get(key)
        if entries is None or entries[0].difference() is not None:
            self._find_or_trace(transforms, key, leaves, tree, runs=False)

    def forget(self) -> None:
        """Forget all traces: the next call traces anew."""
        self._entries.clear()
        self._last, self._before, self.trace_count = None, None, 0

    def _names(self, transforms: Tracing, leaves: list[Any], tree: object) -> list[str]:
        names = argument_names(self._fn, transforms, tree, len(leaves))
        return [f"the argument {name!r}" for name, leaf in zip(names, leaves, strict=True) if not is_static(leaf)]

    def _find_or_trace(
        self, transforms: Compiling, key: Hashable, leaves: list[Any], tree: object, runs: bool
    ) -> Entry:
        entries = self._entries.get(key, [])  # is never changed itself: another thread may be looking at it
        found = next((entry for entry in entries if entry.difference() is None or entry.is_owed()), None)
        if found is None:
            if any(entry.compares_arrays for entry in entries):
                gc.collect()  # what jax has made of these at an earlier trace, or it would find that again
            found = self._trace(transforms, key, leaves, tree, entries[0].difference() if entries else None)
        if runs:
            found.begin()
        # a trace that changed what it saw was good for one call: to run it again would leave attributes as they are
        others = [entry for entry in entries if entry is not found and not entry.is_spent()]
        self._entries[key] = [found, *others[: _REMEMBERED - 1]]
        return found

    def _trace(
        self, transforms: Compiling, key: Hashable, leaves: list[Any], tree: object, reason: str | None
    ) -> Entry:
        if self.trace_count:
            reason = reason or describe(self._fn, transforms, next(reversed(self._entries)), key)
            if self._max_retraces is not None and self.trace_count > self._max_retraces:
                raise RetraceError(
                    f"{function_name(self._fn)} would be traced once more after {times(self.trace_count)}: {reason}",
                    f"max_retraces={self._max_retraces} allows no more: {retrace_reason(reason)[0]}",
                    f"{retrace_reason(reason)[1]}, or allow more",
                )
            log.info("graftax.jit: %s traced again (%d): %s", function_name(self._fn), self.trace_count + 1, reason)
            if self.trace_count == _OFTEN:
                log.warning(
                    "graftax.jit: %s was traced %d times and goes on (%s): %s; %s, or set max_retraces",
                    function_name(self._fn),
                    self.trace_count,
                    reason,
                    *retrace_reason(reason),
                )
        found: dict[str, Any] = {}

        def run(lift: Lift, dynamic: list[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
            frame = CompileFrame(lift, list(zip(dynamic, concrete, strict=True)), self._allow_callback)
            values = iter(dynamic)
            filled = [leaf if is_static(leaf) else next(values) for leaf in leaves]
            args, kwargs = give_masks(transforms, *transforms.unflatten(tree, filled))
            watched = watch_reads(modules, around, frame)
            with frames.replaced((frame,)), traced_checks.tracing(self._looks) as before, watched:
                out = self._fn(*args, **kwargs)
                results, out_structure = transforms.flatten(out)
                results = [_result(self._fn, r) for r in results]
                found_masks = masks_of(results) if masks.any_set() else []
                if masked := any(mask is not None for mask in found_masks):
                    results, out_structure = transforms.flatten(
                        (transforms.unflatten(out_structure, results), found_masks)
                    )
            frame.group_alike()
            found.update(touched=frame.touched, seen=frame.seen)  # the frame itself keeps values of the trace
            found.update(out=out_structure, results=len(results), masked=masked, before=before)
            return results, cast("list[tuple[Any, Any]]", frame.last_values())

        concrete = [leaf for leaf in leaves if not is_static(leaf)]
        if (unfit := no_plain_numbers(concrete, "an argument")) is not None:
            raise unfit
        statics = [leaf for leaf in leaves if is_static(leaf)]
        modules, around = find_modules((self._fn, *statics), function_name(self._fn))
        # with ranges, a program that has none to look at is a plain one
        since = next_number()
        program = transforms.trace(run, concrete, PLAIN if self._looks == RANGES else self._looks)
        if self._looks != PLAIN or program.has_checks:
            program.names = self._names(transforms, leaves, tree)
            program.result_names = result_names(transforms, found["out"], found["results"])
        # what only the trace has kept goes: layers, Variables and compiled functions that it has made and dropped
        touched = [*map(weakref.ref, found.pop("touched").values())]

        def make() -> Entry:
            nodes = [node for ref in touched if (node := ref()) is not None]
            kept = [*statics, around]
            return Entry(program, nodes, found["seen"], found["out"], found["results"], kept, found["masked"])

        entry = make()
        if entry.has_leaks(transforms.level(), around):
            del entry  # which depends on what is there, and so keeps it
            gc.collect()  # what was dropped may still be there, in a circle
            entry = make()
        entry.before, entry.commits = found["before"], self.commits
        entry.warn_of_leaks(transforms.level(), function_name(self._fn), around, self._told_leaks)
        found.clear()
        refuse_abandoned(program, since, function_name(self._fn))
        self.trace_count += 1
        return entry

    def __getstate__(self) -> dict[str, Any]:
        # a copy traces for itself
        kept = {"max_retraces": self._max_retraces, "allow_callback": self._allow_callback, "looks": self._looks}
        return {"fn": self._fn, **kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<graftax.jit of {function_name(self._fn)}, traced {self.trace_count} times>"


class BoundFunction(CompiledFunction[P, R]):
    """A compiled method with the object whose method it is, which lives as long as this does.

    Args:
        method: What the class of the object has.
        compiled: What it is for this object.
        instance: The object.
    """

    __slots__ = ("_compiled", "_method", "_of")

    def __init__(self, method: CompiledFunction[..., R], compiled: CompiledFunction[..., R], instance: object) -> None:
        self._method, self._compiled, self._of = method, compiled, instance
        self.__dict__ = compiled.__dict__  # the names

    @property
    def __self__(self) -> object:
        return self._of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)  # such as ``trace_count``, of which this has none itself

    def __get__(self, instance: object, owner: type | None = None) -> CompiledFunction[..., R]:
        return self  # a bound method, such as one that a class keeps, is bound to nothing else

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run compiled, as the function for this object."""
        return self._compiled(*args, **kwargs)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Give the program for these arguments to look at."""
        return self._compiled.lower(*args, **kwargs)

    def trace_arguments(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Entry, list[Any], list[str]]:
        """Return the trace for these arguments, the arrays among them, and what these are called."""
        return self._compiled.trace_arguments(*args, **kwargs)

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Trace for these arguments, unless that has been done."""
        self._compiled.trace(*args, **kwargs)

    def forget(self) -> None:
        """Forget all traces."""
        self._compiled.forget()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundFunction) and other._compiled is self._compiled

    def __hash__(self) -> int:
        return hash(self._compiled)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _bind, (self._method, self._of)


def _bind(method: CompiledFunction[..., Any], instance: object) -> CompiledFunction[..., Any]:
    return method.__get__(instance)


_REMEMBERED = 8  # traces for one key: settings that are switched to and fro, such as what is frozen, keep theirs
_OFTEN = 5  # traces, at which a line in the log warns


def _result(fn: Callable[..., Any], value: object) -> Any:
    value = unwrap(value)
    if is_static(value) and not isinstance(value, SCALARS):
        raise CompileError(
            f"{function_name(fn)} returned {value!r} of type {type(value).__name__}",
            "a compiled function returns arrays, numbers, None, and nested lists, tuples and dicts of these",
            "return only those",
        )
    return value
