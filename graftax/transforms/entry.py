"""One trace of a compiled function, and what must stay as it was for it to be valid."""

from __future__ import annotations

import weakref
from typing import Any, cast

from graftax.backend.protocol import Program
from graftax.module import Module, Node, structure
from graftax.transforms.state import CompileFrame
from graftax.variables.storage import Storage, touch
from graftax.variables.structure import Print, Same, unchanged


class Entry:
    """One trace, and what has to stay as it was for the trace to be valid."""

    def __init__(self, program: Program, frame: CompileFrame, out_structure: Any, statics: list[Any]) -> None:
        self.program = program
        self.out_structure = out_structure
        self.written = cast("list[Storage]", list(program.written))
        self.donated = cast("list[Storage]", list(program.donated))
        self.kept = cast("list[Storage]", list(program.kept))
        self.version = structure.version
        self.statics = statics  # kept alive, so that their identity stays theirs
        self.fresh = True  # not run yet
        self._touched = [(weakref.ref(node), node.fingerprint()) for node in frame.touched.values()]
        self._containers = [  # their content can change without an assignment to an attribute
            (ref, name, before)
            for ref, prints in self._touched
            for name, before in prints.items()
            if _has_container(before) and isinstance(ref(), Module) and len(before[1]) <= _LONG  # type: ignore[index]
        ]

    def touch(self) -> None:
        """Let the function being compiled around this one depend on the same."""
        for ref, _ in self._touched:
            if (node := ref()) is not None:
                touch(node)

    def difference(self) -> str | None:
        """What has changed since the trace, in words; None if nothing has."""
        if self.version != structure.version:
            for ref, before in self._touched:
                node = ref()
                if node is not None and (after := node.fingerprint()) != before:
                    return _describe_difference(node, before, after)
            self.version = structure.version
        for ref, name, known in self._containers:
            node = ref()
            if node is not None and not unchanged(node.__dict__.get(name), known):
                return f"the content of {_where(node)}.{name} changed"
        return None


_LONG = 1000  # entries of a container beyond which it is compared only when something else has changed, too


def _has_container(before: Print) -> bool:
    if isinstance(before, Same):
        return False
    kind, content = before
    if kind == "tuple":
        return any(map(_has_container, content))
    return isinstance(content, tuple)


def _where(node: Node) -> str:
    return node.path or type(node).__name__


def _describe_difference(node: Node, before: dict[str, Print], after: dict[str, Print]) -> str:
    name = next(n for n in {**before, **after} if before.get(n) != after.get(n))
    old, new = (_show_print(prints.get(name)) for prints in (before, after))
    return f"{_where(node)}.{name}: {old} -> {new}" if old != new else f"{_where(node)}.{name} changed"


def _show_print(one: Print | None) -> str:
    if one is None:
        return "absent"
    return repr(one[1]) if not isinstance(one, Same) and one[0] in _PRINTABLE else "another object"


_PRINTABLE = ("bool", "int", "float", "str", "NoneType")
