"""The outputs of a model by name, and the arguments for each: targets, weights, losses, metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftax.core.errors import ArgumentError, DataError
from graftax.core.known_names import closest
from graftax.core.typedefs import Shape

ONLY = ""
"""The name of a single output."""


def outputs_of(value: object, argument: str) -> dict[str, Any]:
    """Return the outputs of a model (or targets) by name: dict keys, list indices, or `ONE` for a single one."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return {f"output_{i}": part for i, part in enumerate(value)}
    if value is None and argument == "y_pred":
        raise DataError("the model returned None", "the loss needs predictions", "return the output at the end of call")
    if value is None:
        raise DataError(
            f"{argument} is missing",
            "the loss compares targets with predictions",
            "model.fit(x, y), and validation_data=(x_val, y_val) for a validation",
        )
    return {ONLY: value}


def name_entries(value: Any, names: tuple[str, ...]) -> Any:
    """Return a list with one entry for each name as a dict; anything else unchanged.

    Example:
        >>> name_entries([1, 2], ("a", "b")), name_entries({"a": 1}, ("a", "b")), name_entries([1], ())
        ({'a': 1, 'b': 2}, {'a': 1}, [1])
    """
    listed = names and isinstance(value, list | tuple) and len(value) == len(names)
    return dict(zip(names, value, strict=True)) if listed else value


def targets_of(y: object, names: list[str]) -> dict[str, Any]:
    """Return targets by the names of the outputs. A list with one element stands for this element.

    Raises:
        DataError: there are no targets, or some for unknown outputs.
    """
    targets = outputs_of(y, "y")
    if names == [ONLY] and isinstance(y, list | tuple) and len(y) == 1:
        return {ONLY: y[0]}
    unknown = [name for name in targets if name not in names]
    one = names == [ONLY]
    if unknown and isinstance(y, list | tuple):
        raise DataError(
            f"a {type(y).__name__} of {len(y)} targets",
            "the model has one output, without a name" if one else f"the outputs are {', '.join(map(repr, names))}",
            "one array as y" if one else _for_each(names, shares=len(y) == 1),
        )
    if unknown:
        shown = ", ".join(repr(name) if name else "one output" for name in targets)
        if one:
            raise DataError(f"targets for {shown}", "the model has one output, without a name", "one array as y")
        none = "" if unknown == [ONLY] else f"no output is called {' or '.join(map(repr, unknown))}: "
        right = [name for name in names if name in targets or closest(name, unknown) is not None] or names
        raise DataError(
            f"targets for {shown}",
            f"{none}the outputs are {', '.join(map(repr, names))}",
            _for_each(right, shares=unknown == [ONLY], columns=_columns_of(right, y)),
        )
    return targets


def _columns_of(names: list[str], y: object) -> str:
    """Return how to divide a table, or one array, whose columns may be the targets of the outputs; nothing if not."""
    shape: Shape = getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] < len(names):
        return ""
    array = f"y={{{', '.join(f'{name!r}: y[:, {i}]' for i, name in enumerate(names))}}}"
    return f"y={{name: y[name] for name in {names}}} of a table, {array} of an array"


def _for_each(names: list[str], shares: bool, columns: str = "") -> str:
    """Return what to write for targets by output; with ``shares`` also where one array is the target of all."""
    apart = columns or f"y={{{', '.join(f'{name!r}: ...' for name in names)}}}"
    same = f"y={{{', '.join(f'{name!r}: y' for name in names)}}}"
    return f"{apart}; {same}, if all are compared with the same targets" if shares else apart


def per_output(value: object, names: list[str], argument: str, default: object) -> dict[str, Any]:
    """Return the argument for each output: from a dict by name, a list in order, or one value for all."""
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            one = names == [ONLY]
            none = f"no output is called {' or '.join(map(repr, unknown))}: the outputs are"
            raise ArgumentError(
                f"{argument} for the outputs {', '.join(map(repr, value))}",
                "the model has one output, without a name" if one else f"{none} {', '.join(map(repr, names))}",
                f"{argument}=... without a dict" if one else f"{argument}={{{names[0]!r}: ...}}",
            )
        return {name: value.get(name, default) for name in names}
    if isinstance(value, list | tuple):
        if len(value) != len(names):
            one = names == [ONLY]
            raise ArgumentError(
                f"{argument} is a list of {len(value)}",
                "the model has one output" if one else f"the model has {len(names)} outputs: {', '.join(names)}",
                f"{argument}=[...] with " + ("one entry" if one else f"{len(names)} entries, in this order"),
            )
        return dict(zip(names, value, strict=True))
    return dict.fromkeys(names, value)


@dataclass(frozen=True)
class OutputShape:
    """An output whose shape is known, but not its values."""

    shape: Shape
