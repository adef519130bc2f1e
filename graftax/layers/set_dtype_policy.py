"""set_dtype_policy: in which dtypes layers to be made store and compute, or those of a model that are there."""

from __future__ import annotations

from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentError, StateError
from graftax.core.selectors import SelectorLike
from graftax.core.short_traceback import door
from graftax.layers import building
from graftax.layers.chosen_layers import chosen_layers
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy, as_policy, set_global_policy
from graftax.variables.variable import Variable


@door
def set_dtype_policy(
    policy: str | DTypePolicy, model: Layer | None = None, where: SelectorLike | None = None
) -> list[str]:
    """Choose the policy of layers that are given none from now on; with a model, that of layers in it.

    Layers of a model whose weights are not made yet take any policy. Those that have weights keep these as they are,
    so that they take a policy with the same dtype of weights: from ``"float32"`` to ``"mixed_bfloat16"``, say.
    Functions that are compiled already are traced once more.

    Args:
        policy: A `DTypePolicy` or its name.
        model: The layer or model in which layers are chosen. Defaults to None: the policy of layers to come.
        where: Which, by the path of the layer itself from the model (``["encoder", "encoder/**"]`` with all inside), or
            by its class, which chooses what is inside, too. Defaults to None, all.

    Returns:
        The paths of the layers that have the policy now; none without a model.

    Raises:
        ArgumentError: there is no such policy, or ``where`` comes without a model.
        SelectorError: ``where``, or a part of it, selects no layer.
        StateError: a layer has weights of another dtype. No layer has changed.

    Example:
        >>> import graftax as gx
        >>> set_dtype_policy("mixed_bfloat16")
        []
        >>> model = gx.Sequential([gx.layers.Dense(16), gx.layers.LayerNormalization(), gx.layers.Dense(1)])
        >>> set_dtype_policy("float32")
        []
        >>> set_dtype_policy("float32", model, where=["layers/2", gx.layers.LayerNormalization])
        ['layers/1', 'layers/2']
        >>> [layer.compute_dtype for layer in model.layers]
        ['bfloat16', 'float32', 'float32']
    """
    if policy is None:
        raise ArgumentError("dtype=None, which names a policy", "nothing would change", 'set_dtype_policy("float32")')
    new = as_policy(policy)
    if model is None:
        if where is not None:
            raise ArgumentError(
                f"set_dtype_policy got where={where!r:.60} without a model",
                "paths and classes choose among the layers of one",
                f'set_dtype_policy("{new.name}", model, where=...)',
            )
        set_global_policy(new)
        return []
    chosen = chosen_layers(model, where, "set_dtype_policy: where")
    weights = _weights_by_layer(model)
    for path, layer in chosen:
        if layer._gx_dtypes.variable_dtype != new.variable_dtype and id(layer) in weights:
            raise _already_there(path or ".", layer, new)
    for _, layer in chosen:
        layer._gx_policy = new
        for weight in weights.get(id(layer), ()):
            building.note_dtypes(layer, weight)
    return [path or "." for path, _ in chosen]


def _weights_by_layer(model: Layer) -> dict[int, list[Variable]]:
    """Return the weights of each layer that has some itself, by its id."""
    found: dict[int, list[Variable]] = {}
    for variable in model.variables:
        if variable.role == "weight" and is_floating(variable.dtype):
            owner = variable._gx_owner
            while owner is not None and not isinstance(owner, Layer):  # a part of an expression
                owner = owner._gx_owner
            found.setdefault(id(owner), []).append(variable)
    return found


def _already_there(path: str, layer: Layer, policy: DTypePolicy) -> StateError:
    stored = layer._gx_dtypes.variable_dtype
    return StateError(
        f"set_dtype_policy({policy.name!r}) for {path!r}, whose weights are there, in {stored}",
        f"that policy stores weights in {policy.variable_dtype}, and what was learnt is not rounded by the way",
        f"set_dtype_policy before the first call of the model; or a policy that stores weights in {stored}",
    )
