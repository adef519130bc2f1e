"""The floor plan of the package, and the guard that keeps it: reads every import and fails on what the plan forbids.

`violations` takes a mapping of module name to source, so that the guard itself can be shown to fail.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "graftax"

# A module imports its own floor or a lower one. A folder stands for everything in it.
FLOORS = (
    ("words", "core"),
    ("arrays", "backend ops"),
    ("variables", "variables objectives"),
    ("expressions", "reparam transforms"),
    ("wings", "layers optimizers losses metrics checkpoint distribution"),
    ("programs", "training export"),
    (
        "doors",
        "cli activations adapters callbacks constraints errors initializers random regularizers __init__ __main__",
    ),
)

# Packages that are imported as users import them, since their ``__init__`` is made for that.
DOORS = ("graftax.ops", "graftax.optimizers.schedules", "graftax.training.callbacks")

# Folders of one floor that never import each other.
WINGS = (
    "layers optimizers losses metrics checkpoint distribution",
    "backend.jax backend.numpy",
)

# Imports that wait until a function runs: (module, what it imports) and why it may.
LAZY = {
    ("graftax.__init__", "import_module"): "public names are imported when first used",
    (
        "graftax.core.namespaces",
        "import_module",
    ): "looked through when a name is missing",
    ("graftax.checkpoint.__init__", "import_module"): "the command line looks at checkpoints without an array library",
    ("graftax.backend.__init__", "import_module"): "what authors of backends need reaches into everything",
    ("graftax.backend.registry", "import_module"): "a backend is imported when first used",
    ("graftax.backend.jax.backend", "graftax.backend.jax.transforms.JaxTransforms"): "arrays alone need no tracing",
    ("graftax.backend.host", "import_module"): "ml_dtypes is optional: JAX brings it, NumPy does without",
    ("graftax.training.callbacks.progress", "import_module"): "rich is optional: the extra graftax[progress]",
    ("graftax.cli.main", "import_module"): "only the subcommand that was asked for is imported",
    ("graftax.cli.target", "import_module"): "the user's program, named on the command line",
}

# What these import when they are imported must not reach an array library: they are there before a backend is chosen.
LIGHT = ("__init__", "core.*", "cli.main", "cli.ckpt_ls", "cli.ckpt_show", "cli.ckpt_verify")
HEAVY = {"numpy", "jax", "jaxlib", "scipy", "ml_dtypes"}

# Everything else is optional and so imported lazily.
DEPENDENCIES = {"numpy", "jax", "jaxlib", "msgpack", "xxhash"}
JAX_HOME = "graftax.backend.jax."
PRIVATE_JAX = ("jax._src", "jax.extend.core", "jax.interpreters", "jaxlib")
PRIVATE_JAX_HOME = "graftax.backend.jax.tracing"

MAX_LINES = 400


class Rule(StrEnum):
    UPWARD = "upward import"
    SIDEWAYS = "sideways import"
    PACKAGE = "package import"
    UNKNOWN_MODULE = "unknown module"
    HIDDEN = "hidden import"
    CYCLE = "cycle"
    RELATIVE = "relative import"
    STAR = "star import"
    LONG_FILE = "long file"
    NAMELESS_FILE = "nameless file"
    NOT_ON_THE_PLAN = "not on the plan"
    PRIVATE_JAX = "private jax"
    JAX = "jax import"
    OPTIONAL_LIBRARY = "optional library"
    HEAVY = "heavy import"


class Violation(NamedTuple):
    rule: Rule
    where: str
    text: str


class Import(NamedTuple):
    """One imported name; ``target`` is the dotted module, with the name where that may be a module, too."""

    module: str
    line: int
    target: str
    lazy: bool = False
    types_only: bool = False

    @property
    def where(self) -> str:
        return f"{self.module}:{self.line}"

    @property
    def root(self) -> str:
        return self.target.partition(".")[0]


# --- reading ------------------------------------------------------------------------------------------------------


class _Reader(ast.NodeVisitor):
    def __init__(self, module: str) -> None:
        self.module = module
        self.imports: list[Import] = []
        self.broken: list[Violation] = []
        self._depth = 0
        self._types_only = False

    def _found(self, node: ast.AST, target: str, lazy: bool = False) -> None:
        self.imports.append(Import(self.module, node.lineno, target, lazy or self._depth > 0, self._types_only))

    def _violation(self, rule: Rule, node: ast.AST, text: str) -> None:
        self.broken.append(Violation(rule, f"{self.module}:{node.lineno}", text))

    def _visit_function(self, node: ast.AST) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test).split(".")[-1] != "TYPE_CHECKING":
            self.generic_visit(node)
            return
        before, self._types_only = self._types_only, True
        for child in node.body:
            self.visit(child)
        self._types_only = before
        for child in node.orelse:
            self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._found(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            self._violation(Rule.RELATIVE, node, ast.unparse(node))
            return
        for alias in node.names:
            if alias.name == "*" and _floor(self.module) == len(FLOORS) - 1:  # a second door has exactly the names
                self._found(node, node.module)
            elif alias.name == "*":
                self._violation(Rule.STAR, node, ast.unparse(node))
            else:
                self._found(node, f"{node.module}.{alias.name}")

    def visit_Call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func).split(".")[-1]
        if name in ("import_module", "__import__"):
            self._found(node, "import_module", lazy=True)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if ast.unparse(node).startswith(PRIVATE_JAX) and self.module != PRIVATE_JAX_HOME:
            self._violation(Rule.PRIVATE_JAX, node, ast.unparse(node))
        self.generic_visit(node)


def _part(module: str) -> str:
    return module.removeprefix("graftax.")


def _floor(module: str) -> int | None:
    top = _part(module).partition(".")[0]
    return next((i for i, (_, members) in enumerate(FLOORS) if fnmatches(top, members.split())), None)


def fnmatches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _wing(module: str, wings: str) -> str | None:
    return next((wing for wing in wings.split() if f"{_part(module)}.".startswith(f"{wing}.")), None)


def _resolve(target: str, sources: Mapping[str, str]) -> tuple[str, Rule | None]:
    """The module that an import of ``target`` runs, and the rule that it breaks."""
    parent = target.rpartition(".")[0]
    for name in (target, parent):
        if name in sources:
            return name, None
        if f"{name}.__init__" in sources:
            return f"{name}.__init__", None if name in DOORS else Rule.PACKAGE
    return target, Rule.UNKNOWN_MODULE


# --- the rules ----------------------------------------------------------------------------------------------------


def violations(
    sources: Mapping[str, str], lazy: Mapping[tuple[str, str], str] = LAZY, light: tuple[str, ...] = LIGHT
) -> list[Violation]:
    """Everything in the sources (module name to text) that the plan forbids, in the order of the modules."""
    found: list[Violation] = []
    graph: dict[str, set[str]] = {}
    foreign: dict[str, set[str]] = {}
    for module, text in sources.items():
        found += _of_text(module, text)
        reader = _Reader(module)
        reader.visit(ast.parse(text))
        found += reader.broken
        graph[module], foreign[module] = set(), set()
        for one in reader.imports:
            if one.lazy and not one.types_only and (module, one.target) not in lazy:
                found.append(Violation(Rule.HIDDEN, one.where, f"{one.target}: move it to the top, or list it"))
            if one.target == "import_module":
                continue
            if one.root != "graftax":
                found += _of_foreign(one)
                if not one.lazy and not one.types_only:
                    foreign[module].add(one.root)
            elif not one.types_only:
                target, trouble = _resolve(one.target, sources)
                found += [Violation(trouble, one.where, one.target)] if trouble else _of_edge(one, target)
                if not trouble and not one.lazy:
                    graph[module].add(target)
    return [*found, *_cycles(graph), *_heavy(graph, foreign, [m for m in graph if fnmatches(_part(m), light)])]


def _of_text(module: str, text: str) -> Iterator[Violation]:
    if _floor(module) is None:
        yield Violation(Rule.NOT_ON_THE_PLAN, module, "add its folder to a floor")
    if text.count("\n") > MAX_LINES:
        yield Violation(Rule.LONG_FILE, module, f"{text.count(chr(10))} lines, at most {MAX_LINES}")
    if module.rpartition(".")[2] in ("utils", "util", "helpers", "common", "misc"):
        yield Violation(Rule.NAMELESS_FILE, module, "call it by what it does")


def _of_foreign(one: Import) -> Iterator[Violation]:
    if one.root in ("jax", "jaxlib") and not one.module.startswith(JAX_HOME):
        yield Violation(Rule.JAX, one.where, one.target)
    if f"{one.target}.".startswith(tuple(f"{name}." for name in PRIVATE_JAX)) and one.module != PRIVATE_JAX_HOME:
        yield Violation(Rule.PRIVATE_JAX, one.where, one.target)
    known = one.root in DEPENDENCIES or one.root in sys.stdlib_module_names
    if not known and not one.lazy and not one.types_only:
        yield Violation(Rule.OPTIONAL_LIBRARY, one.where, f"{one.target}: import it where it is needed, and list that")


def _of_edge(one: Import, target: str) -> Iterator[Violation]:
    here, there = _floor(one.module), _floor(target)
    if here is not None and there is not None and there > here:
        yield Violation(Rule.UPWARD, one.where, f"{target}: {FLOORS[there][0]} lies above {FLOORS[here][0]}")
    for wings in WINGS:
        mine, other = _wing(one.module, wings), _wing(target, wings)
        if mine and other and mine != other:
            yield Violation(Rule.SIDEWAYS, one.where, f"{target}: {mine} and {other} are wings")


def _cycles(graph: Mapping[str, set[str]]) -> Iterator[Violation]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield Violation(Rule.CYCLE, error.args[1][0], " <- ".join(error.args[1]))


def _heavy(graph: Mapping[str, set[str]], foreign: Mapping[str, set[str]], light: list[str]) -> Iterator[Violation]:
    """Importing a module runs every module that it imports, and the ``__init__`` of every package on the way."""
    for start in light:
        paths = {start: [start]} if start in graph else {}
        queue = list(paths)
        for module in queue:
            for name in sorted(foreign[module] & HEAVY):
                yield Violation(Rule.HEAVY, start, " -> ".join([*paths[module], name]))
            parents = module.split(".")[:-1]
            inits = {".".join([*parents[: i + 1], "__init__"]) for i in range(len(parents))}
            for target in sorted((graph[module] | inits) & graph.keys() - paths.keys()):
                paths[target] = [*paths[module], target]
                queue.append(target)


# --- the package --------------------------------------------------------------------------------------------------


def read_package(folder: Path = PACKAGE) -> dict[str, str]:
    """Module name to source; packages appear as ``graftax.layers.__init__``."""
    files = sorted(folder.rglob("*.py"))
    return {".".join(file.relative_to(folder.parent).with_suffix("").parts): file.read_text() for file in files}


def test_the_package_keeps_to_the_plan():
    found = violations(read_package())
    assert not found, "\n".join(f"{rule}: {where}: {text}" for rule, where, text in found)


def test_every_listed_exception_is_needed():
    without = violations(read_package(), lazy={})
    used = {(v.where.partition(":")[0], v.text.partition(":")[0]) for v in without if v.rule == Rule.HIDDEN}
    assert set(LAZY) - used == set()


# --- the guard itself ---------------------------------------------------------------------------------------------

GOOD = {
    "graftax.__init__": "from importlib import import_module\ndef __getattr__(name):\n    return import_module(name)\n",
    "graftax.core.errors": "import os\n",
    "graftax.core.tree": "from graftax.core.errors import GraftaxError\n",
    "graftax.ops": "import numpy as np\nfrom graftax.core.tree import flatten\n",
    "graftax.backend.__init__": "from graftax.backend.registry import use\n",
    "graftax.backend.registry": "from graftax.core.errors import BackendError\n",
    "graftax.backend.jax.__init__": "",
    "graftax.backend.jax.backend": "import jax\nimport jax.numpy\nfrom graftax.backend.jax.tracing import trace\n",
    "graftax.backend.jax.tracing": "from jax.extend import core\nfrom jax._src.core import Jaxpr\n",
    "graftax.backend.numpy.arrays": "import numpy\n",
    "graftax.layers.__init__": "from graftax.layers.dense import Dense\n",
    "graftax.layers.layer": "from graftax import ops\nfrom graftax.variables.graph.module import Module\n",
    "graftax.layers.dense": "from graftax.layers.layer import Layer\n",
    "graftax.losses.loss": (
        "from typing import TYPE_CHECKING\nfrom graftax import ops\nif TYPE_CHECKING:\n"
        "    from graftax.training.model import Model\n    from graftax.layers.layer import Layer\n"
    ),
    "graftax.variables.graph.module": "import msgpack, xxhash\n",
    "graftax.training.model": "from graftax.layers.layer import Layer\nfrom graftax.losses.loss import Loss\n",
    "graftax.cli.main": "import argparse\n",
}

BAD = [
    (Rule.UPWARD, "graftax.core.errors", "from graftax.core.tree import flatten\nfrom graftax.ops import add"),
    (Rule.UPWARD, "graftax.layers.dense", "import graftax.training.model"),
    (Rule.UPWARD, "graftax.ops", "from graftax.variables.graph.module import Module"),
    (
        Rule.UPWARD,
        "graftax.core.errors",
        "try:\n    from graftax.variables.graph.module import Module\nexcept ImportError:\n    pass",
    ),
    (Rule.SIDEWAYS, "graftax.layers.dense", "from graftax.losses.loss import Loss"),
    (Rule.SIDEWAYS, "graftax.backend.numpy.arrays", "from graftax.backend.jax import backend"),
    (Rule.PACKAGE, "graftax.training.model", "import graftax.layers"),
    (Rule.PACKAGE, "graftax.training.model", "from graftax import layers"),
    (Rule.PACKAGE, "graftax.training.model", "from graftax.layers import Dense"),
    (Rule.PACKAGE, "graftax.layers.dense", "from graftax import Variable"),
    (Rule.PACKAGE, "graftax.layers.dense", "import graftax as gx"),
    (Rule.UNKNOWN_MODULE, "graftax.layers.dense", "from graftax.layers.sparse import Sparse"),
    (Rule.HIDDEN, "graftax.layers.dense", "def f():\n    from graftax.variables.graph.module import Module"),
    (Rule.HIDDEN, "graftax.layers.dense", "class A:\n    async def f(self):\n        import os"),
    (
        Rule.HIDDEN,
        "graftax.layers.dense",
        "import importlib\nx = importlib.import_module('graftax.variables.graph.module')",
    ),
    (Rule.HIDDEN, "graftax.layers.dense", "def f():\n    return __import__('os')"),
    (Rule.UPWARD, "graftax.layers.dense", "def f():\n    from graftax.training.model import Model"),
    (Rule.CYCLE, "graftax.layers.layer", "from graftax.layers.dense import Dense"),
    (Rule.CYCLE, "graftax.core.tree", "from graftax.core.scopes import ScopeStack"),
    (Rule.RELATIVE, "graftax.layers.dense", "from .layer import Layer"),
    (
        "relative import",
        "graftax.layers.dense",
        "if TYPE_CHECKING:\n    from . import x",
    ),
    (Rule.STAR, "graftax.layers.dense", "from graftax.layers.layer import *"),
    (Rule.LONG_FILE, "graftax.layers.dense", "x = 1\n" * (MAX_LINES + 1)),
    (Rule.NAMELESS_FILE, "graftax.layers.utils", ""),
    (Rule.NOT_ON_THE_PLAN, "graftax.extras.thing", ""),
    (Rule.PRIVATE_JAX, "graftax.backend.jax.backend", "from jax._src import core"),
    (Rule.PRIVATE_JAX, "graftax.backend.jax.backend", "from jax import _src"),
    (Rule.PRIVATE_JAX, "graftax.backend.jax.backend", "import jax.extend.core as core"),
    (Rule.PRIVATE_JAX, "graftax.backend.jax.backend", "from jax.extend import core"),
    (Rule.PRIVATE_JAX, "graftax.backend.jax.backend", "from jax.interpreters import partial_eval"),
    (Rule.PRIVATE_JAX, "graftax.backend.jax.backend", "import jax\nx = jax.interpreters.mlir"),
    (Rule.JAX, "graftax.layers.dense", "import jax.numpy as jnp"),
    (Rule.JAX, "graftax.backend.registry", "def f():\n    from jax import Array"),
    (Rule.JAX, "graftax.ops", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import jax"),
    (Rule.OPTIONAL_LIBRARY, "graftax.training.model", "import rich"),
    (Rule.HEAVY, "graftax.core.errors", "import numpy as np"),
    (Rule.HEAVY, "graftax.cli.main", "from graftax import ops"),
    (Rule.HEAVY, "graftax.__init__", "import numpy"),
]


def test_a_good_package_passes():
    assert violations(GOOD) == []


@pytest.mark.parametrize(("rule", "module", "source"), BAD)
def test_the_guard_catches(rule, module, source):
    extra = {"graftax.core.scopes": "from graftax.core.tree import flatten\n"} if rule == Rule.CYCLE else {}
    found = violations({**GOOD, **extra, module: source + "\n"})
    assert rule in {violation.rule for violation in found}
    assert any(violation.where.startswith(module) for violation in found) or rule in (Rule.CYCLE, Rule.HEAVY)


def test_a_cycle_is_told_with_its_members():
    cycle = {**GOOD, "graftax.layers.layer": "from graftax.layers.dense import Dense\n"}
    (found,) = violations(cycle)
    assert "graftax.layers.dense <- graftax.layers.layer" in found.text or "layer <- graftax.layers.dense" in found.text


def test_a_heavy_import_is_told_with_its_way():
    (found,) = violations({**GOOD, "graftax.cli.main": "from graftax.ops import add\n"})
    assert found == (Rule.HEAVY, "graftax.cli.main", "graftax.cli.main -> graftax.ops -> numpy")


def test_a_package_on_the_way_counts_as_imported():
    sources = {
        **GOOD,
        "graftax.checkpoint.__init__": "from graftax.ops import add\n",
        "graftax.checkpoint.format": "import json\n",
        "graftax.cli.main": "from graftax.checkpoint.format import read\n",
    }
    assert [v.rule for v in violations(sources)] == [Rule.HEAVY]


def test_a_listed_exception_still_obeys_the_floors():
    sources = {**GOOD, "graftax.layers.dense": "def f():\n    from graftax.training.model import Model\n"}
    listed = {**LAZY, ("graftax.layers.dense", "graftax.training.model.Model"): "to see"}
    assert [v.rule for v in violations(sources, lazy=listed)] == [Rule.UPWARD]


def test_every_rule_has_a_source_that_breaks_it():
    assert {rule for rule, _, _ in BAD} == set(Rule)


def test_warnings_about_the_users_code_name_the_users_line():
    # the way from a public function to a warning changes: a number of frames to skip would not change with it
    for path in sorted(PACKAGE.rglob("*.py")):
        assert "warnings.warn(" not in path.read_text(), f"{path}: user_line.warn(text) finds the line"
