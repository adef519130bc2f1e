"""The wheel as a stranger gets it: built by pip, installed into a clean environment, imported, trained, asked."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import graftax

ROOT = Path(__file__).parents[1]

PROGRAM = """
import importlib.metadata
import sys

import graftax as gx

assert not {"jax", "numpy"} & set(sys.modules)  # until a backend is asked for
assert gx.__file__.startswith(sys.prefix)
assert gx.__version__ == importlib.metadata.version("graftax")

import numpy as np

draw = np.random.default_rng(0)
x = draw.normal(size=(64, 4)).astype("float32")
y = x[:, :1] * 2
model = gx.Sequential([gx.layers.Dense(8, activation="relu"), gx.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
before = model.evaluate(x, y, verbose=0)["loss"]
history = model.fit(x, y, epochs=3, verbose=2)
assert history.history["loss"][-1] < before
print(model)
gx.Checkpoint(model=model, optimizer=model.optimizer).save("saved", step=1)
plot, log = (lambda: gx.plot_history(history)), (lambda: gx.callbacks.TensorBoard("logs"))
for needed, extra in ((plot, "plots"), (log, "tensorboard")):
    try:
        model.fit(x, y, verbose=0, callbacks=[needed()])
    except gx.errors.MissingLibraryError as error:
        assert f"pip install 'graftax[{extra}]'" in str(error), error
    else:
        raise AssertionError(extra)
"""


def run(*command, folder, **options):
    """Run a program that sees nothing of this environment; give what it printed."""
    kept = ("PATH", "HOME", "TMPDIR", "LANG", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "PIP_CERT")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of a clean environment with the wheel and what it requires."""
    folder = tmp_path_factory.mktemp("installed")
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
    run(sys.executable, *pip, "wheel", ROOT, "--no-deps", "--wheel-dir", folder, folder=folder)
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    found = folder / "venv" / "bin" / "python"
    run(found, *pip, "install", wheel, folder=folder)
    return found


@pytest.mark.slow
def test_the_wheel_trains_in_a_clean_environment(python, tmp_path):
    names = {one["name"] for one in json.loads(run(python, "-m", "pip", "list", "--format=json", folder=tmp_path))}
    assert names <= {
        "graftax", "jax", "jaxlib", "numpy", "msgpack", "xxhash", "scipy", "ml_dtypes", "ml-dtypes", "opt_einsum",
        "opt-einsum", "pip", "setuptools",
    }  # fmt: skip
    (tmp_path / "train.py").write_text(PROGRAM)
    printed = run(python, tmp_path / "train.py", folder=tmp_path)
    assert "3/3" in printed
    assert "layers/0  Dense(8, activation='relu')  kernel (4, 8), bias (8,)" in printed
    command = python.parent / "graftax"
    assert run(command, "--version", folder=tmp_path) == f"graftax {graftax.__version__}\n"
    listed = json.loads(run(command, "ckpt", "ls", ".", "--json", folder=tmp_path))
    assert "saved" in [one["name"] for one in listed if one["state"] == "checkpoint"]
    assert "fine" in run(command, "ckpt", "verify", "saved", folder=tmp_path)
    run(command, "ckpt", "convert", "saved", "--to", "saved.npz", folder=tmp_path)
    assert "model/layers/0/kernel" in run(command, "ckpt", "show", "saved.npz", folder=tmp_path)
