"""Saves beside training threads, readers beside saves, and forged sizes (findings C10, C11, C14, D15)."""

import errno
import os
import threading

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.commit import commit
from graftax.checkpoint.envelope import seal
from graftax.checkpoint.files import FileSystem
from graftax.checkpoint.index import encode
from graftax.checkpoint.loading import load
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.verify import verify
from graftax.core.errors import CorruptMetadata, LimitExceeded, StorageFailure
from tests.checkpoint.attacks import FULL


class Running:
    """A thread that calls a function until the block ends; its error, if there was one, is raised there."""

    def __init__(self, work):
        self.work = work
        self.stopped = threading.Event()
        self.rounds = 0
        self.error = None
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            while not self.stopped.is_set():
                self.work()
                self.rounds += 1
        except BaseException as error:  # noqa: BLE001 - raised where the block ends
            self.error = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()
        if self.error:
            raise self.error


@pytest.mark.broad
def test_saves_beside_a_training_thread_are_of_one_moment(tmp_path, toys):
    variables = [gx.Variable(np.zeros(n, "float32")) for n in (3, 20_000, 5, 1)]
    other = gx.Variable(np.zeros(100, "float32"))

    @gx.jit
    def step():
        for v in variables:
            v.assign(v.value + 1)
        return 0

    step()
    checkpoint = Checkpoint(variables=variables, other=other)
    seen = []
    with Running(step) as training:
        for i in range(25):
            checkpoint.save(tmp_path / f"{i}")
    for i in range(25):
        with Reader(tmp_path / f"{i}") as reader:
            loaded = load(reader, range(5))
        values = {float(n) for array in loaded.values() if array.size != 100 for n in np.unique(array)}
        assert len(values) == 1, f"torn: {values}"
        seen.append(values.pop())
    assert seen == sorted(seen)
    assert training.rounds > 0
    assert float(variables[0].numpy()[0]) == training.rounds + 1  # nothing that was trained is lost


@pytest.mark.broad
def test_beside_fit(tmp_path):
    model = gx.Sequential([gx.layers.Dense(8), gx.layers.Dense(1)])
    model.compile("adam", "mse")
    x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
    model.fit(x, y, epochs=1, verbose=0)
    checkpoint = Checkpoint(model=model, optimizer=model.optimizer)
    with Running(lambda: model.fit(x, y, epochs=1, batch_size=8, verbose=0)):
        for _ in range(10):
            checkpoint.save(tmp_path / "c", overwrite=True)
            assert not verify(tmp_path / "c").problems


def test_who_assigns_beside_steps_that_follow_upon_each_other_gets_a_turn():
    v = gx.Variable(np.zeros(3, "float32"))

    @gx.jit
    def step():
        v.assign(v.value + 1)
        return 0

    step()
    with Running(step):
        for _ in range(100):
            v.assign(np.zeros(3, "float32"))
            assert np.isfinite(v.numpy()).all()


@pytest.mark.broad
@pytest.mark.parametrize("exchanges", [True, False])
def test_readers_beside_an_overwrite(tmp_path, toys, exchanges):
    class Plain(FileSystem):
        def fsync(self, descriptor):
            pass

        def fsync_dir(self, path):
            pass

        def exchange(self, one, other):
            return exchanges and super().exchange(one, other)

    fs = Plain()
    drafts = [toys.draft({f"x{i}": np.full(2000, float(i)) for i in range(n)}) for n in (1, 3)]
    commit(tmp_path / "c", drafts[0])
    turn = iter(range(10**9))
    overwrite = lambda: commit(tmp_path / "c", drafts[next(turn) % 2], overwrite=True, fs=fs)  # noqa: E731
    with Running(overwrite) as writing:
        while writing.rounds < 30 and not writing.error:
            with Reader(tmp_path / "c") as reader:  # without an exchange there is a moment with nothing there
                reader.check_files()
                loaded = load(reader, range(len(reader.index.tensors)))
            assert all((array == i).all() for i, array in loaded.items())


@pytest.mark.parametrize("block", [(64 << 20) + 1, 1 << 62])
def test_forged_blocks(tmp_path, toys, block, attack):
    attack(FULL, cases=1)
    index = commit(tmp_path / "c", toys.draft({"x": np.zeros(10)}))
    (tmp_path / "c" / "graph.msgpack").write_bytes(seal(encode(index._replace(block=block))))
    with pytest.raises(CorruptMetadata, match="67,108,864 bytes"):
        verify(tmp_path / "c")


def test_sparse_files_that_claim_what_is_not_there(tmp_path, toys, attack):
    attack(FULL, cases=1)
    index = commit(tmp_path / "c", toys.draft({"x": np.zeros(512)}))
    grown = 40 << 30
    [file], [tensor] = index.files, index.tensors
    sums = bytes(8 * (grown // index.block))
    chunk = tensor.chunks[0]._replace(nbytes=grown, extent=(grown // 8,), sums=sums)
    forged = index._replace(
        files=(file._replace(size=file.data_begin + grown),),
        tensors=(tensor._replace(shape=(grown // 8,), chunks=(chunk,)),),
    )
    os.truncate(tmp_path / "c" / file.name, file.data_begin + grown)
    (tmp_path / "c" / "graph.msgpack").write_bytes(seal(encode(forged)))
    [problem] = verify(tmp_path / "c").problems
    assert isinstance(problem, LimitExceeded)
    with Reader(tmp_path / "c") as reader, pytest.raises(LimitExceeded, match="holes"):
        reader.check_files()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE, errno.EIO])
def test_what_the_system_refuses_is_called_by_its_name(tmp_path, toys, monkeypatch, number):
    commit(tmp_path / "c", toys.draft({"x": np.zeros(10)}))
    plain = os.open

    def refusing(path, *args, **kwargs):
        if path == "graph.msgpack":
            raise OSError(number, os.strerror(number))
        return plain(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(StorageFailure, match=os.strerror(number)) as caught:
        Reader(tmp_path / "c")
    assert "links" not in str(caught.value)
