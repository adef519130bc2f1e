"""What messages tell the user to write exists: every dotted name, every class, and every keyword of a call in them."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import graftax
from graftax import layers, optimizers
from graftax.core.foreign_names import NAMES
from graftax.core.missing_names import SPACES, public_names
from graftax.layers.building import names_made_by
from tests.architecture.plan import LATER

PACKAGE = Path(graftax.__file__).parent
ROOTS = "graftax gx ops layers optimizers losses metrics schedules activations initializers reparam adapters callbacks"
OBJECTS = {
    "model": graftax.Model,
    "optimizer": graftax.Optimizer,
    "tape": graftax.GradientTape,
    "spec": graftax.VariableSpec,
    "variable": graftax.Variable,
    "weight": graftax.Variable,
    "loss": graftax.losses.Loss,
    "metric": graftax.metrics.Metric,
}
DOTTED = re.compile(rf"(?<![\w.@])({'|'.join([*ROOTS.split(), *OBJECTS, 'layer'])})((?:\.[A-Za-z_]\w*)+)")
CLASS = re.compile(r"(?<![\w.])[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*(?=\()")

# Names in texts that are no remedies: modules, files and groups of entry points.
INTERNAL = re.compile(
    r"graftax\.(backends|numpy|module|model|cli|checkpoint|backend)\b|model\.(safetensors|state_dict)\b|call\b|compile\b"
)
# Classes in texts of `__repr__`, which nobody writes.
FOREIGN = {"Place", "SavedArray", "SavedArrays", "Selector"}  # shown, never called
FOREIGN |= {"Error"}  # of the page that a server shows, in JavaScript


@cache
def texts() -> list[tuple[str, str]]:
    """Every string of the package, read when the first test asks for them."""
    return list(strings())


def strings() -> Iterator[tuple[str, str]]:
    """Every string of the package that is no docstring, with its place; what is put into it stands as ``x``."""
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.name == "__init__.py":
            continue
        tree = ast.parse(file.read_text())
        inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            where = f"{file.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.JoinedStr):
                yield where, "".join(str(v.value) if isinstance(v, ast.Constant) else "x" for v in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside | docs:
                yield where, node.value


def resolved(root: str, rest: list[str]) -> object:
    """The thing of a dotted name; AttributeError if there is none."""
    if root in OBJECTS:
        declared = [vars(base).get("__annotations__", {}) for base in OBJECTS[root].__mro__]
        return None if any(rest[0] in names for names in declared) else getattr(OBJECTS[root], rest[0])
    if root == "layer":
        kinds = [getattr(layers, name) for name in public_names("layers") if inspect.isclass(getattr(layers, name))]
        known = [kind for kind in kinds if hasattr(kind, rest[0]) or rest[0] in names_made_by(kind)]
        if not known:
            raise AttributeError(rest[0])
        return getattr(known[0], rest[0], None)
    found = graftax if root in ("graftax", "gx") else getattr(optimizers if root == "schedules" else graftax, root)
    for name in rest:
        found = getattr(found, name)
    return found


@pytest.mark.broad
def test_a5_every_dotted_name_in_a_message_is_there():
    assert len(texts()) > 3000
    missing, count = [], 0
    for where, text in texts():
        for match in DOTTED.finditer(text):
            if INTERNAL.match(match[0]) or match[0].endswith((".x", ".keras", ".onnx")) or text in {*NAMES, *LATER}:
                continue
            count += 1
            try:
                resolved(match[1], match[2].strip(".").split("."))
            except AttributeError:
                missing.append(f"{where}: {match[0]}")
    assert count > 250
    assert missing == []


def classes() -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for space in ("", *SPACES):
        module: object = graftax
        for part in filter(None, space.split(".")):
            module = getattr(module, part)
        for name in public_names(space):
            if inspect.isclass(thing := getattr(module, name)):
                found.setdefault(name, []).append(thing)
    return found


@pytest.mark.broad
def test_a5_every_class_that_a_message_calls_is_there():
    known = classes().keys() | FOREIGN
    assert [f"{where}: {m[0]}" for where, text in texts() for m in CLASS.finditer(text) if m[0] not in known] == []


def calls(text: str) -> Iterator[tuple[str, ast.Call]]:
    """The calls in a text that can be read as Python, with the dotted name of what is called."""
    for match in re.finditer(r"(?<![\w.@])[A-Za-z_][\w.]*\(", text):
        depth = 0
        for end in range(match.end() - 1, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        try:
            node = ast.parse(text[match.start() : end + 1].replace("...", "0"), mode="eval").body
        except SyntaxError:
            continue
        if isinstance(node, ast.Call):
            yield match[0][:-1], node


def takers(name: str) -> list[object]:
    """What a call in a message may call, by its name; empty for functions of the user's."""
    root, *rest = name.split(".")
    if not rest:
        methods = [getattr(graftax.Model, root, None), getattr(graftax.Checkpoint, root, None)]
        top = getattr(graftax, root) if root in graftax._NAMES else None
        return [*classes().get(root, ()), *filter(None, [top, *methods])]
    try:
        return [resolved(root, rest)] if DOTTED.fullmatch(name) else []
    except AttributeError:
        return []


def accepted(taker: object) -> set[str] | None:
    """The keywords that something takes; None where it takes any."""
    names: set[str] = set()
    steps = [c.__init__ for c in taker.__mro__ if "__init__" in vars(c)] if inspect.isclass(taker) else [taker]
    for step in steps:
        try:
            parameters = inspect.signature(step).parameters.values()
        except (TypeError, ValueError):
            return None
        names |= {p.name for p in parameters}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return names
    return None


@pytest.mark.broad
def test_a5_every_keyword_in_a_call_of_a_message_is_taken():
    wrong, count = [], 0
    for where, text in texts():
        for name, call in calls(text):
            for keyword in call.keywords:
                known = [accepted(taker) for taker in takers(name)]
                if keyword.arg and known and None not in known and not INTERNAL.match(name):
                    count += 1
                    if not any(keyword.arg in names for names in known if names is not None):
                        wrong.append(f"{where}: {name}({keyword.arg}=)")
    assert count > 40
    assert wrong == []


@pytest.mark.parametrize("text", ["graftax.schedules.Constant", "gx.layers.Dens", "model.fitt", "layer.kernle"])
def test_a5_the_search_finds_what_is_wrong(text):
    match = DOTTED.fullmatch(text)
    with pytest.raises(AttributeError):
        resolved(match[1], match[2].strip(".").split("."))


@pytest.mark.broad
def test_a5_lists_of_dtypes_have_bfloat16():
    """A list of three and more float dtypes in a message names bfloat16, which every backend of ours has."""
    short = [
        f"{where}: {text}"
        for where, text in texts()
        if "float16" in text and "float32" in text and "float64" in text and "bfloat16" not in text
    ]
    assert len(short) == 1, "the names that NumPy itself has, which no message shows alone"
    for use in (lambda: graftax.ops.zeros((1,), "flaot32"), lambda: graftax.Variable(1.0, dtype="no")):
        with pytest.raises(graftax.core.errors.DTypeError, match="bfloat16"):
            use()
