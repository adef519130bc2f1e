"""gx.jit: compile a function that reads and writes Variables; it compiles or raises, and no value ever goes stale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from graftax.backend.traced_checks import CHECKED, PLAIN
from graftax.core.errors import ArgumentError, CompileError
from graftax.core.short_traceback import door
from graftax.transforms.compile.compiled_function import CompiledFunction

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jit(
    fn: Callable[P, R], *, max_retraces: int | None = None, allow_callback: bool = False, checked: bool = False
) -> CompiledFunction[P, R]: ...
@overload
def jit(
    fn: None = None, *, max_retraces: int | None = None, allow_callback: bool = False, checked: bool = False
) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...
@door
def jit(
    fn: Callable[..., Any] | None = None,
    *,
    max_retraces: int | None = None,
    allow_callback: bool = False,
    checked: bool = False,
) -> Any:
    """Compile a function that may read and write Variables anywhere in its call tree.

    Arrays and Python numbers among the arguments are traced (no new trace for a new value); strings, functions,
    modules, Variables and other objects are static, told apart by type and value, and so is what frozen sets and
    dataclasses hold. It compiles or raises. An exception in the function leaves every Variable as it was.

    Plain attributes of Modules are constants of a trace, and a change of one traces anew: of Modules that it calls or
    whose Variables it reads, and of those, with all below, that are among the arguments, that the function is a method
    of, closes over, or names as globals, it or a function of the same file. A function that changes one itself is
    traced until that one stays as it was found. Attributes that a class of yours gives its objects count as theirs.
    Lists, dicts and other containers (of numbers up to 1000) and arrays up to 64 KiB in attributes are compared by what
    is in them, and so are the settings of constraints, regularizers, initializers and creators there, and up to 1000
    values of config objects: namespaces, dataclasses, objects of your classes. The same goes for what the
    variables of its closure stand for, and the globals that it names, or a function that it names: numbers, strings,
    arrays, functions, classes, objects, and containers of these; and for methods, also those assigned to a class.
    Of a plain object that holds Modules, such as a trainer, what counts is what the function reads.

    What is not seen: a Module reached in another way, if it is only read for plain attributes; attributes that a class
    lists in ``untracked``; what is named by a text (``globals()["alpha"]``); iterators; the inside of larger arrays;
    what a function only puts into a container (``calls.append(1)``), which happens once for each trace.

    Args:
        fn: The function; without it, a decorator is returned.
        max_retraces: How many traces after the first are allowed. Each is one line in the log ``graftax`` at level
            INFO, and one at level WARNING tells when there are many. Defaults to None, for any number.
        allow_callback: Whether `graftax.py_function` may be called inside, which makes each run wait for Python.
            Defaults to False.
        checked: Whether to raise, after a run, for an index out of range, a nan that an operation makes, and a
            `graftax.check` that fails. Then no Variable has changed. It takes more time and memory. Defaults to False.

    Raises:
        ArgumentError: ``max_retraces`` is no number of traces.
        CompileError: ``fn`` is no function; at the call: it needs a traced value, or returns what is no array.
        StateError: at the call: the function makes a Variable that nobody keeps.
        RetraceError: at the call: more retraces than allowed.
        IndexRangeError: with ``checked``, at the call: an index is out of range.
        NumericsError: with ``checked``, at the call: an operation made nan out of numbers.
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
    if max_retraces is not None and (type(max_retraces) is not int or max_retraces < 0):
        raise ArgumentError(
            f"jit got max_retraces={max_retraces!r}", "it is a number of traces, or None", "max_retraces=0"
        )

    def compile_function(f: object) -> CompiledFunction[..., Any]:
        if not callable(f):
            raise CompileError(f"jit got {f!r}", "only functions can be compiled", "@graftax.jit above a function")
        return CompiledFunction(f, max_retraces, allow_callback, CHECKED if checked else PLAIN)

    return compile_function if fn is None else compile_function(fn)
