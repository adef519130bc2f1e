"""The user's line: found under libraries, in threads, from files that are gone, and not where there is none."""

import os
import sys
import threading

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core import user_line
from graftax.core.errors import ShapeError

HERE = os.path.relpath(__file__)


def wrong():
    return ops.matmul(np.ones((2, 3)), np.ones((2, 3)))  # the line


LINE = wrong.__code__.co_firstlineno + 1


@pytest.mark.parametrize("around", [lambda f: f(), lambda f: gx.jit(f)(), lambda f: gx.functional_call(Calls(f), {})])
def test_it_is_the_innermost_one_outside_of_the_library(around):
    with pytest.raises(ShapeError) as caught:
        around(wrong)
    assert caught.value.place == (__file__, LINE)
    shown = str(caught.value).splitlines()[1]
    assert shown.endswith(
        f"{os.path.basename(__file__)}:{LINE}: return ops.matmul(np.ones((2, 3)), np.ones((2, 3))) # the line"
    )


class Calls(gx.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def __call__(self):
        return self.fn()


def test_an_error_that_the_user_makes_has_none():
    assert ShapeError("mine").place is None


def test_a_thread_of_the_library_has_none():
    found = []
    thread = threading.Thread(target=lambda: found.append(user_line.of_stack(sys._getframe(1))))
    thread.start()
    thread.join()
    assert found == [None]  # all there is, is the standard library


def test_files_below_the_working_directory_are_named_from_there(tmp_path, monkeypatch):
    file = tmp_path / "train.py"
    file.write_text("first\n  second  =  2\n" + "x" * 200 + "\n")
    monkeypatch.chdir(tmp_path)
    assert user_line.show_place((str(file), 2)) == "train.py:2: second = 2"
    assert len(user_line.show_place((str(file), 3))) <= 140
    assert user_line.show_place((str(tmp_path / "gone.py"), 3)) == "gone.py:3"
    monkeypatch.chdir("/")
    assert user_line.show_place((str(file), 2)) == f"{str(file).removeprefix('/')}:2: second = 2"


def test_a_warning_stands_at_the_line_and_once_a_line():
    def warn():
        user_line.warn("mind this")

    with pytest.warns(UserWarning, match="mind this") as caught:
        warn()
    assert [w.filename for w in caught] == [__file__]
