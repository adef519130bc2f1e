"""What a build that raises leaves behind: nothing, so that it may be tried again, with another shape, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graftax.variables.graph.module import Module, walk
from graftax.variables.graph.node import BOOKKEEPING
from graftax.variables.graph.structure import structure


@contextmanager
def undone_if_raised(root: Module) -> Iterator[None]:
    """Run a block; where it raises, the attributes of a Module and of those below are as they were before it.

    Lists, dicts and sets that were there before have their elements of before.
    """
    before = [_Attributes(node) for node in walk(root) if isinstance(node, Module)]
    try:
        yield
    except BaseException:
        for attributes in before:
            attributes.put_back()
        raise


class _Attributes:
    """The attributes of one Module, with what is in its containers."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._values = {name: value for name, value in list(vars(module).items()) if name not in BOOKKEEPING}
        self._contents: list[tuple[Any, Any]] = []
        seen: set[int] = set()
        for value in self._values.values():
            self._note(value, seen)

    def _note(self, value: object, seen: set[int]) -> None:
        if not isinstance(value, list | dict | set | tuple) or id(value) in seen:
            return
        seen.add(id(value))
        if not isinstance(value, tuple):
            self._contents.append((value, value.copy()))
        for element in value.values() if isinstance(value, dict) else value:
            self._note(element, seen)

    def put_back(self) -> None:
        """Make the attributes what they were."""
        module = self._module
        was_built = vars(module).get("built", False)
        for name in [name for name in vars(module) if name not in self._values and name not in BOOKKEEPING]:
            del vars(module)[name]  # not by way of descriptors, which note what functions change
        vars(module).update(self._values)
        for container, content in self._contents:
            container.clear()
            if isinstance(container, list):
                container.extend(content)
            else:
                container.update(content)
        if was_built and not vars(module).get("built", False):
            for scope in module._gx_captured:
                scope.waiting.add(module)
        structure.bump()
