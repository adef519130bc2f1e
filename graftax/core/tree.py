"""Nested structures of lists, tuples, named tuples and dicts: flatten, rebuild, map. Needs no backend."""

from collections.abc import Callable, Iterator
from typing import Any

from graftax.core.errors import ArgumentError

_CONTAINERS = (list, tuple, dict)


def is_leaf(tree: object) -> bool:
    """Return True if the value is no container; None is a leaf."""
    return not isinstance(tree, _CONTAINERS)


def _children(tree: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        yield from ((str(key), value) for key, value in tree.items())
    else:
        names = getattr(tree, "_fields", None) or range(len(tree))
        yield from ((str(name), value) for name, value in zip(names, tree, strict=True))


def flatten_with_paths(tree: object, prefix: str = "") -> list[tuple[str, Any]]:
    """Return leaves with their paths, in order: ``{"a": [1, 2]}`` gives ``[("a/0", 1), ("a/1", 2)]``."""
    if is_leaf(tree):
        return [(prefix, tree)]
    return [
        pair
        for name, child in _children(tree)
        for pair in flatten_with_paths(child, f"{prefix}/{name}" if prefix else name)
    ]


def flatten(tree: object) -> list[Any]:
    """Return leaves in order.

    Example:
        >>> flatten({"a": [1, (2, 3)], "b": None})
        [1, 2, 3, None]
    """
    return [leaf for _, leaf in flatten_with_paths(tree)]


def rebuild(tree: Any, leaves: Iterator[Any]) -> Any:
    """Return a structure like ``tree`` with its leaves taken from the iterator."""
    if is_leaf(tree):
        return next(leaves)
    if isinstance(tree, dict):
        pairs = {key: rebuild(value, leaves) for key, value in tree.items()}
        return pairs if type(tree) is dict else _copy_like(tree, pairs)
    children = [rebuild(value, leaves) for value in tree]
    if hasattr(tree, "_fields"):
        return type(tree)(*children)
    return type(tree)(children)


def _copy_like(tree: dict[Any, Any], pairs: dict[Any, Any], empty: bool = False) -> dict[Any, Any]:
    copy = tree.copy()  # keeps what the type carries besides its items, such as a default factory
    if empty:
        copy.clear()
    copy.update(pairs)
    return copy


def reorder(tree: Any, like: Any) -> Any:
    """Return ``tree`` with the keys of its dicts in the order of those of ``like``; what differs stays as it is.

    Example:
        >>> reorder({"b": [1], "a": 2}, {"a": 0, "b": [0]})
        {'a': 2, 'b': [1]}
    """
    if is_leaf(tree) or is_leaf(like) or isinstance(tree, dict) != isinstance(like, dict) or len(tree) != len(like):
        return tree
    if isinstance(tree, dict):
        if not all(key in tree for key in like):
            return tree
        pairs = {key: reorder(tree[key], value) for key, value in like.items()}
        return pairs if type(tree) is dict else _copy_like(tree, pairs, empty=True)
    children = [reorder(one, other) for one, other in zip(tree, like, strict=True)]
    return type(tree)(*children) if hasattr(tree, "_fields") else type(tree)(children)


def map_structure(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to the leaves of one or several structures of one shape; the order of dict keys may differ.

    Raises:
        ArgumentError: the structures differ.

    Example:
        >>> map_structure(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
        {'x': 11, 'y': [22]}
    """
    if is_leaf(tree):
        if not all(map(is_leaf, others)):
            raise _structure_error(tree, *others)
        return function(tree, *others)
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    for other in others:
        same_kind = not is_leaf(other) and isinstance(other, dict) == isinstance(tree, dict)
        if not same_kind or len(other) != len(keys) or (isinstance(tree, dict) and any(k not in other for k in keys)):
            raise _structure_error(tree, *others)
    results = [map_structure(function, tree[key], *(other[key] for other in others)) for key in keys]
    if isinstance(tree, dict):
        pairs = dict(zip(keys, results, strict=True))
        return pairs if type(tree) is dict else _copy_like(tree, pairs)
    return type(tree)(*results) if hasattr(tree, "_fields") else type(tree)(results)


def _structure_error(*trees: Any) -> ArgumentError:
    shapes = " and ".join(f"leaves {[path for path, _ in flatten_with_paths(tree)]}" for tree in trees)
    return ArgumentError(
        f"structures with {shapes}", "they must have the same nesting and keys", "one structure for all"
    )
