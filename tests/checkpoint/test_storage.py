"""One protocol on a local disk and on file systems of fsspec: save, read, replace, refuse, list, verify, delete."""

import os
import sys

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.commit import commit
from graftax.checkpoint.export import export
from graftax.checkpoint.folder import entries
from graftax.checkpoint.loading import load
from graftax.checkpoint.local_storage import LocalStorage
from graftax.checkpoint.names import GRAPH
from graftax.checkpoint.places import place_of
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.remote_storage import RemoteStorage
from graftax.checkpoint.subset import Subset
from graftax.checkpoint.verify import verify
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    DestinationExists,
    NotACheckpoint,
    StorageFailure,
    TruncatedFile,
)

fsspec = pytest.importorskip("fsspec")

OLD = {"x": np.arange(100.0)}
NEW = {"x": np.arange(50.0), "y": np.arange(7, dtype="int8")}


@pytest.fixture(params=["disk", "memory", "file"])
def folder(request, tmp_path):
    """A folder for checkpoints on each kind of storage."""
    if request.param == "disk":
        yield str(tmp_path)
        return
    root = f"memory://{tmp_path.name}" if request.param == "memory" else f"file://{tmp_path}"
    yield root
    if request.param == "memory":
        fsspec.filesystem("memory").store.clear()


def content(path):
    with Reader(path) as reader:
        reader.check_files()
        loaded = load(reader, range(len(reader.index.tensors)))
        return {t.name.split("/")[1]: loaded[i] for i, t in enumerate(reader.index.tensors)}


def same(path, arrays):
    found = content(path)
    assert set(found) == set(arrays)
    return all(np.array_equal(found[name], arrays[name]) for name in arrays) and not verify(path).problems


def test_what_is_saved_is_read(folder, toys):
    commit(f"{folder}/c", toys.draft(NEW))
    assert same(f"{folder}/c", NEW)
    assert verify(f"{folder}/c").strangers == ()
    assert [(e.name, e.state, e.tensors) for e in entries(folder)] == [("c", "checkpoint", 2)]


def test_a_program_is_saved_and_restored(folder):
    model = gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(2)])
    model(np.ones((1, 4), "float32"))
    Checkpoint(model=model).save(f"{folder}/run/first", step=3)
    before = [v.numpy() for v in model.variables]
    for v in model.variables:
        v.assign(np.zeros(v.shape, "float32"))
    report = Checkpoint(model=model).restore(f"{folder}/run/first").assert_consumed()
    assert report.step == 3
    for v, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(v.numpy(), value)


def test_overwriting_replaces_all_of_it(folder, toys):
    path = f"{folder}/c"
    commit(path, toys.draft(OLD))
    with pytest.raises(DestinationExists, match="overwrite=True"):
        commit(path, toys.draft(NEW))
    assert same(path, OLD)
    for arrays in (NEW, OLD, NEW):
        commit(path, toys.draft(arrays), overwrite=True)
        assert same(path, arrays)
        assert verify(path).strangers == ()


def test_overwriting_replaces_checkpoints_only(folder, toys):
    storage, path = place_of(f"{folder}/c")
    commit(path, toys.draft(OLD))
    if isinstance(storage, RemoteStorage):
        storage.fs.pipe_file(f"{path}/notes.txt", b"mine")
    else:
        (open(f"{path}/notes.txt", "w")).close()
    with pytest.raises(DestinationExists, match=r"notes\.txt"):
        commit(path, toys.draft(NEW), overwrite=True)
    assert same(path, OLD)


def test_a_path_with_nothing_names_what_is_beside(folder, toys):
    commit(f"{folder}/step-1", toys.draft(OLD))
    with pytest.raises(NotACheckpoint, match="step-1"):
        Reader(f"{folder}/step-2")
    with pytest.raises(NotACheckpoint, match="step-1"):
        Reader(folder)


def test_a_checkpoint_is_deleted(folder, toys):
    storage, path = place_of(f"{folder}/c")
    commit(path, toys.draft(OLD))
    commit(f"{folder}/d", toys.draft(OLD))
    storage.remove(path)
    assert storage.names(folder) == ["d"]


def test_a_missing_data_file_is_named(folder, toys):
    storage, path = place_of(f"{folder}/c")
    commit(path, toys.draft(OLD))
    name = f"{path}/data-00000-00000.safetensors"
    storage.fs.rm_file(name) if isinstance(storage, RemoteStorage) else os.unlink(name)
    with Reader(path) as reader, pytest.raises(TruncatedFile, match="data-00000-00000"):
        reader.check_files()


