"""What a gradient is taken with respect to: the first argument, or Variables, all of a Module that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graftax.core import tree
from graftax.core.dtypes import is_inexact
from graftax.core.errors import ArgumentError, GradientError
from graftax.core.typedefs import unwrap
from graftax.core.wrapping import function_name, wraps
from graftax.variables.graph.module import Module
from graftax.variables.graph.structure import Listing, listings, structure
from graftax.variables.state.storage import Storage, frames
from graftax.variables.variable import Variable


def first_argument(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return the first argument; raise GradientError if there is none, or no array in it."""
    if not args:
        raise GradientError(
            f"the gradient of {function_name(fn)} was called without a positional argument and without wrt=",
            "there is nothing to differentiate with respect to; keyword arguments count as constants",
            "graftax.grad(fn)(x); graftax.value_and_grad(fn, wrt=model.trainable_variables)()",
        )
    check_arrays(
        f"a derivative of {function_name(fn)} with respect to its first argument,",
        args[0],
        "an array, or a structure with arrays in it, as first argument; wrt=model.trainable_variables for Variables",
    )
    return args[0]


def check_wrt(wrt: object) -> None:
    """Raise GradientError if ``wrt`` holds what is no Variable or Module."""
    for leaf in () if wrt is None else tree.flatten(wrt):
        if not isinstance(leaf, Variable | Module):
            raise GradientError(
                f"wrt= holds {leaf!r} of type {type(leaf).__name__}",
                "a gradient is taken with respect to Variables or Modules, or to the first argument (wrt=None)",
                "wrt=model.trainable_variables; graftax.grad(fn)(x) for that of the first argument",
            )


def expand(wrt: object) -> Any:
    """Replace Modules by dicts of their trainable Variables."""
    if isinstance(wrt, Variable):
        return wrt
    if isinstance(wrt, Module):
        return {path: v for path, v in wrt.named_variables().items() if v.trainable}
    check_wrt(wrt)
    return tree.rebuild(wrt, (expand(leaf) for leaf in tree.flatten(wrt)))


def value_of(source: Any) -> Any:
    """Return the value of an argument; that of a Variable with a home as it is kept, not as it is computed with."""
    return source._gx_stored if isinstance(source, Variable) and source._storage.home is not None else unwrap(source)


def moved_value(primal: Any) -> Any:
    """Return the value from which a frame moves a Variable: as it is kept, whatever a layer around computes in.

    Else what is assigned would be computed from a rounded one. Of an argument, it is its value.
    """
    return primal._gx_stored if isinstance(primal, Variable) else unwrap(primal)


def at_home(storages: Iterable[Storage], gradients: Iterable[Any]) -> list[Any]:
    """Return gradients with respect to Variables that lie as their Variables do."""
    if frames.top is not None and frames.top.shards():  # each device has a gradient of its own
        return list(gradients)
    found = []
    for storage, gradient in zip(storages, gradients, strict=True):
        home = storage.home
        if home is not None and storage.backend.arrays.is_array(gradient):
            gradient = storage.backend.meshes.constrain(gradient, home.stored)
        found.append(gradient)
    return found


def check_once(name: str, primals: list[Any]) -> None:
    """Raise ArgumentError if a Variable is among the primals twice: of its two tangents one would be lost."""
    variables = [id(one) for one in primals if isinstance(one, Variable)]
    for one in primals:
        if isinstance(one, Variable) and variables.count(id(one)) > 1:
            raise ArgumentError(
                f"{name} got the variable {one.path or one.name!r} twice among the primals",
                "it moves along one direction, wherever it is read",
                "the Variable once, with the sum of its tangents",
            )


def check_arrays(subject: str, given: object, line: str) -> None:
    """Raise GradientError if no array and no Variable is in what is to be differentiated with respect to.

    Args:
        subject: What was called with what, for messages.
        given: The argument, or a structure of arguments.
        line: What to write instead.
    """
    if not tree.flatten(given):
        raise GradientError(
            f"{subject} {given!r:.60}", "it holds no array, so there is nothing to differentiate with respect to", line
        )


ONLY_FLOATING = "only floating values have gradients"
OTHER_ARGUMENT = (
    "another argument for what is not floating; of graftax.state(model) only what is trained: "
    "trained = {p: v.value for p, v in model.named_variables().items() if v.trainable}, and inside of the function "
    "graftax.functional_call(model, {**state, **trained}, x)"
)
"""What to write where a structure has floating entries and others, as the state of a model with random streams has."""


