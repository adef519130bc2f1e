"""The commit protocol when calls fail: the right error, nothing left behind, the old checkpoint untouched."""

import errno
import os
import resource

import numpy as np
import pytest

from graftax.checkpoint.commit import commit
from graftax.checkpoint.files import FileSystem, write_all
from graftax.checkpoint.loading import load
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.verify import verify
from graftax.core.errors import ArgumentError, DestinationExists, SaveError, StorageFailure, StorageFull
from tests.checkpoint.attacks import FAILING

OLD = {"x": np.arange(100.0)}
NEW = {"x": np.arange(50.0), "y": np.arange(7, dtype="int8")}
CALLS = (
    "mkdir",
    "hide",
    "reveal",
    "create",
    "allocate",
    "pwritev",
    "fsync",
    "close",
    "fsync_dir",
    "rename",
    "exchange",
    "unlink",
    "rmdir",
)


class Failing(FileSystem):
    """The n-th changing call fails; ``how`` is an errno, or ``"short"`` for writes that take only half."""

    def __init__(self, n, how, exchanges=True):
        self.left = n
        self.how = how
        self.fired = None
        self.exchanges = exchanges

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        if name not in CALLS:
            return found

        def call(*args):
            self.left -= 1
            if self.left == 0 and (self.how != "short" or name == "pwritev"):
                self.fired = name
                if self.how == "short":
                    descriptor, buffers, offset = args
                    return found(descriptor, [memoryview(buffers[0])[: max(1, len(buffers[0]) // 2)]], offset)
                if name == "close":
                    found(*args)
                raise OSError(self.how, os.strerror(self.how))
            if name == "exchange" and not self.exchanges:
                return False
            return found(*args)

        return call


def content(path):
    assert not verify(path).problems
    with Reader(path) as reader:
        names = [t.name.split("/")[1] for t in reader.index.tensors]
        loaded = load(reader, range(len(names)))
        return {name: loaded[i] for i, name in enumerate(names)}


def same(path, arrays):
    found = content(path)
    assert set(found) == set(arrays)
    return all(np.array_equal(found[name], arrays[name]) for name in arrays)


HOWS = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EINTR, errno.EACCES, errno.ENOENT, "short"]
OTHERS = sorted(set(errno.errorcode) - set(HOWS))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("how", [*HOWS, *(pytest.param(number, marks=pytest.mark.slow) for number in OTHERS)])
def test_the_nth_call_fails(tmp_path, toys, how, attack):
    folder = tmp_path / "f"
    folder.mkdir()
    commit(folder / "old", toys.draft(OLD))
    failures = 0
    for n in range(1, 100):
        fs = Failing(n, how)
        error = None
        try:
            commit(folder / "new", toys.draft(NEW), fs=fs)
        except SaveError as caught:
            error = caught
        if error is not None:
            full = how in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            assert type(error) is (StorageFull if full else StorageFailure)
            assert os.strerror(how) in str(error)
            assert sorted(os.listdir(folder)) == ["old"], f"left behind when {fs.fired} failed"
            failures += 1
        else:
            assert same(folder / "new", NEW)
            remove(folder / "new")
            if fs.left > 0:
                break
        assert same(folder / "old", OLD)
    assert fs.left > 0, "the protocol never ended"
    attack(FAILING, failures=n - 1)
    assert failures >= 8 or how == "short"


def remove(path):
    for name in os.listdir(path):
        os.unlink(path / name)
    path.rmdir()


@pytest.mark.broad
@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize(
    "how",
    [errno.ENOSPC, errno.EIO, *(pytest.param(n, marks=pytest.mark.slow) for n in [*HOWS[1:3], *HOWS[4:-1], *OTHERS])],
)
def test_the_nth_call_of_an_overwrite_fails(tmp_path, toys, how, exchanges, attack):
    for n in range(1, 100):
        folder = tmp_path / f"{n}"
        commit(folder / "c", toys.draft(OLD))
        fs = Failing(n, how, exchanges)
        try:
            commit(folder / "c", toys.draft(NEW), overwrite=True, fs=fs)
        except SaveError:
            assert same(folder / "c", OLD)
            assert os.listdir(folder) == ["c"], f"left behind when {fs.fired} failed"
        else:
            assert same(folder / "c", NEW)
            if fs.fired is None:
                assert os.listdir(folder) == ["c"]
                break
        commit(folder / "c", toys.draft(OLD), overwrite=True)
        assert same(folder / "c", OLD)
    attack(FAILING, failures=n - 1)
    assert n > 12


def test_an_interrupt_leaves_nothing(tmp_path, toys):
    class Interrupted(FileSystem):
        def fsync(self, descriptor):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        commit(tmp_path / "c", toys.draft(OLD), fs=Interrupted())
    assert os.listdir(tmp_path) == []


def test_a_file_size_limit_is_storage_full(tmp_path, toys):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, hard))
    try:
        with pytest.raises(StorageFull):
            commit(tmp_path / "c", toys.draft({"x": np.zeros(10_000)}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []
    commit(tmp_path / "c", toys.draft({"x": np.zeros(10_000)}))


def test_a_full_disk_is_known_before_the_work(tmp_path, toys):
    class Full(FileSystem):
        def free(self, path):
            return 100

    with pytest.raises(StorageFull, match="100 are free"):
        commit(tmp_path / "c", toys.draft(OLD), fs=Full())
    assert os.listdir(tmp_path) == []


def test_something_at_the_target_is_kept(tmp_path, toys):
    commit(tmp_path / "c", toys.draft(OLD))
    with pytest.raises(DestinationExists, match="overwrite=True"):
        commit(tmp_path / "c", toys.draft(NEW))
    assert same(tmp_path / "c", OLD)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DestinationExists):
        commit(tmp_path / "empty", toys.draft(NEW))
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DestinationExists):
        commit(tmp_path / "link", toys.draft(NEW))
    assert sorted(os.listdir(tmp_path)) == ["c", "empty", "link"]


def test_overwrite_replaces_checkpoints_only(tmp_path, toys):
    commit(tmp_path / "c", toys.draft(OLD))
    commit(tmp_path / "c", toys.draft(NEW), overwrite=True)
    assert same(tmp_path / "c", NEW)
    (tmp_path / "c" / "notes.txt").write_text("mine")
    with pytest.raises(DestinationExists, match=r"notes\.txt"):
        commit(tmp_path / "c", toys.draft(OLD), overwrite=True)
    (tmp_path / "home").mkdir()
    with pytest.raises(DestinationExists, match="no checkpoint"):
        commit(tmp_path / "home", toys.draft(OLD), overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["c", "home"]


def test_folders_on_the_way_are_made(tmp_path, toys):
    commit(tmp_path / "a" / "b" / "c", toys.draft(OLD))
    assert same(tmp_path / "a" / "b" / "c", OLD)


def test_names_of_staging_directories_are_reserved(tmp_path, toys):
    with pytest.raises(ArgumentError):
        commit(tmp_path / ".c.tmp-0123456789abcdef", toys.draft(OLD))
    with pytest.raises(ArgumentError):
        commit("/", toys.draft(OLD))


def test_writes_of_a_few_bytes_at_a_time_arrive_in_order(tmp_path):
    class Slow(FileSystem):
        def pwritev(self, descriptor, buffers, offset):
            return os.pwrite(descriptor, b"".join(buffers)[:7], offset)

    parts = [memoryview(bytes([i]) * (i % 5)) for i in range(60)]
    descriptor = os.open(tmp_path / "f", os.O_CREAT | os.O_WRONLY)
    write_all(Slow(), descriptor, parts, 0)
    os.close(descriptor)
    assert (tmp_path / "f").read_bytes() == b"".join(parts)


@pytest.mark.broad
def test_many_small_and_one_large_array(tmp_path, toys):
    arrays = {f"a{i}": np.full(i % 3, i, "int16") for i in range(2500)}
    arrays["large"] = np.random.default_rng(0).integers(0, 255, (9 << 20) + 5, dtype="uint8")
    index = commit(tmp_path / "c", toys.draft(arrays))
    assert len(index.tensors[-1].chunks[0].sums) == 3 * 8
    assert same(tmp_path / "c", arrays)
