"""A `build` that takes a shape for each of several arguments of `call`: ``build(self, query_shape, value_shape)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from graftax.core import tree
from graftax.core.errors import ArgumentTypeError
from graftax.layers import shapes
from graftax.layers.signature import Signature, signature_of

_SUFFIX = "_shape"


@cache
def names_of_shapes(build: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameters of a `build` that takes several shapes; empty for one that takes the shape of the input."""
    parameters = list(inspect.signature(build).parameters.values())[1:]
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return ()
    # a default of another kind is that of a setting
    several = any(p.default is None or p.default is p.empty or p.name.endswith(_SUFFIX) for p in parameters[1:])
    return tuple(p.name for p in parameters) if several else ()


def check_takes_one(build: Callable[..., Any], kind: type[Any]) -> None:
    """Raise for a `build` that takes no shape.

    Raises:
        ArgumentTypeError: it takes ``self`` alone.
    """
    if build.__code__.co_argcount == 1 and len(inspect.signature(build).parameters) == 1:
        raise ArgumentTypeError(
            f"{kind.__name__}.build(self)",
            "it is called with the shape of the input, at the first call",
            "def build(self, input_shape): ...",
        )


def bind_shapes(
    build: Callable[..., Any], title: str, args: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of ``layer.build(...)`` by parameter.

    Raises:
        ArgumentTypeError: a shape is missing, or there is no such parameter.
    """
    try:
        return dict(list(inspect.signature(build).bind(None, *args, **named).arguments.items())[1:])
    except TypeError as error:
        names = ", ".join(names_of_shapes(build))
        raise ArgumentTypeError(
            f"build of {title}: {error}", f"it takes the shapes ({names})", f"{names.split(',')[0]}=(None, 8), by name"
        ) from None


def of_call(
    build: Callable[..., Any], title: str, signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Return what `build` gets in the first call: the shape of the first argument, or a dict of shapes by parameter.

    Raises:
        ArgumentTypeError: a parameter is not called as an argument of `call` and ``_shape``.
    """
    names = names_of_shapes(build)
    if not names:
        return tree.map_structure(shapes.shape_of, signature.argument_of(signature.first, args, kwargs))
    parameters = inspect.signature(build).parameters
    arguments = _arguments(signature)
    by_name = _arguments_by_name(names, parameters, signature)
    found = {}
    for name in names:
        argument = by_name[name]
        value = signature.argument_of(argument, args, kwargs) if argument is not None else None
        if value is not None:
            found[name] = tree.map_structure(shapes.shape_of, value)
            continue
        default = parameters[name].default
        is_lost = argument is None and (default is None or name.endswith(_SUFFIX)) and name != names[0]
        lost = [one for one in arguments if one not in by_name.values() and _has_shape(signature, one, args, kwargs)]
        if default is inspect.Parameter.empty or (is_lost and lost):
            wanted = ", ".join(f"{argument}{_SUFFIX}" for argument in arguments) or "input_shape"
            meant = name.removesuffix(_SUFFIX)
            why, left_out = f"is no argument of call: {arguments}", ""
            if argument is not None:
                why, left_out = "this call leaves out", f", or {name}=None where it may be left out"
            raise ArgumentTypeError(
                f"build(self, {', '.join(names)}) of {title}",
                f"{name!r} is to be the shape of {meant!r}, which {why}",
                f"def build(self, {wanted}){left_out}; build(self, input_shape) gets the shape of the first argument",
            )
    return found


def _arguments(signature: Signature) -> list[str]:
    """Return the arguments of `call` that have shapes."""
    return [name for name in signature.positions if name != "training" and name not in signature.masks.values()]


def _arguments_by_name(
    names: tuple[str, ...], parameters: Mapping[str, inspect.Parameter], signature: Signature
) -> dict[str, str | None]:
    """Return the argument of `call` for each parameter of `build`: ``a`` for ``a_shape`` and for ``a``; None for none.

    The first one takes the first argument, whatever its name, if no other one must be given.
    """
    arguments = _arguments(signature)
    found: dict[str, str | None] = {}
    for name in names:
        near = (name.removesuffix(_SUFFIX), name)
        found[name] = next((one for one in near if one in arguments), None)
    first, *others = names
    if found[first] is None and all(parameters[name].default is not inspect.Parameter.empty for name in others):
        found[first] = signature.first
    return found


def _has_shape(signature: Signature, argument: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    value = signature.argument_of(argument, args, kwargs)
    return any(hasattr(leaf, "shape") for leaf in tree.flatten(value))


def example_of(kind: type[Any], shapes_by_name: Mapping[str, Any], make: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the arguments of a call of a layer of a class by name, each made of its shape."""
    parameters = inspect.signature(kind.build).parameters
    by_name = _arguments_by_name(names_of_shapes(kind.build), parameters, signature_of(kind.call))
    return {
        by_name[name] or name.removesuffix(_SUFFIX): shapes.map_shapes(make, shape)
        for name, shape in shapes_by_name.items()
        if shape
    }