def check_sources(fn: Callable[..., Any], sources: list[Any], values: list[Any], given: object = None) -> None:
    """Raise GradientError if there are none, or one is not floating.

    Args:
        fn: The function to differentiate.
        sources: What it is differentiated with respect to.
        values: The values of the sources.
        given: The argument, or structure of arguments, whose leaves the sources are, for the place of one. Defaults to
            None, for Variables.
    """
    if not sources:
        raise GradientError(
            f"the gradient of {function_name(fn)} with respect to nothing: the list of Variables is empty",
            "an unbuilt model has no Variables yet, and a frozen one no trainable ones",
            "call the model once on an example before",
        )
    for i, (source, value) in enumerate(zip(sources, values, strict=True)):
        if not is_inexact(value.dtype):
            path = "" if isinstance(source, Variable) else tree.flatten_with_paths(given)[i][0]
            what = f"the variable {source.path!r}" if isinstance(source, Variable) else "an argument"
            raise GradientError(
                f"the gradient of {function_name(fn)} with respect to {entry(path)}{what} of dtype {value.dtype}",
                ONLY_FLOATING,
                OTHER_ARGUMENT if path and _are_mixed(values) else 'ops.cast(x, "float32")',
            )


def entry(path: str) -> str:
    """Return the words for an entry of an argument that is a structure; empty for the argument itself."""
    return f"the entry {path!r} of " if path else ""


def _are_mixed(values: list[Any]) -> bool:
    return any(is_inexact(value.dtype) for value in values)


def modules_in(given: object) -> list[Module]:
    """Return the Modules with respect to which a gradient is taken."""
    if isinstance(given, Module):
        return [given]
    inside = given.values() if isinstance(given, dict) else given if isinstance(given, list | tuple) else ()
    # most are lists of Variables, which eager steps pass each time
    return [module for one in inside if not isinstance(one, Variable) for module in modules_in(one)]


def refuse_late(fn: Callable[..., Any], wrt: object) -> Callable[..., Any]:
    """Return a function that raises where it builds a part of Modules whose Variables are listed now.

    A list of Variables is what somebody chose, but where it is what a Module gave as its trainable ones.

    Args:
        fn: The function.
        wrt: What its gradient is taken with respect to.

    Raises:
        GradientError: when called: it has made trainable Variables of such a Module, which would have no gradient.
    """
    modules = modules_in(wrt)
    made, latest = structure.made, listings.latest
    listed = [(module, frozenset(map(id, module.trainable_variables))) for module in modules]
    chosen = wrt if isinstance(wrt, list | tuple) and not modules else ()

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        found = fn(*args, **kwargs)
        if structure.made != made:
            given = _lister(chosen, latest)
            before = [*listed, (given, frozenset(map(id, chosen)))] if isinstance(given, Module) else listed
            for module, known in before:
                _require_known(fn, module, [one for one in module.trainable_variables if id(one) not in known])
        return found

    return run


def _lister(variables: Sequence[Variable], latest: Listing | None) -> object:
    """Return the Module whose list this is; None if somebody chose the Variables.

    Args:
        variables: The Variables.
        latest: The list that was made last when they were given: if it is the same, it is this one.
    """
    ids = tuple(map(id, variables))
    if latest is not None and latest.ids == ids:
        return latest.module()
    known = []
    above = variables[0]._gx_owner if variables else None
    while above is not None:
        known += [found] if (found := listings.of(above)) is not None else []
        above = above._gx_owner
    same = [one for one in known if one.ids == ids]
    return max(same, key=lambda one: one.number).module() if same else None


def _require_known(fn: Callable[..., Any], module: Module, late: list[Variable]) -> None:
    if late:
        names = ", ".join(repr(one.path) for one in late[:3]) + (f" and {len(late) - 3} more" if len(late) > 3 else "")
        raise GradientError(
            f"{function_name(fn)} made {names}, while a gradient with respect to {type(module).__name__} "
            f"{module.name!r} was taken",
            "its Variables were listed before, when that part was not built: this step would train the others alone",
            "model.build_for(x) before, or one call of that part on an example; the next step would work, too",
        )
