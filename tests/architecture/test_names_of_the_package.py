"""What tests, tools, benchmarks and examples take from the package is there: also where no quick test runs them."""

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests", "tools", "benchmarks", "examples")


def modules_of(nodes: list[ast.AST]) -> dict[str, ModuleType]:
    """Return the modules of graftax that a file imports, by the names that it gives them."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "graftax":
            for alias in node.names:
                if not _is_there(str(node.module), alias.name):
                    continue
                value = getattr(import_module(str(node.module)), alias.name)
                if isinstance(value, ModuleType):
                    found[alias.asname or alias.name] = value
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname and alias.name.partition(".")[0] == "graftax":
                    found[alias.asname] = import_module(alias.name)
    for node in nodes:  # what a function calls by the same name is another thing
        name = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else ""
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
            found.pop(name, None)
    return found


def _is_there(module: str, name: str) -> bool:
    owner = import_module(module)
    if not hasattr(owner, name) and hasattr(owner, "__path__") and find_spec(f"{module}.{name}"):
        import_module(f"{module}.{name}")  # a file of a folder is an attribute of it once it is imported
    return hasattr(owner, name)


def missing_names(text: str) -> Iterator[str]:
    """Yield the names that a file takes from modules of graftax and that these do not have."""
    nodes = [*ast.walk(ast.parse(text))]
    modules = modules_of(nodes)
    attributes = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "graftax":
            names = [alias.name for alias in node.names if alias.name != "*"]
            yield from (f"{node.module}.{name}" for name in names if not _is_there(str(node.module), name))
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
            and not hasattr(modules[node.value.id], node.attr)
        ):
            attributes.append((node, f"{node.value.id}.{node.attr} (line {node.lineno})"))
    if attributes:  # few files have one, and most of those mean it
        asked = {*_inside(nodes, "MissingAttributeError"), *_inside(nodes, "AttributeError")}
        yield from (text for node, text in attributes if node not in asked)


def _inside(nodes: list[ast.AST], error: str) -> Iterator[ast.AST]:
    """Yield what stands in `with pytest.raises(<error>)` or alone in a lambda: there, a missing name is the point."""
    for node in nodes:
        if isinstance(node, ast.Lambda):
            yield node.body
        if isinstance(node, ast.With) and any(error in ast.unparse(item.context_expr) for item in node.items):
            for line in node.body:
                yield from ast.walk(line)


def test_a_file_takes_only_names_that_are_there() -> None:
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    files = sorted(set(paths) - {ROOT / "tests" / "typing" / "mistakes.py"})  # there, type checkers must find them
    found = [f"{path.relative_to(ROOT)}: {name}" for path in files for name in missing_names(path.read_text())]
    assert len(files) > 500
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from graftax.ops import table\ntable.OPS", []),
        ("from graftax.ops import table\ntable.NO_SUCH", ["table.NO_SUCH (line 2)"]),
        ("from graftax.ops.table import NO_SUCH", ["graftax.ops.table.NO_SUCH"]),
        ("import graftax as gx\ngx.Lyer", ["gx.Lyer (line 2)"]),
        ("import graftax as gx\nwith raises(AttributeError):\n    gx.Lyer", []),
        ("import graftax as gx\nrefused(lambda: gx.Lyer)", []),
        ("from graftax.core import later\nlater = later.import_later(1)\nlater.build", []),
    ],
)
def test_a_name_that_is_not_there_is_found(text: str, found: list[str]) -> None:
    assert list(missing_names(text)) == found
