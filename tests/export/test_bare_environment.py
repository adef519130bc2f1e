"""Somebody who has an artefact, and an environment with jax, numpy and flatbuffers only, gets the same numbers."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from tests.export.artefacts import Trained, numbers

pytestmark = pytest.mark.slow
NEEDED = ("jax", "numpy", "flatbuffers")
STEPS = """
import sys; sys.path.insert(0, sys.argv[1])
import run, numpy as np
artefact = run.load(sys.argv[1])
with np.load(sys.argv[2]) as arrays:
    losses = [float(artefact.train_step(arrays["x"], arrays["y"])) for _ in range(3)]
np.savez(sys.argv[3], losses=losses, **artefact.values)
"""


def run(*command: object, folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PIP_REQUIRE"))}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with what an artefact needs."""
    folder = tmp_path_factory.mktemp("bare")
    run(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    found = folder / "venv" / "bin" / "python"
    wanted = [f"{name}=={version(name)}" for name in NEEDED]
    run(found, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *wanted, folder=folder)
    return found


def test_predictions_and_training_steps_are_those_of_graftax(python: Path, tmp_path: Path) -> None:
    installed = {one["name"] for one in json.loads(run(python, "-m", "pip", "list", "--format=json", folder=tmp_path))}
    assert installed >= set(NEEDED)
    assert not installed & {"graftax", "safetensors", "msgpack", "xxhash", "onnxruntime"}
    trained = Trained()
    trained.save(tmp_path / "net", platforms=("cpu",))
    for batch in (1, 5):
        x = numbers(batch, 4, seed=batch)
        np.save(tmp_path / "x.npy", x)
        run(python, "net/run.py", "net", "predict", "x=x.npy", "out.npz", folder=tmp_path)
        with np.load(tmp_path / "out.npz") as found:
            np.testing.assert_allclose(
                found["arr_0"], gx.jit(lambda x: trained.net(x, training=False))(x), rtol=1e-6, atol=1e-7
            )
    np.savez(tmp_path / "batch.npz", x=trained.x, y=trained.y)
    run(python, "-c", STEPS, "net", "batch.npz", "after.npz", folder=tmp_path)
    losses = [float(trained.step(trained.x, trained.y)) for _ in range(3)]
    with np.load(tmp_path / "after.npz") as after:
        np.testing.assert_allclose(after["losses"], losses, rtol=1e-6)
        kernel = after["net/layers/0/kernel"]
    np.testing.assert_allclose(kernel, trained.net.layers[0].kernel, rtol=1e-6, atol=1e-7)