def test_arrays_are_exported(folder, toys):
    commit(f"{folder}/c", toys.draft(NEW))
    report = export(f"{folder}/c", f"{folder}/c.npz", Subset())
    assert report.arrays == 2
    storage, path = place_of(f"{folder}/c.npz")
    local = path if isinstance(storage, LocalStorage) else storage.fs.open(path, "rb")
    np.testing.assert_array_equal(np.load(local)["values/y"], NEW["y"])
    with pytest.raises(DestinationExists):
        export(f"{folder}/c", f"{folder}/c.npz", Subset())


class Broken:
    """A file system of fsspec of which the n-th changing call fails."""

    def __init__(self, fs, n):
        self.fs = fs
        self.left = n

    def __getattr__(self, name):
        found = getattr(self.fs, name)
        if name not in ("open", "pipe_file", "rm_file", "makedirs", "rmdir"):
            return found

        def call(*args, **kwargs):
            self.left -= 1
            if self.left == 0:
                raise OSError(5, "the connection is gone")
            return found(*args, **kwargs)

        return call


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_nth_call_of_a_remote_save_fails(toys, overwrite, monkeypatch):
    memory = fsspec.filesystem("memory")
    path = f"memory://broken-{overwrite}/c"
    commit(f"memory://broken-{overwrite}/other", toys.draft(OLD))
    for n in range(1, 30):
        if overwrite:
            commit(path, toys.draft(OLD), overwrite=True)
        broken = RemoteStorage(Broken(memory, n), "memory")
        with monkeypatch.context() as patch:
            patch.setattr("graftax.checkpoint.commit.place_of", lambda path, broken=broken: (broken, path))
            try:
                commit(path, toys.draft(NEW), overwrite=overwrite)
            except StorageFailure:
                there = place_of(path)[0].is_checkpoint(path)
                assert there == overwrite
                assert not there or same(path, OLD)
            else:
                assert same(path, NEW)
                if broken.fs.left > 0:
                    break
                place_of(path)[0].remove(path) if not verify(path).strangers else memory.rm(path, recursive=True)
        if not overwrite and memory.exists(path):
            memory.rm(path, recursive=True)
    assert n > 3
    assert same(f"memory://broken-{overwrite}/other", OLD)
    memory.store.clear()


def test_a_remote_reader_goes_on_beside_an_overwrite(toys):
    path = "memory://beside/c"
    commit(path, toys.draft(OLD))
    reader = Reader(path)
    commit(path, toys.draft(NEW), overwrite=True)
    with pytest.raises(TruncatedFile):  # no store keeps what was deleted
        load(reader, [0])
    assert same(path, NEW)
    fsspec.filesystem("memory").store.clear()


def test_a_scheme_is_never_a_folder(tmp_path, toys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for url in ("nosuchscheme://bucket/x", "gs2://bucket/x"):
        with pytest.raises(ArgumentError, match="fsspec has no file system"):
            Checkpoint(v=toys.number(1)).save(url)
        with pytest.raises(ArgumentError, match="fsspec has no file system"):
            Checkpoint(v=toys.number(1)).restore(url)
    with pytest.raises(ArgumentError, match="lost a slash"):
        Checkpoint(v=toys.number(1)).save("s3:/bucket/x")
    assert os.listdir(tmp_path) == []


def test_without_fsspec_the_extra_is_named(toys, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ArgumentError, match=r"graftax\[fsspec\]"):
        Checkpoint(v=toys.number(1)).save("s3://bucket/x")


def test_paths_that_are_none(toys):
    checkpoint = Checkpoint(v=toys.number(1))
    for call in (checkpoint.save, checkpoint.restore):
        with pytest.raises(ArgumentTypeError, match="fsdecode"):
            call(b"bytes")
        with pytest.raises(ArgumentError, match="no directory has such a name"):
            call("a\0b")
        with pytest.raises(ArgumentError, match="no directory has such a name"):
            call("")


def test_local_paths_with_colons_are_local(tmp_path, toys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(place_of("12:30")[0], LocalStorage)
    os.mkdir("a:")
    commit("a:/c", toys.draft(OLD))
    assert os.path.exists(tmp_path / "a:" / "c" / GRAPH)


def test_what_another_process_has_deleted_is_deleted(tmp_path):
    storage, _ = place_of(tmp_path / "gone")
    storage.remove(str(tmp_path / "gone"))
