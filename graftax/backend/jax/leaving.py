"""What a process does at its end where an exception has ended its program: it does not wait for the others.

JAX lets every process wait at its end until all others end, too, for minutes. Those others may be in a step that needs
this process, and so nobody would hear of what went wrong, above all not the supervisor that starts them again.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

from graftax.backend.jax import tracing
from graftax.backend.processes import Processes
from graftax.backend.rendezvous import FAILED, named_error

_GRACE = 5.0
"""Seconds for the others to fail, too: then all end as usual, and each has the time to print its own error."""


def leave_after_error(processes: Processes) -> None:
    """Leave the others at once if an exception that nobody caught ends this process; called at exit."""
    error = getattr(sys, "last_value", None)
    if error is None or hasattr(sys, "ps1") or tracing.coordination() is None:  # one in a notebook ended nothing
        return
    with suppress(ConnectionError):
        processes.put(f"{FAILED}/{processes.index()}", named_error(error).encode())
    try:
        processes.barrier("graftax/all failed", _GRACE)
    except (TimeoutError, ConnectionError):
        for one in tracing.abandon():
            # whoever speaks with the service, or is it, waits for the others when it is destroyed: it never is
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
