"""build_abstract: shapes and dtypes of all weights of a model, before memory is taken for any."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.layers.layer import Layer
from graftax.ops.symbolic import Symbolic
from graftax.transforms.py_function import ArraySpec
from graftax.variables.state.unallocated import allocate_nothing

L = TypeVar("L", bound=Layer)


@door
def build_abstract(model: L, *inputs: Any) -> L:
    """Return a copy of a model that is built, and whose weights have shapes and dtypes, but no values.

    Nothing is allocated or drawn, however large the weights are. ``summary``, ``count_params`` and `memory_report` say
    of the copy what they would say of the model; asking for a value of it raises. The model stays as it is. Weights
    that it has already have their values in the copy, too, which shares the memory.

    Args:
        model: A layer or model, built or not, compiled or not.
        inputs: What its call takes: an `ArraySpec` for each array, or nested lists, tuples and dicts of these; arrays
            will do, too.

    Raises:
        ArgumentTypeError: it is no layer, there is no input, or an input is neither a spec nor an array.
        BackendCapabilityError: the backend computes at once, and has no shapes without arrays.
        StateError: a creator or ``build`` asks for the value of a weight, which there is not.

    Example:
        >>> import graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(100_000), gx.layers.Dense(100_000)])
        >>> abstract = build_abstract(model, gx.ArraySpec((8, 100_000)))
        >>> abstract.count_params(), abstract.layers[1].kernel
        (20000200000, Variable('layers/1/kernel', shape=(100000, 100000), dtype=float32, no value))
        >>> model.built
        False
    """
    if not isinstance(model, Layer):
        raise ArgumentTypeError(
            f"build_abstract got {type(model).__name__}",
            "it builds layers and models",
            "build_abstract(model, ArraySpec((8, 3)))",
        )
    if not inputs:
        raise ArgumentTypeError(
            f"build_abstract of {model._gx_title()} without an input",
            "shapes of weights follow from that of the input",
            "build_abstract(model, ArraySpec((8, 3)))",
        )
    given = [tree.map_structure(_outline, one) for one in inputs]
    _ = registry.current().tracing  # or say which backends have it
    found = copy.deepcopy(model)
    with allocate_nothing():
        found.build_for(*given)
    return found


def _outline(leaf: object) -> Any:
    if isinstance(leaf, ArraySpec):
        return leaf.zeros()
    if leaf is None or isinstance(leaf, int | float | bool | Symbolic) or not hasattr(leaf, "shape"):
        raise ArgumentTypeError(
            f"build_abstract got {leaf!r:.60} as an input",
            "the shape and dtype of each array are needed",
            'ArraySpec((8, 3)), or ArraySpec((8, 128), "int32") for numbers of tokens',
        )
    return leaf
