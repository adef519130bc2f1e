"""Modules of optimizers lie one above the other, also where an import is there for type checkers alone."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "graftax"


def imports(sources):
    """For each module, the modules of the same table that it names in any import statement."""
    graph = {}
    for module, text in sources.items():
        named = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and node.module]
        targets = {name for node in named for name in (node.module, *(f"{node.module}.{a.name}" for a in node.names))}
        graph[module] = targets & sources.keys() - {module}
    return graph


def check(sources):
    TopologicalSorter(imports(sources)).prepare()


ROOMS = (
    "arguments schedules",
    "engine",
    "optimizer minimizer around",
    "update_rules lbfgs optax",
    "named",
    "registry",
)
"""Folders and modules of the package, from below: each imports its own line and those above it in this table."""


def upward(sources):
    """Imports of something that lies higher, and modules that lie nowhere."""

    def height(module):
        part = module.removeprefix("graftax.optimizers.").partition(".")[0]
        return next(i for i, rooms in enumerate(ROOMS) if part in rooms.split())

    graph = imports(sources)
    return [(module, other) for module in graph for other in graph[module] if height(other) > height(module)]


def package():
    files = [file for file in (PACKAGE / "optimizers").rglob("*.py") if file.name != "__init__.py"]
    return {".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts): file.read_text() for file in files}


def test_no_circle_of_optimizer_modules_even_among_imports_for_types():
    assert len(package()) > 50
    check(package())


def test_a_circle_through_an_import_for_types_is_found():
    above = "from graftax.optimizers.rule import Rule\n"
    below = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from graftax.optimizers.optimizer import Optimizer\n"
    )
    with pytest.raises(CycleError):
        check({"graftax.optimizers.optimizer": above, "graftax.optimizers.rule": below})


def test_no_room_imports_a_higher_one():
    assert upward(package()) == []


def test_an_import_of_a_higher_room_is_found():
    below, above = "graftax.optimizers.engine.rule", "graftax.optimizers.optimizer"
    sources = {above: "", below: "from graftax.optimizers.optimizer import Optimizer\n"}
    assert upward(sources) == [(below, above)]
