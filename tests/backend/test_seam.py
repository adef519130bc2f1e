"""Above the seam nothing has the name of a backend; what a backend says of itself is used."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from graftax.backend import registry
from graftax.backend.base import GROUPS, BackendBase
from graftax.core import foreign_errors, libraries, user_line
from graftax.core.errors import ArgumentError, GraftaxError

PACKAGE = Path(__file__).parents[2] / "graftax"
NAMES = re.compile(r"\b(jax|jaxlib|jnp|xla)\b", re.IGNORECASE)

# What may have the name of the library all the same, and why.
MAY = {
    "core/foreign_names.py": "names of other libraries, which users of these write",
    "checkpoint/foreign/sources.py": "libraries that write weights, by the names that users give them",
    "optimizers/optax/state.py": "optax computes with JAX alone",
    "cli/export_show.py": "an artefact says by which version of JAX it was written",
    "export/saving.py": "so are the files called that JAX reads",
    "export/manifest.py": "it is a part of what runs without graftax, on JAX",
    "export/run.py": "it runs without graftax, on JAX",
    "ops/parameter_kinds.py": "kernels of attention have the name of the compiler that makes them",
    "backend/registry.py": "where the built-in backends are, and which is the default",
}


def texts(source: str) -> Iterator[tuple[int, str]]:
    """The strings of a module that are no docstrings."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


def named(source: str) -> list[tuple[int, str]]:
    """The strings that name a library of a backend."""
    return [(line, text) for line, text in texts(source) if NAMES.search(text)]


def above() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        if not name.startswith(("backend/jax/", "backend/numpy/", "backend/testing/")) and name not in MAY:
            yield name, path.read_text()


@pytest.mark.broad
def test_no_message_and_no_table_above_the_seam_names_a_backend() -> None:
    found = {name: named(source) for name, source in above()}
    assert {name: rows for name, rows in found.items() if rows} == {}


def test_the_search_for_names_finds_messages_and_leaves_docstrings() -> None:
    source = 'def f(x):\n    """Compute as JAX does."""\n    raise TypeError(f"{x}: jax.jit")\n\nNAMES = {"a": "jnp"}\n'
    assert [text for _, text in sorted(named(source))] == [": jax.jit", "jnp"]
    assert [name for name in MAY if not named((PACKAGE / name).read_text())] == []


def test_what_is_asked_of_a_backend_is_a_group_that_there_is() -> None:
    asked = {(name, group) for name, source in above() for group in re.findall(r'\.has\("(\w+)"\)', source)}
    assert {group for _, group in asked} > {"tracing", "compiling"}
    assert [row for row in asked if row[1] not in GROUPS] == []


class Broken(Exception):
    """An error of the library below the backend of these tests."""


class Mine(BackendBase):
    name = "mine"
    groups = ("arrays",)
    libraries = ("mine_below",)
    notices = ("[mine] ",)

    def __init__(self) -> None:
        self.arrays = registry.load("numpy").arrays

    def translate_error(self, error: Exception) -> GraftaxError | None:
        return ArgumentError("mine", "it is broken", "another") if isinstance(error, Broken) else None


def test_a_backend_says_its_libraries_its_notices_and_what_its_errors_mean() -> None:
    error = Broken("somewhere deep")
    assert foreign_errors.translate(error) is None
    assert "mine_below" not in libraries.names()
    mine: object = Mine()
    with registry.scope(mine):  # type: ignore[arg-type]
        assert "mine_below" in libraries.names()
        assert "another" in str(foreign_errors.translate(error))
        assert libraries.notices()[-1] == "[mine] "
    assert "mine_below" not in libraries.names()
    assert foreign_errors.translate(error) is None
    assert "[mine] " not in libraries.notices()


def test_lines_of_a_backends_libraries_are_none_of_the_users() -> None:
    space: dict[str, object] = {"__name__": "mine_below.deep"}
    exec(compile("def call(fn): return fn()", "mine_below/deep.py", "exec"), space)
    mine: object = Mine()

    def raised() -> user_line.Place | None:
        try:
            space["call"](1)  # type: ignore[operator]
        except TypeError as error:
            return user_line.of_traceback(error.__traceback__)
        return None

    before = raised()
    assert before is not None
    assert before[0] == "mine_below/deep.py"
    with registry.scope(mine):  # type: ignore[arg-type]
        after = raised()
    assert after is not None
    assert after[0] == __file__


def test_who_offers_a_group_is_asked_of_the_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name = "mine"

        def load(self) -> type[Mine]:
            return type("Gifted", (Mine,), {"groups": ("arrays", "telepathy")})

    class Faulty(Entry):
        name = "faulty"

        def load(self) -> type[Mine]:
            raise RuntimeError("a package that is broken")

    monkeypatch.setattr(registry, "entry_points", lambda group: [Faulty(), Entry()])
    monkeypatch.setattr(registry, "_loaded", dict(registry._loaded))
    assert "telepathy is offered by: mine" in str(Mine().missing("telepathy"))
    assert "compiling is offered by: jax" in str(Mine().missing("compiling"))
    assert "none that is installed" in str(Mine().missing("nothing"))


def test_a_group_that_is_promised_and_not_there_is_a_mistake_of_the_backend() -> None:
    class Empty(BackendBase):
        name = "empty"
        groups = ("random",)

    with pytest.raises(AttributeError, match="'Empty' object has no attribute 'random'"):
        _ = Empty().random
