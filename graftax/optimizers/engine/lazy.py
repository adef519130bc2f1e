"""Lazy updates: which rules can change some rows of a variable and leave the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graftax.core.errors import ArgumentError
from graftax.optimizers.engine.rule import Rule, has_update_all
from graftax.optimizers.engine.update import Update
from graftax.variables.variable import Variable


def require_rows(updates: Sequence[Update]) -> None:
    """Raise if a rule is lazy, and gets whole gradients alone, with which it does what it does without.

    Beside rows, a lazy rule may get whole gradients: all rows of these are touched.

    Raises:
        ArgumentError: there is such a rule; the message names it, and a variable.
    """
    with_rows = {id(update.rule) for update in updates if update.rows is not None}
    idle = [update for update in updates if update.rule.lazy and id(update.rule) not in with_rows]
    if idle:
        more = f" and those of {len(idle) - 1} more" if len(idle) > 1 else ""
        raise ArgumentError(
            f"{type(idle[0].rule).__name__}(lazy=True) got the whole gradient of {idle[0].variable.path!r}{more}, no "
            "rows",
            "lazy moves the rows of IndexedRows alone; the gradients of fit, minimize and tapes are whole arrays, with "
            "which every row moves",
            "lazy=False; or, in fit in a train_step of your own, the gradient of the rows that were looked up: "
            "optimizer.apply([graftax.IndexedRows(words, by_row, table.shape)], [table])",
        )


def check_lazy(rule: Rule, variable: Variable, slots: Mapping[str, Variable], accumulates: bool) -> None:
    """Raise if rows of this variable cannot be changed without the others.

    Args:
        rule: What computes the new rows.
        variable: Whose rows they are.
        slots: What the rule keeps for the variable.
        accumulates: Whether gradients of several batches are added up.

    Raises:
        ArgumentError: gradients are accumulated, a constraint looks at all rows, the rule at more than one element, or
            it keeps something of another shape.
    """
    if accumulates:
        raise ArgumentError(
            f"{type(rule).__name__}(lazy=True) got rows of {variable.path!r}, and accumulates gradients",
            "the sum over several batches is kept for the whole variable, and moves all of it",
            "lazy=False, or accumulation_steps=1 from the start",
        )
    axes = getattr(variable.constraint, "axis", ())
    if variable.constraint is not None and 0 in (axes if isinstance(axes, tuple) else (axes,)):
        raise ArgumentError(
            f"{type(rule).__name__}(lazy=True) got rows of {variable.path!r}, with {variable.constraint!r}",
            "the constraint takes norms over all rows, and would have to move the others, too",
            "a constraint with axis=-1, which projects each row, or lazy=False",
        )
    others = [name for name, slot in slots.items() if slot.shape != variable.shape]
    together = has_update_all(rule)
    if rule.elementwise and not others and not together:
        return
    why = f"its slot {others[0]!r} has another shape" if others else "it does not promise to be elementwise"
    why = "it sees whole variables together in update_all" if together else why
    raise ArgumentError(
        f"{type(rule).__name__}(lazy=True) got rows of {variable.path!r}",
        f"{why}, so rows cannot be updated without the others",
        "lazy=False, or Adam(lazy=True) for this variable",
    )
