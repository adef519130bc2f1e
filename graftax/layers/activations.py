"""Activations: pure functions of one array, stable for every finite input; their slope at a kink is that of JAX."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable, Sequence
from typing import TypeAlias

from graftax import ops
from graftax.core.known_names import unknown
from graftax.core.namespaces import make_getattr as _answering
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike
from graftax.core.user_functions import check_takes
from graftax.layers.piecewise_activations import (
    hard_shrink,
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    soft_shrink,
    sparse_plus,
    sparse_sigmoid,
    sparsemax,
)

__all__ = [
    "celu",
    "elu",
    "exponential",
    "gelu",
    "get",
    "glu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_shrink",
    "softmax",
    "softplus",
    "softsign",
    "sparse_plus",
    "sparse_sigmoid",
    "sparsemax",
    "squareplus",
    "swish",
    "tanh",
    "tanh_shrink",
]

Activation: TypeAlias = Callable[[Array], Array]
ActivationLike: TypeAlias = "str | Activation | None"


def linear(x: ArrayLike) -> Array:
    """Return ``x`` itself.

    Example:
        >>> linear([-1.0, 2.0]).tolist()
        [-1.0, 2.0]
    """
    return ops.asarray(x)


def relu(x: ArrayLike) -> Array:
    """Compute ``max(x, 0)``; the slope at 0 is 0.

    Example:
        >>> relu([-1.0, 2.0]).tolist()
        [0.0, 2.0]
    """
    return ops.relu(x)


def relu6(x: ArrayLike) -> Array:
    """Compute ``min(max(x, 0), 6)``; the slope at 0 and at 6 is 0.

    Example:
        >>> relu6([-1.0, 2.0, 7.0]).tolist()
        [0.0, 2.0, 6.0]
    """
    return ops.relu6(x)


def leaky_relu(x: ArrayLike, negative_slope: float = 0.2) -> Array:
    """Compute ``x`` where positive, else ``negative_slope * x``; the slope at 0 is 1.

    Args:
        x: The input.
        negative_slope: 0.2 as in Keras; JAX and PyTorch have 0.01. Defaults to 0.2.

    Example:
        >>> [round(y, 3) for y in leaky_relu([-1.0, 2.0]).tolist()]
        [-0.2, 2.0]
    """
    return ops.leaky_relu(x, negative_slope)


def elu(x: ArrayLike, alpha: float = 1.0) -> Array:
    """Compute ``x`` where positive, else ``alpha * (exp(x) - 1)``.

    Args:
        x: The input.
        alpha: Minus the value far on the left. Defaults to 1.0.

    Example:
        >>> [round(y, 4) for y in elu([-1.0, 2.0]).tolist()]
        [-0.6321, 2.0]

    Source: Clevert et al., arXiv 1511.07289.
    """
    return ops.elu(x, alpha)


def selu(x: ArrayLike) -> Array:
    """Compute ``elu``, scaled so that layers keep mean 0 and variance 1.

    Example:
        >>> [round(y, 4) for y in selu([-1.0, 2.0]).tolist()]
        [-1.1113, 2.1014]

    Source: Klambauer et al., arXiv 1706.02515.
    """
    return ops.selu(x)


def gelu(x: ArrayLike, approximate: bool = False) -> Array:
    r"""Compute ``x`` times the normal distribution function at ``x``.

    .. math:: x \Phi(x) = \frac{x}{2}\Bigl(1 + \operatorname{erf}\frac{x}{\sqrt 2}\Bigr)

    Args:
        x: The input.
        approximate: True for the tanh approximation, the default of JAX; Keras, PyTorch and this are exact by default.

    Example:
        >>> round(float(gelu(1.0)), 4), round(float(gelu(1.0, approximate=True)), 4)
        (0.8413, 0.8412)

    Source: Hendrycks and Gimpel, arXiv 1606.08415.
    """
    return ops.gelu(x, approximate)


def silu(x: ArrayLike) -> Array:
    """Compute ``x * sigmoid(x)``, also called swish.

    Example:
        >>> round(float(silu(1.0)), 4)
        0.7311

    Source: Elfwing et al., arXiv 1702.03118.
    """
    return ops.silu(x)


swish = silu


def mish(x: ArrayLike) -> Array:
    """Compute ``x * tanh(softplus(x))``.

    Example:
        >>> round(float(mish(1.0)), 4)
        0.8651

    Source: Misra, arXiv 1908.08681.
    """
    return ops.mish(x)


def sigmoid(x: ArrayLike) -> Array:
    """Compute ``1 / (1 + exp(-x))``.

    Example:
        >>> float(sigmoid(0.0))
        0.5
    """
    return ops.sigmoid(x)


def log_sigmoid(x: ArrayLike) -> Array:
    """Compute ``log(sigmoid(x))`` without overflow.

    Example:
        >>> float(log_sigmoid(-1000.0))
        -1000.0
    """
    return ops.log_sigmoid(x)


def tanh(x: ArrayLike) -> Array:
    """Compute the hyperbolic tangent.

    Example:
        >>> round(float(tanh(1.0)), 4)
        0.7616
    """
    return ops.tanh(x)


def softplus(x: ArrayLike) -> Array:
    """Compute ``log(1 + exp(x))`` without overflow.

    Example:
        >>> float(softplus(1000.0))
        1000.0
    """
    return ops.softplus(x)


def softsign(x: ArrayLike) -> Array:
    """Compute ``x / (1 + |x|)``.

    Example:
        >>> float(softsign(1.0))
        0.5
    """
    return ops.softsign(x)


def exponential(x: ArrayLike) -> Array:
    """Compute ``exp(x)``.

    Example:
        >>> float(exponential(0.0))
        1.0
    """
    return ops.exp(x)


def softmax(x: ArrayLike, axis: int | Sequence[int] = -1) -> Array:
    """Compute ``exp(x)`` normalised to sum 1; 0 where everything is -inf.

    Args:
        x: The input.
        axis: The axes over which the sum is 1. Defaults to -1.

    Example:
        >>> softmax([0.0, 0.0]).tolist()
        [0.5, 0.5]
    """
    return ops.softmax(x, axis=axis)


def log_softmax(x: ArrayLike, axis: int | Sequence[int] = -1) -> Array:
    """Compute ``log(softmax(x))`` without overflow.

    Args:
        x: The input.
        axis: The axes over which the exponentials sum to 1. Defaults to -1.

    Example:
        >>> log_softmax([0.0, -1000.0]).tolist()
        [0.0, -1000.0]
    """
    return ops.log_softmax(x, axis=axis)


def celu(x: ArrayLike, alpha: float = 1.0) -> Array:
    """Compute ``max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)``, which has a slope everywhere, whatever alpha is.

    Args:
        x: The input.
        alpha: Minus the value far on the left. Defaults to 1.0.

    Example:
        >>> [round(y, 4) for y in celu([-1.0, 2.0]).tolist()]
        [-0.6321, 2.0]

    Source: Barron, arXiv 1704.07483.
    """
    return ops.celu(x, alpha)


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Compute the first half of an axis times the sigmoid of the second half.

    Args:
        x: The input.
        axis: The axis that is halved; its size is even. Defaults to the last one.

    Shape:
        ``(..., 2 n) -> (..., n)``

    Example:
        >>> glu([3.0, 0.0]).tolist()
        [1.5]

    Source: Dauphin et al., arXiv 1612.08083.
    """
    return ops.glu(x, axis)


