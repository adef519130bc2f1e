"""References: a base that is written once, what must not happen to it, and what is said when it happened."""

import shutil

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.commit import commit
from graftax.checkpoint.envelope import seal
from graftax.checkpoint.extract import extract
from graftax.checkpoint.folder import entries
from graftax.checkpoint.index import encode
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.subset import Subset
from graftax.checkpoint.verify import verify
from graftax.core.errors import ArgumentError, CheckpointInUse, CorruptData, ForeignFile, PathViolation, TruncatedFile


def program(toys, base=1.0, adapter=0.0):
    return toys.Box(
        base=[gx.Variable(np.full((64, 64), base + i, "float32")) for i in range(3)],
        adapter=gx.Variable(np.full(5, adapter, "float32")),
    )


@pytest.fixture
def folder(tmp_path, toys):
    """A base, and two checkpoints that refer to it, one by way of the other."""
    Checkpoint(m=program(toys)).save(tmp_path / "base")
    Checkpoint(m=program(toys, adapter=1)).save(tmp_path / "one", base=tmp_path / "base")
    Checkpoint(m=program(toys, adapter=2)).save(tmp_path / "two", base=tmp_path / "one")
    return tmp_path


def restored(path, toys):
    model = program(toys, 9, 9)
    Checkpoint(m=model).restore(path).assert_consumed()
    return [float(v.numpy().flat[0]) for v in (*model.base, model.adapter)]


def size(path):
    return sum(file.stat().st_size for file in path.iterdir())


def test_what_the_base_has_is_not_written_again(folder, toys):
    assert size(folder / "one") < 10_000 < size(folder / "base")
    assert restored(folder / "one", toys) == [1, 2, 3, 1]
    assert restored(folder / "two", toys) == [1, 2, 3, 2]
    with Reader(folder / "two") as reader:
        assert reader.index.targets == ("base",)  # never a chain
    for name in ("one", "two"):
        assert verify(folder / name).problems == ()
    told = {entry.name: (entry.state, entry.note) for entry in entries(str(folder))}
    assert told["two"] == ("checkpoint", "refers to base")


def test_equal_arrays_under_other_names_count(folder, toys):
    other = toys.Box(x=gx.Variable(np.full((64, 64), 2, "float32")), y=gx.Variable(np.full((64, 64), 2, "float32")))
    Checkpoint(o=other).save(folder / "three", base=folder / "base")
    x, y = (gx.Variable(np.zeros((64, 64), "float32")) for _ in range(2))
    Checkpoint(o=toys.Box(x=x, y=y)).restore(folder / "three").assert_consumed()
    assert [float(v.numpy()[0, 0]) for v in (x, y)] == [2, 2]
    assert not verify(folder / "three").problems


def test_all_can_be_moved_together(folder, toys):
    folder.rename(folder.parent / "moved")
    assert restored(folder.parent / "moved" / "two", toys) == [1, 2, 3, 2]


def test_a_missing_target_is_named(folder, toys):
    (folder / "base").rename(folder / "away")
    with pytest.raises(TruncatedFile, match=r"base is missing") as caught:
        restored(folder / "one", toys)
    assert "put base back" in str(caught.value)
    assert [type(p) for p in verify(folder / "one").problems] == [TruncatedFile]
    told = {entry.name: (entry.state, entry.note) for entry in entries(str(folder))}
    assert told["one"] == ("damaged", "refers to base, which is not here")


def test_a_changed_target_is_named(folder, toys):
    shutil.rmtree(folder / "base")
    Checkpoint(m=program(toys)).save(folder / "base")  # the same values, but another save
    with pytest.raises(ForeignFile, match="base has changed"):
        restored(folder / "one", toys)
    assert [type(p) for p in verify(folder / "one").problems] == [ForeignFile]


def test_a_damaged_target_is_found(folder):
    data = folder / "base" / "data-00000-00000.safetensors"
    content = bytearray(data.read_bytes())
    content[-70] ^= 1
    data.write_bytes(content)
    assert [type(p) for p in verify(folder / "base").problems] == [CorruptData]
    content[5000] ^= 1
    data.write_bytes(content)
    assert CorruptData in [type(p) for p in verify(folder / "one").problems]


def test_who_is_referred_to_is_not_replaced(folder, toys):
    with pytest.raises(CheckpointInUse, match="referred to by one, two"):
        Checkpoint(m=program(toys, 5)).save(folder / "base", overwrite=True)
    assert restored(folder / "one", toys) == [1, 2, 3, 1]
    Checkpoint(m=program(toys, 1, 7)).save(folder / "one", overwrite=True, base=folder / "base")
    assert restored(folder / "one", toys) == [1, 2, 3, 7]


def test_a_base_lies_beside(folder, toys, tmp_path):
    with pytest.raises(ArgumentError, match="beside"):
        Checkpoint(m=program(toys)).save(tmp_path / "deeper" / "c", base=folder / "base")
    with pytest.raises(ArgumentError, match="beside"):
        Checkpoint(m=program(toys)).save(folder / "one", base=folder / "one", overwrite=True)


@pytest.mark.parametrize("target", ["../base", "/etc", "..", ".", "", "a\0b", ".x.tmp-0123456789abcdef", "x" * 300])
def test_references_lead_nowhere_else(folder, toys, target, monkeypatch):
    monkeypatch.setattr("graftax.checkpoint.references.References.divide", lambda self, items: ({}, list(items)))
    draft = toys.draft({"x": np.arange(3.0)})
    index = commit(folder / "forged", draft)
    forged = index._replace(files=tuple(file._replace(target=target) for file in index.files))
    (folder / "forged" / "graph.msgpack").write_bytes(seal(encode(forged)))
    with pytest.raises(PathViolation, match="in the same folder"):
        Reader(folder / "forged")


def test_extract_makes_it_self_contained(folder, toys):
    report = extract(folder / "two", folder / "alone")
    assert report.arrays == 4
    for name in ("base", "one", "two"):
        shutil.rmtree(folder / name)
    assert restored(folder / "alone", toys) == [1, 2, 3, 2]
    found = verify(folder / "alone")
    assert (found.problems, found.contents.targets) == ((), ())


def test_extract_takes_a_part(folder, toys):
    report = extract(folder / "two", folder / "part", Subset(["m/adapter"]))
    assert report.arrays == 1
    model = program(toys, 9, 9)
    Checkpoint(m=model).restore(folder / "part", only=["m/adapter"]).assert_consumed()
    assert float(model.adapter.numpy()[0]) == 2
