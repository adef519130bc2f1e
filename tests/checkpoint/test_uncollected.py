"""No collection while records are made, and the collector as it was afterwards, whatever happens."""

import dis
import gc
import signal
import sys
from threading import Barrier, Thread

import pytest

from graftax.checkpoint import uncollected as module
from graftax.checkpoint.uncollected import uncollected


@pytest.fixture(autouse=True)
def collector():
    before, handler = gc.isenabled(), signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.enable()
    yield
    signal.signal(signal.SIGINT, handler)
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


def interrupted_at(number):
    """Run with a Ctrl-C at that place, of those where Python looks for one; whether there were so many."""
    count, previous = 0, {}

    def trace(frame, event, argument):
        nonlocal count
        if frame.f_code.co_filename != module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            before, previous[frame] = previous.get(frame), dis.opname[frame.f_code.co_code[frame.f_lasti]]
            count += (looks := before in ("CALL", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"))
            if looks and count == number:
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        run()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
        previous.clear()
    return False


def test_ctrl_c_anywhere_neither_hangs_the_next_nor_leaves_it_off():
    number = 1
    while interrupted_at(number):
        assert gc.isenabled(), number
        run()
        assert gc.isenabled(), number
        number += 1
    assert number > 8
