"""What is told in a process that was launched as one of several, and has joined none of them."""

from __future__ import annotations

from graftax.backend import registry
from graftax.backend.rendezvous import process_group
from graftax.core import user_line

_warned_about: set[str] = set()


def warn_of_copies() -> None:
    """Warn, once, where a launcher has started several processes, and this one would not know of the others."""
    backend = registry.current()
    if process_group() is not None or not backend.has("processes"):
        return
    found = backend.processes.started()
    if found is None or found.processes is None or found.evidence in _warned_about:
        return
    _warned_about.add(found.evidence)
    user_line.warn(
        f"this is process {found.number} of {found.processes}, started by {found.launcher} ({found.evidence}), and it "
        "has not joined the others: it runs the whole program by itself, on devices of its own. To train together: "
        "graftax.distribution.initialize() before any array. Where each is to run by itself: "
        f"graftax.distribution.mesh(devices={found.own_devices})"
    )
