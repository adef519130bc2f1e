"""Structures of arrays as plain data: dicts, lists and numbers of leaves, which JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from graftax.core.errors import ExportError

Form: TypeAlias = "int | dict[str, Form] | list[Form] | None"
"""A structure with the number of a leaf at each place; named tuples are dicts."""


def form_of(structure: Any, leaves: list[Any]) -> Form:
    """Return the form of a structure, its leaves put into a list.

    Raises:
        ExportError: two keys of a dict are one text.

    Example:
        >>> leaves = []
        >>> form_of({"a": [1.5, None], "b": (2.5,)}, leaves), leaves
        ({'a': [0, None], 'b': [1]}, [1.5, 2.5])
    """
    if structure is None:
        return None
    if hasattr(structure, "_fields"):
        return {name: form_of(getattr(structure, name), leaves) for name in structure._fields}
    if isinstance(structure, dict):
        if len({str(key) for key in structure}) < len(structure):
            raise ExportError(
                f"a dict with the keys {list(structure)!r}",
                "keys become text in an artefact, and two of them are equal as text",
                "keys that differ as text",
            )
        return {str(key): form_of(value, leaves) for key, value in structure.items()}
    if isinstance(structure, list | tuple):
        return [form_of(value, leaves) for value in structure]
    leaves.append(structure)
    return len(leaves) - 1


def build(form: Form, leaves: Sequence[Any]) -> Any:
    """Return the structure of that form with these leaves."""
    if form is None:
        return None
    if isinstance(form, int):
        return leaves[form]
    if isinstance(form, dict):
        return {key: build(part, leaves) for key, part in form.items()}
    return [build(part, leaves) for part in form]


def leaf_names(form: Form, alone: str = "output") -> list[str]:
    """Return what leaves are called, in order: their keys joined by ``/``, or ``alone`` for a form that is one leaf.

    Example:
        >>> leaf_names({"a": [0, None], "b": [1]}), leaf_names(0)
        (['a/0', 'b/0'], ['output'])
    """
    found: dict[int, str] = {}

    def visit(part: Form, path: str) -> None:
        if isinstance(part, int):
            found[part] = path or alone
        elif part is not None:
            items = part.items() if isinstance(part, dict) else enumerate(part)
            for key, value in items:
                visit(value, f"{path}/{key}" if path else str(key))

    visit(form, "")
    return [found[i] for i in range(len(found))]
