"""Power loss while checkpoints are deleted, pruned, swept, and saved beside the program."""

import random

import numpy as np
import pytest

from graftax.checkpoint.background import Background
from graftax.checkpoint.commit import commit
from graftax.checkpoint.local_storage import LocalStorage
from graftax.checkpoint.local_writing import discard
from graftax.checkpoint.verify import verify
from tests.checkpoint.attacks import AFTERWARDS, BESIDE, DELETION, MISSING, PRUNE, SWEEP
from tests.checkpoint.crash_states import Disk, Look, explore, judge_replaced, put_on_disk, states


def small(toys, name):
    return toys.draft({"x": np.arange(4.0), "y": np.arange(3, dtype="int8")}, meta={"name": name})


def judge_deleted(whole, done):
    """``one`` is there or gone, ``two`` is there."""
    one, two = whole.get("one", "absent"), whole.get("two", "absent")
    if two != "two":
        return f"the other checkpoint is {two}"
    if one not in ("one", "absent"):
        return f"the deleted checkpoint is {one}"
    return "it is there again" if "deleted" in done and one != "absent" else None


def delete_one(disk, toys):
    commit("/c/one", small(toys, "one"), fs=disk)
    commit("/c/two", small(toys, "two"), fs=disk)
    begin = len(disk.log)
    LocalStorage(disk).remove("/c/one")
    disk.mark("deleted")
    return begin


def test_no_crash_leaves_a_part_of_what_is_deleted(tmp_path, toys, attack):
    disk = Disk()
    count, wrong = explore(Look(tmp_path), disk, delete_one(disk, toys), judge_deleted)
    attack(DELETION, states=count)
    assert wrong == []
    assert count > 20


class Unlinking(Disk):
    """Deletes files before the directory has durably lost its name."""

    renamed = False

    def rename(self, source, target):
        self.renamed = ".trash-" in target
        super().rename(source, target)

    def fsync_dir(self, path):
        if not self.renamed:
            super().fsync_dir(path)


def test_a_deletion_in_the_wrong_order_is_caught(tmp_path, toys, attack):
    attack(MISSING, protocols=1)
    disk = Unlinking()
    _, wrong = explore(Look(tmp_path), disk, delete_one(disk, toys), judge_deleted)
    assert wrong


def judge_pruned(whole, done):
    """At each moment one of the two is whole, and what was saved stays."""
    one, two = whole.get("one", "absent"), whole.get("two", "absent")
    if "damaged" in (one, two):
        return f"{one}, {two}"
    if "two" in done and two != "two":
        return "the new one is lost"
    return None if "one" in (one, two) or "two" in (one, two) else "none is left"


def prune_after_save(disk, toys):
    commit("/c/one", small(toys, "one"), fs=disk)
    begin = len(disk.log)
    commit("/c/two", small(toys, "two"), fs=disk)
    disk.mark("two")
    LocalStorage(disk).remove("/c/one")
    return begin


@pytest.mark.broad
def test_no_crash_of_a_prune_loses_both(tmp_path, toys, attack):
    disk = Disk()
    count, wrong = explore(Look(tmp_path), disk, prune_after_save(disk, toys), judge_pruned)
    attack(PRUNE, states=count)
    assert wrong == []
    assert count > 300


class NotDurable(Disk):
    """The new one is deleted the old for before its name is on the device."""

    def fsync_dir(self, path):
        if path != "/c" or not any(name == "/c/two" for name in self.names):
            super().fsync_dir(path)


@pytest.mark.broad
def test_a_prune_before_the_new_one_is_durable_is_caught(tmp_path, toys, attack):
    attack(MISSING, protocols=1)
    disk = NotDurable()
    _, wrong = explore(Look(tmp_path), disk, prune_after_save(disk, toys), judge_pruned)
    assert wrong


def replace(disk, toys):
    commit("/c/c", small(toys, "old"), fs=disk)
    begin = len(disk.log)
    commit("/c/c", small(toys, "new"), overwrite=True, fs=disk)
    disk.mark("new")
    return begin


def swept_states(tmp_path, disk, begin, sweep, limit):
    """What lies at ``c`` after a crash of an overwrite, a restart, and a sweep; each state as text."""
    rng = random.Random(0)
    count = 0
    for end in range(begin, len(disk.log) + 1):
        log = disk.log[:end]
        done = {op[1] for op in log if op[0] == "mark"}
        chosen = list(states(log, rng, 3))
        for state in rng.sample(chosen, min(limit, len(chosen))):
            folder = tmp_path / f"{end}-{count}"
            count += 1
            put_on_disk(state, folder)
            for path in folder.glob(".owner-*"):
                path.write_bytes(b'{"boot": "before the crash"}')
            sweep(str(folder))
            try:
                found = verify(folder / "c")
            except OSError:
                yield "absent", done
                continue
            yield ("damaged" if found.problems or found.strangers else found.contents.meta["name"]), done


