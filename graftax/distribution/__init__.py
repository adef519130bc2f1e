"""One program on many devices and in many processes: where weights lie, which process this is.

Example:
    >>> import graftax as gx
    >>> gx.distribution.initialize()  # alone: does nothing
    >>> gx.distribution.is_main()
    True
"""

from graftax.distribution.processes import barrier as barrier
from graftax.distribution.processes import initialize as initialize
from graftax.distribution.processes import is_main as is_main
from graftax.distribution.processes import preempted as preempted
from graftax.distribution.processes import process_count as process_count
from graftax.distribution.processes import process_index as process_index

__all__ = [
    "barrier",
    "initialize",
    "is_main",
    "preempted",
    "process_count",
    "process_index",
]


def __dir__() -> list[str]:
    return sorted(__all__)
