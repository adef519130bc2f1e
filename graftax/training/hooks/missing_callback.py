"""A callback of the run that is resumed, which had a state and is not among the callbacks now."""

from __future__ import annotations

from typing import Any

from graftax.core import user_line
from graftax.core.errors import StateError


def tell_missing(name: str, state: Any, is_plain: bool) -> None:
    """Warn, or raise, for the state of a callback that does not exist any more."""
    if is_plain:
        user_line.warn(
            f"the run that is resumed had a callback {name}, which is not among the callbacks now: what it "
            f"remembered is left out: {', '.join([*state['attributes'], *state['lost']])}. "
            f"Instead: callbacks=[..., {name}(...)], if it is to go on"
        )
        return
    raise StateError(
        f"the run that is resumed had a callback {name}, which remembered something",
        "it is not among the callbacks now, so its state would be lost",
        f"callbacks=[..., {name}(...)]; or restore model and optimizer alone, and begin another run: "
        "graftax.Checkpoint(model=model, optimizer=model.optimizer).restore(path)",
    )
