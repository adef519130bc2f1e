"""No collection while records are made, and the collector as it was afterwards, whatever happens."""

import gc
from threading import Barrier, Thread

import pytest

from graftax.checkpoint import uncollected as module
from graftax.checkpoint.uncollected import uncollected
from tests.interrupts import interrupts


@pytest.fixture(autouse=True)
def collector():
    before = gc.isenabled()
    gc.enable()
    yield
    module._inside.clear()
    (gc.enable if before else gc.disable)()


def run():
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()


def test_it_is_off_inside_and_on_again_outside():
    run()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="inside"), uncollected():
        raise ValueError("inside")
    assert gc.isenabled()


def test_who_has_switched_it_off_keeps_it_off():
    gc.disable()
    run()
    assert not gc.isenabled()


def test_threads_that_overlap():
    meet = Barrier(2)

    def first():
        with uncollected():
            meet.wait()  # the second is inside, too
            meet.wait()
        meet.wait()

    found = []
    thread = Thread(target=first)
    thread.start()
    with uncollected():
        meet.wait()
        meet.wait()
        meet.wait()  # the first is outside
        found.append(gc.isenabled())
    thread.join()
    assert found == [False]
    assert gc.isenabled()


def test_ctrl_c_anywhere_neither_hangs_the_next_nor_leaves_it_off():
    number = 0
    for number in interrupts(run, module.__file__):
        assert gc.isenabled(), number
        run()
        assert gc.isenabled(), number
    assert number > 8
