"""Activations: pure functions of one array, stable for every finite input; their slope at a kink is that of JAX."""

from __future__ import annotations

import math
import typing as _typing
from collections.abc import Callable, Sequence
from typing import TypeAlias

from graftax import ops
from graftax.core.known_names import unknown
from graftax.core.namespaces import answering as _answering
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike

__all__ = [
    "elu",
    "exponential",
    "gelu",
    "get",
    "hard_sigmoid",
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
    "softmax",
    "softplus",
    "softsign",
    "swish",
    "tanh",
]

Activation: TypeAlias = Callable[[Array], Array]
ActivationLike: TypeAlias = "str | Activation | None"

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def linear(x: ArrayLike) -> Array:
    """Return ``x`` itself.

    Example:
        >>> linear([-1.0, 2.0]).tolist()
        [-1.0, 2.0]
    """
    return ops.asarray(x)


def relu(x: ArrayLike) -> Array:
    """Compute ``max(x, 0)``; its slope at 0 is 0.

    Example:
        >>> relu([-1.0, 2.0]).tolist()
        [0.0, 2.0]
    """
    x = ops.asarray(x)
    return ops.where(x <= 0, 0, x)  # nan stays nan


def relu6(x: ArrayLike) -> Array:
    """Compute ``min(max(x, 0), 6)``; its slope at 0 and at 6 is 0.

    Example:
        >>> relu6([-1.0, 2.0, 7.0]).tolist()
        [0.0, 2.0, 6.0]
    """
    x = ops.asarray(x)
    return ops.where(x >= 6, 6, ops.where(x <= 0, 0, x))


def leaky_relu(x: ArrayLike, negative_slope: float = 0.2) -> Array:
    """Compute ``x`` where positive, else ``negative_slope * x``; its slope at 0 is 1.

    Args:
        x: The input.
        negative_slope: 0.2 as in Keras; JAX and PyTorch have 0.01.

    Example:
        >>> [round(y, 3) for y in leaky_relu([-1.0, 2.0]).tolist()]
        [-0.2, 2.0]
    """
    x = ops.asarray(x)
    return ops.where(x >= 0, x, x * negative_slope)


def elu(x: ArrayLike, alpha: float = 1.0) -> Array:
    """Compute ``x`` where positive, else ``alpha * (exp(x) - 1)``.

    Args:
        x: The input.
        alpha: Minus the value far on the left.

    Example:
        >>> [round(y, 4) for y in elu([-1.0, 2.0]).tolist()]
        [-0.6321, 2.0]

    Source: Clevert et al., arXiv 1511.07289.
    """
    x = ops.asarray(x)
    positive = x > 0
    return ops.where(positive, x, alpha * ops.expm1(ops.where(positive, 0, x)))  # no overflow in the branch not taken


def selu(x: ArrayLike) -> Array:
    """Compute ``elu`` scaled so that layers keep mean 0 and variance 1.

    Example:
        >>> [round(y, 4) for y in selu([-1.0, 2.0]).tolist()]
        [-1.1113, 2.1014]

    Source: Klambauer et al., arXiv 1706.02515.
    """
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


def gelu(x: ArrayLike, approximate: bool = False) -> Array:
    r"""Compute ``x`` times the normal distribution function at ``x``.

    .. math:: x \Phi(x) = \frac{x}{2}\Bigl(1 + \operatorname{erf}\frac{x}{\sqrt 2}\Bigr)

    Args:
        x: The input.
        approximate: True for the tanh approximation, the default of JAX; Keras, PyTorch and this are exact unless told.

    Example:
        >>> round(float(gelu(1.0)), 4), round(float(gelu(1.0, approximate=True)), 4)
        (0.8413, 0.8412)

    Source: Hendrycks and Gimpel, arXiv 1606.08415.
    """
    x = ops.asarray(x)
    if approximate:
        near = ops.clip(x, -10, 10)  # beyond it tanh is 1 in every dtype, and the cube would overflow
        return 0.5 * x * (1 + ops.tanh(math.sqrt(2 / math.pi) * (near + 0.044715 * near * near * near)))
    return 0.5 * x * (1 + ops.erf(x * math.sqrt(0.5)))


def silu(x: ArrayLike) -> Array:
    """Compute ``x * sigmoid(x)``, also called swish.

    Example:
        >>> round(float(silu(1.0)), 4)
        0.7311

    Source: Elfwing et al., arXiv 1702.03118.
    """
    x = ops.asarray(x)
    return x * ops.sigmoid(x)


swish = silu


def mish(x: ArrayLike) -> Array:
    """Compute ``x * tanh(softplus(x))``.

    Example:
        >>> round(float(mish(1.0)), 4)
        0.8651

    Source: Misra, arXiv 1908.08681.
    """
    x = ops.asarray(x)
    return x * ops.tanh(ops.softplus(x))


def sigmoid(x: ArrayLike) -> Array:
    """Compute ``1 / (1 + exp(-x))``.

    Example:
        >>> float(sigmoid(0.0))
        0.5
    """
    return ops.sigmoid(x)


def hard_sigmoid(x: ArrayLike) -> Array:
    """Compute ``x / 6 + 1/2`` limited to [0, 1], as in Keras 3, JAX and PyTorch (tf_keras has ``0.2 x + 1/2``).

    Example:
        >>> [round(y, 4) for y in hard_sigmoid([-4.0, 1.0]).tolist()]
        [0.0, 0.6667]
    """
    return relu6(ops.asarray(x) + 3.0) / 6.0


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
    x = ops.asarray(x)
    return x / (1 + ops.abs(x))


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
        axis: The axes over which the sum is 1.

    Example:
        >>> softmax([0.0, 0.0]).tolist()
        [0.5, 0.5]
    """
    return ops.softmax(x, axis=axis)


def log_softmax(x: ArrayLike, axis: int | Sequence[int] = -1) -> Array:
    """Compute ``log(softmax(x))`` without overflow.

    Args:
        x: The input.
        axis: The axes over which the exponentials sum to 1.

    Example:
        >>> log_softmax([0.0, -1000.0]).tolist()
        [0.0, -1000.0]
    """
    return ops.log_softmax(x, axis=axis)


_FUNCTIONS: tuple[Callable[..., Array], ...] = (
    linear, relu, relu6, leaky_relu, elu, selu, gelu, silu, mish, sigmoid, hard_sigmoid, log_sigmoid, tanh, softplus,
    softsign, exponential, softmax, log_softmax,
)  # fmt: skip
_NAMES: dict[str, Activation] = {**{f.__name__: f for f in _FUNCTIONS}, "swish": silu}


@door
def get(activation: ActivationLike) -> Activation:
    """Return an activation from its name or a function; `linear` for None.

    Raises:
        ArgumentError: there is none of that name.

    Example:
        >>> get("relu") is relu, get(None) is linear
        (True, True)
    """
    if activation is None:
        return linear
    if callable(activation) and not isinstance(activation, type):
        return activation
    if not isinstance(activation, str) or activation not in _NAMES:
        raise unknown("activation", activation, sorted(_NAMES))
    return _NAMES[activation]


if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("activations")


def __dir__() -> list[str]:
    return sorted(__all__)
