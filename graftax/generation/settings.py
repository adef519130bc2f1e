"""What a run of generation goes by, whichever way the next token is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graftax.core.typedefs import Array

Adjust = Callable[[Array, Array, Array], Array]
"""Takes logits ``(rows, vocabulary)``, all tokens so far ``(rows, length)`` and which of them count; gives logits."""


@dataclass(frozen=True, eq=False)
class Settings:
    """The arguments of a `Generator`, checked."""

    step: Callable[..., Any]
    max_new_tokens: int
    stop_tokens: tuple[int, ...]
    pad_token: int
    min_new_tokens: int
    adjust: Adjust | None
    with_positions: bool
