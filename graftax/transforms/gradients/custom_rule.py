"""A function that tells its gradients: what it is called with, what it returns, what its rule has to return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_complex, is_inexact
from graftax.core.errors import ArgumentTypeError, DTypeError, GradientError, ShapeError, StateError
from graftax.core.typedefs import VariableLike, unwrap
from graftax.core.wrapping import function_name
from graftax.transforms.lifting.carried import hand_on, masks_of, set_masks
from graftax.transforms.lifting.outline import arrays_of
from graftax.variables.state.storage import Storage
from graftax.variables.variable import Variable


class CustomRule:
    """``fn(*args, **kwargs) -> (value, grad_fn)`` as functions of arrays.

    Args:
        fn: What the user wrote.
        args: What it is called with.
        kwargs: What it is called with by name.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._fn = fn
        self.name = function_name(fn)
        self._structure = (args, kwargs)
        self._leaves = tree.flatten(self._structure)
        self._positional = len(tree.flatten(args))
        # of each positional argument the places of its leaves, in its structure
        self._places = tree.rebuild(args, iter(range(self._positional)))
        self._moving = [i for i, leaf in enumerate(self._leaves) if _is_moving(leaf)]
        arrays = registry.current().arrays
        weakly = arrays.numpy.asarray  # a Python number gives way to the dtype of arrays, as outside of a rule
        self.values = [
            weakly(leaf) if type(leaf) in (float, complex) else arrays.asarray(unwrap(leaf))
            for leaf in (self._leaves[i] for i in self._moving)
        ]
        """The arrays among the arguments."""
        self.variables: list[Variable] = []
        """The Variables whose gradients are to be told."""
        self.structure: Any = None
        """That of the value."""
        self._results = 0
        self._masks: Any = None

    def call(self, values: list[Any]) -> tuple[list[Any], Callable[..., Any]]:
        """Return the arrays of the value and of its masks, and the ``grad_fn`` of this run."""
        leaves = list(self._leaves)
        for i, value in zip(self._moving, values, strict=True):
            leaves[i] = value
        hand_on(self._leaves, leaves)
        args, kwargs = tree.rebuild(self._structure, iter(leaves))
        made = self._fn(*args, **kwargs)
        if not isinstance(made, tuple | list) or len(made) != 2 or not callable(made[1]):
            raise ArgumentTypeError(
                f"{self.name} returned {_kind(made)}",
                "a function with custom_gradient returns its value, and a function that gives the gradients",
                "return value, grad_fn",
            )
        results, self.structure = arrays_of(made[0])
        found, self._masks = arrays_of(masks_of(results))
        self._results = len(results)
        return [*results, *found], made[1]

    def value(self, leaves: list[Any]) -> Any:
        """Return what the function returns, of what `call` gives."""
        transforms = registry.current().gradients
        results, found = leaves[: self._results], leaves[self._results :]
        set_masks(results, transforms.unflatten(self._masks, found))
        return transforms.unflatten(self.structure, results)

    def note_read(self, storages: Iterable[Storage], grad_fn: Callable[..., Any]) -> None:
        """Say what the function read; raise if its rule cannot be told of a trainable one."""
        users = [storage.user for storage in storages]
        # a frozen Variable needs no gradient: its rule may leave it out
        self.variables = [v for v in users if isinstance(v, Variable) and v.trainable and is_inexact(v.dtype)]
        signature = _signature(grad_fn)
        if signature is None:  # of a builtin: whether it fits is seen when it is called
            return
        parameters = signature.parameters.values()
        if self.variables and not any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters):
            names = ", ".join(repr(variable.path) for variable in self.variables)
            raise ArgumentTypeError(
                f"{self.name} reads the trainable {names}, but its grad_fn takes no 'variables'",
                "their gradients are to be told, too",
                "def grad_fn(dy, variables=None): return dx, [dv]; or read graftax.stop_gradient(v) of a frozen one",
            )
        told: dict[str, list[Any]] = {"variables": []} if self.variables else {}
        try:
            signature.bind(*[None] * self._results, **told)
        except TypeError as error:
            raise ArgumentTypeError(
                f"the value of {self.name} is made of {self._results} arrays, its grad_fn has the signature "
                f"{signature}: {error}",
                "grad_fn gets one gradient for each array of the value, and variables= where trainable ones were read",
                "def grad_fn(*dys): ...",
            ) from None

    def gradients(
        self, grad_fn: Callable[..., Any], ys: list[Any], values: list[Any], storages: Iterable[Storage]
    ) -> list[Any]:
        """Return the gradients of the Variables behind the storages, then of the arrays given; None for zero.

        Args:
            grad_fn: That of a run.
            ys: For each array that `call` gives its gradient, of any integer something of its shape.
            values: The arrays among the arguments.
            storages: All that was read.
        """
        arrays = registry.current().arrays
        # masks come after the arrays of the value, and are none of the rule's business
        dys = [y if is_inexact(y.dtype) else arrays.numpy.zeros(y.shape, "float32") for y in ys[: self._results]]
        told: list[Any] = []
        if not self.variables:
            made = grad_fn(*dys)
        else:
            made, told = self._with_variables(grad_fn(*dys, variables=list(self.variables)))
        by_storage = {v._storage: g for v, g in zip(self.variables, told, strict=True)}
        return [*(by_storage.get(storage) for storage in storages), *self._of_arguments(made, values)]

    def _with_variables(self, result: object) -> tuple[Any, list[Any]]:
        variables = self.variables
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise GradientError(
                f"the grad_fn of {self.name} returned {_kind(result)}",
                f"it got {len(variables)} variables",
                "return gradients_of_arguments, [gradients_of_variables]",
            )
        if isinstance(result[1], dict):
            raise GradientError(
                f"the grad_fn of {self.name} returned the gradients of variables in a dict",
                "they are told in the order of the variables that it gets",
                "return dx, [gradients[v.path] for v in variables]",
            )
        of_variables = tree.flatten(result[1]) if result[1] is not None else []
        if len(of_variables) != len(variables):
            raise GradientError(
                f"the grad_fn of {self.name} returned {len(of_variables)} gradients of variables for "
                f"{len(variables)}: {', '.join(repr(v.path) for v in variables)}",
                "there is one for each, in their order; None for zero",
                "return dx, [gradients[v.path] for v in variables]",
            )
        return result[0], [
            self._check_gradient(gradient, f"the variable {v.path!r}", v.shape, v.dtype)
            for gradient, v in zip(of_variables, variables, strict=True)
        ]

    def _of_arguments(self, gradients: object, values: list[Any]) -> list[Any]:
        told = self._by_place(gradients)
        for i, gradient in told.items():
            if gradient is not None and not _is_number(self._leaves[i]):
                raise GradientError(
                    f"the grad_fn of {self.name} returned a gradient for argument {i}, {self._leaves[i]!r:.60}",
                    "only arrays and numbers have gradients",
                    "None in its place",
                )
        return [
            self._check_gradient(told.get(i), f"argument {i}", tuple(value.shape), str(value.dtype))
            for i, value in zip(self._moving, values, strict=True)
        ]

    def _by_place(self, gradients: Any) -> dict[int, Any]:
        """Return the gradients by the places of what they belong to; by structure, or in order where they are flat."""
        numbers = [i for i, leaf in enumerate(self._leaves[: self._positional]) if _is_number(leaf)]
        moving = [i for i in self._moving if i < self._positional]
        if type(gradients) in (list, tuple):  # such as (dx, []) of a rule that would tell of variables, too
            gradients = [one for one in gradients if tree.is_leaf(one) or tree.flatten(one)]
        for known in (range(self._positional), numbers, moving):
            # arguments that have no gradient, such as strings, may be left out
            kept = [one for one in self._places if not {*tree.flatten(one)}.isdisjoint(known)]
            for like, given in ((kept, gradients), (kept[0] if len(kept) == 1 else None, gradients)):
                if like is not None and (pairs := _pair_gradients(like, given, {*moving})) is not None:
                    return dict(pairs)
        if not tree.is_leaf(gradients) and (isinstance(gradients, dict) or not all(map(tree.is_leaf, gradients))):
            paths = [path for path, _ in tree.flatten_with_paths(self._structure[0])]
            raise GradientError(
                f"the grad_fn of {self.name} returned gradients with the leaves "
                f"{[path for path, _ in tree.flatten_with_paths(gradients)]} for arguments with the leaves {paths}",
                "they have the structure of the positional arguments, or come in a flat list",
                "return {'kernel': ..., 'bias': ...} for an argument that is a dict with these keys",
            )
        found = tree.flatten(gradients)
        if len(found) not in (len(numbers), len(moving)):
            raise GradientError(
                f"the grad_fn of {self.name} returned {len(found)} gradients for {len(moving)} arguments",
                "there is one for each positional argument; None for zero",
                "return dx, dy, ...",
            )
        return dict(zip(moving if len(found) == len(moving) else numbers, found, strict=True))

    def refusals(self) -> list[Callable[[], GradientError] | None]:
        """Return for each of the values what gives the error if it is differentiated; None where the rule counts."""
        return [None if i < self._positional else partial(keyword_error, self) for i in self._moving]

    def _check_gradient(self, gradient: object, label: str, shape: tuple[int, ...], dtype: str) -> Any:
        if gradient is None or not is_inexact(dtype):
            return None
        value = registry.current().arrays.asarray(unwrap(gradient))
        if is_complex(value.dtype) and not is_complex(dtype):
            raise DTypeError(
                f"the grad_fn of {self.name} returned a gradient of dtype {value.dtype} for {label} of dtype {dtype}",
                "the imaginary part has nothing to belong to, and would be lost",
                "ops.real(gradient)",
            )
        if tuple(value.shape) != shape:
            raise ShapeError(
                f"the grad_fn of {self.name} returned a gradient of shape {tuple(value.shape)} for {label} of shape "
                f"{shape}",
                "a gradient has the shape of what it is the gradient of",
                "ops.sum(gradient, axis) over what was broadcast",
            )
        return value.astype(dtype)  # NumPy may have made it double


