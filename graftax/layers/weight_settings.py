"""WeightSettings: what a layer is told about one of its weights, as one value; and that it is told in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graftax.core.errors import ArgumentError, AssignmentError, MissingAttributeError
from graftax.core.ours import is_ours
from graftax.core.typedefs import Initializer, VariableLike
from graftax.variables import constraints, initializers, regularizers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike
from graftax.variables.spec import Constraint, Regularizer

_SETTINGS = ("initializer", "regularizer", "constraint")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightSettings:
    """What a layer is told about one of its weights.

    Args:
        initializer: What the weight starts as.
        regularizer: The penalty on it. Defaults to None, none.
        constraint: The projection after each update. Defaults to None, none.
    """

    initializer: Initializer
    regularizer: Regularizer | None = None
    constraint: Constraint | None = None

    @classmethod
    def of(
        cls,
        *,
        initializer: InitializerLike,
        regularizer: RegularizerLike = None,
        constraint: ConstraintLike = None,
    ) -> WeightSettings:
        """Return the settings, with what names stand for.

        Raises:
            ArgumentError: A name is unknown.
        """
        return cls(
            initializer=initializers.get(initializer),
            regularizer=regularizers.get(regularizer),
            constraint=constraints.get(constraint),
        )

    @classmethod
    def kept_by(cls, layer: object, argument: str) -> WeightSettings:
        """Return the settings that a layer keeps, as they are now.

        Args:
            layer: The layer.
            argument: What its arguments are called after: ``kernel`` for ``kernel_initializer`` and the others.
        """
        return cls(**{one: getattr(layer, f"{argument}_{one}") for one in _SETTINGS})

    def keep(self, layer: object, argument: str) -> None:
        """Make the settings attributes of a layer, by the names of its arguments; see `kept_by`."""
        for one in _SETTINGS:
            setattr(layer, f"{argument}_{one}", getattr(self, one))

    def check_unused(self, off: str, on: str, weight: str, usual: type[object]) -> None:
        """Raise if something is said about a weight that the layer is told to do without.

        Args:
            off: What tells it so: ``use_bias=False``.
            on: What to write for the weight: ``use_bias=True``.
            weight: What the arguments are called after: ``bias`` for ``bias_initializer`` and the others.
            usual: The kind of initializer that the weight has by default.

        Raises:
            ArgumentError: Names the first argument that would be ignored.
        """
        start = None if type(self.initializer) is usual else self.initializer
        told = {"initializer": start, "regularizer": self.regularizer, "constraint": self.constraint}
        for setting, given in told.items():
            if given is not None:
                raise ArgumentError(
                    f"{off} and {weight}_{setting}={given!r:.60}",
                    f"without a {weight} nothing would use it",
                    f"{on}, or no {weight}_{setting}",
                )


def refuse_foreign(layer: object, name: str, value: object) -> None:
    """Raise where an attribute is assigned that layers of Keras have, and nothing would look at here.

    Raises:
        MissingAttributeError: the class is one of ours, and has no such attribute.
    """
    kind = type(layer)
    if name not in _FOREIGN or hasattr(kind, name) or not is_ours(kind):
        return
    raise MissingAttributeError(
        f"{kind.__name__}.{name} = {value!r:.60}",
        "it has no such attribute, and nothing would look at it",
        _FOREIGN[name],
    )


def refuse_late(layer: Any, name: str, value: object) -> None:
    """Raise where a setting is assigned that was used when the layer, or its weights, were made.

    Args:
        layer: The layer.
        name: The attribute.
        value: What it is assigned.

    Raises:
        AssignmentError: it would be kept, and change nothing.
    """
    kind = type(layer)
    before = vars(layer).get(name, value)
    if before is value or not is_ours(kind):
        return
    of_constructor = _of_constructor(layer, name)
    if not of_constructor and not (vars(layer).get("built") and _of_weights(layer, name)):
        return
    if type(before) is type(value) and isinstance(value, int | str | tuple) and before == value:
        return
    raise AssignmentError(
        f"{layer._gx_title()}.{name} = {value!r:.60}, where it is {before!r:.60}",
        f"it was used when the {'layer was' if of_constructor else 'weights were'} made, and a later change would be "
        "used for nothing",
        _suggest_assignment(layer, name, value),
    )


def _of_constructor(layer: Any, name: str) -> bool:
    """Tell whether only the constructor reads a setting."""
    if name == "seed":
        return "seed_generator" in vars(layer)
    if name in ("padding", "padding_mode") and "padding_mode" in vars(layer):  # each is checked with the other
        return True
    if name in ("dropout", "recurrent_dropout") and vars(layer).get("seed_generator", layer) is None:
        return True
    return any(name in vars(base).get("_gx_of_constructor", ()) for base in type(layer).__mro__)


def _of_weights(layer: Any, name: str) -> bool:
    if name == "seed" or name.endswith(("_initializer", "_regularizer", "_constraint")):
        return True
    return any(name in vars(base).get("_gx_of_weights", ()) for base in type(layer).__mro__)


def _suggest_assignment(layer: Any, name: str, value: object) -> str:
    """Return the line that does what was meant: to the weight itself, or with a new layer."""
    weight, _, setting = name.rpartition("_")
    called, place = f"{weight}_kernel" if f"{weight}_kernel" in vars(layer) else weight, "layer"
    if weight == getattr(layer, "_gx_kernel_argument", "") and called == weight:
        called = "kernel"
    held = vars(layer).get(called)
    if name == "seed" and vars(layer).get("seed_generator") is not None:
        return f"{place}.seed_generator = graftax.SeedGenerator({value!r:.60})"
    if isinstance(held, VariableLike):
        if setting == "initializer":
            return f"{place}.{called}.assign(values)"
        return f"{place}.{called}.{setting} = {value!r:.60}"
    return f"graftax.layers.{type(layer).__name__}(..., {name}={value!r:.60}), a new layer"


_FOREIGN = {
    "dtype_policy": 'graftax.set_dtype_policy("mixed_bfloat16", layer)',
    "activity_regularizer": "graftax.Sequential([layer, graftax.layers.ActivityRegularization(l2=0.01)])",
}
