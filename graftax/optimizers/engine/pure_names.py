"""Which variables the values of `pure_update` are of: by their own paths, or by those from the model that was given."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from graftax.core.errors import ArgumentError, NotBuiltError
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


def variables_of(
    kind: str, values: Collection[str], made: Iterable[Variable], model: Module | None
) -> dict[str, Variable]:
    """Return the variable of each value.

    Args:
        kind: The class of the optimizer.
        values: Paths.
        made: The variables that it knows.
        model: What `pure_state` was given; None for a list.

    Raises:
        NotBuiltError: there are others among them.
        ArgumentError: a path stands for two variables.
    """
    known: dict[str, list[Variable]] = {}
    for variable in made:
        known.setdefault(variable.path, []).append(variable)
    ids = {id(variable) for same in known.values() for variable in same}
    named = model.named_variables() if model is not None else {}
    below = {path: variable for path, variable in named.items() if id(variable) in ids}
    own = {path: same[0] for path, same in known.items() if len(same) == 1}
    found = [{path: paths[path] for path in values} for paths in (below, own) if paths.keys() >= set(values)]
    if not values or (not found and any(path not in known for path in values)):
        got = [path for path in values if path not in known]
        raise NotBuiltError(
            f"{kind}.pure_update got values for {got or 'nothing'}",
            f"it takes a dict by the path of variables that it knows: {list(below or known) or 'none yet'}",
            "state = optimizer.pure_state(model) once before; {v.path: v.value for v in model.trainable_variables}",
        )
    if not found:
        twice = next(path for path in values if path not in own)
        raise ArgumentError(
            f"{kind}.pure_update got a value for {twice!r}, the path of two variables",
            "it cannot be told which of them is meant",
            "paths from one model: optimizer.pure_state(model), and "
            "{path: v.value for path, v in model.named_variables().items() if v.trainable}",
        )
    if odd := [path for path in values if found[0][path] is not found[-1][path]]:
        raise ArgumentError(
            f"{kind}.pure_update got a value for {odd[0]!r}",
            f"the model has another variable there, {below[odd[0]].path!r}, than the one whose own path this is",
            "a list, optimizer.pure_state(model.trainable_variables), and {v.path: v.value for v in that list}",
        )
    return found[0]
