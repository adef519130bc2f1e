"""How arguments of a layer call look in a message."""

from __future__ import annotations

from typing import Any

from graftax.core import tree


def all_numbers(value: object) -> bool:
    """Return True for nested lists of Python numbers, at least one."""
    leaves = tree.flatten(value)
    return bool(leaves) and all(isinstance(leaf, bool | int | float) for leaf in leaves)


def describe_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return dtypes and shapes of arrays, short forms of the rest."""
    parts = [_describe(a) for a in args] + [f"{name}={_describe(value)}" for name, value in kwargs.items()]
    return ", ".join(parts) or "nothing"


def _describe(value: object) -> str:
    if not tree.is_leaf(value):
        shown = ", ".join(f"{path}: {_describe(leaf)}" for path, leaf in tree.flatten_with_paths(value)[:4])
        return f"({shown})"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is not None and shape is not None:
        return f"{dtype}{list(shape)}"
    if shape is not None and hasattr(value, "columns"):
        return f"{type(value).__name__}{list(shape)}"
    text = f"{value!r}"
    return text if len(text) <= 40 else text[:37] + "..."
