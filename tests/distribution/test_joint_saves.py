"""Checkpoints that several real processes write together: on N, read on M, by one, and without a backend."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import graftax as gx
from graftax.cli.main import main
from tests.distribution import several
from tests.distribution.joint_program import HOST, VALUES

SAVE = """
join()
from tests.distribution.joint_program import program
checkpoint = gx.Checkpoint(model=program())
if arguments[1] == "async":
    checkpoint.save(arguments[0], step=3, async_=True)
    report = checkpoint.wait()
else:
    report = checkpoint.save(arguments[0], step=3)
names = sorted(os.listdir(arguments[0]))
mine = sum(os.path.getsize(f"{arguments[0]}/{name}") for name in names if name.startswith(f"data-{process:05d}"))
tell(arrays=report.arrays, nbytes=report.nbytes, mine=mine, names=names)
"""

RESTORE = """
join()
from tests.distribution.joint_program import check, program
found = program(False)
report = gx.Checkpoint(model=found).restore(arguments[0])
check(found)
tell(step=report.step, restored=len(report.restored))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("saved", "how", "restored"),
    [((2, 4), "async", [(1, 2), (4, 2)]), ((4, 2), "plain", [(1, 8), (2, 1)])],
    ids=["2x4", "4x2"],
)
def test_f7_saved_by_several_and_restored_by_any(tmp_path, saved, how, restored):
    path = tmp_path / "c"
    told = several.told(several.run(SAVE, *saved, path, how))
    total = sum(value.nbytes for value, _ in VALUES.values()) + HOST.nbytes
    assert all((one["arrays"], one["names"]) == (6, told[0]["names"]) for one in told)
    assert told[0]["nbytes"] == sum(one["mine"] for one in told)
    assert os.listdir(tmp_path) == ["c"]
    assert max(one["mine"] for one in told) < 1.1 * total / saved[0] + 8192  # headers are padded
    for count, devices in restored:
        for one in several.told(several.run(RESTORE, count, devices, path)):
            assert one == {"step": 3, "restored": 6}
    _by_one(path)
    _without_jax(path)


REMOTE = """
join()
from tests.distribution.joint_program import check, program
url = arguments[0]
manager = gx.CheckpointManager(f"{url}/run", keep=2, model=program())
for step in (1, 2, 3):
    manager.save(step, async_=step == 2)
manager.wait()
checkpoint = gx.Checkpoint(model=program())
for step in (1, 2):
    checkpoint.save(f"{url}/one", overwrite=step == 2, step=step)
found = program(False)
report = gx.CheckpointManager(f"{url}/run", model=found).restore_latest()
check(found)
again = program(False)
tell(latest=report.step, one=gx.Checkpoint(model=again).restore(f"{url}/one").step)
check(again)
try:
    gx.Checkpoint(model=program()).save(f"{url}/one")
except gx.errors.GraftaxError as error:
    tell(refused="one exists" in str(error))
"""


@pytest.mark.slow
def test_f7_where_nothing_can_be_renamed_several_save_too(tmp_path):
    pytest.importorskip("fsspec")
    for one in several.told(several.run(REMOTE, 2, 2, f"file://{tmp_path}")):  # by the way of object stores
        assert one == {"latest": 3, "one": 2, "refused": True}
    assert sorted(os.listdir(tmp_path)) == ["one", "run"]
    assert len([name for name in os.listdir(tmp_path / "run") if "3" in name or "2" in name]) == 2
    assert not [name for _, _, files in os.walk(tmp_path) for name in files if name.startswith(("part-", ".owner"))]
    _by_one(tmp_path / "one")
    _without_jax(tmp_path / "one")


def _by_one(path):
    found = {name: gx.Variable(np.zeros_like(value)) for name, (value, _) in VALUES.items()}
    found["host"] = gx.Variable(np.zeros_like(HOST))
    gx.Checkpoint(model=found).restore(path)
    for name, (value, _) in VALUES.items():
        np.testing.assert_array_equal(found[name].numpy(), value)


def _without_jax(path):
    program = """
import json, sys
import graftax as gx
with gx.checkpoint.read(sys.argv[1]) as arrays:
    print(json.dumps({path: float(arrays[path].astype("float64").sum()) for path in arrays}))
    assert arrays.get_slice("model/rows")[2047:2049, 1].tolist() == [2047 * 129 + 1, 2048 * 129 + 1]
assert "jax" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    sums = {f"model/{name}": float(value.astype("float64").sum()) for name, (value, _) in VALUES.items()}
    assert json.loads(done.stdout) == sums | {"model/host": 14.0}
    assert main(["ckpt", "verify", str(path)]) == 0
