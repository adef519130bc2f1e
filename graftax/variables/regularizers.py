"""Regularizers: penalties on the value of a weight, which layers collect in ``losses``."""

from __future__ import annotations

import typing as _typing
from typing import Any, TypeAlias

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.hyperparameters import check_not_negative
from graftax.core.known_names import not_made, unknown
from graftax.core.namespaces import make_getattr as _answering
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error
from graftax.core.user_functions import check_signature
from graftax.variables.floating import to_floating
from graftax.variables.graph.structure import Adjustable, show_settings
from graftax.variables.spec import Regularizer

__all__ = [
    "L1",
    "L1L2",
    "L2",
    "BaseRegularizer",
    "OrthogonalRegularizer",
    "get",
]

RegularizerLike: TypeAlias = "str | Regularizer | None"


class BaseRegularizer(Adjustable):
    """The base: subclasses define ``__call__(value) -> penalty``; the repr shows their arguments."""

    def __call__(self, value: Array) -> Array:
        """Return the penalty, a scalar."""
        raise undefined_error(self, "__call__(value)")

    def __repr__(self) -> str:
        return show_settings(self)


class L1(BaseRegularizer):
    """``l1 * sum(|w|)``.

    Args:
        l1: The factor. Defaults to 0.01.

    Raises:
        ArgumentError: the factor is not a number from 0 up.

    Example:
        >>> float(L1(0.5)(np.float32([1, -3])))
        2.0
    """

    def __init__(self, l1: float = 0.01) -> None:
        self.l1 = _factor("l1", l1)

    def __call__(self, value: Array) -> Array:
        return self.l1 * ops.sum(_absolute(to_floating(value, "weight")))


class L2(BaseRegularizer):
    """``l2 * sum(w**2)``, without a half.

    Args:
        l2: The factor. Defaults to 0.01.

    Raises:
        ArgumentError: the factor is not a number from 0 up.

    Example:
        >>> float(L2(0.5)(np.float32([1, -3])))
        5.0
    """

    def __init__(self, l2: float = 0.01) -> None:
        self.l2 = _factor("l2", l2)

    def __call__(self, value: Array) -> Array:
        return self.l2 * ops.sum(ops.square(to_floating(value, "weight")))


class L1L2(BaseRegularizer):
    """``l1 * sum(|w|) + l2 * sum(w**2)``.

    Args:
        l1: The factor of the absolute values. Defaults to 0.0.
        l2: The factor of the squares. Defaults to 0.0.

    Raises:
        ArgumentError: a factor is not a number from 0 up.

    Example:
        >>> float(L1L2(1.0, 0.5)(np.float32([1, -3])))
        9.0
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = _factor("l1", l1), _factor("l2", l2)

    def __call__(self, value: Array) -> Array:
        value = to_floating(value, "weight")  # squares of half precision overflow
        sizes = ops.sum(_absolute(value)) if self.l1 else 0.0  # 0 times a sum that overflowed would be nan
        return self.l1 * sizes + (self.l2 * ops.sum(ops.square(value)) if self.l2 else ops.zeros((), str(value.dtype)))


class OrthogonalRegularizer(BaseRegularizer):
    """``factor`` times the mean absolute cosine between different rows, or columns, of a matrix.

    Args:
        factor: The factor. Defaults to 0.01.
        mode: ``"rows"`` or ``"columns"``. Defaults to ``"rows"``.

    Raises:
        ArgumentError: the factor is not a number from 0 up, or there is no such mode.
        ShapeError: when called: the weight is no matrix.

    Example:
        >>> float(OrthogonalRegularizer(1.0)(np.float32([[1, 0], [0, 2]])))
        0.0
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        if mode not in ("rows", "columns"):
            raise ArgumentError(f"mode={mode!r}", "there is no such mode", '"rows" or "columns"')
        self.factor, self.mode = _factor("factor", factor), mode

    def __call__(self, value: Array) -> Array:
        if value.ndim != 2:
            raise ShapeError(
                f"OrthogonalRegularizer for a weight of shape {tuple(value.shape)}",
                "only a matrix has rows and columns",
                'kernel_regularizer="l2" for other weights',
            )
        rows = to_floating(value, "weight") if self.mode == "rows" else ops.transpose(to_floating(value, "weight"))
        squares = ops.sum(ops.square(rows), axis=1, keepdims=True)
        rows = rows * ops.rsqrt(ops.maximum(squares, 1e-12))
        n = rows.shape[0]
        cosines = ops.matmul(rows, ops.transpose(rows)) * (1 - ops.eye(n, dtype=rows.dtype))
        return self.factor * ops.sum(_absolute(cosines)) / max(n * (n - 1), 1)


def _absolute(value: Array) -> Array:
    """Return absolute values whose slope at 0 is 0, where that of JAX's is 1: what is 0 already feels no pull."""
    return value * ops.sign(value)


def _factor(name: str, value: float) -> float:
    return check_not_negative(name, value, "the factor of a penalty is a number from 0 up", 0.01)


_NAMES: dict[str, type[BaseRegularizer]] = {
    "l1": L1,
    "l2": L2,
    "l1_l2": L1L2,
    "orthogonal": OrthogonalRegularizer,
}


_SPELLINGS = _NAMES | {cls.__name__: cls for cls in _NAMES.values()}


@door
def get(regularizer: Any) -> Regularizer | None:
    """Return a regularizer from its name or a function of the weight's value; None for None.

    Raises:
        ArgumentError: there is none of that name.
        ArgumentTypeError: it is a class, or a function of other arguments.

    Example:
        >>> get("l2")
        L2(l2=0.01)
    """
    if isinstance(regularizer, type):
        raise not_made("regularizer", regularizer)
    if callable(regularizer):
        check_signature("regularizer", regularizer, ("value",))
    if regularizer is None or callable(regularizer):
        return regularizer  # type: ignore[no-any-return]
    if not isinstance(regularizer, str) or regularizer not in _SPELLINGS:
        raise unknown("regularizer", regularizer, _NAMES, "or a function")
    found = _SPELLINGS[regularizer]()
    if isinstance(found, L1L2):
        raise ArgumentError(
            f"regularizer={regularizer!r}",
            "its two factors are 0 unless they are said, and nothing would be penalized",
            "graftax.regularizers.L1L2(l1=0.01, l2=0.01)",
        )
    return found


if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("regularizers")


def __dir__() -> list[str]:
    return sorted(__all__)
