"""Make tens of thousands of records without the garbage collector.

It would look through all of them again and again, and through the whole program, though nothing there can be garbage.
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
    """Inside, no collection begins; several threads may be inside."""
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
