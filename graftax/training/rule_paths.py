"""Rules of an optimizer that see the paths of another model with the same layers, and so choose other weights."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import SelectorError
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.graph.candidates import candidates
from graftax.variables.graph.module import walk_with_edges


def refuse_other_paths(model: Any) -> None:
    """Raise if a rule of the optimizer decides otherwise by the paths of this model than by those that it sees.

    An optimizer takes Variables and no model, so it knows each by the path in the first model that holds it. With
    layers of a model that was trained before, this is that one.

    Args:
        model: The model that is trained.

    Raises:
        SelectorError: there is such a rule; the message names it, and the weight.
    """
    optimizer = None if model._gx_objectives is None else model._gx_objectives.optimizer
    while isinstance(optimizer, AroundOptimizer):
        optimizer = optimizer.optimizer
    selectors = list(optimizer._gx_selectors()) if isinstance(optimizer, Optimizer) else []
    if not selectors:
        return
    for paths, variable in candidates(walk_with_edges(model)):
        if variable.role != "weight" or variable.path == paths[0]:
            continue
        for selector in selectors:
            if selector.matches(variable) != selector.sees(paths, variable.role, variable):
                raise SelectorError(
                    f"{selector.text} of {type(optimizer).__name__}, and the weight {paths[0]!r} of "
                    f"{type(model).__name__} {model.name!r}",
                    f"an optimizer knows a weight by its path in the first model that holds it, {variable.path!r} "
                    "here, and by this one the rule decides otherwise",
                    "rules that have the weights themselves: chosen = set(map(id, head.variables)), and "
                    "rules=[(lambda v: id(v) in chosen, {...})]; to freeze them, model.freeze(...)",
                )
