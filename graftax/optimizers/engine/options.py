"""The options that every optimizer takes, as types for signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from graftax.optimizers.engine.loss_scale import LossScaleLike
from graftax.optimizers.engine.settings import RuleLike


class SharedOptions(TypedDict, total=False):
    """The options of every optimizer, except the decay that `AdamW` has as an argument of its own."""

    l2: float
    clipvalue: float | None
    clipnorm: float | None
    global_clipnorm: float | None
    adaptive_clip: float | None
    accumulation_steps: int
    ema_momentum: float | None
    loss_scale: LossScaleLike
    lazy: bool
    rules: Sequence[RuleLike]
    slot_dtype: str | None
    name: str | None


class Options(SharedOptions, total=False):
    """The options of every optimizer; see `Optimizer`."""

    weight_decay: float
