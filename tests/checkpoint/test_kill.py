"""kill -9 at random moments of saves, overwrites, prunes and sweeps: what had returned is there and whole."""

import json
import subprocess
import sys

import pytest

from tests.checkpoint.attacks import KILLED

# One process without threads imports once and forks a saver for each round. The saver writes the number of each save
# into a pipe when the call has returned.
PROGRAM = """
import json, os, random, signal, sys, time
import numpy as np
import graftax as gx
from graftax.backend import use
use("numpy")
from graftax.checkpoint.local_storage import LocalStorage
from graftax.checkpoint.verify import verify

mode, rounds, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rng = random.Random(mode)
told = returned = swept = published = 0
last = -1

def program():
    return [gx.Variable(np.zeros(n, "float32")) for n in (3, 5000, 70_000, 1)]

def save_for_ever(pipe, first):
    variables = program()
    checkpoint = gx.Checkpoint(v=variables)
    if mode != "overwrite":
        manager = gx.CheckpointManager(folder, keep=2, v=variables)
        frozen = mode == "refer" and manager.latest()
    step = first
    os.write(pipe, b"begun\\n")
    while True:
        for v in variables[: 3 if mode == "refer" else 4]:
            v.assign(np.full(v.shape, step, "float32"))
        if mode == "overwrite":
            checkpoint.save(f"{folder}/c", overwrite=True, step=step)
        elif mode == "async":
            manager.save(step, async_=True)
            manager.wait()
        else:
            manager.save(step, base=frozen.path if frozen and os.path.exists(frozen.path) else None)
        os.write(pipe, b"%d\\n" % step)
        step += 1

def whole(path):
    found = verify(path)
    assert not found.problems and not found.strangers, (path, found.problems, found.strangers)
    variables = program()
    step = gx.Checkpoint(v=variables).restore(path).assert_consumed().step
    for v in variables[: 3 if mode == "refer" else 4]:
        assert (v.numpy() == step).all(), (path, step)
    return step

for _ in range(rounds):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            save_for_ever(writing, last + 1)
        finally:
            os._exit(1)
    os.close(writing)
    begun = b""
    while not begun.endswith(b"begun\\n"):
        begun += os.read(reading, 1)
    time.sleep(rng.uniform(0.0, 0.2))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the saver failed by itself"
    done = b""
    while part := os.read(reading, 1 << 16):
        done += part
    os.close(reading)
    steps = [int(line) for line in done.split()]
    returned += len(steps)
    swept += len(LocalStorage().sweep(folder))
    names = sorted(os.listdir(folder))
    # who was killed while he wrote who he is leaves that file for a minute
    names = [name for name in names if not name.startswith(".owner-")]
    assert not [name for name in names if name.startswith(".")], names
    there = [whole(f"{folder}/{name}") for name in names]
    published += len(there)
    newest = max(there, default=-1)
    assert newest >= (steps[-1] if steps else last), (newest, steps, last)
    last = newest
print(json.dumps({"rounds": rounds, "returned": returned, "swept": swept, "checked": published}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["overwrite", "manager", "async", "refer"])
def test_killed_at_any_moment(tmp_path, mode, attack):
    run = [sys.executable, "-W", "error", "-c", PROGRAM, mode, "100", str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    attack(KILLED, rounds=found["rounds"], swept=found["swept"])
    assert found["returned"] > 20
    assert found["swept"] > 10


def test_killed_a_few_times(tmp_path):
    run = [sys.executable, "-W", "error", "-c", PROGRAM, "overwrite", "3", str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
