"""From what the caller passes to pairs of a variable and its gradient: matched, checked, cast, clipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from graftax import ops
from graftax.backend import registry
from graftax.core import tree, user_line
from graftax.core.dtypes import is_complex, is_floating
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, GradientError, ShapeError
from graftax.core.typedefs import Array, unwrap
from graftax.optimizers.engine.slot import compute_dtype
from graftax.optimizers.engine.sparse_rows import IndexedRows
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable

Pair: TypeAlias = "tuple[Variable, Array]"


def flat_variables(variables: Any) -> list[Variable]:
    """The Variables of any structure; of a Module, its trainable ones.

    Raises:
        ArgumentTypeError: something in it is no Variable.
        ArgumentError: it is empty, or one Variable is there twice.
    """
    found = tree.flatten_with_paths(_structure(variables))
    if not found:
        raise ArgumentError(
            "an optimizer got no variables",
            "an unbuilt model has none yet, and a frozen one no trainable ones",
            "model(x[:1]) once before, to build it; model.trainable = True to unfreeze it",
        )
    seen: set[int] = set()
    for place, variable in found:
        if not isinstance(variable, Variable):
            raise ArgumentTypeError(
                f"an optimizer got {type(variable).__name__} as variable {place}",
                "it moves Variables; an expression moves through its parts",
                "optimizer.apply(gradients, model.trainable_variables), in this order",
            )
        if id(variable) in seen:
            raise ArgumentError(
                f"an optimizer got the variable {variable.path!r} twice",
                "it would be moved twice in one step",
                "pass each variable once; Module.trainable_variables lists shared ones once",
            )
        seen.add(id(variable))
    return [variable for _, variable in found]


def pair_up(gradients: Any, variables: Any) -> list[tuple[Variable, Any]]:
    """Each Variable with its gradient.

    Raises:
        ArgumentError: the two structures differ.
    """
    variables = _structure(variables)
    flat_variables(variables)
    return list(_pairs(gradients, variables))


def _structure(variables: Any) -> Any:
    if isinstance(variables, Module):
        return {path: v for path, v in variables.named_variables().items() if v.trainable}
    return variables if isinstance(variables, Variable | list | tuple | dict) else list(variables)


def _pairs(gradients: Any, variables: Any) -> Iterator[tuple[Variable, Any]]:
    if isinstance(variables, Variable):
        yield variables, gradients
    elif isinstance(variables, dict):
        given = gradients if isinstance(gradients, Mapping) else {}
        if set(given) != set(variables):
            raise _unpaired(list(given) if given else gradients, list(variables))
        for key, below in variables.items():
            yield from _pairs(given[key], below)
    else:
        if isinstance(gradients, Mapping) or not hasattr(gradients, "__iter__"):
            raise _unpaired(gradients, f"{len(variables)} in a {type(variables).__name__}")
        listed = list(gradients)
        if len(listed) != len(variables):
            raise _unpaired(len(listed), len(variables))
        for gradient, below in zip(listed, variables, strict=True):
            yield from _pairs(gradient, below)


def _unpaired(gradients: Any, variables: Any) -> ArgumentError:
    return ArgumentError(
        f"an optimizer got gradients {gradients!s:.100} for variables {variables!s:.100}",
        "each variable needs its gradient, in the same structure and order",
        "optimizer.apply(gradients, variables), with the variables that were given as wrt=",
    )


def require_floating(variables: Iterable[Variable]) -> None:
    """Raise for Variables that cannot be moved by small steps.

    Raises:
        DTypeError: a dtype is not floating.
    """
    for variable in variables:
        if not is_floating(variable.dtype):
            raise DTypeError(
                f"the variable {variable.path!r} of dtype {variable.dtype} was given to an optimizer",
                "only floating variables can be moved along a gradient",
                "trainable=False for it, or a floating dtype",
            )


def prepare(pairs: list[tuple[Variable, Any]], rows: Callable[[Variable, IndexedRows], Array]) -> list[Pair]:
    """Gradients as arrays in the dtype of the computation; those that are None left out, with a warning.

    Args:
        pairs: Variables and what was given for them.
        rows: Makes an array of `IndexedRows`.

    Raises:
        GradientError: all of them are None.
        ShapeError: a gradient has another shape than its variable.
        DTypeError: a gradient is complex.
    """
    missing = [variable.path for variable, gradient in pairs if gradient is None]
    if missing:
        if len(missing) == len(pairs):
            raise GradientError(
                f"no gradient for any of the variables {', '.join(missing)}",
                "the loss does not depend on them, or it was computed outside of the differentiated function",
                "compute the loss from these variables inside the function given to value_and_grad",
            )
        user_line.warn(f"no gradient for {', '.join(missing)}: not updated in this step")
    arrays = registry.current().arrays
    found = []
    for variable, gradient in pairs:
        if gradient is None:
            continue
        sparse = isinstance(gradient, IndexedRows)
        array: Any = gradient if sparse else arrays.asarray(unwrap(gradient))
        if tuple(array.shape) != variable.shape:
            raise ShapeError(
                f"a gradient of shape {tuple(array.shape)} for the variable {variable.path!r}",
                f"the variable has shape {variable.shape}",
                "gradients in the order of their variables",
            )
        array = rows(variable, gradient) if sparse else array
        if is_complex(array.dtype):
            raise DTypeError(
                f"a gradient of dtype {array.dtype} for the variable {variable.path!r}",
                f"the variable is {variable.dtype}, and would move along the real part alone",
                "ops.real(gradient), if that part is meant",
            )
        found.append((variable, cast_to(array, compute_dtype(variable.dtype))))
    return found


def cast_to(array: Array, dtype: str) -> Array:
    """The array in that dtype; itself if it is so already."""
    return array if _name(array.dtype) == dtype else ops.cast(array, dtype)


_name: Callable[[Any], str] = cache(str)  # the name of a dtype takes NumPy longer than a whole operation
