"""Copying and restoring the weights of a model, for callbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from graftax.checkpoint.adapters_in_use import set_use
from graftax.core.errors import StateError
from graftax.reparam.adapted import Adapted, Adapter
from graftax.reparam.base import Reparam
from graftax.reparam.settings import is_same, settings_of
from graftax.variables.graph.module import Module, walk_with_edges
from graftax.variables.variable import Variable

_IN_USE = "adapters in use"


def weights_of(model: Module) -> list[Variable]:
    """Return the weights and moving statistics below a Module, trainable or not, in their order."""
    return [v for v in model.variables if v.role in ("weight", "state")]


def restore_weights(model: Module, values: Sequence[Any]) -> None:
    """Assign values that were copied from `weights_of` the same model.

    Raises:
        StateError: the model has other weights now.
    """
    weights = weights_of(model)
    if [tuple(one.shape) for one in weights] != [tuple(value.shape) for value in values]:
        raise StateError(
            f"the best weights, {len(values)} arrays, for a model that has {len(weights)} weights now",
            "weights were added, taken away or replaced after the best epoch, as gx.graft and gx.ungraft do",
            "restore_best_weights=False, and ModelCheckpoint(..., monitor=..., keep_best=1); or gx.graft before fit",
        )
    for variable, value in zip(weights, values, strict=True):
        variable.assign(value)


def expression_settings(model: Module) -> dict[str, dict[str, Any]]:
    """Return what expressions compute weights with, by path: their settings, and the adapters in use.

    Example:
        >>> import graftax as gx
        >>> layer = gx.layers.Dense(3)
        >>> layer.build((2,))
        >>> done = gx.graft(layer, gx.reparam.LoRA(rank=2, alpha=8), where="kernel")
        >>> kept = expression_settings(layer)
        >>> kept
        {'kernel': {'adapters in use': ['lora']}, 'kernel/adapters/lora': {'scale': 4.0}}
        >>> layer.kernel.adapters["lora"].scale = 1.0
        >>> restore_expression_settings(layer, kept)
        >>> layer.kernel.adapters["lora"].scale
        4.0
    """
    found = {}
    for path, one in _expressions_of(model).items():
        in_use = {_IN_USE: list(one.active)} if isinstance(one, Adapted) else {}
        if kept := {**settings_of(one), **in_use}:
            found[path] = kept
    return found


def restore_expression_settings(model: Module, kept: Mapping[str, Mapping[str, Any]]) -> None:
    """Set what `expression_settings` of the same model returned, where it is another now."""
    for path, one in _expressions_of(model).items():
        settings = dict(kept.get(path, {}))
        in_use = settings.pop(_IN_USE, None)
        if isinstance(one, Adapted) and in_use is not None and list(one.active) != in_use:
            set_use(one, tuple(in_use))
        now = settings_of(one)
        for name, value in settings.items():
            if name in now and not is_same(now[name], value):
                setattr(one, name, _of_kind(getattr(one, name), value))


def _expressions_of(model: Module) -> dict[str, Reparam | Adapter]:
    return {
        "/".join(map(str, edges)): node for edges, node in walk_with_edges(model) if isinstance(node, Reparam | Adapter)
    }


def _of_kind(current: object, value: Any) -> Any:
    """Return a setting, which is kept as plain values, as an attribute of the kind of the present one."""
    if isinstance(current, Enum) and isinstance(value, str):
        return type(current)[value.rpartition(".")[2]]
    return tuple(value) if isinstance(current, tuple) and isinstance(value, list) else value
