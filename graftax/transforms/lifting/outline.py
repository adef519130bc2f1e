"""Structures of arrays as transforms hand them on: flat leaves, the structure, and names of leaves for messages."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core import tree
from graftax.core.typedefs import unwrap


class Outline:
    """Results of a part, abstractly: the structure, and an object with shape and dtype for each leaf."""

    def __init__(self, structure: object, leaves: list[Any]) -> None:
        self.structure = structure
        self.leaves = leaves

    def paths(self, root: str) -> list[str]:
        """Return the name of each leaf, for messages."""
        transforms = registry.current().tracing
        count = len(self.leaves)
        found = tree.flatten_with_paths(transforms.unflatten(self.structure, list(range(count))), root)
        names = {leaf: path for path, leaf in found if isinstance(leaf, int)}
        return [names.get(i, f"{root}, leaf {i}") for i in range(count)]


def arrays_of(value: object) -> tuple[list[Any], Any]:
    """Return the leaves of a structure as arrays, and the structure."""
    backend = registry.current()
    leaves, structure = backend.tracing.flatten(value)
    weakly = backend.arrays.numpy.asarray  # leaves a Python number weak
    return [
        weakly(leaf) if type(leaf) in (int, float, complex) else backend.arrays.asarray(unwrap(leaf)) for leaf in leaves
    ], structure


def order_like(structure: object, count: int, value: object) -> Any:
    """Return a value with the keys of its dicts in the order of a structure of that many leaves."""
    return tree.reorder(value, registry.current().tracing.unflatten(structure, [None] * count))
