"""The package itself: what it exports, and that importing it costs nothing."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import graftax

TABLE = {**graftax._MODULES, **graftax._NAMES}


def run_python(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_public_name_resolves(name):
    found = getattr(graftax, name)
    if name in graftax._MODULES:
        assert found is import_module(graftax._MODULES[name])
    else:
        assert found is getattr(import_module(graftax._NAMES[name]), name)
        assert getattr(found, "__module__", None) == graftax._NAMES[name], "the table names the defining module"


def test_type_checkers_see_the_same_table():
    tree = ast.parse(Path(graftax.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "'import x as x' is what marks a public name"
            known_module = f"{node.module}.{alias.name}" == graftax._MODULES.get(alias.name)
            seen[alias.name] = f"{node.module}.{alias.name}" if known_module else node.module
    assert seen == TABLE


def test_a_name_is_either_a_namespace_or_a_thing():
    assert set(graftax._MODULES) & set(graftax._NAMES) == set()


def test_all_and_dir_list_every_public_name():
    assert set(graftax.__all__) == {"__version__", *TABLE}
    assert dir(graftax) == sorted(graftax.__all__)


def test_an_unknown_name_is_an_attribute_error_that_names_the_one_that_was_meant():
    with pytest.raises(AttributeError, match="graftax has no 'Variabel'") as caught:
        graftax.Variabel  # noqa: B018
    assert caught.value.instead == "graftax.Variable"
    assert not hasattr(graftax, "_private")


def test_import_loads_neither_numpy_nor_jax():
    loaded = run_python("import sys, graftax; print(*sorted(m.split('.')[0] for m in sys.modules))").split()
    assert "graftax" in loaded
    assert not {"numpy", "jax", "jaxlib", "msgpack", "xxhash"} & set(loaded)


def test_import_takes_at_most_60_ms():
    # time of the processor, which other programs do not prolong
    code = "from time import process_time as now; start = now(); import graftax; print(now() - start)"
    assert min(float(run_python(code)) for _ in range(5)) < 0.060


def test_every_public_namespace_can_be_imported_by_its_name():
    lines = [
        f"import graftax.{name}; assert graftax.{name} is gx.{name}, {name!r}" for name in sorted(graftax._MODULES)
    ]
    lines += [f"from graftax.{name} import *" for name in sorted(graftax._MODULES)]
    assert run_python("\n".join(["import graftax as gx", *lines, "print(Zeros.__name__, ShapeError.__module__)"])) == (
        "Zeros graftax.errors"
    )
