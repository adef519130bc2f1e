"""Which Variables of a checkpoint a selector selects, by the words of the docs: each way to it is tried one by one."""

import re

from graftax.checkpoint.index import Kind
from graftax.checkpoint.paths import escape, join, slot_path


class Contents:
    """The Variables of a checkpoint, and all of their paths.

    Args:
        index: Its index.
        expressions: The names of classes whose objects are expressions.
    """

    def __init__(self, index, expressions):
        self._nodes, self._expressions = index.nodes, expressions
        self._ways = {}  # of all objects: paths, each with those of the expressions on it
        for name, node in index.roots.items():
            self._visit(node, escape(name), (), ())
        paths = {node: {path for path, _ in ways} for node, ways in self._ways.items()}
        wholes = {node: {whole for _, way in ways for whole in way} for node, ways in self._ways.items()}
        all_paths = {node: found | wholes[node] for node, found in paths.items()}
        for slot in index.slots:
            all_paths[slot.slot] = {
                slot_path(one, slot.name, other) for one in paths[slot.optimizer] for other in all_paths[slot.variable]
            }
        self.paths = {node: found for node, found in all_paths.items() if self._nodes[node].kind is Kind.VARIABLE}
        """The paths of Variables and slots by node."""
        self.all_paths = sorted({path for node in self.paths for path in self.paths[node]})
        self.owners = {slot.slot: slot.variable for slot in index.slots}
        """The Variables of slots."""

    def _visit(self, node, path, above, wholes):
        record = self._nodes[node]
        self._ways.setdefault(node, []).append((path, wholes))
        if record.type.rpartition(".")[2] in self._expressions:
            wholes = (*wholes, path)
        for edge, child in record.edges:
            if child not in (*above, node):
                self._visit(child, join(path, edge), (*above, node), wholes)

    def fits(self, selectors):
        """Return whether each selector selects anything."""
        return all(any(matches(one, path) for path in self.all_paths) for one in selectors)

    def select(self, how, selectors, saves):
        """Return the nodes that are saved, or restored: slots are not without their Variable."""
        hit = {n for n, paths in self.paths.items() if any(matches(one, path) for one in selectors for path in paths)}
        if how == "only":
            return {n for n in hit if not saves or self.owners.get(n, n) in hit}
        return {n for n in self.paths if n not in hit and self.owners.get(n, n) not in hit}


def matches(selector, path):
    """Return whether a selector selects a path."""
    if "*" not in selector:
        return path == selector or path.startswith(f"{selector}/")
    *parts, last = selector.split("/")
    pattern = "".join("(?:[^/]+/)*" if part == "**" else f"{_pattern(part)}/" for part in parts)
    return re.fullmatch(pattern + (".+" if last == "**" else _pattern(last)), path) is not None


def _pattern(part):
    return "[^/]*".join(map(re.escape, part.split("*")))


def draw_selector(draw, paths):
    """Return a path, or the beginning or end of one, with stars."""
    parts = draw.choice(paths).split("/")
    kind = draw.random()
    if kind < 0.35:
        return "/".join(parts[: draw.randint(1, len(parts))])
    if kind < 0.55:
        return "/".join([*parts[: draw.randint(1, len(parts))], "**"])
    if kind < 0.75:
        return "/".join(["**", *parts[draw.randrange(len(parts)) :]])
    if kind < 0.85:
        return f"**/{draw.choice(parts)}/**"
    parts[draw.randrange(len(parts))] = "*"
    return "/".join(parts)
