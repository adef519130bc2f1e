"""Creating tens of thousands of records without runs of the garbage collector.

It would repeatedly traverse all records and the whole program, although nothing there can be garbage.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet


class _Token:
    """Somebody is inside, as long as it lives."""

    __slots__ = ("__weakref__",)


# No lock: a Ctrl-C could come while it is held, and then nobody would ever get it again. Nor a number of who is inside:
# a Ctrl-C on the way out could leave it wrong, where a token is gone all the same.
_inside: WeakSet[_Token] = WeakSet()
_switched_off = False


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection inside of the block, which several threads may enter."""
    global _switched_off
    token = _Token()
    try:
        _inside.add(token)
        if gc.isenabled():
            _switched_off = True
            gc.disable()
        yield
    finally:
        try:
            _inside.discard(token)
        finally:  # also when a Ctrl-C comes right here
            if not _inside and _switched_off:
                _switched_off = False  # first: who comes in now finds it off or on, and is right with both
                gc.enable()
