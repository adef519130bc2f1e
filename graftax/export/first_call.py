"""The inputs of a Module, from its first call or from its graph of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graftax.core import tree
from graftax.core.errors import ExportError, MissingAttributeError, NotBuiltError
from graftax.core.selectors import SelectorLike
from graftax.export.signature import InputLike, Signature, masked_input_error
from graftax.export.spec import Spec
from graftax.layers.building import Outline
from graftax.layers.layer import Layer
from graftax.layers.symbolic_call import carries_mask
from graftax.ops.symbolic import Symbolic
from graftax.variables.graph.module import Module


def signature_of(
    function: Callable[..., Any] | Module,
    *inputs: InputLike,
    constraints: Sequence[str] = (),
    assigns: bool = False,
    fold: bool | SelectorLike = True,
) -> Signature:
    """Return the signature of one function; a Module without given inputs gets those of its first call."""
    given: tuple[Any, ...] = inputs
    if isinstance(function, Module) and not inputs:
        given = specs_of_first_call(function)
    return Signature(function, *given, constraints=constraints, assigns=assigns, fold=fold)


def specs_of_first_call(module: Module) -> tuple[Any, ...]:
    """Return Specs like the arguments of the first call of a Module, with the first axis of each array free.

    Raises:
        NotBuiltError: the inputs are not known.
        ExportError: the first call had an input that a program cannot have: a mask, or an array by keyword.
    """
    if isinstance(module, Layer) and (begun := _symbolic_input(module)) is not None:
        if carries_mask(begun):
            raise masked_input_error(f"the input of the graph of {type(module).__name__}")
        return (tree.map_structure(_spec_of, begun),)
    first: tuple[Any, ...] | None = getattr(module, "_gx_first_call", None)
    if first is None:
        shape = getattr(module, "_gx_input_shape", None)
        if shape is None:
            received, example = "has not been called", "batch 8"
        else:
            received, example = f"was built for the shape {shape}, not by its first call", _words_of(shape)
        raise NotBuiltError(
            f"{type(module).__name__} {received}",
            "a call that builds gives the shapes and dtypes of its inputs",
            f"say them: graftax.export.Spec({example!r}), or an example, after the Module",
        )
    while first and first[-1] is None:
        first = first[:-1]
    if any(leaf is not None and not leaf.dtype for leaf in tree.flatten(first)):
        raise NotBuiltError(
            f"{type(module).__name__} was first called with something that is no array",
            "a program takes arrays",
            "a function that calls it, as in Signature(lambda x: module(x, ...), Spec(...))",
        )
    first_named: Mapping[str, Any] = getattr(module, "_gx_first_named", {})
    named = [name for name, one in first_named.items() if any(leaf and leaf.dtype for leaf in tree.flatten(one))]
    if any(leaf is not None and leaf.masked for leaf in tree.flatten(first)):
        raise masked_input_error(f"the input of the first call of {type(module).__name__}")
    if named:
        raise ExportError(
            f"{type(module).__name__} was first called with {', '.join(f'{name}=...' for name in named)}",
            "the program takes only the positional arguments of the first call, and would ignore this one",
            f"Signature(lambda x, {named[0]}: module(x, {named[0]}={named[0]}), Spec(...), Spec(...)); "
            "or Specs after the Module, if it is to be left out",
        )
    return tuple(tree.map_structure(_spec_like, one) for one in first)


def _words_of(shape: Any) -> str:
    """Return the words for a `Spec` of a shape; of several shapes, an example."""
    if not isinstance(shape, tuple) or not all(size is None or isinstance(size, int) for size in shape):
        return "batch 8"
    return " ".join(["batch", *(f"size{i}" if size is None else str(size) for i, size in enumerate(shape[1:], 1))])


def _symbolic_input(layer: Layer) -> Any:
    """Return the symbolic input of a graph of layers; None if there is none."""
    try:
        return layer.input
    except MissingAttributeError:
        return None


def _spec_like(leaf: Outline | None) -> Spec | None:
    return None if leaf is None else Spec(("batch", *leaf.shape[1:]) if leaf.shape else (), leaf.dtype)


def _spec_of(leaf: Symbolic) -> Spec:
    sizes = [f"size{i}" if size is None else size for i, size in enumerate(leaf.shape)]
    return Spec(["batch", *sizes[1:]] if sizes and leaf.shape[0] is None else sizes, leaf.dtype.name)
