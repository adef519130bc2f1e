"""What is told of a callback that can do nothing in the run that it was given to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.core import user_line


def warn_of_idle(callback: str, reason: str, instead: str) -> None:
    """Warn of a callback that will do nothing, or has done nothing.

    Args:
        callback: The call that made it, as far as it matters.
        reason: Why it does nothing.
        instead: What to write.
    """
    user_line.warn(f"{callback} does nothing in this run: {reason}. Instead: {instead}")


def epochs_to_run(params: Mapping[str, Any]) -> int | None:
    """Return the epoch to stop before; None where that is not known, as in a session, or where none is run.

    Args:
        params: The ``params`` of a callback.
    """
    epochs, run = params.get("epochs"), params.get("run")
    return None if epochs is None or run is None or run.epoch >= epochs else int(epochs)
