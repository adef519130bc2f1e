"""CheckpointManager: numbers, keeps, rates, prunes, finds; the cases CM1 to CM13."""

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.manager import CheckpointManager
from graftax.checkpoint.names import GRAPH
from graftax.checkpoint.preemption import Preemption
from graftax.checkpoint.retention import Record, Retention
from graftax.checkpoint.verify import verify
from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError, StorageFull


def steps(manager):
    return [record.step for record in manager.all()]


@pytest.fixture(params=["disk", "memory"])
def folder(request, tmp_path):
    """A folder for a manager on each kind of storage."""
    if request.param == "disk":
        return str(tmp_path / "run")
    pytest.importorskip("fsspec")
    return f"memory://manager-{request.node.name}"


def test_cm1_the_newest_stay_and_the_oldest_come_first(folder, toys):
    v = toys.number(0)
    manager = CheckpointManager(folder, keep=2, v=v)
    for i in range(1, 5):
        v.assign(np.float32(i))
        record = manager.save()
        assert (record.step, record.path) == (i - 1, manager.latest().path)
    assert steps(manager) == [2, 3]
    v.assign(np.float32(9))
    assert manager.restore_latest().assert_consumed().step == 3
    assert float(v.numpy()) == 4


def test_cm2_cm12_reopened_and_moved(tmp_path, toys):
    manager = CheckpointManager(tmp_path / "a", keep=3, v=toys.number(1))
    for step in (5, 10, 15, 20):
        manager.save(step, metrics={"loss": 1 / step})
    (tmp_path / "a").rename(tmp_path / "b")
    again = CheckpointManager(tmp_path / "b", keep=3, v=toys.number(1))
    assert steps(again) == [10, 15, 20]
    assert again.latest() == Record(20, str(tmp_path / "b" / "step-20"), {"loss": 0.05})


def test_cm3_numbering_goes_on_and_never_back(tmp_path, toys):
    CheckpointManager(tmp_path, v=toys.number(1)).save(7)
    manager = CheckpointManager(tmp_path, keep=2, v=toys.number(2))
    assert manager.save().step == 8
    for step in (8, 7, 3):
        with pytest.raises(ArgumentError, match=f"rewind\\({step - 1}\\)"):
            CheckpointManager(tmp_path, v=toys.number(3)).save(step)
    assert steps(manager) == [7, 8]
    assert [record.step for record in manager.rewind(7)] == [8]
    assert manager.save(8).step == 8


def test_cm6_cm7_the_same_step_again_is_nothing(tmp_path, toys):
    manager = CheckpointManager(tmp_path, v=toys.number(1))
    assert manager.save(3).step == 3
    assert manager.save(3) is None
    assert manager.save(99).step == 99  # CM7


def test_cm8_restore_or_initialize(tmp_path, toys):
    v = toys.number(1)
    called = []
    manager = CheckpointManager(tmp_path, v=v)
    assert manager.restore_or_initialize(lambda: called.append(1)).path is None
    manager.save()
    v.assign(np.float32(5))
    assert manager.restore_or_initialize(lambda: called.append(2)).path == str(tmp_path / "step-0")
    assert (called, float(v.numpy())) == ([1], 1)