def is_differentiated_around(inputs: list[Any]) -> bool:
    """Return True if a gradient around the one that is being taken may be, too: for it the rule counts as well."""
    transforms = registry.current().gradients
    return not transforms.eager() or any(map(transforms.is_tracer, inputs))


def assignment_error(rule: CustomRule, storage: Storage) -> StateError:
    """Return what it means that a rule assigns."""
    return StateError(
        f"the grad_fn of {rule.name} assigned {storage.path!r}",
        "when a gradient is taken, and how often, is not defined",
        "assign in the function itself",
    )


def closure_error(rule: CustomRule) -> GradientError:
    """Return what it means that a value is differentiated that the function closes over."""
    return GradientError(
        f"{rule.name}, a function with a gradient of its own, closes over an array that is differentiated outside",
        "its rule says nothing about that array",
        "pass the array as a positional argument, or ops.stop_gradient of it as a keyword argument",
    )


def keyword_error(rule: CustomRule) -> GradientError:
    """Return what it means that a keyword argument is differentiated."""
    return GradientError(
        f"{rule.name}, a function with a gradient of its own, got a keyword argument that is differentiated",
        "its rule says nothing about keyword arguments: grad_fn returns the gradients of positional ones",
        "pass it as a positional argument, fn(x, scale); or ops.stop_gradient(scale), to have it constant",
    )


