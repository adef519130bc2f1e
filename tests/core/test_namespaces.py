"""What the public namespaces show: the names that the documentation lists, and nothing else."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import graftax as gx

ROOT = Path(gx.__file__).parents[1]
PAGE = (ROOT / "docs" / "api.md").read_text()
SECTIONS = dict(re.findall(r"^## `(.*?)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
SPACES = {"gx": gx, **{f"gx.{name}": import_module(module) for name, module in gx._MODULES.items()}}
SPACES["gx.optimizers.schedules"] = gx.optimizers.schedules
SPACES["gx.ops.image"] = gx.ops.image
SPACES |= {"gx.backend.api": gx.backend.api, "gx.backend.testing": gx.backend.testing}


def test_every_namespace_is_listed_and_no_other():
    found = {f"{space}.{name}": getattr(module, name) for space, module in SPACES.items() for name in module.__all__}
    inside = {name for name, thing in found.items() if inspect.ismodule(thing)}
    assert set(SECTIONS) == set(SPACES) == {"gx", *inside}


@pytest.mark.parametrize("space", SPACES)
def test_a7_dir_shows_what_is_public_and_documented(space):
    module = SPACES[space]
    listed = re.findall(r"^\| `(\w+)` \|", SECTIONS[space], re.MULTILINE)
    namespaces = re.findall(rf"`{re.escape(space)}\.(\w+)`", SECTIONS[space].partition("| name |")[0])
    assert dir(module) == sorted(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    assert {*listed, *namespaces} == {*module.__all__} - {"__version__"}


@pytest.mark.parametrize("space", SPACES)
def test_a11_a_namespace_shows_no_name_of_somebody_else(space):
    """Every class and function is ours, and every module that is shown is a namespace itself."""
    for name in SPACES[space].__all__:
        found = getattr(SPACES[space], name)
        if inspect.ismodule(found):
            assert f"{space}.{name}" in SPACES
        elif name != "__version__" and not isinstance(found, tuple):  # of names
            assert found.__module__.startswith("graftax."), name


@pytest.mark.parametrize("space", [space for space in SPACES if space not in ("gx", "gx.ops")])
def test_a11_what_a_namespace_defines_or_passes_on_is_in_all(space):
    """A class or function that stands in the file without an underscore, or is imported as itself, is public."""
    module = SPACES[space]
    given = set()
    for node in ast.parse(Path(module.__file__).read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            given.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            given |= {alias.name for alias in node.names if alias.asname == alias.name}
    assert {name for name in given if name[0] != "_"} - set(module.__all__) == set()


def test_a7_a_star_import_brings_what_is_public_and_nothing_else():
    names: dict[str, object] = {}
    exec("from graftax.layers import *", names)
    assert set(names) - {"__builtins__"} == set(gx.layers.__all__)


@pytest.mark.broad
def test_the_page_of_public_names_is_up_to_date():
    """If not: ``python tools/make_api_page.py``."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "make_api_page.py"), "--check"], check=True, cwd=ROOT)


def test_the_namespace_of_checkpoints_holds_the_class():
    assert gx.checkpoint.Checkpoint is gx.Checkpoint
    with pytest.raises(AttributeError, match="no attribute 'Chekpoint'"):
        gx.checkpoint.Chekpoint  # noqa: B018
