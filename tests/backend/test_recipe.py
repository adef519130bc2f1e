"""The recipe "A backend" of CONTRIBUTING.md, followed to the letter in an empty folder."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def blocks(kind: str) -> list[str]:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    section = page.partition("### A backend\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package, as an installer would leave it."""
    backend, tests = blocks("python")
    (project,) = blocks("toml")
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "__init__.py").touch()
    (tmp_path / "my_package" / "backend.py").write_text(backend)
    (tmp_path / "test_mine.py").write_text(tests)
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    entries = tomllib.loads(project)["project"]["entry-points"]
    lines = [f"[{group}]\n{name} = {target}\n" for group, of in entries.items() for name, target in of.items()]
    (info / "entry_points.txt").write_text("".join(lines))
    return tmp_path


def test_the_backend_is_found_and_used(package: Path) -> None:
    code = (
        "import graftax as gx\n"
        "assert gx.backend.available() == ['jax', 'numpy', 'mine'], gx.backend.available()\n"
        "with gx.backend.use('mine') as backend:\n"
        "    layer = gx.layers.Dense(2)\n"
        "    assert layer([[1.0, 2.0, 3.0]]).shape == (1, 2)\n"
        "    assert backend.arrays.count > 0\n"
        "    try: gx.jit(lambda x: x)(1.0)\n"
        "    except gx.errors.BackendCapabilityError as error: print(error)\n"
    )
    said = run(package, "-W", "error", "-c", code)
    assert "the backend 'mine' has no compiling" in said
    assert "compiling is offered by: jax" in said


@pytest.mark.broad
def test_the_kit_passes_as_it_stands_there(package: Path) -> None:
    only = "backend/ or arrays/ or random/ or devices/ or ops/max or promised or known"
    said = run(package, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-W", "error", "test_mine.py", "-k", only)
    assert re.search(r"\d\d passed", said), said
    assert "skipped" not in said
