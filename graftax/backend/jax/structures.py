"""Nested containers, flattened in the order in which they were written; JAX itself sorts the keys of a dict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from threading import Lock
from typing import Any

import jax
import numpy as np
from jax.tree_util import DictKey, default_registry

_registry = type(default_registry)(enable_dict=False)
_registry.register_node(
    dict,
    lambda found: (tuple(found.values()), tuple(found)),
    lambda keys, children: dict(zip(keys, children, strict=True)),
    lambda found: (tuple((DictKey(key), child) for key, child in found.items()), tuple(found)),
)
_registry.register_node(
    defaultdict,
    lambda found: (tuple(found.values()), (found.default_factory, tuple(found))),
    lambda made_of, children: defaultdict(made_of[0], zip(made_of[1], children, strict=True)),
    lambda found: (tuple((DictKey(key), child) for key, child in found.items()), (found.default_factory, tuple(found))),
)
_adopted: set[type] = set()
_adopting = Lock()
_leaves: set[type] = {bool, int, float, complex, str, np.ndarray, type(jax.numpy.zeros(()))}
"""Types that are known to be leaves. A type of the program's own is asked for each time: it may be registered later."""


def flatten(tree: object) -> tuple[list[Any], Any]:
    """Return the leaves in order and the structure; classes that the program registered with JAX are containers."""
    while True:
        leaves, structure = _registry.flatten(tree)
        if _leaves.issuperset(map(type, leaves)) or not _adopt(leaves):
            return leaves, structure


def flatten_with_ways(tree: object) -> tuple[list[tuple[tuple[str, ...], Any]], Any]:
    """Return the same, each leaf with the way to it as Python writes it."""
    flatten(tree)  # which adopts what is new
    found, structure = _registry.flatten_with_path(tree, None)
    return [(tuple(map(str, way)), leaf) for way, leaf in found], structure


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return the containers with these leaves."""
    return structure.unflatten(leaves)


def _adopt(leaves: list[Any]) -> bool:
    """Register here what JAX takes for a container; True if there was something."""
    found = {type(leaf): leaf for leaf in leaves if type(leaf) not in _leaves}
    containers = [leaf for leaf in found.values() if default_registry.flatten_one_level(leaf) is not None]
    with _adopting:
        for kind in {type(one) for one in containers} - _adopted:
            _registry.register_node(kind, _one_level, _unflatten, _one_level_with_keys)
            _adopted.add(kind)
    return bool(containers)


def _one_level(container: object) -> tuple[tuple[Any, ...], Any]:
    children, structure = jax.tree_util.tree_flatten(container, is_leaf=lambda one: one is not container)
    return tuple(children), structure


def _one_level_with_keys(container: object) -> tuple[tuple[tuple[Any, Any], ...], Any]:
    found, structure = jax.tree_util.tree_flatten_with_path(container, is_leaf=lambda one: one is not container)
    return tuple((way[0], child) for way, child in found), structure


def _unflatten(structure: object, children: Sequence[Any]) -> Any:
    return jax.tree_util.tree_unflatten(structure, children)
