"""py_function: Python that needs real values, called from anywhere, a compiled program included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graftax.backend import registry, traced_checks
from graftax.core import tree
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    DTypeError,
    ExportError,
    GradientError,
    ShapeError,
    StateError,
)
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, DTypeLike, Shape, unwrap
from graftax.core.user_functions import check_functions, check_takes
from graftax.core.wrapping import function_name
from graftax.transforms.frozen_closure import frozen_closure
from graftax.transforms.lifting.agreement import kind
from graftax.transforms.lifting.outline import Outline
from graftax.transforms.tape.gradient_tape import GradientTape
from graftax.transforms.tape.record import is_differentiable
from graftax.variables.state.storage import Frame, Storage, frames


@dataclass(frozen=True)
class ArraySpec:
    """The shape and dtype of an array that does not exist yet.

    Example:
        >>> ArraySpec((2, 3))
        ArraySpec(shape=(2, 3), dtype='float32')
    """

    shape: Shape
    dtype: DTypeLike = "float32"

    def zeros(self) -> np.ndarray[Any, Any]:
        """Return zeros of that shape and dtype, which take the memory of one; for a look at shapes.

        Example:
            >>> ArraySpec((1000, 1000)).zeros().strides
            (0, 0)
        """
        return np.broadcast_to(np.zeros((), registry.current().arrays.canonical_dtype(self.dtype)), self.shape)


class _NoState(Frame):
    """Where Python runs that is no part of the program: Variables are out of reach."""

    def read(self, storage: Storage) -> Array:
        """Refuse a read: what is read there has no gradient, and in a compiled step an old value."""
        raise self._error("read", storage)

    def write(self, storage: Storage, value: Array) -> None:
        """Refuse an assignment: a compiled step would undo it."""
        raise self._error("assigned", storage)

    def _error(self, verb: str, storage: Storage) -> StateError:
        return StateError(
            f"a function given to py_function {verb} the variable {storage.path!r}",
            "it runs outside of the program around it, which would see nothing of that, nor would gradients",
            "hand values in as arguments, py_function(fn, [x, variable.value]), and assign what comes back",
        )


@door
def py_function(fn: Callable[..., Any], args: Sequence[Any] = (), output: object = None) -> Any:
    """Run ``fn(*args)`` in Python with real values, eagerly and from inside compiled code; differentiable.

    ``fn`` may decide, loop and print on what it gets. For a gradient it is run again, under a tape, and has to compute
    with `graftax.ops`: what NumPy computes has no gradient. A compiled program may run it more than once, and not at
    all if nothing depends on its result; with ``output=()`` it runs for its effect, once a step.

    Its free variables are those of the call, whenever it runs: of ``for k in (2.0, 3.0): y += py_function(lambda x:
    k * x, [x])`` the first has 2 and the second 3, compiled and in gradients, too. So are those of functions that it
    holds or wraps. What one of these assigns itself (``nonlocal``), globals, and objects that change inside, are what
    they are when it runs.

    Args:
        fn: Takes the arrays, returns any structure of arrays. It may not use Variables.
        args: Arrays or Variables, whose values are passed. Defaults to none.
        output: The structure of its results, with an `ArraySpec` (or anything with ``shape`` and ``dtype``) for each
            array; ``()`` for a function that returns None. Defaults to None: compiled code runs ``fn`` once without
            values to find out.

    Raises:
        CompileError: inside `graftax.jit` without ``allow_callback=True``; or ``fn`` needs values to find its output.
        ArgumentTypeError: ``args`` is no list, or ``output`` holds something without shape and dtype.
        ArgumentError: the results have another structure than ``output``.
        ShapeError: a shape differs from ``output``.
        DTypeError: a dtype differs from ``output`` and cannot be converted without loss.
        StateError: ``fn`` used a Variable.
        GradientError: its gradient is asked for, and no result was computed from an argument with `graftax.ops`.

    Example:
        >>> import graftax as gx
        >>> def absolute(x):
        ...     return x if float(x) > 0 else -x
        >>> float(gx.grad(lambda x: py_function(absolute, [x]) ** 2)(-3.0))
        -6.0
    """
    check_functions("py_function", "graftax.py_function(fn, [x])", fn)
    _check_allowed(fn)
    backend = registry.current()
    fn = frozen_closure(fn)  # the program runs it later, when a loop around it may be at another turn
    if not isinstance(args, list | tuple):
        raise ArgumentTypeError(
            f"py_function got {type(args).__name__} as args", "it takes a list of arguments", "py_function(fn, [x])"
        )
    check_takes("py_function", "fn", fn, ["argument"] * len(args), "graftax.py_function(fn, [x, y]): fn gets the list")
    values = [backend.arrays.asarray(unwrap(arg)) for arg in args]
    for one in tree.flatten(output) if output is not None else []:
        if not (hasattr(one, "shape") and hasattr(one, "dtype")):
            raise ArgumentTypeError(
                f"py_function got {one!r} of type {type(one).__name__} in output=",
                "it says the shape and dtype of each array, in the structure of the results",
                'output=graftax.ArraySpec((2, 3), "float32")',
            )
    if not backend.has("callbacks") and all(map(backend.arrays.is_concrete, values)):
        result, structure = _conform(fn, fn(*values), output)
        return result if structure is None else backend.tracing.unflatten(structure, result)
    transforms = backend.callbacks
    made: list[Any] = []  # the structure, which no program can carry

    def run(*arrays: Any) -> list[Any]:
        results: list[Any]
        # on another thread perhaps, and at no known time: Variables may be in the middle of a step
        with frames.replaced((_NoState(),)):
            results, structure = _conform(fn, fn(*arrays), output)
        made[:] = [structure]
        return results

    if output is not None and not transforms.flatten(output)[0]:
        transforms.effect(run, values)
        return output

    def shapes() -> Sequence[Any]:
        if output is not None:
            leaves, structure = transforms.flatten(output)
            made[:] = [structure]
            return list(leaves)
        return _infer_specs(fn, run, values)

    results = transforms.callback(run, _differentiate, shapes, values)
    return transforms.unflatten(made[0], results)


def _check_allowed(fn: Callable[..., Any]) -> None:
    if traced_checks.traces.top == traced_checks.EXPORTED:
        raise ExportError(
            f"py_function({function_name(fn)}) inside an exported function",
            "what is exported runs without this Python",
            "functions of graftax.ops in its place; or let the signature end before it, and go on in Python",
        )
    for frame in frames.items:
        if not frame.allows_callback:
            raise CompileError(
                f"py_function({function_name(fn)}) inside a compiled function",
                "each run would leave the device and wait for Python",
                "if that is what you want: graftax.jit(fn, allow_callback=True); for fit, calls_python = True on the "
                "class of the layer, loss, metric or model",
            )


def _differentiate(function: Callable[..., Sequence[Any]], count: int) -> Callable[..., Sequence[Any]]:
    def pull(*values: Any) -> list[Any]:
        sources = [value for value in values[count:] if is_differentiable(value)]
        with frames.replaced((_NoState(),)), GradientTape() as tape:
            tape.watch(sources)
            results = [result for result in function(*values[count:]) if is_differentiable(result)]
        gradients = tape.gradient(results, sources, list(values[:count]))
        if sources and all(gradient is None for gradient in gradients):
            raise GradientError(
                "the gradient of a py_function whose results do not depend on its arguments, as far as was recorded",
                "what NumPy or Python numbers compute has no gradient",
                "compute with graftax.ops inside; ops.stop_gradient(x) as the argument if there is to be none",
            )
        zeros = registry.current().arrays.numpy.zeros_like
        return [zeros(x) if gradient is None else gradient for x, gradient in zip(sources, gradients, strict=True)]

    return pull


def _infer_specs(fn: Callable[..., Any], run: Callable[..., list[Any]], values: Sequence[Any]) -> Sequence[Any]:
    try:
        found = registry.current().tracing.eval_shape(run, *values)
    except Exception as error:
        raise CompileError(
            f"what py_function({function_name(fn)}) returns could not be found out: {type(error).__name__}",
            "inside a program shapes and dtypes must be known before it runs; this function needs values to tell",
            f'py_function({function_name(fn)}, args, output=graftax.ArraySpec(shape, "float32"))',
        ) from error
    if not found:
        raise ArgumentError(
            f"py_function({function_name(fn)}) returns no array",
            "a program leaves out what nothing depends on",
            "output=()",
        )
    return list(found)


def _conform(fn: Callable[..., Any], result: object, output: object) -> tuple[Any, Any]:
    """Return the leaves of a result, as they were announced, and the structure."""
    arrays = registry.current().arrays
    if not registry.current().has("tracing"):
        return result, None
    flatten = registry.current().tracing.flatten
    leaves, structure = flatten(result if output is None else tree.reorder(result, output))
    leaves = [unwrap(leaf) for leaf in leaves]
    if output is None:
        return [arrays.asarray(leaf) for leaf in leaves], structure
    wanted, expected = flatten(output)
    if not wanted and not leaves:
        return [], expected
    if structure != expected:
        ours, theirs = (
            Outline(s, [None] * len(x)).paths("output") for s, x in ((structure, leaves), (expected, wanted))
        )
        raise ArgumentError(
            f"py_function({function_name(fn)}) returned the leaves {ours}, output= has {theirs}",
            "the structures must be the same, down to lists, tuples and dicts",
            "output= with one ArraySpec in place of each array that the function returns",
        )
    paths = Outline(expected, wanted).paths("output")
    return [_check_announced(fn, p, x, y) for p, x, y in zip(paths, leaves, wanted, strict=True)], expected


def _check_announced(fn: Callable[..., Any], path: str, leaf: Any, spec: Any) -> Any:
    arrays = registry.current().arrays
    array, dtype = arrays.asarray(leaf), arrays.canonical_dtype(spec.dtype)
    if tuple(array.shape) != tuple(spec.shape):
        raise ShapeError(
            f"py_function({function_name(fn)}): {path!r} has shape {tuple(array.shape)}, "
            f"{tuple(spec.shape)} was announced",
            "the program around it was made for that",
            f"output={ArraySpec(tuple(array.shape), dtype)!r}",
        )
    have = str(array.dtype)
    if not _is_safe(leaf, have, dtype):
        raise DTypeError(
            f"py_function({function_name(fn)}): {path!r} is {have}, {dtype} was announced",
            "the conversion may lose something, and nothing is converted silently",
            f'ops.cast(x, "{dtype}")',
        )
    return array.astype(dtype)


def _is_safe(leaf: object, have: str, dtype: str) -> bool:
    if have == dtype:
        return True
    if type(leaf) in (bool, int, float, complex):
        return kind(have) <= kind(dtype)
    return "bfloat16" not in (have, dtype) and np.can_cast(have, dtype, "safe")