def all_are_dead(monkeypatch):
    monkeypatch.setattr("graftax.checkpoint.local_storage.is_alive", lambda record, age: False)


@pytest.mark.broad
@pytest.mark.parametrize("exchanges", [True, False])
def test_a_sweep_after_any_crash_leaves_the_old_or_the_new(tmp_path, toys, exchanges, monkeypatch, attack):
    all_are_dead(monkeypatch)
    disk = Disk(exchanges)
    begin = replace(disk, toys)
    found = list(swept_states(tmp_path, disk, begin, LocalStorage().sweep, 4))
    attack(AFTERWARDS, states=len(found))
    assert {state for state, _ in found} == {"old", "new"}
    assert {state for state, done in found if done} == {"new"}
    assert len(found) > 40


class Careless(LocalStorage):
    """Throws away a checkpoint that was put aside, though nothing has taken its place."""

    def _sweep_one(self, folder, name, displaced):
        discard(self.fs, f"{folder}/{name}", f"{folder}/.trash-0123456789abcdef")


@pytest.mark.broad
def test_a_sweep_that_throws_away_the_only_copy_is_caught(tmp_path, toys, monkeypatch, attack):
    attack(MISSING, protocols=1)
    all_are_dead(monkeypatch)
    disk = Disk(exchanges=False)
    begin = replace(disk, toys)
    assert "absent" in {state for state, _ in swept_states(tmp_path, disk, begin, Careless().sweep, 4)}


def test_no_crash_of_a_sweep_itself_loses_anything(tmp_path, toys, monkeypatch, attack):
    """The sweep gives a copy that was put aside its name back; the power fails meanwhile."""
    all_are_dead(monkeypatch)
    disk = Disk()
    commit("/c/c", small(toys, "old"), fs=disk)
    disk.rename("/c/c", "/c/.c.old-0123456789abcdef")
    disk.fsync_dir("/c")
    disk.mkdir("/c/.c.tmp-0123456789abcdef")
    disk.create("/c/.owner-0123456789abcdef")
    begin = len(disk.log)
    assert len(LocalStorage(disk).sweep("/c")) == 2
    disk.mark("swept")
    assert set(disk.names) == {"/c", "/c/c", "/c/c/graph.msgpack", "/c/c/data-00000-00000.safetensors"}

    def judge(whole, done):
        copies = [state for name, state in whole.items() if name == "c" or name.startswith(".c.old-")]
        if "damaged" in copies or "old" not in copies:
            return f"left are {copies}"
        return None if "swept" not in done or whole.get("c") == "old" else "it has not its name back"

    count, wrong = explore(Look(tmp_path), disk, begin, judge)
    attack(SWEEP, states=count)
    assert wrong == []
    assert count > 10


@pytest.mark.broad
def test_saves_beside_the_program_keep_to_the_protocol(tmp_path, toys, attack):
    disk = Disk()
    commit("/c/c", small(toys, "old"), fs=disk)
    begin = len(disk.log)
    background = Background()
    background.submit("a save", lambda: commit("/c/c", small(toys, "new"), overwrite=True, fs=disk))
    background.wait()
    disk.mark("new")
    count, wrong = explore(Look(tmp_path), disk, begin, judge_replaced)
    attack(BESIDE, states=count)
    assert wrong == []
    assert count > 300


class Early(Background):
    """Says that the work is done when it has begun."""

    def wait(self):
        return None


@pytest.mark.broad
def test_a_background_that_does_not_wait_is_caught(tmp_path, toys, attack):
    attack(MISSING, protocols=1)

    class Slow(Disk):
        def fsync_dir(self, path):
            if path == "/c":
                early.append(len(self.log))
            super().fsync_dir(path)

    early = []
    disk = Slow()
    commit("/c/c", small(toys, "old"), fs=disk)
    begin = len(disk.log)
    background = Early()
    background.submit("a save", lambda: commit("/c/c", small(toys, "new"), overwrite=True, fs=disk))
    Background.wait(background)
    disk.log.insert(early[-2], ("mark", "new"))  # where it had said so: before the name was durable
    _, wrong = explore(Look(tmp_path), disk, begin, judge_replaced)
    assert wrong
