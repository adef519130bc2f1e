"""The rows of the matrix: reparametrisations, and pairs of them, with what is particular about each."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graftax import reparam


def as_it_is(value: np.ndarray) -> np.ndarray:
    return value


def orthonormal(value: np.ndarray) -> np.ndarray:
    u, _, v = np.linalg.svd(value.reshape(-1, value.shape[-1]), full_matrices=False)
    return (u @ v).reshape(value.shape)


def of_norm_1(value: np.ndarray) -> np.ndarray:
    return value / np.linalg.norm(value.reshape(-1, value.shape[-1]), 2)


class Row(NamedTuple):
    creator: Any
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


def over(outer: Any, inner: Any) -> Any:
    """A creator whose parts come from another one."""

    def creator(next_creator, spec):
        return outer(lambda part: inner(next_creator, part) if part.role == "weight" else next_creator(part), spec)

    return creator


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
