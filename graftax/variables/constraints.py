"""Constraints: projections of a weight that optimizers apply after each update."""

from __future__ import annotations

import typing as _typing
from collections.abc import Sequence
from typing import Any, TypeAlias

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.hyperparameters import is_number
from graftax.core.known_names import not_made, unknown
from graftax.core.namespaces import make_getattr as _answering
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.core.user_functions import check_signature
from graftax.variables.base_constraint import BaseConstraint as BaseConstraint
from graftax.variables.base_constraint import axes, cast_back, limit, widen
from graftax.variables.projections import Box as Box
from graftax.variables.projections import L1Ball as L1Ball
from graftax.variables.projections import L2Ball as L2Ball
from graftax.variables.projections import LinfBall as LinfBall
from graftax.variables.projections import Radial as Radial
from graftax.variables.projections import Simplex as Simplex
from graftax.variables.spec import Constraint

__all__ = [
    "BaseConstraint",
    "Box",
    "L1Ball",
    "L2Ball",
    "LinfBall",
    "MaxNorm",
    "MinMaxNorm",
    "NonNeg",
    "Radial",
    "Simplex",
    "UnitNorm",
    "get",
]

ConstraintLike: TypeAlias = "str | Constraint | None"

_EPSILON = 1e-7  # in place of a division by 0 where a norm is 0


class MaxNorm(BaseConstraint):
    """Vectors longer than a limit are scaled down to it.

    Args:
        max_value: The limit. Defaults to 2.0.
        axis: The axes of one vector: 0 for the inputs of a unit of `Dense`, ``(0, 1, 2)`` for a filter of `Conv2D`.
            Defaults to 0.

    Raises:
        ArgumentError: the limit is not a number from 0 up.

    Example:
        >>> [[round(w, 4) for w in row] for row in MaxNorm(1.0)(np.float32([[3, 0.3], [4, 0.4]])).tolist()]
        [[0.6, 0.3], [0.8, 0.4]]

    Source: Srivastava et al. 2014, Dropout, JMLR 15.
    """

    def __init__(self, max_value: float = 2.0, axis: int | Sequence[int] = 0) -> None:
        self.max_value, self.axis = limit("max_value", max_value), axes(axis)

    def __call__(self, value: Array) -> Array:
        weight = widen(value)
        norms = ops.norm(weight, axis=self.axis, keepdims=True)
        return cast_back(weight * (ops.minimum(norms, self.max_value) / (norms + _EPSILON)), value)


class MinMaxNorm(BaseConstraint):
    """Vectors are scaled towards a length between two limits.

    Args:
        min_value: The lower limit. Defaults to 0.0.
        max_value: The upper limit. Defaults to 1.0.
        rate: How far towards the limit, from 0 to 1. Defaults to 1.0.
        axis: The axes of one vector, as for `MaxNorm`. Defaults to 0.

    Raises:
        ArgumentError: a limit is not a number from 0 up, they are in the wrong order, or the rate is outside [0, 1].

    Example:
        >>> MinMaxNorm(2.0, 4.0)(np.float32([[1.0], [0.0]])).round(4).tolist()
        [[2.0], [0.0]]
    """

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int | Sequence[int] = 0
    ) -> None:
        self.min_value, self.max_value = limit("min_value", min_value), limit("max_value", max_value)
        if self.min_value > self.max_value or not is_number(rate) or not 0 <= rate <= 1:
            raise ArgumentError(
                f"MinMaxNorm(min_value={min_value!r}, max_value={max_value!r}, rate={rate!r})",
                "the lower limit is at most the upper one, and the rate is from 0 to 1",
                "MinMaxNorm(0.5, 2.0, rate=1.0)",
            )
        self.rate, self.axis = float(rate), axes(axis)

    def __call__(self, value: Array) -> Array:
        weight = widen(value)
        norms = ops.norm(weight, axis=self.axis, keepdims=True)
        wanted = self.rate * ops.clip(norms, self.min_value, self.max_value) + (1 - self.rate) * norms
        return cast_back(weight * (wanted / (norms + _EPSILON)), value)


class NonNeg(BaseConstraint):
    """Negative values become 0.

    Example:
        >>> NonNeg()(np.float32([-1, 2])).tolist()
        [0.0, 2.0]
    """

    def __call__(self, value: Array) -> Array:
        return ops.maximum(value, 0)


class UnitNorm(BaseConstraint):
    """Vectors are scaled to length 1; zeros stay.

    Args:
        axis: The axes of one vector, as for `MaxNorm`. Defaults to 0.

    Example:
        >>> [round(w, 4) for w in UnitNorm()(np.float32([3, 4])).tolist()]
        [0.6, 0.8]
    """

    def __init__(self, axis: int | Sequence[int] = 0) -> None:
        self.axis = axes(axis)

    def __call__(self, value: Array) -> Array:
        weight = widen(value)
        return cast_back(weight / (ops.norm(weight, axis=self.axis, keepdims=True) + _EPSILON), value)


_NAMES: dict[str, type[BaseConstraint]] = {
    "max_norm": MaxNorm,
    "min_max_norm": MinMaxNorm,
    "non_neg": NonNeg,
    "unit_norm": UnitNorm,
    "box": Box,
    "l1_ball": L1Ball,
    "l2_ball": L2Ball,
    "linf_ball": LinfBall,
    "radial": Radial,
    "simplex": Simplex,
}


_SPELLINGS = _NAMES | {cls.__name__: cls for cls in _NAMES.values()}


@door
def get(constraint: Any) -> Constraint | None:
    """Return a constraint from its name or a function of the weight's value; None for None.

    Raises:
        ArgumentError: there is none of that name.
        ArgumentTypeError: it is a class, or a function of other arguments.

    Example:
        >>> get("non_neg")
        NonNeg()
    """
    if isinstance(constraint, type):
        raise not_made("constraint", constraint)
    if callable(constraint):
        check_signature("constraint", constraint, ("value",))
    if constraint is None or callable(constraint):
        return constraint  # type: ignore[no-any-return]
    if not isinstance(constraint, str) or constraint not in _SPELLINGS:
        raise unknown("constraint", constraint, _NAMES, "or a function")
    return _SPELLINGS[constraint]()


if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("constraints")


def __dir__() -> list[str]:
    return sorted(__all__)
