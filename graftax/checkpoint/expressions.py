"""Restoring plain weights of a checkpoint into expressions: which part takes the value, and with what error."""

from __future__ import annotations

from typing import Any

from graftax.checkpoint.graph import Place
from graftax.core.errors import KindMismatch
from graftax.reparam.base import Reparam
from graftax.reparam.distance import distance
from graftax.reparam.places import base_of
from graftax.variables.state.storage import concretely

TOLERANCE = 1e-3
"""The largest relative error (by the norm of the saved value) of an expression that states no ``tolerance``."""


def receiver(value: object) -> Any:
    """Return what takes the value of a plain weight: the base of an expression, else the expression itself."""
    while isinstance(value, Reparam) and base_of(value) is not None:
        value = base_of(value)
    return value


def receiving_place(place: Place) -> Place:
    """Return the place that takes the value of a plain weight, see `receiver`."""
    while isinstance(place.thing, Reparam) and base_of(place.thing) is not None:
        place = place.edges["base"]
    return place


def has_inverse(expression: Reparam) -> bool:
    """Return True if the expression can be assigned a value."""
    return type(expression).inverse is not Reparam.inverse


def take(expression: Reparam, value: Any, path: str) -> tuple[str, list[tuple[Any, Any]]]:
    """Assign a saved value to an expression; return a note for the report and the values before, see `undo`.

    Raises:
        KindMismatch: the expression cannot represent the value; nothing is changed.
    """
    before = [(variable, variable.value) for variable in expression.variables]
    try:
        with concretely():
            expression.assign(value)
        error = off_by(expression, value)
        if not is_near(expression, error):
            raise KindMismatch(
                f"{path}: {type(expression).__name__} cannot have the saved value: it is {error:.2g} of its norm away",
                f"at most {_tolerance(expression):g} is rounding; nothing was changed",
                "build the weight plain, restore, then gx.graft(model, ..., tolerance=...); or skip=[...] it",
            )
    except BaseException:
        undo(before)
        raise
    return f"by the inverse of {type(expression).__name__}, {error:.1g} of its norm away", before


def off_by(expression: Reparam, value: Any) -> float:
    """Return the distance between the value of an expression and a saved one, relative to the norm of the latter."""
    with concretely():
        return distance(expression.value, expression._fit(value, "restore"))


def is_near(expression: Reparam, error: float) -> bool:
    """Return True if the relative error is within the tolerance of the expression."""
    return error <= _tolerance(expression)


def _tolerance(expression: Reparam) -> float:
    found: float = getattr(expression, "tolerance", TOLERANCE)
    return found


def undo(before: list[tuple[Any, Any]]) -> None:
    """Assign the values from before."""
    for variable, value in reversed(before):
        variable.assign(value)