def missing_rule_error(rule: CustomRule, storage: Storage) -> GradientError:
    """Return what it means that a Variable is differentiated that the rule is not told of."""
    return GradientError(
        f"{rule.name}, a function with a gradient of its own, reads {storage.path!r}, which is not trainable and whose "
        "value is differentiated",
        "its grad_fn is told of trainable Variables only",
        "pass its value as a positional argument, fn(x, v.value); or ops.stop_gradient(v) there, to have it constant",
    )


def _signature(fn: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        return None


def _pair_gradients(places: Any, gradients: Any, moving: set[int]) -> list[tuple[int, Any]] | None:
    """Return each gradient with the place of what it belongs to; None if the structure is another one.

    Args:
        places: The places of leaves, in the structure of the arguments.
        gradients: What the rule returned; None stands for zeros everywhere below.
        moving: The places of arrays; what has no array below may be missing in a dict.
    """
    if gradients is None:
        return [(place, None) for place in tree.flatten(places)]
    if tree.is_leaf(places) or tree.is_leaf(gradients):
        return [(places, gradients)] if tree.is_leaf(places) and tree.is_leaf(gradients) else None
    if isinstance(places, dict) != isinstance(gradients, dict):
        return None
    if isinstance(places, dict):
        missing = [place for key, below in places.items() if key not in gradients for place in tree.flatten(below)]
        if not moving.isdisjoint(missing) or not all(key in places for key in gradients):
            return None
        parts = [_pair_gradients(places[key], below, moving) for key, below in gradients.items()]
    elif len(places) != len(gradients):
        return None
    else:
        parts = [_pair_gradients(one, other, moving) for one, other in zip(places, gradients, strict=True)]
    return None if any(part is None for part in parts) else [pair for part in parts for pair in part or ()]


def _is_moving(leaf: object) -> bool:
    """Return True for what becomes an input of the rule."""
    kinds = VariableLike | np.ndarray | np.generic | float | complex
    return isinstance(leaf, kinds) or registry.current().arrays.is_array(leaf)


def _is_number(leaf: object) -> bool:
    return isinstance(leaf, int) or _is_moving(leaf)


def _kind(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return "one array" if hasattr(value, "shape") else f"one {type(value).__name__}"
