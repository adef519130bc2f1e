"""Moving existing Variables, with their slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.distribution.placing import Placing
from graftax.distribution.rules import RuleTallies
from graftax.variables.graph.module import Module, structure, walk
from graftax.variables.graph.node import Node
from graftax.variables.state.home import Home
from graftax.variables.variable import Variable


def variables_below(modules: Sequence[Module]) -> tuple[dict[str, Variable], dict[int, Variable]]:
    """Return the Variables of Modules by path, including slots, and the Variable of each slot, by id.

    Raises:
        ArgumentError: no Module is given.
        ArgumentTypeError: an argument is not a Module.
    """
    if not modules:
        raise ArgumentError(
            "no model, layer or optimizer was given", "there is nothing to look at", "(model, optimizer)"
        )
    found: dict[int, tuple[str, Variable]] = {}
    slots: dict[int, Variable] = {}
    for module in modules:
        if not isinstance(module, Module):
            raise ArgumentTypeError(
                f"{module!r:.60} of type {type(module).__name__} in place of a model",
                "Variables are looked for in models, layers and optimizers",
                "(model, optimizer)",
            )
        for path, variable in module.named_variables().items():
            found.setdefault(id(variable), (path, variable))
        for node in walk(module):
            for record in _slots_of(node):
                slots[id(record[1])] = record[0]
                found.setdefault(id(record[1]), (f"slots/{record[0].path}/{record[2]}", record[1]))
    by_path: dict[str, Variable] = {}
    for path, variable in found.values():
        while path in by_path:  # two modules may share Variables
            path += "'"
        by_path[path] = variable
    return by_path, slots


def _slots_of(node: Node) -> list[tuple[Variable, Variable, str]]:
    if not isinstance(node, Module):
        return []
    return [(record.variable, record.slot, record.name) for record in node._gx_slot_records()]


def optimizers_beside(module: Any) -> list[Module]:
    """Return the optimizer of a compiled model, which is not part of its object graph; None for others."""
    found = getattr(type(module), "_gx_beside", None)
    return [] if found is None else [one for one in found(module).values() if isinstance(one, Module)]


def place(distribution: Placing, modules: Sequence[Module]) -> None:
    """Move the Variables of Modules to their placement by a distribution: all of them, or none.

    Raises:
        SelectorError: a rule selects nothing.
        ArgumentError: a rule does not fit a shape, or there are no Variables.
    """
    given = list(modules)
    for module in modules:
        given += [one for one in optimizers_beside(module) if all(one is not other for other in given)]
    variables, slots = variables_below(given)
    if not variables:
        raise ArgumentError(
            f"place got {', '.join(type(module).__name__ for module in modules)} without a Variable",
            "a model has no weights before it is built",
            "model.build_for(x) once before, or with distribution.scope(): around the construction",
        )
    tallies = RuleTallies(distribution.rules)
    homes: dict[int, Home | None] = {}
    for variable in variables.values():
        if id(variable) not in slots:
            homes[id(variable)] = distribution.home_for(variable, tallies)
    tallies.check()
    for variable in variables.values():
        if (whose := slots.get(id(variable))) is not None:
            above = homes.get(id(whose), whose._storage.home)
            homes[id(variable)] = None if above is None else above.for_slot(whose.shape).home(variable)
    before = {id(v): v._storage.home for v in variables.values()}
    try:
        for variable in variables.values():
            variable._storage.move(homes[id(variable)])
    except BaseException:
        for variable in variables.values():
            variable._storage.move(before[id(variable)])
        structure.bump()  # another thread may have looked meanwhile
        raise
    structure.bump()
