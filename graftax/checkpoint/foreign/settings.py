"""Settings of layers that files of weights do not contain, with their defaults in other libraries."""

from __future__ import annotations

from typing import Any, NamedTuple

from graftax.checkpoint.foreign.layer_rules import rule_of

_DEFAULTS: dict[str, dict[str, dict[str, Any]]] = {
    "torch": {
        "batch_normalization.BatchNormalization": {
            "epsilon": 1e-5,
            "momentum": 0.9,
            "unbiased_moving_variance": True,
        },
        "layer_normalization.LayerNormalization": {"epsilon": 1e-5},
        "group_normalization.GroupNormalization": {"epsilon": 1e-5},
        "transformer.TransformerBlock": {"layer_norm_epsilon": 1e-5},
        "relu_layers.LeakyReLU": {"negative_slope": 0.01},
    },
    "keras": {
        "batch_normalization.BatchNormalization": {"epsilon": 1e-3, "momentum": 0.99},
        "layer_normalization.LayerNormalization": {"epsilon": 1e-3},
        "group_normalization.GroupNormalization": {"epsilon": 1e-3},
        "rms_normalization.RMSNormalization": {"epsilon": 1e-6},
        "relu_layers.LeakyReLU": {"negative_slope": 0.3},
        "gru.GRUStep": {"reset_after": True},
    },
    "flax": {
        "batch_normalization.BatchNormalization": {"epsilon": 1e-5, "momentum": 0.99},
        "layer_normalization.LayerNormalization": {"epsilon": 1e-6},
        "group_normalization.GroupNormalization": {"epsilon": 1e-6},
        "rms_normalization.RMSNormalization": {"epsilon": 1e-6},
        "relu_layers.LeakyReLU": {"negative_slope": 0.01},
    },
}


class Setting(NamedTuple):
    """A setting of a layer that differs from the default of the library that wrote the file.

    ``path`` is that of the layer, ``here`` its value, ``there`` the default of that library. The file does not say
    whether the saved layer used this default.
    """

    path: str
    name: str
    here: float
    there: float

    def __str__(self) -> str:
        return f"{self.path}: {self.name}={shown(self.here)} here"


def shown(value: float) -> str:
    """Return a number, or a truth value, as text."""
    return str(value) if isinstance(value, bool) else f"{value:g}"


def differing_settings(layer: object, path: str, source: str) -> list[Setting]:
    """Return the settings of a layer that differ from the defaults of another library.

    Args:
        layer: The layer.
        path: Its path.
        source: ``"torch"``, ``"keras"`` or ``"flax"``; for others the result is empty.
    """
    defaults = rule_of(layer, _DEFAULTS.get(source, {})) or {}
    return [
        Setting(path, name, getattr(layer, name), there)
        for name, there in defaults.items()
        if getattr(layer, name) != there and not _shapes_tell(layer, name)
    ]


def _shapes_tell(layer: object, name: str) -> bool:
    """Return True if the arrays of a file tell a setting, so that a layer with another one does not fit."""
    return name == "reset_after" and bool(getattr(layer, "use_bias", False))
