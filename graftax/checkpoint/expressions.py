"""Plain weights of a checkpoint for expressions of a program: which part takes the value, and how near it comes."""

from __future__ import annotations

from typing import Any

from graftax.checkpoint.graph import Place
from graftax.core.errors import KindMismatch
from graftax.reparam.base import Reparam
from graftax.reparam.distance import distance
from graftax.reparam.places import base_of
from graftax.variables.state.storage import concretely

TOLERANCE = 1e-3
"""How far an expression that states no ``tolerance`` may be from a saved value, relative to the norm of that."""


def receiver(thing: object) -> Any:
    """What takes the value of a plain weight: the base of an expression, if it has one, else the expression itself."""
    while isinstance(thing, Reparam) and base_of(thing) is not None:
        thing = base_of(thing)
    return thing


def receiving_place(place: Place) -> Place:
    """The same in a graph."""
    while isinstance(place.thing, Reparam) and base_of(place.thing) is not None:
        place = place.edges["base"]
    return place


def has_inverse(expression: Reparam) -> bool:
    """True if it can be given a value."""
    return type(expression).inverse is not Reparam.inverse


def take(expression: Reparam, value: Any, path: str) -> tuple[str, list[tuple[Any, Any]]]:
    """Give an expression a saved value; a note for the report, and what undoes it.

    Raises:
        KindMismatch: it does not come near enough; nothing is changed then.
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
    """Return how far the value of an expression is from a saved one, relative to the norm of that."""
    with concretely():
        return distance(expression.value, expression._fit(value, "restore"))


def is_near(expression: Reparam, error: float) -> bool:
    """True if that is no more than rounding."""
    return error <= _tolerance(expression)


def _tolerance(expression: Reparam) -> float:
    found: float = getattr(expression, "tolerance", TOLERANCE)
    return found


def undo(before: list[tuple[Any, Any]]) -> None:
    """Put values back."""
    for variable, value in reversed(before):
        variable.assign(value)
