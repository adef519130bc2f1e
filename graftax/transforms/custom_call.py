"""One call of a function with a gradient of its own: what it reads becomes an input, what it assigns an output."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from graftax import tree
from graftax.backend import registry
from graftax.errors import ArgumentTypeError, GradientError, ShapeError, StateError
from graftax.transforms.custom_state import GradientFrame, Reading, constant, is_stream, move_on
from graftax.transforms.sources import function_name
from graftax.transforms.state import Substitution
from graftax.transforms.threaded import Around, arrays_of
from graftax.typedefs import Array, VariableLike, unwrap
from graftax.variables.storage import Storage, frames
from graftax.variables.variable import Variable

T = TypeVar("T")

_FLOATING = ("float", "bfloat", "complex")


class CustomCall:
    """A call of ``fn(*args, **kwargs) -> (value, grad_fn)``."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._fn = fn
        self._structure = (args, kwargs)
        self._leaves = tree.flatten(self._structure)
        self._positional = len(tree.flatten(args))
        self._moving = [i for i, leaf in enumerate(self._leaves) if _is_moving(leaf)]
        arrays = registry.current().arrays
        weakly = arrays.numpy.asarray
        self._values = [
            weakly(leaf) if type(leaf) in (float, complex) else arrays.asarray(unwrap(leaf))
            for leaf in (self._leaves[i] for i in self._moving)
        ]
        self._context = contextvars.copy_context()
        self._storages: list[Storage] = []
        self._variables: list[Variable] = []
        self._written: list[Storage] = []
        self._out: Any = None

    def run(self) -> Any:
        """The value; what is assigned on the way takes effect."""
        transforms = registry.current().transforms
        around = Around()
        found: list[Reading] = []
        if transforms.staged_within(None):
            transforms.eval_shape(lambda: self._look(around, found, True))
            frame = found[-1]
        else:
            leaves = self._look(around, found, False)
            frame = found[-1]
            if transforms.eager() and not any(map(transforms.is_tracer, [*self._values, *frame.found.values()])):
                for storage, value in frame.written.items():  # nobody differentiates
                    storage.write(value)
                return transforms.unflatten(self._out, leaves)
        self._storages = list(frame.found)
        inputs = [*self._values, *(storage.read() for storage in self._storages)]
        results = transforms.custom_vjp(self._function, self._forward, self._backward, inputs)
        count = len(results) - len(self._written)
        for storage, value in zip(self._written, results[count:], strict=True):
            storage.write(value)
        for storage in self._storages:
            if is_stream(storage) and storage not in self._written:  # grad_fn draws from it
                move_on(storage)
        return transforms.unflatten(self._out, results[:count])

    def _look(self, around: Around, found: list[Reading], whole: bool) -> list[Any]:
        """Run once, to find what is read; with ``whole``, the gradient as well."""
        frame = Reading(around)
        found.append(frame)
        with frames.entered(frame):
            leaves, grad_fn = self._call([constant(value) for value in self._values])
            read = [storage.user for storage in frame.found]
            self._variables = [
                user
                for user in read
                if isinstance(user, Variable) and user.trainable and user.dtype.startswith(_FLOATING)
            ]
            self._check_takes_variables(grad_fn)
            if whole:
                self._gradients(grad_fn, leaves, self._values)
        return leaves

    # --- the three functions of the rule, which may be run later ------------------------------------------------------

    def _function(self, inputs: list[Any]) -> list[Any]:
        return self._run(inputs)[0]

    def _forward(self, inputs: list[Any]) -> tuple[list[Any], list[Any], Any]:
        results, *kept = self._run(inputs)
        # traced values must not leave their trace in a closure: there the function is run again
        again = any(map(registry.current().transforms.is_tracer, inputs))
        return results, inputs, None if again else kept

    def _backward(self, inputs: list[Any], kept: Any, cotangents: list[Any]) -> list[Any]:
        grad_fn, written = kept if kept is not None else self._run(inputs)[1:]
        count = len(self._values)
        frame = GradientFrame({**dict(zip(self._storages, inputs[count:], strict=True)), **written})
        ys = cotangents[: len(cotangents) - len(written)]
        gradients, of_variables = self._within(frame, lambda: self._gradients(grad_fn, ys, inputs[:count]))
        for storage in frame.written:
            if not is_stream(storage):
                raise StateError(
                    f"the grad_fn of {function_name(self._fn)} assigned {storage.path!r}",
                    "when a gradient is taken, and how often, is not defined",
                    "assign in the function itself",
                )
            if storage not in self._storages:
                move_on(storage)
        by_storage = {v._storage: g for v, g in zip(self._variables, of_variables, strict=True)}
        return [*gradients, *(by_storage.get(storage) for storage in self._storages)]

    def _run(self, inputs: list[Any]) -> tuple[list[Any], Any, dict[Storage, Array]]:
        count = len(self._values)
        given = zip(self._storages, inputs[count:], strict=True)
        frame = Substitution(frames.top, given, registry.current().transforms.level())
        leaves, grad_fn = self._within(frame, lambda: self._call(inputs[:count]))
        self._written = list(frame.written)
        return [*leaves, *frame.written.values()], grad_fn, frame.written

    def _within(self, frame: Substitution, function: Callable[[], T]) -> T:
        """Run in a frame, all other scopes as they were at the call."""
        stack = (*frames.items, frame)

        def run() -> T:
            with frames.replaced(stack):
                return function()

        return self._context.copy().run(run)

    # --- the user's functions -----------------------------------------------------------------------------------------

    def _call(self, values: list[Any]) -> tuple[list[Any], Callable[..., Any]]:
        leaves = list(self._leaves)
        for i, value in zip(self._moving, values, strict=True):
            leaves[i] = value
        args, kwargs = tree.rebuild(self._structure, iter(leaves))
        made = self._fn(*args, **kwargs)
        if not isinstance(made, tuple | list) or len(made) != 2 or not callable(made[1]):
            raise ArgumentTypeError(
                f"{function_name(self._fn)} returned {_kind(made)}",
                "a function with custom_gradient returns its value, and a function that gives the gradients",
                "return value, grad_fn",
            )
        results, self._out = arrays_of(made[0])
        return results, made[1]

    def _check_takes_variables(self, grad_fn: Callable[..., Any]) -> None:
        parameters = inspect.signature(grad_fn).parameters.values()
        if self._variables and not any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters):
            names = ", ".join(repr(variable.path) for variable in self._variables)
            raise ArgumentTypeError(
                f"{function_name(self._fn)} reads the trainable {names}, but its grad_fn takes no 'variables'",
                "their gradients are to be told, too",
                "def grad_fn(dy, variables=None): return dx, [dv]; or read graftax.stop_gradient(v) of a frozen one",
            )

    def _gradients(self, grad_fn: Callable[..., Any], ys: list[Any], values: list[Any]) -> tuple[list[Any], list[Any]]:
        """The gradients of all moving leaves and of the Variables."""
        arrays = registry.current().arrays
        dys = [y if str(y.dtype).startswith(_FLOATING) else arrays.numpy.zeros(y.shape, "float32") for y in ys]
        if not self._variables:
            return self._of_arguments(grad_fn(*dys), values), []
        variables = self._variables
        made = grad_fn(*dys, variables=list(variables))
        if not isinstance(made, tuple | list) or len(made) != 2:
            raise GradientError(
                f"the grad_fn of {function_name(self._fn)} returned {_kind(made)}",
                f"it got {len(variables)} variables",
                "return gradients_of_arguments, [gradients_of_variables]",
            )
        of_variables = tree.flatten(made[1]) if made[1] is not None else []
        if len(of_variables) != len(variables):
            raise GradientError(
                f"the grad_fn of {function_name(self._fn)} returned {len(of_variables)} gradients of variables for "
                f"{len(variables)}: {', '.join(repr(v.path) for v in variables)}",
                "there is one for each, in their order; None for zero",
            )
        found = [
            self._fitted(gradient, f"the variable {v.path!r}", v.shape, v.dtype)
            for gradient, v in zip(of_variables, variables, strict=True)
        ]
        return self._of_arguments(made[0], values), found

    def _of_arguments(self, made: Any, values: list[Any]) -> list[Any]:
        numbers = [i for i, leaf in enumerate(self._leaves[: self._positional]) if _is_number(leaf)]
        moving = [i for i in self._moving if i < self._positional]
        found = tree.flatten(made)
        if len(found) not in (len(numbers), len(moving)):
            raise GradientError(
                f"the grad_fn of {function_name(self._fn)} returned {len(found)} gradients for {len(moving)} arguments",
                "there is one for each positional argument; None for zero",
                "return dx, dy, ...",
            )
        places = dict(zip(moving if len(found) == len(moving) else numbers, found, strict=True))
        return [
            self._fitted(places.get(i), f"argument {i}", tuple(value.shape), str(value.dtype))
            for i, value in zip(self._moving, values, strict=True)
        ]

    def _fitted(self, gradient: Any, what: str, shape: tuple[int, ...], dtype: str) -> Any:
        if gradient is None or not dtype.startswith(_FLOATING):
            return None
        value = registry.current().arrays.asarray(unwrap(gradient))
        if tuple(value.shape) != shape:
            raise ShapeError(
                f"the grad_fn of {function_name(self._fn)} returned a gradient of shape {tuple(value.shape)} "
                f"for {what} of shape {shape}",
                "a gradient has the shape of what it is the gradient of",
                "ops.sum(gradient, axis) over what was broadcast",
            )
        return value.astype(dtype)


def _is_moving(leaf: Any) -> bool:
    """True for what becomes an input of the rule."""
    kinds = VariableLike | np.ndarray | np.generic | float | complex
    return isinstance(leaf, kinds) or registry.current().arrays.is_array(leaf)


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, int) or _is_moving(leaf)


def _kind(made: Any) -> str:
    if isinstance(made, tuple | list):
        return f"a {type(made).__name__} of {len(made)}"
    return "one array" if hasattr(made, "shape") else f"one {type(made).__name__}"
