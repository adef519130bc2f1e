"""Saves beside the program: values of the call, one in flight, and no failure that nobody hears of."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.background import Background
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.files import FileSystem
from graftax.checkpoint.loading import load
from graftax.checkpoint.manager import CheckpointManager
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.verify import verify
from graftax.core.errors import ArgumentError, AsyncSaveFailed, UnsupportedValue


@pytest.fixture
def held(monkeypatch):
    """An event without which no save begins to write."""
    event = threading.Event()
    plain = FileSystem.free

    def free(self, path):
        assert event.wait(30)
        return plain(self, path)

    monkeypatch.setattr(FileSystem, "free", free)
    yield event
    event.set()


def test_cm13_the_values_are_those_of_the_call(tmp_path, toys, held):
    vector = gx.Variable(np.arange(5, dtype="float32"))
    small = [toys.number(i) for i in range(4)]
    state = {"order": np.arange(3), "list": [1]}

    @gx.jit
    def step():
        vector.assign(vector.value * -1)
        for v in small:
            v.assign(v.value + 10)
        return 0

    step()
    before = [vector.numpy(), *(v.numpy() for v in small)]
    meta = {"log": [1]}
    checkpoint = Checkpoint(v=vector, small=small, data=toys.Position(state))
    report = checkpoint.save(tmp_path / "c", async_=True, meta=meta)
    for _ in range(3):
        step()
    vector.assign(vector.value + 100)
    state["order"] += 5
    state["list"].append(2)
    meta["log"].append(2)
    assert not (tmp_path / "c").exists()
    held.set()
    done = checkpoint.wait()
    assert (report.arrays, report.path) == (done.arrays, done.path)
    other = toys.Position(None)
    fresh = [gx.Variable(np.zeros_like(value)) for value in before]
    found = Checkpoint(v=fresh[0], small=fresh[1:], data=other).restore(tmp_path / "c").assert_consumed()
    for v, value in zip(fresh, before, strict=True):
        np.testing.assert_array_equal(v.numpy(), value)
    assert (other.position["order"].tolist(), other.position["list"]) == ([0, 1, 2], [1])
    assert found.meta == {"log": [1]}


@pytest.mark.broad
def test_saves_beside_a_donating_step_are_of_one_moment(tmp_path):
    variables = [gx.Variable(np.zeros(n, "float32")) for n in (70_000, 5, 20_000)]

    @gx.jit
    def step():
        for v in variables:
            v.assign(v.value + 1)
        return 0

    manager = CheckpointManager(tmp_path, keep=3, variables=variables)
    for i in range(40):
        step()
        manager.save(i, async_=True)
        step()
    manager.wait()
    for record in manager.all():
        with Reader(record.path) as reader:
            values = {float(n) for array in load(reader, range(3)).values() for n in np.unique(array)}
        assert values == {2 * record.step + 1}


def test_one_is_in_flight(tmp_path, toys, held):
    checkpoint = Checkpoint(v=toys.number(1))
    checkpoint.save(tmp_path / "a", async_=True)
    assert checkpoint._background.is_busy
    threading.Timer(0.2, held.set).start()
    checkpoint.save(tmp_path / "b", async_=True)
    assert os.listdir(tmp_path).count("a") == 1
    assert checkpoint.wait().path.endswith("b")
    assert checkpoint.wait() is not None
    assert Checkpoint(v=toys.number(1)).wait() is None


def test_a_failure_is_raised_at_the_next_use_and_once(tmp_path, toys):
    checkpoint = Checkpoint(v=toys.number(1))
    checkpoint.save(tmp_path / "c")
    for use in (lambda: checkpoint.save(tmp_path / "d"), checkpoint.wait):
        checkpoint.save(tmp_path / "c", async_=True)
        with pytest.raises(AsyncSaveFailed, match="DestinationExists") as caught:
            use()
        assert "DestinationExists" in type(caught.value.__cause__).__name__
        assert checkpoint.wait() is None
    assert not (tmp_path / "d").exists()
    checkpoint.save(tmp_path / "d")


def test_a_failure_of_a_manager_is_raised_at_its_next_use(tmp_path, toys, monkeypatch):
    manager = CheckpointManager(tmp_path, keep=1, v=toys.number(1))
    manager.save(1)
    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "free", lambda self, path: 0)
        manager.save(2, async_=True)
        manager._background._thread.join()
    with pytest.raises(AsyncSaveFailed, match="step-2"):
        manager.save(3)
    manager.save(3)
    assert os.listdir(tmp_path) == ["step-3"]


def test_what_can_be_told_at_the_call_is_told_there(tmp_path, toys):
    checkpoint = Checkpoint(v=toys.number(1), data=toys.Position({"f": print}))
    with pytest.raises(UnsupportedValue):
        checkpoint.save(tmp_path / "c", async_=True)
    with pytest.raises(ArgumentError):
        Checkpoint(v=toys.number(1)).save(tmp_path / "c", async_=True, step=-1)
    assert checkpoint.wait() is None


def test_work_that_is_interrupted_is_told(tmp_path):
    background = Background()

    def work():
        raise KeyboardInterrupt

    background.submit("it", work)
    with pytest.raises(AsyncSaveFailed, match="KeyboardInterrupt"):
        background.wait()


PROGRAM = """
import sys
import graftax as gx
from graftax.backend import use
use("numpy")
checkpoint = gx.Checkpoint(v=gx.Variable([1.0]))
checkpoint.save(sys.argv[1], async_=True)
"""


@pytest.mark.broad
def test_at_its_end_python_waits_and_tells_failures(tmp_path):
    run = [sys.executable, "-c", PROGRAM, str(tmp_path / "c")]
    assert subprocess.run(run, capture_output=True, check=True).stderr == b""
    assert not verify(tmp_path / "c").problems
    again = subprocess.run(run, capture_output=True, check=False)
    assert b"AsyncSaveFailed" in again.stderr
    assert b"DestinationExists" in again.stderr


WITH = PROGRAM.replace("checkpoint.save", "with checkpoint:\n    checkpoint.save")


@pytest.mark.broad
def test_a_block_makes_it_an_error_with_its_exit_status(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "file").touch()
    ended = [
        subprocess.run([sys.executable, "-c", program, str(tmp_path / "c")], capture_output=True, check=False)
        for program in (PROGRAM, WITH)
    ]
    assert [one.returncode for one in ended] == [0, 1]
    assert all(b"AsyncSaveFailed" in one.stderr for one in ended)


def test_the_end_of_a_block_waits(tmp_path, toys):
    with CheckpointManager(tmp_path / "run", v=toys.number(1)) as manager:
        manager.save(1, async_=True)
    assert not manager._background.is_busy
    assert manager.latest().step == 1
    checkpoint = Checkpoint(v=toys.number(1))
    with pytest.raises(AsyncSaveFailed, match="DestinationExists"), checkpoint:
        checkpoint.save(tmp_path / "run", async_=True)

    def block():
        with checkpoint:
            checkpoint.save(tmp_path / "run", async_=True)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        block()
    assert "besides, the save of" in caught.value.__notes__[0]
    assert checkpoint.wait() is None
