"""Creating tens of thousands of records without runs of the garbage collector.

It would repeatedly traverse all records and the whole program, although nothing there can be garbage.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_inside = 0
_was_on = False


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection inside of the block, which several threads may enter."""
    global _inside, _was_on
    with _lock:
        if _inside == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_on:
                gc.enable()
