"""Optimizers and losses that have trained another model, and go on in the next one from where they are: it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar
from weakref import WeakKeyDictionary, ref

from graftax.core import user_line
from graftax.losses.loss import Loss
from graftax.training.compiled_loss import modules_of
from graftax.training.trainable_model import TrainableModel
from graftax.variables.graph.module import Module, walk
from graftax.variables.variable import Variable


class _Past:
    """What has been trained with an optimizer or a loss, and the buffers that the last training left."""

    of: ClassVar[WeakKeyDictionary[Module, _Past]] = WeakKeyDictionary()

    def __init__(self) -> None:
        self.trained: dict[int, ref[Variable]] = {}
        self.model = ""
        self.left: list[ref[Any]] | None = None
        self.has_changed = False

    def has_trained(self, variables: Iterable[Variable]) -> bool:
        """Tell whether some of these were trained."""
        return any((known := self.trained.get(id(one))) is not None and known() is one for one in variables)


_lock = threading.Lock()


class TrainedBefore:
    """Looks at the optimizer and the losses of a model when a training begins, and notes what it leaves at its end.

    A model that has something of an earlier one, such as its layers, goes on with both, and so does one that is
    compiled again. What was restored or assigned since is not what the earlier training left.

    Args:
        model: The model that is trained.
        is_whole: Whether the end of the training is known, as that of `fit`. Defaults to True.
    """

    def __init__(self, model: TrainableModel, is_whole: bool = True) -> None:
        self._model, self._is_whole = model, is_whole
        self._begun: dict[int, list[ref[Any]]] = {}
        self._has_begun = False

    def begin(self) -> None:
        """Warn of an optimizer, or a loss with Variables, that is as the training of another model left it."""
        self._has_begun = True
        for part in _parts_of(self._model):
            now = self._begun[id(part)] = _buffers(part)
            with _lock:
                past = _Past.of.get(part)
                is_left = past is not None and past.has_changed and (past.left is None or _are_same(past.left, now))
            own = _own_variables(self._model, part)
            if any(node is self._model for node in walk(part)):  # a loss that holds its own model
                continue
            if past is not None and is_left and not past.has_trained(own) and not _has_slots(part, own):
                user_line.warn(_describe_earlier(part, _title(self._model), past.model))

    def end(self) -> None:
        """Note what the optimizer and the losses have trained, and their buffers."""
        for part in _parts_of(self._model):
            left, begun, own = _buffers(part), self._begun.get(id(part)), _own_variables(self._model, part)
            with _lock:
                past = _Past.of.setdefault(part, _Past())
                past.has_changed |= begun is None or not _are_same(begun, left)
                past.left = left if self._is_whole else None
                past.trained |= {id(one): ref(one) for one in own}
                past.model = _title(self._model)

    def __enter__(self) -> TrainedBefore:
        return self

    def __exit__(self, *error: object) -> None:
        if self._has_begun:
            self.end()


def _parts_of(model: TrainableModel) -> Iterator[Module]:
    """Yield the optimizer of a model, and its losses with Variables."""
    objectives = model._gx_objectives
    if objectives is not None:
        if isinstance(objectives.optimizer, Module) and _counter(objectives.optimizer) is not None:
            yield objectives.optimizer
        # not other Modules, whose methods are losses: these may be parts of several models
        yield from (one for one in modules_of(objectives.given_losses()["loss"]) if isinstance(one, Loss))


def _counter(part: Module) -> Variable | None:
    found = getattr(part, "iterations", None)
    return found if isinstance(found, Variable) else None


def _buffers(part: Module) -> list[ref[Any]]:
    counter = _counter(part)
    return [ref(one._gx_stored) for one in (part.variables if counter is None else [counter])]


def _are_same(one: list[ref[Any]], other: list[ref[Any]]) -> bool:
    return len(one) == len(other) and all(a() is not None and a() is b() for a, b in zip(one, other, strict=True))


def _own_variables(model: TrainableModel, part: Module) -> list[Variable]:
    its = set(map(id, part.variables))
    return [one for one in model.variables if id(one) not in its]


def _has_slots(part: Module, variables: Iterable[Variable]) -> bool:
    """Tell whether an optimizer has slots for some of these, which were restored."""
    keepers = [node for node in walk(part) if isinstance(node, Module)]
    there = {id(record.variable) for keeper in keepers for record in keeper._gx_slot_records()}
    return any(id(one) in there for one in variables)


def _title(model: TrainableModel) -> str:
    return f"{type(model).__name__} {model.name!r}"


def _describe_earlier(part: Module, model: str, before: str) -> str:
    kind, counter = type(part).__name__, _counter(part)
    if counter is None:
        names = ", ".join(repr(name) for name in part.named_variables())
        return (
            f"the loss {kind} of {model} has trained another model before, {before}, and goes on from there: its "
            f"Variables {names:.80} have values of that training. Instead: one for each model, made anew, "
            f"model.compile(..., loss={kind}(...)), or loss=copy.deepcopy(loss) of one that has trained nothing"
        )
    rate = getattr(part, "learning_rate", None)
    rates = "" if rate is None else f" and learning rate {float(rate):.6g}"
    return (
        f"the optimizer {kind} of {model} has trained another model before, {before}, and goes on from there: "
        f"iterations={int(counter)}{rates} are those of that training, while slots begin anew. "
        f"Instead: one for each model, made anew, model.compile(gx.optimizers.{kind}(...), ...), or "
        "model.compile(copy.deepcopy(optimizer), ...) of one that has trained nothing"
    )
