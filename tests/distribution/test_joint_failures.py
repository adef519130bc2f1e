"""Saves by several processes of which one fails, is late, differs or dies: all are told, and nothing is half there."""

import os
import signal

import pytest

from graftax.checkpoint.local_storage import LocalStorage
from graftax.checkpoint.verify import verify
from tests.distribution import several

ALIVE = """
import errno
from graftax.checkpoint import files, joint_commit, local_storage, local_writing
from tests.distribution.joint_program import check, program, spread, VALUES
join(timeout=20)
folder = arguments[0]
variables = program()
checkpoint = gx.Checkpoint(model=variables)

def fails(name, do):
    try:
        do()
    except Exception as error:
        tell(**{name: [type(error).__name__, str(error)]})
    gd.barrier(name)

# process 1 has another value of what each has for itself
variables["host"].assign(np.full((7,), float(process), "float32"))
fails("value", lambda: checkpoint.save(f"{folder}/value"))
variables["host"].assign(np.full((7,), 2.0, "float32"))
# one of them has a Variable more
other = {**variables, **({"more": gx.Variable(1.0)} if process == 1 else {})}
fails("structure", lambda: gx.Checkpoint(model=other).save(f"{folder}/structure"))
fails("path", lambda: checkpoint.save(f"{folder}/path{process}"))
fails("step", lambda: checkpoint.save(f"{folder}/step", step=process))
# one cannot even begin
fails("alone", lambda: checkpoint.save(f"{folder}/alone", only="model/none" if process == 1 else None))

# the disk of process 1 is full
def full(self, descriptor, buffers, offset):
    raise OSError(errno.ENOSPC, "No space left on device")
pwritev = files.FileSystem.pwritev
if process == 1:
    files.FileSystem.pwritev = full
fails("full", lambda: checkpoint.save(f"{folder}/full"))
files.FileSystem.pwritev = pwritev

# process 1 sees another file system
take_part = local_storage.LocalStorage.take_part
def elsewhere(self, path, ticket):
    os.makedirs(f"{folder}/elsewhere", exist_ok=True)
    return local_writing.LocalShare(self.fs, f"{folder}/elsewhere")
local_storage.LocalStorage.take_part = elsewhere
fails("shared", lambda: checkpoint.save(f"{folder}/shared"))
local_storage.LocalStorage.take_part = take_part

checkpoint.save(f"{folder}/good", step=1)
fails("again", lambda: checkpoint.save(f"{folder}/good"))
checkpoint.save(f"{folder}/good", overwrite=True, step=2)
checkpoint.save(f"{folder}/next", base=f"{folder}/good")

# process 1 comes late: both hear of it, and save again
from graftax.backend import registry
registry.current().processes.timeout = 1.0
if process == 1:
    time.sleep(3)
try:
    checkpoint.save(f"{folder}/late")
except gx.errors.SaveError as error:
    tell(late=str(error))
registry.current().processes.timeout = 20.0
checkpoint.save(f"{folder}/later")
manager = gx.CheckpointManager(f"{folder}/run", keep=2, model=variables)
for step in range(4):
    manager.save(step, async_=True)
manager.wait()
gd.barrier("pruned")
tell(kept=[record.step for record in manager.all()])
blank = program(False)
gx.CheckpointManager(f"{folder}/run", model=blank).restore_latest()
check(blank)
# a restore that one cannot finish is none
blank = program(False)
fails("restore", lambda: gx.Checkpoint(model=blank).restore(f"{folder}/{'good' if process == 0 else 'later'}"))
tell(untouched=float(np.asarray(blank["rows"]._storage.buffer.addressable_shards[0].data).sum()) == 0)
tell(rewound=[record.step for record in manager.rewind(2)])
"""


@pytest.mark.slow
def test_failures_that_all_survive(tmp_path):
    first, second = several.told(several.run(ALIVE, 2, 2, tmp_path, timeout=120))
    told = {
        "value": "model/host is float32[7] with checksum",
        "structure": "process 1 has 'model/more', process 0 has not",
        "path": "path is",
        "step": "step is 0 in process 0, and 1 in process 1",
        "shared": "what process 1 has written is not where process 0 writes",
        "again": "exists",
        "restore": "the checkpoint is",
    }
    for name, message in told.items():
        assert message in first[name][1], (name, first[name])
        assert message in second[name][1], (name, second[name])
    assert first["alone"][0] == "SaveError"
    assert "process 1 could not take part: SelectorError" in first["alone"][1]
    assert second["alone"][0] == "SelectorError"
    assert (first["full"][0], second["full"][0]) == ("SaveError", "StorageFull")
    assert "process 1 could not save its share: StorageFull" in first["full"][1]
    assert (first["again"][0], second["again"][0]) == ("DestinationExists", "SaveError")
    assert "for process 1 of 2" in first["late"]
    assert "when others had given up waiting" in second["late"]
    assert first["kept"] == second["kept"] == [2, 3]
    assert first["rewound"] == second["rewound"] == [3]
    assert first["untouched"]
    assert second["untouched"]
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "good", "later", "next", "run"]
    assert os.listdir(tmp_path / "run") == ["step-2"]
    for name in ("good", "later", "next", "run/step-2"):
        assert not verify(tmp_path / name).problems
    assert sum(file.stat().st_size for file in (tmp_path / "next").iterdir()) < 20_000  # what `good` has is referred to


DYING = """
folder, who, point = arguments
join(heartbeat=3, timeout=30)
from graftax.checkpoint import joint_commit, local_writing
from tests.distribution.joint_program import program
checkpoint = gx.Checkpoint(model=program())
checkpoint.save(f"{folder}/old", step=1)

def dies(module, name, after=False):
    usual = getattr(module, name)
    def dying(*args, **kwargs):
        if after:
            usual(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(module, name, dying)

if process == int(who):
    {
        "before": lambda: dies(joint_commit, "_commit"),
        "begun": lambda: dies(joint_commit, "_write_share"),
        "data": lambda: dies(local_writing, "write_file"),
        "told": lambda: dies(joint_commit, "_write_share", after=True),
        "share": lambda: dies(local_writing.LocalShare, "finish", after=True),
        "met": lambda: dies(joint_commit, "_merge" if process == 0 else "_receive"),
        "index": lambda: dies(local_writing, "publish"),
        "renamed": lambda: dies(local_writing, "publish", after=True),
    }[point]()
try:
    checkpoint.save(f"{folder}/new", step=2)
except gx.errors.SaveError as error:
    tell(error=str(error))
    time.sleep(0.5)
    os._exit(3)
tell(saved=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "point", "new"),
    [
        (1, "before", False),
        (1, "data", False),
        (1, "share", False),
        (0, "begun", False),
        (0, "data", False),
        (0, "met", False),
        (0, "index", False),
        (0, "renamed", True),
    ],
)
def test_killed_at(tmp_path, who, point, new):
    ended = several.run(DYING, 2, 2, tmp_path, who, point, timeout=60)
    assert ended[who].status == -signal.SIGKILL, ended[who].text[-2000:]
    other = ended[1 - who]
    assert other.status in (3, -signal.SIGABRT), other.text[-2000:]
    if "error" in other.told:
        assert "lost the others" in other.told["error"]
    assert "saved" not in other.told
    LocalStorage().sweep(str(tmp_path))
    names = [name for name in os.listdir(tmp_path) if not name.startswith(".owner-")]
    assert sorted(names) == ["new", "old"] if new else names == ["old"]
    for name in names:
        assert not verify(tmp_path / name).problems
