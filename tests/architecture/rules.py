"""The guard of the floor plan: reads every import and finds what the plan forbids.

`violations` takes a mapping of module name to source, so that the guard itself can be shown to fail.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from tests.architecture.plan import (
    CIRCLES,
    DEPENDENCIES,
    DOORS,
    FLOORS,
    HEAVY,
    JAX_HOME,
    LATER,
    LAZY,
    LIGHT,
    MAX_LINES,
    PACKAGE,
    PRIVATE_JAX,
    PRIVATE_JAX_HOME,
    STANDALONE,
    STARS,
    TESTS,
    WINGS,
)


class Rule(StrEnum):
    UPWARD = "upward import"
    SIDEWAYS = "sideways import"
    PACKAGE = "package import"
    UNKNOWN_MODULE = "unknown module"
    HIDDEN = "hidden import"
    CYCLE = "cycle"
    CIRCLE = "circle through types"
    LATER = "later import"
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
        self.later: dict[str, ast.Call] = {}
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
            second_door = _is_door(self.module)  # it has exactly the names
            if alias.name == "*" and (second_door or (self.module, node.module) in STARS):
                self._found(node, node.module)
            elif alias.name == "*":
                self._violation(Rule.STAR, node, ast.unparse(node))
            else:
                self._found(node, f"{node.module}.{alias.name}")

    def visit_Call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func).split(".")[-1]
        if name in ("import_module", "__import__"):
            self._found(node, "import_module", lazy=True)
        if name == "import_later" and node.args:
            self.later[ast.literal_eval(node.args[0])] = node
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


def _is_door(module: str) -> bool:
    return _floor(module) == len(FLOORS) - 1


def fnmatches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _wing(module: str, wings: str) -> str | None:
    return next((wing for wing in wings.split() if f"{_part(module)}.".startswith(f"{wing}.")), None)


@cache  # several tests read the whole package
def _read(module: str, text: str) -> _Reader:
    reader = _Reader(module)
    reader.visit(ast.parse(text))
    return reader


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
    sources: Mapping[str, str],
    lazy: Mapping[tuple[str, str], str] = LAZY,
    circles: Mapping[tuple[str, str], str] = CIRCLES,
    light: tuple[str, ...] = LIGHT,
) -> list[Violation]:
    """Everything in the sources (module name to text) that the plan forbids, in the order of the modules."""
    found: list[Violation] = []
    graph: dict[str, set[str]] = {}
    for_types: dict[tuple[str, str], Import] = {}
    foreign: dict[str, set[str]] = {}
    for module, text in sources.items():
        found += [*_of_place(module), *of_text(module, text)]
        reader = _read(module, text)
        found += [*reader.broken, *_of_later(reader)]
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
                continue
            target, trouble = _resolve(one.target, sources)
            if trouble is Rule.PACKAGE and one.types_only and _is_door(module):
                continue  # tells checkers of types which names there are
            found += [Violation(trouble, one.where, one.target)] if trouble else _of_edge(one, target)
            if not trouble and one.types_only:
                for_types.setdefault((module, target), one)
            elif not trouble and not one.lazy:
                graph[module].add(target)
    found += [*_cycles(_with_packages(graph)), *_circles(graph, for_types, circles)]
    return [*found, *_heavy(graph, foreign, [m for m in graph if fnmatches(_part(m), light)])]


def _of_later(reader: _Reader) -> Iterator[Violation]:
    """What a module imports later is listed, and it imports it for types, too: so the other rules see it."""
    for target, node in reader.later.items():
        where = f"{reader.module}:{node.lineno}"
        if target not in LATER:
            yield Violation(Rule.LATER, where, f"{target}: import it at the top, or list it with its reason")
        if not any(one.types_only and one.target == target for one in reader.imports):
            yield Violation(Rule.LATER, where, f"{target}: import it under TYPE_CHECKING, too")


def _of_place(module: str) -> Iterator[Violation]:
    if _floor(module) is None:
        yield Violation(Rule.NOT_ON_THE_PLAN, module, "add its folder to a floor")


def of_text(module: str, text: str) -> Iterator[Violation]:
    """What no file may be, in the package and among its tests."""
    if text.count("\n") > MAX_LINES:
        yield Violation(Rule.LONG_FILE, module, f"{text.count(chr(10))} lines, at most {MAX_LINES}")
    if module.rpartition(".")[2] in ("utils", "util", "helpers", "common", "misc"):
        yield Violation(Rule.NAMELESS_FILE, module, "call it by what it does")


def _of_foreign(one: Import) -> Iterator[Violation]:
    if one.root in ("jax", "jaxlib") and not one.module.startswith(JAX_HOME) and one.module not in STANDALONE:
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


def _with_packages(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The same, and what else an import runs: the packages that the module lies in, unless the importer does, too."""
    packages = {name.removesuffix(".__init__"): name for name in graph if name.endswith(".__init__")}
    packages.pop("graftax", None)
    return {
        module: targets.union(
            name
            for target in targets
            for package, name in packages.items()
            if f"{target}.".startswith(f"{package}.") and not f"{module}.".startswith(f"{package}.")
        )
        for module, targets in graph.items()
    }


def _cycles(graph: Mapping[str, set[str]]) -> Iterator[Violation]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield Violation(Rule.CYCLE, error.args[1][0], " <- ".join(error.args[1]))


def _circles(
    graph: Mapping[str, set[str]],
    for_types: Mapping[tuple[str, str], Import],
    excused: Mapping[tuple[str, str], str],
) -> Iterator[Violation]:
    """Imports for types alone, by which what is imported comes back to the importer."""
    whole = {module: set(targets) for module, targets in graph.items()}
    for module, target in for_types:
        whole[module].add(target)
    for (module, target), one in for_types.items():
        if (module, target) not in excused and module in _reached(whole, target):
            yield Violation(Rule.CIRCLE, one.where, f"{target}: it needs {module} in turn; a Protocol in a lower file")


def files_below(module: str, sources: Mapping[str, str]) -> set[str]:
    """Return the modules that a module needs: what it imports, and what they import in turn."""
    graph: dict[str, set[str]] = {}
    for name, text in sources.items():
        ours = (
            one for one in _read(name, text).imports if one.root == "graftax" and not one.lazy and not one.types_only
        )
        graph[name] = {target for one in ours for target, trouble in [_resolve(one.target, sources)] if not trouble}
    return _reached(graph, module) - {module}


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """All modules that a module imports, by whatever way, itself among them."""
    reached = {start}
    queue = [start]
    for module in queue:
        new = graph[module] - reached
        reached |= new
        queue += new
    return reached


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


def imported_later(sources: Mapping[str, str]) -> set[str]:
    """The modules that some module imports later."""
    return {target for name, text in sources.items() for target in _read(name, text).later}


# --- the sources ---


def read_package(folder: Path = PACKAGE) -> dict[str, str]:
    """Module name to source; packages appear as ``graftax.layers.__init__``."""
    files = sorted(folder.rglob("*.py"))
    return {".".join(file.relative_to(folder.parent).with_suffix("").parts): file.read_text() for file in files}


def read_tests(folder: Path = TESTS) -> dict[str, str]:
    """Name to source, of the files of tests."""
    files = sorted(folder.rglob("*.py"))
    return {".".join(file.relative_to(folder.parent).with_suffix("").parts): file.read_text() for file in files}
