"""Weights of modules of other libraries as Variables of a layer, in their structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax import ops
from graftax.backend.host import check_plain
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentTypeError
from graftax.layers.layer import Layer


def as_weights(layer: Layer, structure: object, name: str, trainable: bool) -> Any:
    """Return a Variable for each array of a structure, in that structure.

    Args:
        layer: Whose Variables they are.
        structure: Nested lists, tuples and dicts of arrays.
        name: What the structure is called.
        trainable: Whether those that hold fractions are weights to be trained; else they are state.

    Raises:
        ArgumentTypeError: something in it is no array.
    """
    made = []
    for path, leaf in tree.flatten_with_paths(structure):
        check_plain(leaf, f"{name}/{path}")
        array = np.asarray(leaf)
        if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
            raise ArgumentTypeError(
                f"{name}/{path} is {leaf!r:.40}", "weights are arrays of numbers", "nested lists and dicts of arrays"
            )
        weight = trainable and is_floating(array.dtype.name)
        made.append(
            layer.add_weight(
                array.shape,
                array,
                name=path.rpartition("/")[2].replace(".", "_") or name,
                dtype=array.dtype.name if not is_floating(array.dtype.name) else None,
                trainable=weight,
                role="weight" if weight else "state",
            )
        )
    return tree.rebuild(structure, iter(made))


def values_of(structure: object) -> Any:
    """Return the values of Variables, in their structure."""
    return tree.map_structure(lambda variable: variable.value, structure)


def assign_all(structure: object, values: object, giver: str) -> None:
    """Assign new values to Variables; they are constants to gradients.

    Raises:
        ArgumentTypeError: the values have another structure.
    """
    variables = tree.flatten_with_paths(structure)
    found = dict(tree.flatten_with_paths(_to_dicts(values)))
    if set(found) != {path for path, _ in variables}:
        raise ArgumentTypeError(
            f"{giver} gave a state of {sorted(found)[:4]}",
            f"it had {sorted(path for path, _ in variables)[:4]}",
            "a next state of the structure of the one before",
        )
    for path, variable in variables:
        variable.assign(ops.stop_gradient(ops.cast(found[path], variable.dtype)))


def _to_dicts(structure: Any) -> Any:
    if hasattr(structure, "items"):
        return {key: _to_dicts(value) for key, value in structure.items()}
    if isinstance(structure, list | tuple):
        return [_to_dicts(value) for value in structure]
    return structure
