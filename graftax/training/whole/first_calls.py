"""The first calls of layers in the file of a whole model: what layers are built with when the model is made again.

The shape of one input says all of most layers. Several inputs, integers and arguments by keyword are described, too.
"""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.layers.building import Outline, is_built
from graftax.layers.layer import Layer
from graftax.ops.symbolic import Spec


def first_call(layer: Layer) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments of the call that built a layer, with `Spec` for arrays; None where a shape says as much.

    Args:
        layer: A layer, built or not.
    """
    if not is_built(layer) or layer._gx_first_call is None:
        return None
    args, named = layer._gx_first_call, dict(layer._gx_first_named)
    leaves = [leaf for leaf in tree.flatten((args, named)) if leaf is not None]
    if len(leaves) == 1 and is_floating(leaves[0].dtype) and not named:
        return None
    if any(not leaf.dtype and leaf.plain is None for leaf in leaves):
        return None  # an object, which no file holds
    if not all(type(size) is int for leaf in leaves for size in leaf.shape):
        return None
    return tree.map_structure(_spec, args), tree.map_structure(_spec, named)


def build_as_called(layer: Layer, call: Any) -> None:
    """Build a layer and those below it by a call on zeros with these arguments; nothing is computed.

    Args:
        layer: The layer.
        call: The arguments by position and by name, with `Spec` for arrays.
    """
    args, named = tree.map_structure(_zeros, call)
    layer.build_for(*args, **named)


def _spec(leaf: Outline | None) -> Any:
    if leaf is None:
        return None
    return Spec(leaf.shape, leaf.dtype) if leaf.dtype else leaf.plain


def _zeros(leaf: object) -> Any:
    if isinstance(leaf, Spec):
        return registry.current().arrays.numpy.zeros(leaf.shape, leaf.dtype)
    return leaf
