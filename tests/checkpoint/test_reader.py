"""Opening what may be anything, and checking every byte of it."""

import os
import random

import numpy as np
import pytest

from graftax.checkpoint.commit import commit
from graftax.checkpoint.folder import entries
from graftax.checkpoint.loading import load
from graftax.checkpoint.reader import GRAPH, Reader
from graftax.checkpoint.verify import verify
from graftax.core.errors import (
    CheckpointError,
    CorruptData,
    CorruptMetadata,
    ForeignFile,
    IncompleteCheckpoint,
    NotACheckpoint,
    PathViolation,
    TruncatedFile,
)
from tests.checkpoint.attacks import DAMAGE

DATA = "data-00000-00000.safetensors"
ARRAYS = {"x": np.arange(1000.0), "y": np.arange(7, dtype="int8")}


@pytest.fixture
def path(tmp_path, toys):
    commit(tmp_path / "c", toys.draft(ARRAYS))
    return tmp_path / "c"


def read(path):
    with Reader(path) as reader:
        reader.check_files()
        return load(reader, range(len(reader.index.tensors)))


def test_ck24_a_missing_checkpoint_names_those_beside_it(path):
    with pytest.raises(NotACheckpoint, match=r"are: c\b"):
        Reader(path.parent / "d")
    with pytest.raises(FileNotFoundError):
        Reader(path.parent / "d")
    with pytest.raises(NotACheckpoint, match="inside it are: c"):
        Reader(path.parent)
    with pytest.raises(NotACheckpoint, match="no checkpoints in"):
        Reader(path / "deeper")


def test_files_and_links_are_no_checkpoints(path):
    with pytest.raises(NotACheckpoint, match="is a file"):
        Reader(path / GRAPH)
    (path.parent / "link").symlink_to(path)
    with pytest.raises(PathViolation, match="symbolic link"):
        Reader(path.parent / "link")


def test_ck32_unfinished_saves_are_told_apart(path):
    os.rename(path / GRAPH, path / "kept")
    with pytest.raises(IncompleteCheckpoint):
        Reader(path)
    staging = path.parent / ".c.tmp-0123456789abcdef"
    staging.mkdir()
    with pytest.raises(IncompleteCheckpoint):
        Reader(staging)


def test_the_copy_left_by_a_killed_overwrite_is_offered(path):
    os.rename(path, path.parent / ".c.old-0123456789abcdef")
    with pytest.raises(NotACheckpoint, match="old one is complete"):
        Reader(path)


@pytest.mark.parametrize("name", [GRAPH, DATA])
def test_links_and_pipes_in_place_of_files_are_refused(path, name):
    os.rename(path / name, path.parent / "elsewhere")
    (path / name).symlink_to(path.parent / "elsewhere")
    with pytest.raises(PathViolation):
        read(path)
    (path / name).unlink()
    os.mkfifo(path / name)
    with pytest.raises(PathViolation):
        read(path)


@pytest.mark.parametrize(
    "change", [os.unlink, lambda p: os.truncate(p, 5000), lambda p: os.truncate(p, os.path.getsize(p) + 1)]
)
def test_data_files_of_another_size_are_truncated(path, change):
    change(path / DATA)
    with pytest.raises(TruncatedFile, match=DATA):
        read(path)


def test_a_file_cut_after_it_was_measured_is_truncated(path):
    with Reader(path) as reader:
        reader.check_files()
        os.truncate(path / DATA, 5000)
        with pytest.raises(TruncatedFile):
            load(reader, [0])


def test_flips_in_the_data_are_found_and_named(path, attack):
    attack(DAMAGE, flips=40)
    good = (path / DATA).read_bytes()
    for bit in random.Random(0).sample(range(8 * 4096, 8 * len(good)), 40):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        (path / DATA).write_bytes(data)
        with pytest.raises(CorruptData, match=f"values/{'x' if bit // 8 < 4096 + 8000 else 'y'}"):
            read(path)
        problems = verify(path).problems
        assert [type(problem) for problem in problems] == [CorruptData]


def test_flips_in_a_header_change_no_value_and_are_reported(path, attack):
    attack(DAMAGE, flips=40)
    good = (path / DATA).read_bytes()
    for bit in random.Random(0).sample(range(8 * 4096), 40):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        (path / DATA).write_bytes(data)
        np.testing.assert_array_equal(read(path)[0], ARRAYS["x"])
        assert all(isinstance(problem, CorruptMetadata | ForeignFile) for problem in verify(path).problems)
        assert verify(path).problems


def test_a_data_file_of_another_save_is_foreign(path, toys):
    commit(path.parent / "d", toys.draft(ARRAYS))
    os.replace(path.parent / "d" / DATA, path / DATA)
    np.testing.assert_array_equal(read(path)[0], ARRAYS["x"])
    assert [type(problem) for problem in verify(path).problems] == [ForeignFile]


def test_verify_goes_on_after_the_first_problem(path):
    data = bytearray((path / DATA).read_bytes())
    data[4096] ^= 1
    data[4096 + 8000] ^= 1
    (path / DATA).write_bytes(data)
    assert len(verify(path).problems) == 2


def test_strange_files_are_ignored_by_restore_and_told_by_verify(path):
    (path / "notes.txt").write_text("mine")
    assert len(read(path)) == 2
    assert verify(path).strangers == ("notes.txt",)
    assert verify(path).problems == ()


def test_small_arrays_are_read_together(tmp_path, toys, monkeypatch):
    commit(tmp_path / "c", toys.draft({f"a{i:03}": np.full(16, i, "float32") for i in range(500)}))
    calls = []
    inner = Reader.read_into
    monkeypatch.setattr(Reader, "read_into", lambda self, *args: (calls.append(args), inner(self, *args)))
    with Reader(tmp_path / "c") as reader:
        loaded = load(reader, range(500))
        assert len(calls) == 1
        some = load(reader, [3, 5, 499])
        assert len(calls) == 3
    assert [int(some[i][0]) for i in (3, 5, 499)] == [3, 5, 499]
    assert all((loaded[i] == i).all() for i in range(500))


def test_errors_say_where(path):
    (path / GRAPH).write_bytes(b"")
    with pytest.raises(CheckpointError, match=f"where: {path}"):
        Reader(path)


def test_a_folder_is_listed_with_what_is_odd_in_it(path, toys):
    folder = path.parent
    commit(folder / "step-9", toys.draft(ARRAYS, step=9))
    commit(folder / "step-10", toys.draft(ARRAYS, step=10))
    for name in (".c.tmp-0123456789abcdef", ".trash-0123456789abcdef", "results", "half"):
        (folder / name).mkdir()
    (folder / "half" / DATA).write_bytes(b"")
    (folder / "file").write_text("")
    commit(folder / "bad", toys.draft(ARRAYS))
    (folder / "bad" / GRAPH).write_bytes(b"\x89GFX")
    found = {entry.name: entry for entry in entries(str(folder))}
    assert {name: entry.state for name, entry in found.items()} == {
        ".c.tmp-0123456789abcdef": "unfinished",
        ".trash-0123456789abcdef": "deleted",
        "bad": "damaged",
        "c": "checkpoint",
        "file": "foreign",
        "half": "unfinished",
        "results": "foreign",
        "step-9": "checkpoint",
        "step-10": "checkpoint",
    }
    assert [name for name in found if name.startswith("step")] == ["step-9", "step-10"]
    assert (found["step-9"].step, found["step-9"].tensors) == (9, 2)
    assert [entry.name for entry in entries(str(path))] == ["c"]
