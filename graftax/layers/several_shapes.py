"""A `build` that takes a shape for each of several arguments of `call`: ``build(self, query_shape, value_shape)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from graftax.core import tree
from graftax.core.errors import ArgumentTypeError
from graftax.layers import shapes
from graftax.layers.signature import Signature

_SUFFIX = "_shape"


@cache
def names_of_shapes(build: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameters of a `build` that takes several shapes; empty for one that takes the shape of the input."""
    parameters = list(inspect.signature(build).parameters.values())[1:]
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return ()
    required = [p for p in parameters if p.default is p.empty]
    named = len(parameters) > 1 and all(p.name.endswith(_SUFFIX) for p in parameters)
    named = named and parameters[0].name != "input_shape"
    return tuple(p.name for p in parameters) if len(required) > 1 or named else ()


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
    arguments = [name for name in signature.positions if name != "training" and name not in signature.masks.values()]
    found = {}
    for name in names:
        argument = name.removesuffix(_SUFFIX)
        value = signature.argument_of(argument, args, kwargs) if argument in arguments and argument != name else None
        if value is not None:
            found[name] = tree.map_structure(shapes.shape_of, value)
        elif name == names[0] and all(parameters[other].default is None for other in names[1:]):
            found[name] = tree.map_structure(shapes.shape_of, signature.argument_of(signature.first, args, kwargs))
        elif parameters[name].default is inspect.Parameter.empty:
            wanted = ", ".join(f"{argument}{_SUFFIX}" for argument in arguments) or "input_shape"
            raise ArgumentTypeError(
                f"build(self, {', '.join(names)}) of {title}",
                f"{name!r} is to be the shape of {argument!r}, which "
                + ("this call leaves out" if argument in arguments else f"is no argument of call: {arguments}"),
                f"def build(self, {wanted}), or {name}=None where it may be left out; build(self, input_shape) gets "
                "the shape of the first argument",
            )
    return found


def example_of(shapes_by_name: Mapping[str, Any], make: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, each made of its shape."""
    return {
        name.removesuffix(_SUFFIX): shapes.map_shapes(make, shape) for name, shape in shapes_by_name.items() if shape
    }
