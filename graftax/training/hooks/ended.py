"""When steps ended: a step that was dispatched has not been computed yet."""

from __future__ import annotations

import time
from collections.abc import Mapping

STEPS_ENDED = "when the steps of the epoch ended"
"""The time among the ``params`` of callbacks, by ``time.perf_counter``; validation and callbacks come after it."""


def end_of(logs: Mapping[str, float] | None) -> float:
    """Return the time, by ``time.perf_counter``, after the step with these logs has been computed.

    Example:
        >>> end_of({"loss": 0.5}) > 0
        True
    """
    dict(logs or {})  # reading waits
    return time.perf_counter()
