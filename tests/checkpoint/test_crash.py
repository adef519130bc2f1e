"""No power loss loses or damages a checkpoint; protocols with a step missing are caught, so the test would notice."""

import numpy as np
import pytest

from graftax.checkpoint.commit import commit
from tests.checkpoint.attacks import MISSING, OVERWRITE, SAVE
from tests.checkpoint.crash_states import Disk, Look, explore, judge_replaced


def small(toys, name):
    return toys.draft({"x": np.arange(4.0), "y": np.arange(3, dtype="int8")}, meta={"name": name})


def judge_new(whole, done):
    if whole.get("one") != "one":
        return f"the earlier checkpoint is {whole.get('one', 'absent')}"
    new = whole.get("two", "absent")
    if new == "damaged" or (new == "absent" and "two" in done):
        return f"the new checkpoint is {new}"
    return None


def save_two(disk, toys):
    commit("/c/one", small(toys, "one"), fs=disk)
    disk.mark("one")
    begin = len(disk.log)
    commit("/c/two", small(toys, "two"), fs=disk)
    disk.mark("two")
    return begin


def test_no_crash_loses_or_damages_anything(tmp_path, toys, attack):
    disk = Disk()
    count, wrong = explore(Look(tmp_path), disk, save_two(disk, toys), judge_new)
    attack(SAVE, states=count)
    assert wrong == []
    assert count > 300


@pytest.mark.broad
@pytest.mark.parametrize("exchanges", [True, False])
def test_no_crash_of_an_overwrite_loses_both(tmp_path, toys, exchanges, attack):
    disk = Disk(exchanges)
    commit("/c/c", small(toys, "old"), fs=disk)
    begin = len(disk.log)
    commit("/c/c", small(toys, "new"), overwrite=True, fs=disk)
    disk.mark("new")
    count, wrong = explore(Look(tmp_path), disk, begin, judge_replaced)
    attack(OVERWRITE, states=count)
    assert wrong == []
    assert count > 300


class NoDataSync(Disk):
    def fsync(self, inode):
        if not self.sizes[inode].endswith(".safetensors"):
            super().fsync(inode)


class NoIndexSync(Disk):
    def fsync(self, inode):
        if self.sizes[inode].endswith(".safetensors"):
            super().fsync(inode)


class NoStagingSync(Disk):
    def fsync_dir(self, path):
        if ".tmp-" not in path:
            super().fsync_dir(path)


class NoParentSync(Disk):
    def fsync_dir(self, path):
        if path != "/c":
            super().fsync_dir(path)


class RenameFirst(Disk):
    """Writes under the final name from the start."""

    def final(self, path):
        _, _, rest = path.partition("/c/.")
        name, dot, tail = rest.partition(".tmp-")
        return f"/c/{name}{tail[16:]}" if dot else path

    def mkdir(self, path):
        super().mkdir(self.final(path))

    def create(self, path):
        return super().create(self.final(path))

    def fsync_dir(self, path):
        super().fsync_dir(self.final(path))

    def exists(self, path):
        return path == "/c"

    def rename(self, source, target):
        pass


@pytest.mark.parametrize("mutant", [NoDataSync, NoIndexSync, NoStagingSync, NoParentSync, RenameFirst])
def test_a_protocol_with_a_step_missing_is_caught(tmp_path, toys, mutant, attack):
    attack(MISSING, protocols=1)
    disk = mutant()
    _, wrong = explore(Look(tmp_path), disk, save_two(disk, toys), judge_new)
    assert wrong


class Hasty(Disk):
    """Deletes the old one before the swap is certain."""

    swapped = False

    def exchange(self, one, other):
        self.swapped = True
        return super().exchange(one, other)

    def fsync_dir(self, path):
        if not self.swapped or path != "/c":
            super().fsync_dir(path)


@pytest.mark.broad
def test_an_overwrite_that_deletes_too_early_is_caught(tmp_path, toys, attack):
    attack(MISSING, protocols=1)
    disk = Hasty()
    commit("/c/c", small(toys, "old"), fs=disk)
    begin = len(disk.log)
    commit("/c/c", small(toys, "new"), overwrite=True, fs=disk)
    disk.mark("new")
    _, wrong = explore(Look(tmp_path), disk, begin, judge_replaced)
    assert wrong
