"""From what the caller passes to updates of variables along their gradients: matched, checked, cast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from graftax.backend import registry
from graftax.core import tree, user_line
from graftax.core.dtypes import is_complex, is_floating
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, GradientError, ShapeError
from graftax.core.typedefs import unwrap
from graftax.optimizers.engine.numbers import cast_to, compute_dtype
from graftax.optimizers.engine.sparse_rows import IndexedRows
from graftax.optimizers.engine.update import Update
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable

Variables: TypeAlias = "Module | Iterable[Variable] | Mapping[str, Any]"
"""What callers pass: Variables in any nested structure, or a Module for its trainable ones."""


def flat_variables(variables: Any) -> list[Variable]:
    """Return the Variables of any structure; of a Module, its trainable ones.

    Raises:
        ArgumentTypeError: something in it is no Variable.
        ArgumentError: it is empty, or one Variable is there twice.
    """
    found = tree.flatten_with_paths(structure_of(variables))
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


def structure_of(variables: Any) -> Any:
    """Return Variables in nested lists, tuples and dicts; of a Module, its trainable ones by path."""
    if isinstance(variables, Module):
        return {path: v for path, v in variables.named_variables().items() if v.trainable}
    return variables if isinstance(variables, Variable | list | tuple | dict) else list(variables)


def pair_up(gradients: Any, variables: Any) -> list[tuple[Variable, Any]]:
    """Return each Variable with its gradient, in the order of the structure.

    Raises:
        ArgumentError: the two structures differ.
    """
    if isinstance(variables, Variable):
        return [(variables, gradients)]
    if isinstance(variables, dict):
        given = gradients if isinstance(gradients, Mapping) else {}
        if set(given) != set(variables):
            raise _unpaired(list(given) if given else gradients, list(variables))
        below = [(given[key], variables[key]) for key in variables]
    else:
        if isinstance(gradients, Mapping) or not hasattr(gradients, "__iter__"):
            raise _unpaired(gradients, f"{len(variables)} in a {type(variables).__name__}")
        listed = list(gradients)
        if len(listed) != len(variables):
            raise _unpaired(len(listed), len(variables))
        below = list(zip(listed, variables, strict=True))
    return [pair for gradient, variable in below for pair in pair_up(gradient, variable)]


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


def check_gradients(updates: list[Update], dense: Callable[[Update], Update]) -> list[Update]:
    """Return updates along arrays in the dtype of the update; those without a gradient left out, with a warning.

    Args:
        updates: Along what was given.
        dense: Returns an update along an array for one along `IndexedRows`.

    Raises:
        GradientError: all gradients are None.
        ShapeError: a gradient has another shape than its variable.
        DTypeError: a gradient is complex.
    """
    missing = [update.variable.path for update in updates if update.gradient is None]
    if missing:
        if len(missing) == len(updates):
            raise GradientError(
                f"no gradient for any of the variables {', '.join(missing)}",
                "the loss does not depend on them, or it was computed outside of the differentiated function",
                "compute the loss from these variables inside the function given to value_and_grad",
            )
        user_line.warn(f"no gradient for {', '.join(missing)}: not updated in this step")
    arrays = registry.current().arrays
    found = []
    for update in updates:
        if update.gradient is None:
            continue
        variable = update.variable
        sparse = isinstance(update.gradient, IndexedRows)
        if not sparse:
            update.gradient = arrays.asarray(unwrap(update.gradient))
        if tuple(update.gradient.shape) != variable.shape:
            raise ShapeError(
                f"a gradient of shape {tuple(update.gradient.shape)} for the variable {variable.path!r}",
                f"the variable has shape {variable.shape}",
                "gradients in the order of their variables",
            )
        update = dense(update) if sparse else update
        if is_complex(update.gradient.dtype):
            raise DTypeError(
                f"a gradient of dtype {update.gradient.dtype} for the variable {variable.path!r}",
                f"the variable is {variable.dtype}, and would move along the real part alone",
                "ops.real(gradient), if that part is meant",
            )
        update.gradient = cast_to(update.gradient, compute_dtype(variable.dtype))
        found.append(update)
    return found
