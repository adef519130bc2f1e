"""The model that is trained: while it is, rules of optimizers see Variables by their paths from there."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Literal, TypeAlias

from graftax.core.scopes import ScopeStack, register_ambient
from graftax.core.spellings import Reached
from graftax.variables.graph.candidates import Candidate, candidates
from graftax.variables.graph.module import Module
from graftax.variables.graph.structure import structure
from graftax.variables.graph.walking import walk_with_edges
from graftax.variables.variable import Variable

Purpose: TypeAlias = Literal["training", "question", "restore"]


class TrainedModel:
    """A scope: the model that is trained. Its paths are found when the first one is needed.

    Args:
        module: The model.
        around: The scope around this one, whose model decides for all Variables that it has: where a step of ``fit``
            gives a part of its model to an optimizer, the Variables are still those of that model. Defaults to None.
        purpose: ``"training"``; ``"question"``, so that nobody keeps what is found here; or ``"restore"``, where the
            model is only likely to be the one that is trained, and what is known of that already counts more. Defaults
            to ``"training"``.
    """

    def __init__(self, module: Module, around: TrainedModel | None = None, purpose: Purpose = "training") -> None:
        self.module = module
        self.around = around
        self.purpose = purpose
        self.gives_all = False
        """Whether its step gives the optimizer all weights by itself, also those that no loss reaches."""
        self.outermost: Module = module if around is None else around.outermost
        """The model that decides first."""
        self._found: dict[int, Candidate] = {}
        self._made = -1

    def candidates(self) -> list[Candidate]:
        """Return all Variables of the model, with their paths."""
        if self._made != structure.made:  # a layer may have been built since
            self._made = structure.made
            self._found = {id(one.variable): one for one in candidates(walk_with_edges(self.module))}
        return list(self._found.values())

    def deciding(self, variable: Variable, suits: Callable[[TrainedModel], bool] | None = None) -> TrainedModel | None:
        """Return the scope, this one or one around it, whose model decides for a Variable; None if no model has it.

        Args:
            variable: The Variable.
            suits: Says of a model that is only likely to be trained whether it can be that one. Defaults to None: each
                can.
        """
        outer = None if self.around is None else self.around.deciding(variable, suits)
        if outer is not None:
            return outer
        if id(variable) not in self._found:
            self.candidates()
        if id(variable) not in self._found:
            return None
        return self if suits is None or self.purpose != "restore" or suits(self) else None

    def paths_of(self, variable: Variable) -> Reached:
        """Return the paths of a Variable of the model."""
        return self._found[id(variable)].paths


class Identity:
    """Stands for a model and does not keep it: equal to others of the same one, whatever ``==`` means to its class.

    Args:
        module: The model.
    """

    __slots__ = ("_id", "_ref")

    def __init__(self, module: Module) -> None:
        self._id = id(module)
        self._ref = weakref.ref(module)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self._ref() is not None and self._ref() is other._ref()

    def __hash__(self) -> int:
        return self._id


trained: ScopeStack[TrainedModel] = ScopeStack("training")
# a compiled function that calls an optimizer has found rules by the paths of the model that was trained around it
register_ambient(lambda: tuple([Identity(one.module) for one in trained.items]), trained.read)


def training(model: Module, gives_all: bool = False) -> AbstractContextManager[None]:
    """Return the scope of the training of a model, whatever is trained around it.

    Args:
        model: The model.
        gives_all: Whether the step gives the optimizer all weights by itself, so that one which no loss reaches is no
            mistake of a program: of an output without a loss, or of an initializer. Defaults to False.
    """
    around = trained.top
    if around is None or around.module is not model:
        scope = TrainedModel(model)
    elif around.gives_all == gives_all:
        return nullcontext()
    else:
        scope = copy(around)  # with the paths that are found already
    scope.gives_all = gives_all
    return trained.entered(scope)


def seen_from(variables: object, purpose: Purpose = "training") -> AbstractContextManager[None]:
    """Return the scope for what an optimizer is given: that of a Module; none for a list of Variables."""
    if not isinstance(variables, Module):
        return nullcontext()
    return trained.entered(TrainedModel(variables, trained.top, purpose))


def restored_models() -> list[Module]:
    """Return the models of the restore that is under way, the likeliest to be trained first."""
    found: list[Module] = []
    scope = trained.top
    while scope is not None and scope.purpose == "restore":
        found.insert(0, scope.module)
        scope = scope.around
    return found


def restoring(models: Iterable[Module]) -> AbstractContextManager[None]:
    """Return the scope of a restore of models beside optimizers.

    For a Variable, the first one decides that has it and something for each rule of the optimizer.
    """
    scope = trained.top
    for model in models:
        scope = TrainedModel(model, scope, "restore")
    return nullcontext() if scope is None else trained.entered(scope)
