"""What the caller of an optimizer passes: variables in any structure, gradients that have to fit to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from graftax.core import tree, user_line
from graftax.core.dtypes import is_complex, is_floating
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, GradientError, ShapeError
from graftax.core.typedefs import Array, VariableLike
from graftax.optimizers.engine.sparse_rows import IndexedRows
from graftax.variables.graph.module import Module
from graftax.variables.graph.trained_model import trained
from graftax.variables.variable import Variable

Variables: TypeAlias = "Module | Iterable[Variable] | Mapping[str, Any]"
"""What callers pass: Variables in any nested structure, or a Module for its trainable ones."""

_NAMED = 5  # variables in a warning, where there may be many


def some_paths(variables: Sequence[Variable]) -> str:
    """Return the paths of the first few, and how many more there are."""
    more = f" and {len(variables) - _NAMED} more" if len(variables) > _NAMED else ""
    return ", ".join(variable.path for variable in variables[:_NAMED]) + more


def flat_variables(variables: object) -> list[Variable]:
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
            "model.build_for(x) once before, with all that its call takes; model.trainable = True to unfreeze it",
        )
    seen: set[int] = set()
    for place, variable in found:
        if isinstance(variable, Module) and not isinstance(variable, VariableLike):
            raise ArgumentTypeError(
                f"an optimizer got {variable.name!r} ({type(variable).__name__}) as variable {place}",
                "a structure has Variables, and those of a part that is not built are not there yet",
                "[v for part in parts for v in part.trainable_variables], once each part has been called; or a Module "
                "that holds the parts",
            )
        if not isinstance(variable, Variable):
            raise ArgumentTypeError(
                f"an optimizer got {type(variable).__name__} as variable {place}",
                "it updates Variables; an expression changes through its parts",
                "optimizer.apply(gradients, model.trainable_variables), in this order",
            )
        if id(variable) in seen:
            raise ArgumentError(
                f"an optimizer got the variable {variable.path!r} twice",
                "it would be updated twice in one step",
                "pass each variable once; Module.trainable_variables lists shared ones once",
            )
        seen.add(id(variable))
    return [variable for _, variable in found]


def require_trainable(variables: object) -> list[Variable]:
    """Return the trainable ones of what is to be moved.

    Raises:
        GradientError: there are none.
    """
    given = flat_variables(variables)
    trainable = [variable for variable in given if variable.trainable]
    if not trainable:
        raise GradientError(
            f"an optimizer got {some_paths(given)} to minimize by",
            f"{'all are' if len(given) > 1 else 'it is'} frozen, so that nothing would change",
            "variable.trainable = True, or model.unfreeze(where)",
        )
    return trainable


def structure_of(variables: Any) -> Any:
    """Return Variables in nested lists, tuples and dicts; of a Module, its trainable ones by path."""
    if isinstance(variables, Module):
        return {path: v for path, v in variables.named_variables().items() if v.trainable}
    return variables if isinstance(variables, Variable | list | tuple | dict) else list(variables)


def keys_of(gradients: object, variables: list[Any] | tuple[Any, ...] | dict[Any, Any]) -> Iterable[Any]:
    """Return the keys by which two structures are paired at their top.

    Raises:
        ArgumentError: the two differ there.
    """
    if isinstance(variables, dict):
        if not isinstance(gradients, Mapping) or set(gradients) != set(variables):
            given = list(gradients) if isinstance(gradients, Mapping) and gradients else gradients
            raise _pairing_error(given, list(variables))
        return variables
    if not isinstance(gradients, list | tuple):
        raise _pairing_error(gradients, f"{len(variables)} in a {type(variables).__name__}")
    if len(gradients) != len(variables):
        raise _pairing_error(len(gradients), len(variables))
    return range(len(variables))


def _pairing_error(gradients: object, variables: object) -> ArgumentError:
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
                "two real Variables, and ops.view_as_complex(ops.stack([real, imag], -1)) where it is used"
                if is_complex(variable.dtype)
                else "trainable=False for it, or a floating dtype",
            )


def check_some(missing: Sequence[Variable], all_of_them: bool) -> None:
    """Warn of variables without a gradient.

    Raises:
        GradientError: no variable has one.
    """
    paths = some_paths(missing)
    if all_of_them:
        raise GradientError(
            f"no gradient for any of the variables {paths}",
            "the loss does not depend on them, or a part of it, such as a sum of losses, was computed outside of the "
            "block of the tape, or of the function that is differentiated",
            "all of the loss inside of `with graftax.GradientTape() as tape`, or of the function given to "
            "value_and_grad",
        )
    if trained.top is None or not trained.top.gives_all:
        user_line.warn(f"no gradient for {paths}: not updated in this step")


def warn_of_frozen(variables: Sequence[Variable]) -> None:
    """Warn that an update changes nothing, since all that it was given are frozen; not if a rule says so."""
    if variables and not any(variable.trainable for variable in variables):
        paths = some_paths(variables)
        user_line.warn(f"nothing is updated: {paths}, all that were given, are frozen; variable.trainable = True")


def warn_of_copy(optimizer: object, paths: Sequence[str]) -> None:
    """Warn that a copy of an optimizer begins with fresh slots: the variables of its own were not copied along."""
    some = ", ".join(paths[:_NAMED]) + (f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else "")
    kind = type(optimizer).__name__
    user_line.warn(
        f"this copy of {kind} makes fresh slots for {some}: its slots belong to other variables of these paths, which "
        "were not copied together with it. Instead: model, optimizer = copy.deepcopy((model, optimizer)), or one "
        "pickle of both"
    )


def check_fits(gradient: Array | IndexedRows, variable: Variable) -> None:
    """Raise unless a variable can be moved along a gradient.

    Raises:
        ShapeError: it has another shape than the variable.
        DTypeError: it is complex.
    """
    if tuple(gradient.shape) != variable.shape:
        raise ShapeError(
            f"a gradient of shape {tuple(gradient.shape)} for the variable {variable.path!r}",
            f"the variable has shape {variable.shape}",
            "gradients in the order of their variables",
        )
    values = gradient.values if isinstance(gradient, IndexedRows) else gradient
    if is_complex(values.dtype):
        raise DTypeError(
            f"a gradient of dtype {values.dtype} for the variable {variable.path!r}",
            f"the variable is {variable.dtype}, and would move along the real part alone",
            "ops.real(gradient), if that part is meant",
        )
