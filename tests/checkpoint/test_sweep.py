"""What killed saves leave behind: told from the living, swept, and good copies found again."""

import json
import os
import stat
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

from graftax.checkpoint.commit import commit
from graftax.checkpoint.delete import delete
from graftax.checkpoint.files import FileSystem
from graftax.checkpoint.folder import entries
from graftax.checkpoint.local_storage import LocalStorage
from graftax.checkpoint.owner import is_alive, own_record
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.verify import verify
from graftax.core.errors import CheckpointInUse, DestinationExists, NotACheckpoint

NONCE = "0123456789abcdef"
OLD, NEW = {"x": np.arange(3.0)}, {"x": np.arange(4.0)}


class Killed(BaseException):
    """Stands for kill -9: nothing is cleaned up."""


class Dying(FileSystem):
    """The process dies in the n-th call."""

    def __init__(self, n, exchanges=True):
        self.left = n
        self.exchanges = exchanges
        self.dead = False

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        if name not in ("mkdir", "create", "pwritev", "fsync", "close", "fsync_dir", "rename", "exchange", "unlink",
                        "rmdir", "hide", "reveal"):  # fmt: skip
            return found

        def call(*args):
            if not self.dead:
                self.left -= 1
                self.dead = self.left == 0
            if self.dead:
                if name == "close":
                    found(*args)
                raise Killed
            if name == "exchange" and not self.exchanges:
                return False
            return found(*args)

        return call


def dead_record():
    """The record of a process that has ended."""
    code = "from graftax.checkpoint.owner import own_record; print(own_record().decode())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip()


DEAD = dead_record()


def bury(folder):
    """Let all records be those of a process that has ended."""
    for path in folder.glob(".owner-*"):
        path.write_bytes(DEAD)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("overwrite", [True, False])
def test_wherever_a_save_dies_the_sweep_leaves_whole_checkpoints(tmp_path, toys, overwrite, exchanges):
    for n in range(1, 100):
        folder = tmp_path / f"{n}"
        folder.mkdir()
        if overwrite:
            commit(folder / "c", toys.draft(OLD, meta={"is": "old"}))
        fs = Dying(n, exchanges)
        with suppress(Killed):
            commit(folder / "c", toys.draft(NEW, meta={"is": "new"}), overwrite=overwrite, fs=fs)
        told = {entry.name: entry.state for entry in entries(str(folder))}
        assert "foreign" not in told.values()
        whole = [name for name in os.listdir(folder) if (folder / name / "graph.msgpack").exists()]
        bury(folder)
        LocalStorage().sweep(str(folder))
        LocalStorage().sweep(str(folder))
        left = os.listdir(folder)
        assert left in ([], ["c"]), n
        if overwrite or "c" in left:
            found = verify(folder / "c")
            assert not found.problems
            assert not found.strangers
            assert found.contents.meta["is"] in ("old", "new")
        if overwrite and not told.get("c"):
            assert whole, "no copy was to be found before the sweep"
        if not fs.dead:
            break
    assert n > 10


def test_a_copy_set_aside_is_called_what_it_is(tmp_path, toys):
    commit(tmp_path / "elsewhere", toys.draft(OLD))
    (tmp_path / "elsewhere").rename(tmp_path / f".c.tmp-{NONCE}")
    with pytest.raises(NotACheckpoint, match="the new one is complete"):
        Reader(tmp_path / "c")
    [entry] = entries(str(tmp_path))
    assert (entry.state, "rename it to get it" in entry.note) == ("displaced", True)
    commit(tmp_path / "c", toys.draft(NEW))
    told = {entry.name: entry for entry in entries(str(tmp_path))}
    assert "had replaced it by c" in told[f".c.tmp-{NONCE}"].note


def test_the_living_are_left_alone(tmp_path, toys):
    for state in ("tmp", "old"):
        (tmp_path / f".c.{state}-{NONCE}").mkdir()
    (tmp_path / f".owner-{NONCE}").write_bytes(own_record())
    assert LocalStorage().sweep(str(tmp_path)) == []
    assert len(os.listdir(tmp_path)) == 3
    bury(tmp_path)
    assert len(LocalStorage().sweep(str(tmp_path))) == 2
    assert os.listdir(tmp_path) == []


def test_what_nobody_owns_is_left_for_a_day(tmp_path):
    path = tmp_path / f".c.tmp-{NONCE}"
    path.mkdir()
    assert LocalStorage().sweep(str(tmp_path)) == []
    long_ago = time.time() - 25 * 3600
    os.utime(path, (long_ago, long_ago))
    assert LocalStorage().sweep(str(tmp_path)) == [path.name]


@pytest.mark.parametrize(
    ("change", "young", "old"),
    [
        ({}, True, True),
        ({"boot": "another"}, False, False),
        ({"start": "1"}, False, False),
        ({"pid": 1 << 30}, False, False),
        ({"host": "elsewhere"}, True, False),
        ({"pids": "pid:[1]"}, True, False),
        ({"pid": "text"}, True, False),
    ],
)
def test_who_is_alive(change, young, old):
    record = json.dumps({**json.loads(own_record()), **change}).encode()
    assert (is_alive(record, 10), is_alive(record, 1e6)) == (young, old)


def test_a_record_that_cannot_be_read_counts_by_its_age():
    for record in (b"", b"{", b"[]", b"\xff"):
        assert (is_alive(record, 10), is_alive(record, 100)) == (True, False)
    assert (is_alive(None, 100), is_alive(None, 1e6)) == (True, False)


def test_staging_is_private_and_the_checkpoint_is_as_the_umask_says(tmp_path, toys):
    seen = []

    class Looking(FileSystem):
        def fsync(self, descriptor):
            seen.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(".c.tmp-*"))
            super().fsync(descriptor)

    before = os.umask(0o027)
    try:
        commit(tmp_path / "c", toys.draft(OLD), fs=Looking())
    finally:
        os.umask(before)
    assert set(seen) == {0o700}
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o750


def test_a_failed_save_leaves_no_folders(tmp_path, toys):
    class Full(FileSystem):
        def fsync(self, descriptor):
            raise OSError(28, "no space")

    with pytest.raises(OSError, match="no space"):
        commit(tmp_path / "a" / "b" / "c", toys.draft(OLD), fs=Full())
    assert os.listdir(tmp_path) == []


def test_a_link_is_refused_with_and_without_a_slash(tmp_path, toys):
    commit(tmp_path / "c", toys.draft(OLD))
    (tmp_path / "latest").symlink_to("c")
    for path in (f"{tmp_path}/latest", f"{tmp_path}/latest/", f"{tmp_path}/latest//", f"{tmp_path}/x/../latest/"):
        with pytest.raises(Exception, match="symbolic link"):
            Reader(path)


def test_deleting(tmp_path, toys):
    commit(tmp_path / "c", toys.draft(OLD))
    commit(tmp_path / "d", toys.draft(OLD), base=tmp_path / "c")
    with pytest.raises(CheckpointInUse, match="referred to by d"):
        delete(tmp_path / "c")
    delete(tmp_path / "d")
    (tmp_path / "c" / "mine.txt").touch()
    with pytest.raises(DestinationExists, match="mine.txt"):
        delete(tmp_path / "c")
    (tmp_path / "c" / "mine.txt").unlink()
    delete(tmp_path / "c")
    with pytest.raises(NotACheckpoint, match="nothing to delete"):
        delete(tmp_path / "c")
    assert os.listdir(tmp_path) == []
