"""What a build that raises leaves behind: nothing, so that it may be tried again, with another shape, too."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from graftax.variables.graph.config_objects import attributes_in, is_config
from graftax.variables.graph.containers import is_small_array
from graftax.variables.graph.module import Module, walk
from graftax.variables.graph.node import BOOKKEEPING
from graftax.variables.graph.plain_objects import ASKED
from graftax.variables.graph.structure import structure


@contextmanager
def undone_if_raised(root: Module, with_objects: bool = False) -> Iterator[None]:
    """Run a block; where it raises, the attributes of a Module and of those below are as they were before it.

    Lists, dicts, sets and deques that were there before have their elements of before, and so have small arrays.

    Args:
        root: The Module.
        with_objects: Whether the same goes for attributes of config objects there. Defaults to False.
    """
    before = [_Attributes(node, with_objects) for node in walk(root) if isinstance(node, Module)]
    try:
        yield
    except BaseException:
        for attributes in before:
            attributes.put_back()
        raise


class _Attributes:
    """The attributes of one Module, with what is in its containers."""

    def __init__(self, module: Module, with_objects: bool) -> None:
        self._module = module
        self._with_objects = with_objects
        self._objects: list[tuple[Any, dict[str, Any]]] = []
        self._values = {name: value for name, value in list(vars(module).items()) if name not in BOOKKEEPING}
        self._asked = list(vars(module).get(ASKED, ()))
        self._contents: list[tuple[Any, Any]] = []
        self._arrays: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        seen: set[int] = set()
        for value in self._values.values():
            self._note(value, seen)

    def _note(self, value: object, seen: set[int]) -> None:
        if is_small_array(value) and isinstance(value, np.ndarray) and id(value) not in seen:
            seen.add(id(value))
            if value.flags.writeable:
                self._arrays.append((value, value.copy()))
        if self._with_objects and is_config(value) and id(value) not in seen:
            seen.add(id(value))
            self._objects.append((value, held := dict(attributes_in(value))))
            for one in held.values():
                self._note(one, seen)
        if not isinstance(value, list | dict | set | deque | tuple) or id(value) in seen:
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
        if ASKED in vars(module):  # weights that it no longer holds, as what was raised may still do
            vars(module)[ASKED][:] = self._asked
        for container, content in self._contents:
            container.clear()
            if isinstance(container, list | deque):
                container.extend(content)
            else:
                container.update(content)
        for array, content in self._arrays:
            array[...] = content
        for value, held in self._objects:
            for name in [name for name, _ in attributes_in(value) if name not in held]:
                object.__delattr__(value, name)
            for name, one in held.items():
                object.__setattr__(value, name, one)
        if was_built and not vars(module).get("built", False):
            for scope in module._gx_captured:
                scope.waiting.add(module)
        structure.bump()
