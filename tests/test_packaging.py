"""The package as it is shipped: what the metadata promises and what the wheel holds."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import graftax

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = [*PROJECT["dependencies"], *(line for name, lines in EXTRAS.items() if name != "all" for line in lines)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from this tree."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_every_requirement_has_both_bounds(requirement):
    bounds, _, machine = requirement.partition("; ")
    assert re.fullmatch(r"[a-z0-9-]+(\[[a-z0-9]+\])?>=\d+(\.\d+)*,<\d+(\.\d+)*", bounds)
    assert not machine or "platform" in machine


def test_the_extra_all_holds_every_other_extra_but_those_of_devices():
    (line,) = EXTRAS["all"]
    apart = {"all", "cuda12", "cuda13", "tpu"}  # one machine has one of these
    assert set(line.removeprefix("graftax[").removesuffix("]").split(",")) == set(EXTRAS) - apart


def test_classifiers_name_the_supported_pythons():
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    low, high = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    assert named == [f"3.{minor}" for minor in range(int(low), int(high))]


def test_the_command_line_program_exists():
    module, _, function = PROJECT["scripts"]["graftax"].partition(":")
    assert callable(getattr(import_module(module), function))


@pytest.mark.broad
def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {name for name in names if not name.startswith(f"graftax-{graftax.__version__}.dist-info/")}
    files = (file for file in (ROOT / "graftax").rglob("*") if file.suffix in (".py", ".pyi", ".typed"))
    assert shipped == {str(file.relative_to(ROOT)) for file in files}
    assert "graftax/py.typed" in shipped
    assert f"graftax-{graftax.__version__}.dist-info/licenses/LICENSE" in names


def test_the_wheel_names_version_and_requirements(wheel):
    metadata = zipfile.ZipFile(wheel).read(f"graftax-{graftax.__version__}.dist-info/METADATA").decode()
    assert f"\nVersion: {graftax.__version__}\n" in metadata
    for extra in EXTRAS:
        assert f"\nProvides-Extra: {extra}\n" in metadata


def test_the_wheel_imports_on_its_own(wheel):
    code = f"import sys; sys.path.insert(0, {str(wheel)!r}); import graftax.core.errors; print(graftax.__file__)"
    run = subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True)
    assert Path(run.stdout.strip()).is_relative_to(wheel)


def test_the_changelog_has_this_version():
    assert re.search(rf"^## {re.escape(graftax.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
