"""Every example in a docstring runs, and every public class and function has one."""

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import graftax

PACKAGE = Path(graftax.__file__).parent
MODULES = {
    ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): file.read_text()
    for file in sorted(PACKAGE.rglob("*.py"))
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# Namespaces that are public, besides the names of graftax itself.
NAMESPACES = ("adapters", "layers", "optimizers", "losses", "metrics", "reparam", "callbacks", "data")
NAMESPACES += ("summary", "training", "generation")

# Public names without an example of their own, and why.
NO_EXAMPLE: dict[str, str] = {}


class Finder(doctest.DocTestFinder):
    """Finds the examples of decorated functions, too: what is decorated comes from the module of the decorator."""

    def _from_module(self, module, obj):
        return super()._from_module(module, inspect.unwrap(obj) if inspect.isfunction(obj) else obj)


def public_names() -> dict[str, object]:
    """Qualified name to class or function, for everything that a user finds in the tables."""
    found = {name: getattr(graftax, name) for name in graftax._NAMES}
    for space in NAMESPACES:
        module = getattr(graftax, space)
        found |= {
            f"{space}.{name}": getattr(module, name)
            for name in getattr(module, "__all__", dir(module))
            if name[0] != "_"
        }
    return {name: value for name, value in found.items() if inspect.isclass(value) or inspect.isfunction(value)}


@pytest.mark.in_turn(100)
@pytest.mark.parametrize("name", [name for name, source in MODULES.items() if ">>> " in source])
def test_examples_in_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    given = {**vars(module), "gx": graftax, "np": np}
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    report: list[str] = []
    for test in Finder(exclude_empty=True).find(module, name, globs=given):
        runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).attempted > 0, "the examples of this module were not found"
    assert not report, "".join(report)


def test_every_public_name_has_an_example():
    names = public_names()
    without = {name for name, value in names.items() if ">>> " not in (inspect.getdoc(value) or "")}
    assert without - set(NO_EXAMPLE) == set()
    assert set(NO_EXAMPLE) - without == set(), "listed as without an example, but has one or is gone"


@pytest.mark.broad
def test_every_public_name_has_a_docstring_of_its_own():
    missing = [name for name, value in public_names().items() if not (value.__doc__ or "").strip()]
    assert missing == []
