"""Saves of a program that keeps its structure encode only what differs, and write the same bytes as all others."""

import os
import time
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint import commit as committing
from graftax.checkpoint import index_form
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.checksums import BLOCK
from graftax.checkpoint.commit import commit
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.subset import Subset
from graftax.checkpoint.verify import verify
from graftax.core.errors import UnsupportedValue
from graftax.variables.graph.module import Module
from tests.checkpoint.random_programs import RandomProgram


class Position(Module):
    """Python state that is not part of the graph, whatever it is."""

    def __init__(self, state):
        self.held = SimpleNamespace(state=state)

    def get_state(self):
        return self.held.state

    def set_state(self, state):
        self.held.state = state


@pytest.fixture
def always(monkeypatch):
    """The same moment and the same random numbers for each save."""
    monkeypatch.setattr(os, "urandom", lambda count: bytes(range(7, 7 + count)))
    monkeypatch.setattr(time, "time_ns", lambda: 12345)


@pytest.fixture
def decoded(monkeypatch):
    """How often an index was decoded as a whole."""
    calls = []
    whole = committing.decode
    monkeypatch.setattr(committing, "decode", lambda *given: calls.append(1) or whole(*given))
    return calls


def files(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


def both(folder, checkpoint, **fields):
    """What is written with what earlier saves have left, and without it; the form that is there afterwards."""
    draft = checkpoint._preparation.prepare(folder / "c", Subset(None, None), **fields).draft
    number = len(os.listdir(folder))
    for name, given in (("with", draft), ("without", draft._replace(form=None))):
        index = commit(folder / f"{name}{number}", given)
        assert not verify(folder / f"{name}{number}").problems
        with Reader(folder / f"{name}{number}") as reader:
            assert [tuple(r) for r in index.tensors] == [tuple(r) for r in reader.index.tensors]
            assert list(index.nodes) == list(reader.index.nodes)
            assert (index.files, index.meta, index.roots) == (
                reader.index.files,
                reader.index.meta,
                reader.index.roots,
            )
    assert files(folder / f"with{number}") == files(folder / f"without{number}")
    return draft.form and draft.form.last


def every_kind(toys):
    """All sizes: none, odd ones, exactly a block, some blocks; all layouts; slots, what is shared, keys of numbers."""
    rng = np.random.default_rng(0)
    shapes = [(), (0, 3), (3,), (16,), (5, 7), (BLOCK // 4,), (BLOCK // 4 + 1,), (3, BLOCK // 4)]
    model = toys.Stack(3, 2, inputs=2)
    model.arrays = {i: gx.Variable(rng.random(shape, "float32")) for i, shape in enumerate(shapes)}
    model.odd = [gx.Variable(np.arange(5).astype(dtype)) for dtype in ("bool", "int8", ml_dtypes.bfloat16, "complex64")]
    model.odd.append(gx.Variable(np.arange(7).astype(ml_dtypes.int4)))
    model.same = model.arrays[3]
    optimizer = toys.Optimizer()
    optimizer._gx_ensure_slot("momentum", model.layers[0].kernel)
    return model, optimizer


@pytest.mark.broad
@pytest.mark.usefixtures("always")
def test_the_same_bytes_with_and_without(tmp_path, toys, decoded):
    model, optimizer = every_kind(toys)
    data, raw = Position({"n": 0, "a": np.zeros(3)}), Position(b"")
    checkpoint = Checkpoint(model=model, optimizer=optimizer, data=data, raw=raw)
    forms = []
    for i in range(4):
        data.held.state = {"n": i, "a": np.full(3, i), "t": (i, [None] * i)}
        raw.held.state = bytes([i]) * (70_000 if i == 3 else i)  # the last one goes into a data file
        for v in model.layers[0].kernel, model.arrays[3], *model.odd[:4]:
            v.assign(np.full(v.shape, i).astype(v.dtype))
        forms.append(both(tmp_path, checkpoint, step=i or None, meta={"i": [i] * i}))
    assert forms[0] is forms[1] is forms[2] is not forms[3]
    assert len(decoded) == 4 + 2  # without a form each time


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("first", "second"),
    [(np.zeros(3), np.zeros(4)), (np.zeros(3), np.zeros(3, "int32")), (np.zeros(3), 1), ([], [np.zeros(16)] * 2)],
)
def test_state_with_other_arrays_takes_a_new_form(tmp_path, toys, decoded, first, second):
    data = Position({"a": first})
    checkpoint = Checkpoint(data=data, v=toys.number(1), w=gx.Variable(np.ones(16)))
    one = both(tmp_path, checkpoint)
    data.held.state = {"a": second}
    other = both(tmp_path, checkpoint)
    assert one is not other
    assert other is both(tmp_path, checkpoint)
    assert len(decoded) == 3 + 2


def rounds(folder, seeds):
    kept = 0
    for seed in seeds:
        program = RandomProgram(seed)
        checkpoint = Checkpoint(**program.roots)
        forms = []
        for i in range(3):
            for v in program.roots["net"].variables:
                v.assign(np.full(v.shape, i).astype(v.dtype))
            (folder / f"{seed}").mkdir(exist_ok=True)
            forms.append(both(folder / f"{seed}", checkpoint, step=i))
        kept += forms[0] is not None and forms[0] is forms[1] is forms[2]
    return kept


@pytest.mark.broad
@pytest.mark.usefixtures("always")
def test_random_programs(tmp_path):
    assert rounds(tmp_path, range(6)) >= 2


@pytest.mark.slow
@pytest.mark.usefixtures("always")
def test_many_random_programs(tmp_path):
    assert rounds(tmp_path, range(6, 120)) > 40


def test_later_python_state_is_checked_as_well(tmp_path, toys, monkeypatch):
    data = Position(1)
    checkpoint = Checkpoint(data=data, v=toys.number(1))
    checkpoint.save(tmp_path / "a")
    monkeypatch.setattr(index_form, "wire", lambda node: node._replace(payload={1: "a key that is no text"}))
    with pytest.raises(UnsupportedValue, match="no reader would accept"):
        checkpoint.save(tmp_path / "b")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["a"]
    data.held.state = 5
    checkpoint.save(tmp_path / "b")
    other = Position(0)
    Checkpoint(data=other, v=toys.number(0)).restore(tmp_path / "b")
    assert other.held.state == 5


def test_a_form_that_fails_its_check_is_not_used_again(tmp_path, toys, monkeypatch, decoded):
    checkpoint = Checkpoint(v=toys.number(1))
    with monkeypatch.context() as patch:
        patch.setattr(index_form.IndexForm, "fill", lambda *given: b"\xc0")
        with pytest.raises(UnsupportedValue, match="no reader would accept"):
            checkpoint.save(tmp_path / "a")
    for name in "abc":
        checkpoint.save(tmp_path / name)
    assert len(decoded) == 2
    assert not any(verify(tmp_path / name).problems for name in "abc")


def test_a_checksum_of_another_size_is_never_filled_in(tmp_path, toys):
    draft = Checkpoint(v=toys.number(1))._preparation.prepare(tmp_path / "c", Subset(None, None)).draft
    index = commit(tmp_path / "c", draft)
    with pytest.raises(ValueError, match="different structures"):
        draft.form.last.fill(index, [bytes(16)])


def test_what_changes_in_the_program_takes_a_new_form(tmp_path, toys, decoded):
    model = toys.Stack(3, inputs=2)
    checkpoint = Checkpoint(model=model)
    for name in "ab":
        checkpoint.save(tmp_path / name)
    assert len(decoded) == 1
    model.layers[0].bias = gx.Variable(np.ones(4, "float32"))
    checkpoint.save(tmp_path / "c")
    assert len(decoded) == 2
    assert gx.checkpoint.read(tmp_path / "c")["model/layers/0/bias"].shape == (4,)


def test_a_background_save_uses_it_too(tmp_path, toys, decoded):
    v = toys.number(0)
    checkpoint = Checkpoint(v=v)
    for i in range(4):
        v.assign(i)
        checkpoint.save(tmp_path / f"{i}", async_=True)
    v.assign(9)
    checkpoint.wait()
    assert len(decoded) == 1
    assert [float(gx.checkpoint.read(tmp_path / f"{i}")["v"]) for i in range(4)] == [0, 1, 2, 3]
