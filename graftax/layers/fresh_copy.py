"""fresh_copy: a layer like one that nobody has used yet, with random streams of its own."""

from __future__ import annotations

import copy
from typing import TypeVar

from graftax.variables.graph.module import Module, walk
from graftax.variables.random import SeedGenerator

T = TypeVar("T", bound=Module)


def fresh_copy(layer: T) -> T:
    """Return a copy whose streams follow from its own paths: a plain copy would draw what the layer draws.

    Streams with a seed stay, since two layers with one seed agree.
    """
    twin = copy.deepcopy(layer)
    for node in walk(twin):
        if isinstance(node, SeedGenerator) and node.seed is None and "state" in vars(node):
            del node.state
    return twin
