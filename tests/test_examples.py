"""Every program in examples/ runs from start to end, with tiny settings and without a warning.

What it trained is exported, and runs elsewhere: natively in a process without graftax, as ONNX beside references.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.export.artefacts import run_alone

FOLDER = Path(__file__).parents[1] / "examples"
EXPORTING = Path(__file__).parent / "export" / "exporting_example.py"
EXAMPLES = sorted(path.name for path in FOLDER.glob("*.py"))
QUICK = {"custom_gradients.py"}  # the others compile a dozen programs, as pages of the docs do in the quick tests, too
WITHOUT_LAYERS = {"custom_gradients.py", "second_order_slots.py", "wolfe_line_search.py"}
EXPORTED = [name for name in EXAMPLES if name not in WITHOUT_LAYERS]
ALONE = """
from pathlib import Path
for path in sorted(Path(sys.argv[2]).glob("*-*.npz")):
    artefact = run.load(path.parent / path.stem.partition("-")[0])
    with np.load(path) as arrays:
        inputs = [arrays[name] for name in arrays.files if name != "expected"]
        found = np.asarray(artefact.predict(*inputs))
        np.testing.assert_allclose(found, arrays["expected"], rtol=1e-5, atol=1e-6, err_msg=path.name)
        print(path.stem, found.shape)
"""


def run_example(folder: Path, program: str, *arguments: object) -> str:
    run = subprocess.run(
        [sys.executable, "-W", "error", program, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "GRAFTAX_EXAMPLE_FAST": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.strip(), "an example prints what it did"
    return run.stdout


def test_the_demo_is_there():
    assert "digits.py" in EXAMPLES


def test_what_is_not_exported_is_an_example():
    assert set(EXAMPLES) >= WITHOUT_LAYERS


def check_told(told, exported):
    """Check that a program exported all layers that it called."""
    assert sum(line.startswith("exported ") for line in told.splitlines()) == exported > 0
    assert f"{exported} models" in told.splitlines()[-1]


@pytest.mark.broad
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in EXAMPLES
        if name in QUICK or name in WITHOUT_LAYERS
    ],
)
def test_example(example, tmp_path):
    run_example(tmp_path, str(FOLDER / example))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXPORTED)
def test_example_and_what_it_trained_elsewhere(example, tmp_path):
    told = run_example(tmp_path, str(EXPORTING), FOLDER / example, tmp_path, "artefact")
    check_told(told, len(list(tmp_path.glob("*/manifest.json"))))
    loader = next(tmp_path.glob("*/run.py")).parent
    alone = run_alone(ALONE, loader, tmp_path)
    assert len(alone.splitlines()) == len(list(tmp_path.glob("*-*.npz")))


@pytest.mark.slow
@pytest.mark.references
@pytest.mark.parametrize("example", EXPORTED)
def test_what_an_example_trained_is_an_onnx_file(example, tmp_path):
    told = run_example(tmp_path, str(EXPORTING), FOLDER / example, tmp_path, "onnx")
    check_told(told, len(list(tmp_path.glob("*.onnx"))))
