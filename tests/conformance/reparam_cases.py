"""The rows of the matrix: reparametrisations, and pairs of them, with what is particular about each."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graftax import layers, reparam


def as_it_is(value: np.ndarray) -> np.ndarray:
    return value


def orthonormal(value: np.ndarray) -> np.ndarray:
    u, _, v = np.linalg.svd(value.reshape(-1, value.shape[-1]), full_matrices=False)
    return (u @ v).reshape(value.shape)


def of_norm_1(value: np.ndarray) -> np.ndarray:
    return value / np.linalg.norm(value.reshape(-1, value.shape[-1]), 2)


def on_grid(most: int, per_channel: bool = True) -> Callable[[np.ndarray], np.ndarray]:
    """Rounded to so many numbers on each side of 0."""

    def rounded(value: np.ndarray) -> np.ndarray:
        scale = np.abs(value).max(tuple(range(value.ndim - 1)) if per_channel else None) / most
        return np.round(value / scale) * scale

    return rounded


class Row(NamedTuple):
    creator: Any
    """Makes the expression; or a function that makes the creator anew, as says ``afresh``."""
    takes: Callable[[tuple[int, ...]], bool] = lambda shape: len(shape) >= 2
    """Which shapes it puts its expression behind; it passes others, and says so where there are only those."""
    value: Callable[[np.ndarray], np.ndarray] = as_it_is
    """The nearest value that it can give."""
    tolerance: float = 2e-4
    """How far that value may be from what it gives, relative to its norm."""
    moves: str | None = None
    """What the forward in training moves (a regex of its path): `graftax.vectorized_map` refuses that."""
    smooth: bool = True
    """False where gradients are, on purpose, not those of the value (straight-through)."""
    draws: bool = False
    """Whether it draws in training, where alone some of its leaves count."""
    afresh: bool = False
    refuses: str | None = None
    """Why it cannot be grafted onto a weight of another origin (a regex of the message)."""
    inverse: bool = True
    """Whether it can be assigned a value."""


def over(outer: Any, inner: Any) -> Any:
    """A creator whose parts come from another one."""

    def creator(next_creator, spec):
        return outer(lambda part: inner(next_creator, part) if part.role == "weight" else next_creator(part), spec)

    return creator


def tied(next_creator, spec):
    """Behind each matrix the transposed one, which somebody else could hold."""
    if len(spec.shape) != 2:
        return next_creator(spec)
    other = spec.replace(name="source", shape=spec.shape[::-1])
    return R.Shared(next_creator(other), transpose=True)(next_creator, spec)


def matrices(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2


def any_shape(shape: tuple[int, ...]) -> bool:
    return True


R = reparam
ROWS = {
    "low_rank": Row(R.LowRank(64), matrices),
    "lora": Row(R.LoRA(2, alpha=4)),
    "dora": Row(R.DoRA(2)),
    "weight_norm": Row(R.WeightNorm()),
    "spectral_norm": Row(R.SpectralNorm(), value=of_norm_1, moves="(left|right)"),
    "orthogonal_cayley": Row(R.Orthogonal(), value=orthonormal),
    "orthogonal_exp": Row(R.Orthogonal("matrix_exp"), value=orthonormal),
    "positive": Row(R.Positive(), any_shape, np.abs),
    "positive_exp": Row(R.Positive("exp"), any_shape, np.abs),
    "mask": Row(R.Mask()),
    "fake_quant": Row(R.FakeQuant(), value=on_grid(127, False), smooth=False),
    "int8": Row(R.Int8(), value=on_grid(127)),
    "int4": Row(R.Int4(), value=on_grid(7)),
    "shared": Row(tied, matrices),
    "variational_normal": Row(R.VariationalNormal(), any_shape, draws=True),
    "hyper_network": Row(
        lambda: R.HyperNetwork(layers.Dense(8, "tanh"), 3), afresh=True, inverse=False, refuses="defines no inverse"
    ),
}
PAIRS = {
    "lora_over_mask": Row(over(R.LoRA(2), R.Mask())),
    "weight_norm_over_mask": Row(over(R.WeightNorm(), R.Mask())),
    "weight_norm_over_low_rank": Row(over(R.WeightNorm(), R.LowRank(64))),
    "spectral_norm_over_weight_norm": Row(
        over(R.SpectralNorm(), R.WeightNorm()), value=of_norm_1, moves="(left|right)"
    ),
    "positive_over_weight_norm": Row(over(R.Positive(), R.WeightNorm()), any_shape, np.abs),
    "mask_over_orthogonal": Row(over(R.Mask(), R.Orthogonal()), value=orthonormal),
}
