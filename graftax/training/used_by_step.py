"""What a step has used of the loss: what `compile` was given, and the terms that layers and weights add."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from graftax.core import tree
from graftax.core.ours import is_ours
from graftax.core.wrapping import carry_names
from graftax.layers.added_losses import terms_read, unread_terms
from graftax.losses.loss import Loss
from graftax.metrics import registry as metrics
from graftax.training.objectives import Objectives
from graftax.transforms.compile.trace import Entry
from graftax.variables.graph.module import Module


class Use(NamedTuple):
    """What one step has used: whether it computed the losses of `compile`, and which terms it did not read."""

    has_computed: bool
    unread: tuple[str, ...]


def watch_use(model: Any, function: Callable[..., Any], step: str) -> Callable[..., Any]:
    """Return a step that notes what it uses, each time it is traced or runs as Python; of a step of the user's alone.

    Args:
        model: The model.
        function: The step.
        step: Its name.
    """
    if not (model._gx_has_own(step) or model._gx_has_own("compute_loss")):
        return function

    def run(*args: Any) -> Any:
        objectives, read = model._gx_objectives, set[int]()
        before = 0 if objectives is None else objectives.computed
        with terms_read.entered(read):
            found = function(*args)
        if objectives is not None and model._gx_functions is not None:
            unread = _unread(model, read) if step == "train_step" else ()
            model._gx_functions.used[step] = Use(objectives.computed > before, unread)
        return found

    return carry_names(run, function)


def _unread(model: Module, read: set[int]) -> tuple[str, ...]:
    """Return what adds terms that nothing has read; where the model's code asks for regularizers, it may add these."""
    found = [*unread_terms(model, read)]
    if found and "regularizer" in _names_in(type(model)):
        found = [one for one in found if not one.startswith("the regularizer")]
    return tuple(found)


def unused_arguments(model: Module, entry: Entry, objectives: Objectives, use: Use) -> list[str]:
    """Return the arguments of `compile` about the loss that a traced step did not use.

    What the code of the model's class names itself counts as used: a loss that is one of its attributes, a function.

    Args:
        model: The model.
        entry: The program of the step.
        objectives: What the model was compiled with.
        use: What the step has computed.
    """
    given = objectives.given_arguments()
    by_output = [one for one in tree.flatten(given["loss"]) if one is not None]
    wanted = [one for name in ("metrics", "weighted_metrics") for one in tree.flatten(given[name])]
    if use.has_computed or not by_output or any(map(metrics.needs_shapes, wanted)):  # "accuracy" is chosen by the loss
        return []
    names = set(_names_in(type(model)))
    found = []
    if not any(_is_named(one, model, names) or _is_called(one, entry) for one in by_output):
        found.append("loss=")
    if given["loss_weights"] is not None and "compiled_loss_weights" not in names:
        found.append("loss_weights=")
    return [] if "objectives" in names else found


def replaces_compute_loss(model: Module) -> bool:
    """Tell whether the user's `compute_loss` takes the place of that of `Model`: it does not call it by `super`."""
    own = [vars(base)["compute_loss"] for base in _users_classes(type(model)) if "compute_loss" in vars(base)]
    names = {name for one in own if isinstance(one, FunctionType) for name in _names_of(one.__code__)}
    return bool(own) and "compute_loss" not in names


def _is_called(loss: object, entry: Entry) -> bool:
    return isinstance(loss, Module) and entry.has_touched(loss)


def _is_named(loss: object, model: Module, names: set[str]) -> bool:
    """Tell whether a model's own code may call a loss: it is an attribute of the model, or named in a method."""
    if isinstance(loss, str):
        return False
    is_function = not isinstance(loss, Loss)
    return any(one is loss for name, one in vars(model).items() if name in names) or (
        is_function and getattr(loss, "__name__", None) in names
    )


def _names_in(kind: type) -> Iterator[str]:
    """Yield the names in the code of the methods that the user's classes define."""
    for base in _users_classes(kind):
        for member in vars(base).values():
            function = member.__func__ if isinstance(member, MethodType | classmethod | staticmethod) else member
            if isinstance(function, FunctionType):
                yield from _names_of(function.__code__)


def _users_classes(kind: type) -> list[type]:
    return [base for base in kind.__mro__ if not is_ours(base)]


def _names_of(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)
