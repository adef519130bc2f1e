"""Calls that fail in deletions, prunes and sweeps, and devices that are really full."""

import errno
import os
import subprocess

import numpy as np
import pytest

from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.commit import commit
from graftax.checkpoint.files import FileSystem
from graftax.checkpoint.local_storage import LocalStorage
from graftax.checkpoint.manager import CheckpointManager
from graftax.checkpoint.verify import verify
from graftax.core.errors import AsyncSaveFailed, StorageFailure, StorageFull
from tests.checkpoint.attacks import FAILING, FULL
from tests.checkpoint.test_commit import Failing

ARRAYS = {"x": np.arange(100.0)}
NUMBERS = [errno.EIO, errno.EACCES, errno.ENOENT, errno.EINTR, errno.EROFS]
OTHERS = sorted(set(errno.errorcode) - set(NUMBERS))
ALL = [*NUMBERS, *(pytest.param(number, marks=pytest.mark.slow) for number in OTHERS)]


@pytest.mark.parametrize("how", ALL)
def test_the_nth_call_of_a_deletion_fails(tmp_path, toys, how, attack):
    for n in range(1, 20):
        folder = tmp_path / f"{n}"
        commit(folder / "c", toys.draft(ARRAYS))
        commit(folder / "d", toys.draft(ARRAYS))
        fs = Failing(n, how)
        try:
            LocalStorage(fs).remove(str(folder / "c"))
        except (StorageFailure, StorageFull):
            assert not (folder / "c").exists() or not verify(folder / "c").problems
        else:
            assert not (folder / "c").exists()
            if fs.fired is None:
                break
        LocalStorage().sweep(str(folder))
        assert set(os.listdir(folder)) <= {"c", "d"}
        assert not verify(folder / "d").problems
    attack(FAILING, failures=n - 1)
    assert n > 4


@pytest.mark.parametrize("how", ALL)
def test_the_nth_call_of_a_sweep_fails(tmp_path, toys, how, monkeypatch, attack):
    monkeypatch.setattr("graftax.checkpoint.local_storage.is_alive", lambda record, age: False)
    for n in range(1, 20):
        folder = tmp_path / f"{n}"
        commit(folder / "c", toys.draft(ARRAYS))
        (folder / "c").rename(folder / ".c.old-0123456789abcdef")
        (folder / ".d.tmp-0123456789abcdef").mkdir()
        (folder / ".owner-0123456789abcdef").touch()
        fs = Failing(n, how)
        LocalStorage(fs).sweep(str(folder))  # what cannot be swept is left for the next time
        LocalStorage().sweep(str(folder))
        assert os.listdir(folder) == ["c"]
        assert not verify(folder / "c").problems
        if fs.fired is None:
            break
    attack(FAILING, failures=n - 1)
    assert n > 4


@pytest.mark.broad
@pytest.mark.parametrize("beside", [False, True])
def test_the_nth_call_of_a_manager_fails(tmp_path, toys, beside, monkeypatch, attack):
    """A save and the prune after it: the newest whole one is never lost."""
    for n in range(1, 40):
        folder = tmp_path / f"{n}"
        manager = CheckpointManager(folder, keep=1, v=toys.number(n))
        manager.save(1)
        fs = Failing(n, errno.EIO)
        with monkeypatch.context() as patch:
            patch.setattr(manager._storage, "fs", fs)
            try:
                manager.save(2, async_=beside)
                manager.wait()
            except (StorageFailure, AsyncSaveFailed):
                assert manager.latest().step in (1, 2)
            else:
                assert manager.latest().step == 2
        assert not verify(manager.latest().path).problems
        assert manager.save(3).step == 3
        LocalStorage().sweep(str(folder))
        assert os.listdir(folder) == ["step-3"]
        if fs.fired is None:
            break
    attack(FAILING, failures=n - 1)
    assert n > 15


@pytest.fixture
def small_disk(tmp_path):
    """A file system of two megabytes, where one may be mounted."""
    path = tmp_path / "small"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        done = False
    if not done:
        pytest.skip("no file system may be mounted here")
    yield path
    subprocess.run(["umount", str(path)], check=True)


@pytest.mark.parametrize("knows", [True, False], ids=["asked", "not asked"])
def test_a_disk_that_is_full(small_disk, toys, knows, monkeypatch, attack):
    attack(FULL, cases=2)
    if not knows:
        monkeypatch.setattr(FileSystem, "free", lambda self, path: 1 << 40)
    commit(small_disk / "c", toys.draft(ARRAYS))
    large = toys.draft({"x": np.zeros(400_000)})
    for overwrite in (False, True):
        with pytest.raises(StorageFull, match=r"are free|No space left"):
            commit(small_disk / ("c" if overwrite else "d"), large, overwrite=overwrite)
        assert os.listdir(small_disk) == ["c"]
        assert not verify(small_disk / "c").problems
    commit(small_disk / "d", toys.draft(ARRAYS))


def test_a_folder_that_may_only_be_read(tmp_path, toys, attack):
    attack(FULL, cases=1)

    class ReadOnly(FileSystem):
        def create(self, path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    with pytest.raises(StorageFailure, match="Read-only"):
        commit(tmp_path / "a" / "c", toys.draft(ARRAYS), fs=ReadOnly())
    assert os.listdir(tmp_path) == []
    Checkpoint(v=toys.number(1)).save(tmp_path / "c")
