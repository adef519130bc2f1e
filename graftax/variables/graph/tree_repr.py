"""The tree that a Module is shown as: what hangs below it, a line each, with shapes and numbers of parameters.

Nothing is made for it, read from a device, or noted for a trace: whoever looks, a debugger say, changes nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, Self

from graftax.core.errors import GraftaxError
from graftax.core.typedefs import VariableLike
from graftax.variables.graph.made_with import MadeWith
from graftax.variables.graph.node import Branch, Edge, Leaf, Node, own_nodes

_LINES = 40
"""How many lines a tree has at most: deeper levels are left out, then the middle."""
_COLUMNS = 80
_LEVELS = (8, 6, 4, 3, 2, 1)
_ARGUMENTS = 40
"""How many characters the arguments of a constructor may take."""
_COUNTED = ("weight", "state")
_MISSING = object()


class TreeRepr(str):
    """A tree as text, of which a sentence takes one line: ``print`` shows all, ``!r`` in an f-string has ``short``.

    Example:
        >>> text = TreeRepr("<Net 'net', 6 parameters>", "<Net 'net'>")
        >>> print(text)
        <Net 'net', 6 parameters>
        >>> f"got {text}, of 2 layers"
        "got <Net 'net'>, of 2 layers"
    """

    short: str

    def __new__(cls, text: str, short: str = "") -> Self:
        """Make the text, with the line that stands for it."""
        self = super().__new__(cls, text)
        self.short = short or text.partition("\n")[0]
        return self

    def __format__(self, spec: str) -> str:
        return format(self.short, spec)


# pytest-xdist sends what a failed test was given to the process that reports it, and knows texts by this name alone:
# with another one the whole run ends in an internal error, and nobody sees what failed.
TreeRepr.__name__ = "str"


def draw_tree(root: Branch) -> TreeRepr:
    """Return the tree below a Module, in at most 40 lines of 80 columns."""
    name = f"{root._gx_path or root.name!r}"
    lines: list[str] = []
    deepest = _LEVELS[0]
    for levels in _LEVELS:
        if levels <= deepest:
            tree = _Tree(root, levels)
            lines, deepest = tree.lines(name), tree.deepest
            if len(lines) <= _LINES:
                break
    if len(lines) > _LINES:
        left_out = len(lines) - _LINES + 1
        lines[_LINES - 8 : -7] = [f"  … {left_out:,} lines left out …"]
    state = ", not built" if _lacks_weights(root) else ""
    return TreeRepr("\n".join(map(_shorten, lines)), f"<{type(root).__name__} {name}{state}>")


@dataclass(frozen=True)
class _Row:
    """What is told of one Module.

    Args:
        kind: The name of the class.
        arguments: What its constructor was given, as text, without its name.
        name: What the user named it; empty if nothing. It is never cut.
        told: What is said of it beside its weights.
        weights: Those that it holds itself, as text.
        below: The lines below it.
        same: Where it was told before; empty for one that was not.
    """

    kind: str
    arguments: tuple[str, ...] = ()
    name: str = ""
    told: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    same: str = ""

    def lines(self, start: str, times: int, between: str, end: str = "") -> list[str]:
        """Return its own line, where arguments and weights are left out for want of room; its name may have another."""
        if self.same:
            return [f"{start}{self.kind}, the same as {self.same}"]
        told = [f"{one} each" if times > 1 and one.endswith("parameters") else one for one in self.told]
        first = f"{between}{self.weights[0]}, … 9 more" if self.weights else ""
        inline = [(most, self.name) for most in (_ARGUMENTS, _ARGUMENTS // 2) if self.name]
        line, name = "", ""
        for most, name in [*inline, (_ARGUMENTS, ""), (_ARGUMENTS // 2, ""), (0, "")]:
            line = between.join([f"{start}{self._call(most, name)}{end}", *told])
            if len(line) + len(first) + 1 <= _COLUMNS:
                break
        indent = " " * (len(start) - len(start.lstrip()) + 4)
        return [self._with_weights(line, between), *([] if name == self.name else [f"{indent}name={self.name!r}"])]

    def _with_weights(self, line: str, between: str) -> str:
        shown = _join_weights(self.weights, _COLUMNS - len(line) - len(between) - 1)
        return f"{line}{between}{shown}" if shown else line

    def _call(self, most: int, name: str) -> str:
        """Return ``Dense(3, activation='relu')``, with arguments of so many characters at most, and the whole name."""
        kept = list(self.arguments)
        while len(", ".join(kept)) > most:
            kept.pop()
        if len(kept) < len(self.arguments) and (kept or name):
            kept.append("…")
        if name:
            kept.append(f"name={name!r}")
        return f"{self.kind}({', '.join(kept)})" if kept else self.kind


class _Tree:
    """One look at a tree.

    Args:
        root: The Module.
        levels: How many levels below it have lines.
    """

    def __init__(self, root: Branch, levels: int) -> None:
        self._root = root
        self._levels = levels
        self.deepest = 0
        self._paths: dict[int, str] = {}
        self._defaults: dict[type[Any], dict[str, Any]] = {}

    def lines(self, name: str) -> list[str]:
        """Return the line of the root, and those below it."""
        row = replace(self._make_row(self._root, "", 1), name="")  # it stands behind the class
        return [f"{row.lines('<', 1, ', ', f' {name}')[0]}>", *row.below]

    def _make_row(self, node: Branch, path: str, level: int) -> _Row:
        known = self._paths.setdefault(id(node), path)
        if known != path:
            return _Row(type(node).__name__, same=known or "the whole")
        weights, below = _weights_and_children(node)
        lines = self._lines_below(below, path, level) if level <= self._levels else []
        kind = type(node)
        if kind not in self._defaults:
            self._defaults[kind] = _defaults(kind)
        arguments = tuple(_arguments(node, self._defaults[kind]))
        name, told = getattr(node, "_gx_name", None) or "", tuple(_remarks(node, bool(below)))
        return _Row(kind.__name__, arguments, name, told, tuple(weights), tuple(lines))

    def _lines_below(self, below: list[tuple[str, Branch]], path: str, level: int) -> list[str]:
        """Return the lines of some Modules with what is below them; neighbours that are alike have one in common."""
        self.deepest = max(self.deepest, level if below else 0)
        groups: list[tuple[str, str, int, _Row]] = []
        for label, node in below:
            row = self._make_row(node, f"{path}/{label}" if path else label, level + 1)
            if groups:
                first, _, count, before = groups[-1]
                if _strip_number(label) == _strip_number(first) and row == before:
                    groups[-1] = (first, label, count + 1, before)
                    continue
            groups.append((label, label, 1, row))
        lines = []
        for first, last, count, row in groups:
            label = first if count == 1 else f"{first} to {last.rpartition('/')[2]}  {count} ×"
            start = f"{'  ' * level}{label}{'  ' if count == 1 else ' '}"
            lines += [*row.lines(start, count, "  "), *row.below]
        return lines


def _weights_and_children(node: Branch) -> tuple[list[str], list[tuple[str, Branch]]]:
    """Return the weights that a Module holds itself, as text, and the Modules, with the edges to them."""
    weights, below = [], []
    for edges, child in _children(node):
        label = "/".join(map(str, edges))
        if isinstance(child, VariableLike):
            thing: Any = child
            if getattr(thing, "role", "weight") in _COUNTED:
                kind = "" if thing.dtype == "float32" else f" {thing.dtype}"
                made = "" if isinstance(child, Leaf) else f" of {type(child).__name__}"
                weights.append(f"{label} {tuple(thing.shape)}{kind}{made}")
        elif isinstance(child, Branch) and child._gx_in_tree:
            below.append((label, child))
    return weights, below


def _remarks(node: Branch, is_branch: bool) -> list[str]:
    """Return what is worth a word: that it is not built, how many numbers there are below it, that all are frozen."""
    told = ["not built"] if node._gx_lacks_weights else []
    total, weights, trained = 0, 0, 0
    for leaf in _leaves(node):
        total += leaf.size
        weights += leaf.role == "weight"
        trained += leaf.trainability.trained
    if is_branch and total:
        told.append(f"{total:,} parameters")
    return [*told, "frozen"] if weights and not trained else told


def _leaves(root: Node) -> Iterator[Any]:
    """Yield the Variables below a Node that count as parameters, each once."""
    seen = {id(root)}
    waiting = [root]
    while waiting:
        for _, node in _children(waiting.pop()):
            if id(node) in seen:
                continue
            seen.add(id(node))
            if not isinstance(node, Leaf):
                waiting.append(node)
            elif node.role in _COUNTED:
                yield node


def _children(node: Node) -> list[tuple[tuple[Edge, ...], Node]]:
    try:
        return list(own_nodes(node))
    except GraftaxError:
        return []  # a dict with keys of another kind: who asks for its Variables is told


def _lacks_weights(root: Node) -> bool:
    """Tell whether a layer is not built, here or below."""
    seen = {id(root)}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Branch) and node._gx_lacks_weights:
            return True
        below = [child for _, child in _children(node) if id(child) not in seen]
        seen.update(map(id, below))
        waiting += below
    return False


def _arguments(node: Node, defaults: dict[str, Any]) -> list[str]:
    """Return what the constructor was given that is short and no default, as it would be written."""
    made: MadeWith = getattr(node, "_gx_made_with", MadeWith(is_known=False))
    given = []
    for value, default in zip(made.args, [*defaults.values(), *(_MISSING for _ in made.args)], strict=False):
        if (text := _format_setting(value)) is None or value is default:
            break
        given.append(text)
    for name, value in made.kwargs.items():
        default, text = defaults.get(name, value), _format_setting(value)
        if name != "name" and text is not None and not (type(value) is type(default) and value == default):
            given.append(f"{name}={text}")
    return given


def _defaults(kind: type[Any]) -> dict[str, Any]:
    """Return the defaults of the arguments of a constructor, in their order."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {one.name: one.default for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)}


def _format_setting(value: object) -> str | None:
    """Return a setting as it would be written, None for what is long."""
    if isinstance(value, FunctionType | type):
        return value.__name__
    if isinstance(value, tuple | list):
        parts = [_format_setting(part) for part in value[:4]]
        if len(value) > 4 or None in parts:
            return None
        return repr(value) if all(isinstance(part, bool | int | float | str) for part in value) else None
    if value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        return text if len(text) <= _ARGUMENTS else None
    return None


def _join_weights(weights: tuple[str, ...], room: int) -> str:
    """Return as many of the weights as there is room for, and how many more there are."""
    for count in range(len(weights), 0, -1):
        left_out = len(weights) - count
        text = ", ".join([*weights[:count], f"… {left_out} more"] if left_out else weights)
        if len(text) <= room:
            return text
    return f"{len(weights)} weights" if weights else ""


def _strip_number(label: str) -> str:
    """Return a label without the number at its end; the label where it has none."""
    start, _, end = label.rpartition("/")
    return start if end.isdigit() else f"{label} "


def _shorten(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…"
