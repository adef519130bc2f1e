"""Positive: weights that cannot become zero or negative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Literal, get_args

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.backend.gathering import gather_whole
from graftax.core.errors import AssignmentError
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator, check_choice, not_negative
from graftax.transforms.numerics import check
from graftax.variables.initializers import Constant
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import concretely

Map = Literal["softplus", "exp"]

_LEAST = 1e-4  # how far above the floor weights start at least


class Positive(CheckedCreator):
    r"""A creator that keeps weights of any shape above a floor.

    .. math:: w = c + \log(1 + e^v) \quad\text{or}\quad w = c + e^v

    Weights start as the absolute values of what their initializer gives, a little above the floor at least. A given or
    assigned value must lie above the floor.

    Args:
        map: ``"softplus"``, in which large weights move like plain ones, or ``"exp"``, in which all move by factors.
            Defaults to ``"softplus"``.
        floor: ``c``, at least 0. Defaults to 0.0.

    Raises:
        ArgumentError: there is no such map, or ``floor`` is negative.

    Example:
        >>> import numpy as np, graftax as gx
        >>> with gx.variable_creator_scope(Positive(), where="kernel"):
        ...     layer = gx.layers.Dense(8)
        ...     y = layer(np.ones((1, 16), "float32"))
        >>> bool((layer.kernel.numpy() > 0).all()), [v.path for v in layer.trainable_variables]
        (True, ['kernel/free', 'bias'])

    Source: Dugas et al. 2000, Incorporating second-order functional knowledge for better option pricing.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "map": check_choice(get_args(Map), "there is no such map"),
        "floor": not_negative("what lies above it would not all be positive", 0.0),
    }

    def __init__(self, map: Map = "softplus", floor: float = 0.0) -> None:
        self.map: Map = map
        self.floor = floor

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the positive weight."""
        return PositiveWeight(next_creator, spec, self.map, self.floor)

    def __repr__(self) -> str:
        return f"Positive(map={self.map!r}, floor={self.floor:g})"


class PositiveWeight(Reparam):
    """The weight that `Positive` makes.

    Args:
        next_creator: Makes the part.
        spec: The spec of the weight.
        map: From all numbers to positive ones.
        floor: What is added.
    """

    def __init__(
        self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec, map: Map, floor: float
    ) -> None:
        super().__init__(spec)
        self.map = map
        self.floor = floor
        self.free = next_creator(spec.replace(name="free"))
        with concretely():
            start = ops.asarray(self.free)
            given = isinstance(spec.initializer, Constant)
            self.inverse(start if given else ops.maximum(ops.abs(start), floor + _LEAST))

    def forward(self) -> Array:
        """Compute ``floor + map(free)``."""
        return self.floor + (ops.softplus(self.free) if self.map == "softplus" else ops.exp(self.free))

    def inverse(self, value: Array) -> None:
        """Assign the free weight that is mapped to the value, which must lie above the floor."""
        above = value - self.floor
        self._require_positive(above)
        # log(exp(x) - 1), which for large x is x
        free = above + ops.log(-ops.expm1(-above)) if self.map == "softplus" else ops.log(above)
        self.free.assign(free)  # type: ignore[attr-defined]

    def _require_positive(self, above: Array) -> None:
        arrays = registry.current().arrays
        if not arrays.is_concrete(above):
            check(ops.greater(above, 0), "what is assigned to a Positive weight must lie above its floor")
            return
        host = np.asarray(gather_whole(above), "float64")
        bad = int((~(host > 0)).sum())
        if bad:
            raise AssignmentError(
                f"assignment to {self._gx_place!r}, which Positive keeps above {self.floor:g}",
                f"{bad} of {host.size} numbers are not above it, the least {host.min() + self.floor:.3g}",
                "graftax.ops.abs(value), or where= with weights that are positive already",
            )