@pytest.mark.parametrize("name", ["keep", "keep_best", "keep_every"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_cm9_numbers_that_mean_nothing(tmp_path, toys, name, value):
    given = {"keep": 1, "monitor": "loss", name: value}
    with pytest.raises(ArgumentError, match=f"{name}="):
        CheckpointManager(tmp_path, v=toys.number(1), **given)


def test_arguments_given_in_vain(tmp_path, toys):
    for given, match in (
        ({"keep_best": 1, "keep": 1}, "monitor="),
        ({"keep_every": 10}, "without keep="),
        ({"goal": "least"}, "goal='least'"),
    ):
        with pytest.raises(ArgumentError, match=match):
            CheckpointManager(tmp_path, v=toys.number(1), **given)
    with pytest.raises(ArgumentTypeError):
        CheckpointManager(tmp_path, v=3)


def test_a_manager_without_roots_looks_and_neither_saves_nor_restores(tmp_path, toys):
    CheckpointManager(tmp_path, v=toys.number(1)).save(7)
    manager = CheckpointManager(tmp_path)
    assert manager.latest().step == 7
    assert "CheckpointManager(" in repr(manager)
    for act in (lambda: manager.save(8), manager.restore_latest):
        with pytest.raises(StateError, match="without roots"):
            act()
    manager.hold(v=toys.number(2))
    assert manager.save(8).step == 8


def test_a_save_between_two_validations_does_not_compete(tmp_path, toys):
    manager = CheckpointManager(tmp_path, keep=3, keep_best=1, monitor="loss", v=toys.number(1))
    manager.save(1, metrics={"loss": 0.5})
    manager.save(2, competes=False)
    assert manager.best().step == 1
    with pytest.raises(ArgumentError, match="competes=False"):
        manager.save(3)


def test_cm10_steps_that_stay(tmp_path, toys):
    manager = CheckpointManager(tmp_path, keep=2, keep_every=10, v=toys.number(1))
    for step in range(0, 35, 5):
        manager.save(step)
    assert steps(manager) == [0, 10, 20, 25, 30]


def test_cm11_nothing_is_there(folder, toys):
    manager = CheckpointManager(folder, keep=1, monitor="loss", v=toys.number(1))
    assert (manager.latest(), manager.best(), manager.all()) == (None, None, [])
    assert manager.restore_latest().path is None
    with pytest.raises(StateError, match="monitor="):
        CheckpointManager(folder, v=toys.number(1)).best()


@pytest.mark.parametrize(("goal", "best", "left"), [("min", 20, [20, 40, 50]), ("max", 10, [10, 30, 50])])
def test_the_best_stay(folder, toys, goal, best, left):
    manager = CheckpointManager(folder, keep=1, keep_best=2, monitor="loss", goal=goal, v=toys.number(1))
    for step, loss in ((10, 0.9), (20, 0.1), (30, 0.8), (40, 0.2)):
        manager.save(step, metrics={"loss": np.float32(loss), "other": 1})
    with pytest.warns(UserWarning, match=r"metrics\['loss'\] .* is NaN: .* never one of the best"):
        manager.save(50, metrics={"loss": np.float32("nan"), "other": 1})
    assert steps(manager) == left
    assert manager.best().step == best
    with pytest.raises(ArgumentError, match="monitor='loss'"):
        manager.save(60, metrics={"other": 1})
    with pytest.raises(ArgumentError, match="a metric is a number"):
        manager.save(60, metrics={"loss": "low"})


def test_a_metric_that_is_nan_is_told_and_never_the_best(folder, toys):
    manager = CheckpointManager(folder, monitor="loss", v=toys.number(1))
    with pytest.raises(UserWarning, match="competes=False"):
        manager.save(1, metrics={"loss": float("nan")})
    assert manager.all() == [], "as an error, it comes before anything is saved"
    manager.save(1, metrics={"loss": float("nan")}, competes=False)
    manager.save(2, metrics={"loss": 1.0, "other": float("nan")})
    assert (manager.best().step, manager.latest().step) == (2, 2)


def test_of_equal_ones_the_later_is_better():
    records = [Record(step, f"step-{step}", {"a": 1.0}) for step in (1, 2, 3)]
    assert [r.step for r in Retention(keep=1, keep_best=1, monitor="a").best(records)] == [3, 2, 1]


def test_who_is_referred_to_stays_as_long_as_that(tmp_path, toys):
    frozen = [gx.Variable(np.full(100, i, "float32")) for i in range(3)]
    v = toys.number(1)
    manager = CheckpointManager(tmp_path, keep=2, v=v, frozen=frozen)
    manager.save(1)
    for step in (2, 3, 4, 5):
        v.assign(np.float32(step))
        manager.save(step, base=tmp_path / "step-1")
    assert steps(manager) == [1, 4, 5]
    manager.save(6)
    manager.save(7)
    assert steps(manager) == [6, 7]
    for record in manager.all():
        assert not verify(record.path).problems


def test_who_refers_is_deleted_before_what_it_refers_to():
    records = [Record(step, f"step-{step}", {}) for step in (1, 2, 3, 4)]
    targets = {"step-2": ("step-1", "step-3"), "step-3": ("step-1",)}
    assert [r.step for r in Retention(keep=1).to_delete(records, targets)] == [2, 3, 1]


def test_a_failed_save_deletes_nothing(tmp_path, toys, monkeypatch):
    manager = CheckpointManager(tmp_path, keep=1, v=toys.number(1))
    manager.save(1)
    with monkeypatch.context() as patch:
        patch.setattr("graftax.checkpoint.files.FileSystem.free", lambda self, path: 0)
        with pytest.raises(StorageFull):
            manager.save(2)
    assert os.listdir(tmp_path) == ["step-1"]
    assert manager.save(2).step == 2
    assert os.listdir(tmp_path) == ["step-2"]


def test_a_damaged_one_is_passed_over_and_told(tmp_path, toys):
    manager = CheckpointManager(tmp_path, v=toys.number(1))
    manager.save(1)
    manager.save(2)
    (tmp_path / "step-2" / GRAPH).write_bytes(b"not any more")
    (tmp_path / "step-9").mkdir()
    (tmp_path / "step-09").mkdir()
    (tmp_path / "notes").mkdir()
    with pytest.warns(UserWarning, match="step-2 is passed over"):
        assert manager.latest().step == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert steps(manager) == [1]
        assert manager.save().step == 10


def test_what_dead_processes_left_is_swept(tmp_path, toys):
    code = "from graftax.checkpoint.owner import own_record; print(own_record().decode())"
    dead = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    (tmp_path / ".step-4.tmp-0123456789abcdef").mkdir()
    (tmp_path / ".owner-0123456789abcdef").write_bytes(dead)
    (tmp_path / ".trash-0123456789abcdee").mkdir()
    CheckpointManager(tmp_path, v=toys.number(1))
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_is_no_folder_of_them(tmp_path, toys):
    CheckpointManager(tmp_path, v=toys.number(1)).save(1)
    with pytest.raises(ArgumentError, match="is a checkpoint"):
        CheckpointManager(tmp_path / "step-1", v=toys.number(1))


def test_sigterm_is_noted_and_a_second_one_ends_the_program(tmp_path, toys):
    manager = CheckpointManager(tmp_path, v=toys.number(1))
    before = signal.signal(signal.SIGTERM, lambda *args: heard.append(1))
    heard = []
    try:
        with manager.on_preemption() as preemption:
            assert not preemption.came
            signal.raise_signal(signal.SIGTERM)
            assert preemption.came
            assert heard == []
            manager.save(1)
            signal.raise_signal(signal.SIGTERM)
            assert heard == [1]
        with manager.on_preemption():
            pass
        signal.raise_signal(signal.SIGTERM)
        assert heard == [1, 1]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signals_are_heard_in_the_main_thread(tmp_path, toys):
    raised = []

    def work():
        try:
            Preemption().__enter__()
        except StateError as error:
            raised.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "main thread" in raised[0]