def tanh_shrink(x: ArrayLike) -> Array:
    """Compute ``x - tanh(x)``.

    Example:
        >>> float(tanh_shrink(0.0))
        0.0
    """
    return ops.tanh_shrink(x)


def squareplus(x: ArrayLike, b: float = 4.0) -> Array:
    """Compute ``(x + sqrt(x² + b)) / 2``, a smooth relu without an exponential.

    Args:
        x: The input.
        b: How round the corner at 0 is, from 0 up. Defaults to 4.0.

    Example:
        >>> float(squareplus(0.0))
        1.0

    Source: Barron, arXiv 2112.11687.
    """
    return ops.squareplus(x, b)


_FUNCTIONS: tuple[Callable[..., Array], ...] = (
    linear, relu, relu6, leaky_relu, elu, selu, gelu, silu, mish, sigmoid, hard_sigmoid, log_sigmoid, tanh, softplus,
    softsign, exponential, softmax, log_softmax, celu, glu, hard_silu, hard_tanh, hard_shrink, soft_shrink,
    tanh_shrink, squareplus, sparse_plus, sparse_sigmoid, sparsemax,
)  # fmt: skip
_NAMES: dict[str, Activation] = {**{f.__name__: f for f in _FUNCTIONS}, "swish": silu, "hard_swish": hard_silu}


@door
def get(activation: ActivationLike) -> Activation:
    """Return the activation of a name, or a function as it is; `linear` for None.

    Raises:
        ArgumentError: there is none of that name.

    Example:
        >>> get("relu") is relu, get(None) is linear
        (True, True)
    """
    if activation is None:
        return linear
    if callable(activation) and not isinstance(activation, type):
        check_takes("a layer", "activation", activation, ["x"])
        return activation
    if not isinstance(activation, str) or activation not in _NAMES:
        raise unknown("activation", activation, sorted(_NAMES))
    return _NAMES[activation]


if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("activations")


def __dir__() -> list[str]:
    return sorted(__all__)
