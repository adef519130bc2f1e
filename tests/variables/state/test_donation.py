"""Who moves buffers has them for himself, and lets go of them whatever happens."""

from threading import Thread

import graftax as gx
from graftax.variables.state import donation
from tests.interrupts import interrupts


def is_free():
    """Whether another thread can have the lock."""
    found = []

    def ask():
        found.append(donation.lock.acquire(blocking=False))
        if found[0]:
            donation.lock.release()

    thread = Thread(target=ask)
    thread.start()
    thread.join()
    return found[0]


def test_ctrl_c_anywhere_leaves_the_lock_to_others():
    cells = [gx.Variable([float(i)])._storage for i in range(3)]

    def run():
        with donation.at_rest(cells):
            assert not is_free()

    number = 0
    for number in interrupts(run, donation.__file__):
        assert is_free(), number
        assert donation._waiting == []
    assert number > 8
