"""What a Module takes, as it is known: from the first call, or from the inputs of its graph of layers."""

from __future__ import annotations

from typing import Any

from graftax.core import tree
from graftax.core.errors import MissingAttributeError, NotBuiltError
from graftax.export.spec import Spec
from graftax.layers.building import Outline
from graftax.layers.layer import Layer
from graftax.ops.symbolic import Symbolic
from graftax.variables.graph.module import Module


def specs_of_first_call(module: Module) -> tuple[Any, ...]:
    """Return Specs like the arguments of the first call of a Module, the first axis of each array free.

    Raises:
        NotBuiltError: nothing is known.
    """
    if isinstance(module, Layer) and (begun := _begun(module)) is not None:
        return (tree.map_structure(_declared, begun),)
    first: tuple[Any, ...] | None = getattr(module, "_gx_first_call", None)
    if first is None:
        shape = getattr(module, "_gx_input_shape", None)
        known = f", and was built for the shape {shape}" if shape is not None else ""
        raise NotBuiltError(
            f"{type(module).__name__} has not been called{known}",
            "shapes and dtypes of what it takes are those of its first call",
            'say them: graftax.export.Spec("batch 8"), or an example, after the Module',
        )
    while first and first[-1] is None:
        first = first[:-1]
    if any(leaf is not None and not leaf.dtype for leaf in tree.flatten(first)):
        raise NotBuiltError(
            f"{type(module).__name__} was first called with something that is no array",
            "a program takes arrays",
            "a function that calls it, as in Signature(lambda x: module(x, ...), Spec(...))",
        )
    return tuple(tree.map_structure(_like, one) for one in first)


def _begun(layer: Layer) -> Any:
    """Return what stands for the input in a graph of layers; None where there is none."""
    try:
        return layer.input
    except MissingAttributeError:
        return None


def _like(leaf: Outline | None) -> Spec | None:
    return None if leaf is None else Spec(("batch", *leaf.shape[1:]) if leaf.shape else (), leaf.dtype)


def _declared(leaf: Symbolic) -> Spec:
    sizes = [f"size{i}" if size is None else size for i, size in enumerate(leaf.shape)]
    return Spec(["batch", *sizes[1:]] if sizes and leaf.shape[0] is None else sizes, leaf.dtype.name)
