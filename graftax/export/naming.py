"""The names of values in an artefact: the name of a root, and the path from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graftax.checkpoint.paths import escape, slot_path
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.reparam.base import Reparam
from graftax.variables.graph.module import Module
from graftax.variables.graph.walking import walk_with_edges
from graftax.variables.state.storage import Storage
from graftax.variables.variable import Variable

DEFAULT = "model"
"""The name of a root without a given name."""


def checked_roots(roots: object, instead: str) -> dict[str, Module]:
    """Return roots by name.

    Args:
        roots: A Module, or Modules by name.
        instead: The line to write instead, for the message.

    Raises:
        ArgumentTypeError: it is something else.
        ArgumentError: a name is not an identifier.
    """
    if isinstance(roots, Module):
        return {DEFAULT: roots}
    if not isinstance(roots, Mapping) or not all(isinstance(one, Module) for one in roots.values()):
        raise ArgumentTypeError(f"roots={roots!r:.80}", "roots are Modules by name, as in a Checkpoint", instead)
    for name in roots:
        if not isinstance(name, str) or not name.isidentifier():
            raise ArgumentError(f"the root {name!r}", "its name is the first part of paths, and a word", instead)
    return dict(roots)


def variables_by_path(roots: Mapping[str, Module]) -> dict[str, Variable | Reparam]:
    """Return all Variables and expressions below roots by path, including slots of optimizers, as in a checkpoint."""
    found: dict[str, Variable | Reparam] = {}
    paths: dict[int, str] = {}
    keepers: list[tuple[str, Module]] = []
    for name, root in roots.items():
        for edges, node in walk_with_edges(root):
            path = "/".join([name, *map(escape, edges)])
            if isinstance(node, Variable | Reparam) and id(node) not in paths:
                found[path] = node
                paths[id(node)] = path
            if isinstance(node, Module):
                keepers.append((path, node))
    for path, keeper in keepers:
        for record in keeper._gx_slot_records():
            if id(record.variable) in paths and id(record.slot) not in paths:
                slot = slot_path(path, record.name, paths[id(record.variable)])
                found[slot], paths[id(record.slot)] = record.slot, slot
    return found


class Names:
    """The names of values: ``root/path`` below a root, else the path from their own owner.

    Args:
        roots: The roots by name.
    """

    def __init__(self, roots: Mapping[str, Module]) -> None:
        self._roots = roots
        self._places = variables_by_path(roots)
        self._paths = {id(node): path for path, node in self._places.items()}
        self._given: dict[str, int] = {}

    def __call__(self, storage: Storage) -> str:
        """Return the name of a value.

        Raises:
            ArgumentError: another value has the same name.
        """
        node: Any = storage.user
        name = self._paths.get(id(node)) or node._gx_path or getattr(node, "name", None) or "unnamed"
        if self._given.setdefault(name, id(node)) != id(node):
            raise ArgumentError(
                f"two Variables that the program reads are called {name!r}",
                "no root holds them, and so they have the paths of their own owners",
                'roots={"net": net, "other": other}, with everything that the program reads',
            )
        return name

    def check_used(self, read: Iterable[Storage]) -> None:
        """Raise if no Variable below a root is read.

        Raises:
            ArgumentError: there is such a root.
        """
        found = {self._paths[id(one.user)].partition("/")[0] for one in read if id(one.user) in self._paths}
        for name in {path.partition("/")[0]: None for path in self._places}:
            if name not in found:
                raise ArgumentError(
                    f"the root {name!r}, a {type(self._roots[name]).__name__}",
                    "no program reads any of its Variables",
                    f"roots without {name!r}, or a signature that uses it",
                )

    def unread(self, read: Iterable[str]) -> list[str]:
        """Return the paths of Variables below the roots that no program and no folded expression reads."""
        known = set(read)
        found = []
        for path, node in self._places.items():
            parts = path.split("/")
            above = {"/".join(parts[:i]) for i in range(1, len(parts) + 1)}
            if isinstance(node, Variable) and not above & known:
                found.append(path)
        return found
