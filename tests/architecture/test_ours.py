"""What is part of the package is asked in one place, `graftax.core.ours`."""

import ast
from pathlib import Path

import pytest

import graftax
from graftax import ops
from graftax.core.ours import is_ours
from graftax.layers import Dense

PACKAGE = Path(graftax.__file__).parent
NAMES = {"graftax", "graftax."}


def asks_by_itself(tree):
    """Yield the lines that look for the name of the package at the beginning of a module's name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
            found = [one.value for one in node.args if isinstance(one, ast.Constant)]
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            is_first = any(isinstance(one, ast.Subscript) and "partition" in ast.unparse(one) for one in sides)
            found = [one.value if isinstance(one, ast.Constant) else None for one in sides] if is_first else []
            found += ["graftax"] if is_first and "__name__.partition" in ast.unparse(node) else []
        else:
            continue
        if NAMES.intersection(one for one in found if isinstance(one, str)):
            yield node.lineno


@pytest.mark.parametrize(
    "line",
    [
        'kind.__module__.startswith("graftax.")',
        'kind.__module__.partition(".")[0] != "graftax"',
        'kind.__module__.partition(".")[0] == __name__.partition(".")[0]',
    ],
)
def test_the_search_finds(line):
    assert [*asks_by_itself(ast.parse(line))] == [1]


def test_no_module_asks_by_itself():
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in PACKAGE.rglob("*.py")
        if (lines := [*asks_by_itself(ast.parse(path.read_text()))])
    }
    assert found == {}


def test_classes_and_functions():
    class Mine(Dense):
        pass

    assert [is_ours(one) for one in (Dense, ops.mean, Mine, int, max, test_classes_and_functions)] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
