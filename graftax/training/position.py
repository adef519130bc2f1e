"""Position: where a run is; a new one takes its place in a single assignment, so that no exception comes in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from graftax.training.retreat import Retreat


class Position(NamedTuple):
    """Where a run is, and what it is saved as.

    Args:
        epoch: The number of the epoch, counted from 0.
        done: The finished steps of the epoch.
        step: The finished steps, including those of earlier runs.
        has_begun: Whether `on_epoch_begin` of the callbacks was called.
        logs: What the last step of the epoch gave.
        retreat: What there was before the present beginning or end of an epoch, or step, which a resumed run repeats.
        is_between: Whether that is what one step of a loop left, before what the loop does for the next one.
        validation: Where the data of the validation were before the present end of an epoch.
        commit: The mark of the last run of a compiled step that is counted; see `CompiledFunction.commits`.

    Example:
        >>> Position(epoch=1).advance(2, {"loss": 0.5}, None)[:3]
        (1, 2, 2)
    """

    epoch: int = 0
    done: int = 0
    step: int = 0
    has_begun: bool = False
    logs: Mapping[str, Any] | None = None
    retreat: Retreat | None = None
    validation: dict[str, Any] | None = None
    commit: object = None
    is_between: bool = False

    def advance(self, steps: int, logs: Mapping[str, Any], commit: object) -> Position:
        """Return the position after some more steps."""
        return Position(self.epoch, self.done + steps, self.step + steps, self.has_begun, logs, commit=commit)
