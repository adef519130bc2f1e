"""What selectors of layers choose: by the paths of layers from a model, or by their classes."""

from __future__ import annotations

from graftax.core.errors import ArgumentTypeError, SelectorError
from graftax.core.selectors import SelectorLike, compile_selector
from graftax.core.tally import pick
from graftax.layers.layer import Layer
from graftax.variables.graph.module import walk_with_edges


def chosen_layers(model: Layer, where: SelectorLike | None, function: str) -> list[tuple[str, Layer]]:
    """Return the layers of a model that a selector chooses, with their paths, in the order of the model.

    A glob or regex is compared with the path of the layer itself; a class chooses layers of that class.

    Args:
        model: The layer or model.
        where: The selector; None for all, the model itself included.
        function: What asks, for messages.

    Raises:
        ArgumentTypeError: the model is no layer.
        SelectorError: the selector chooses by a role, which layers have none of; or it, or a part of it, chooses none.

    Example:
        >>> import graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(2), gx.layers.ReLU()])
        >>> [path for path, _ in chosen_layers(model, gx.layers.ReLU, "where")]
        ['layers/1']
    """
    if not isinstance(model, Layer):
        raise ArgumentTypeError(
            f"{function} got {type(model).__name__} as the model", "layers are chosen in one", 'model, where="layers/*"'
        )
    layers = [
        ((("/".join(map(str, edges))),), node) for edges, node in walk_with_edges(model) if isinstance(node, Layer)
    ]
    if where is None:
        return [(path, layer) for (path,), layer in layers]
    selector = compile_selector(where)
    if "role" in selector.kinds:
        raise SelectorError(
            f"{function}={selector!r}", "roles are those of Variables, and layers are chosen", '"layers/*"'
        )
    chosen = {id(layer) for layer in pick(selector, layers, function)}
    return [(path, layer) for (path,), layer in layers if id(layer) in chosen]
