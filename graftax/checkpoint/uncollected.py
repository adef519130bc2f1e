"""Make tens of thousands of records without the garbage collector.

It would look through all of them again and again, and through the whole program, though nothing there can be garbage.
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
    """Inside, no collection begins; several threads may be inside."""
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
