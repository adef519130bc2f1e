"""The terms that layers add to the loss: what `add_loss` got in the latest call, and penalties of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graftax.backend import registry
from graftax.module import walk
from graftax.reparam.base import Reparam
from graftax.reparam.places import is_trainable
from graftax.typedefs import Array, ArrayLike
from graftax.variables.calls import contexts
from graftax.variables.given_back import named, penalty

if TYPE_CHECKING:
    from graftax.layers.layer import Layer


def add(layer: Layer, loss: ArrayLike) -> None:
    """Keep a term for the loss, until the next outermost call."""
    term = penalty(loss, f"add_loss of {layer._title()} got")
    number = contexts.top.number if contexts.top is not None else 0
    if layer._losses[0] != number or "_losses" not in vars(layer):  # the list of the class is nobody's
        object.__setattr__(layer, "_losses", (number, []))
    layer._losses[1].append(term)


def collected(root: Layer, kind: type[Layer]) -> list[Array]:
    """The terms of a layer and of those below, which are of a class."""
    found: list[Any] = []
    for layer in walk(root):
        if isinstance(layer, Reparam) and is_trainable(layer) and (term := layer.penalty()) is not None:
            found.append(penalty(term, f"{type(layer).__name__}.penalty of {layer.path!r} gave"))
        if isinstance(layer, kind):
            if layer._losses[0] == root._call_number:
                found += [loss for loss in layer._losses[1] if not _dead(loss)]
            for weight, regularizer in layer._regularized:
                if is_trainable(weight):
                    what = f"the regularizer {named(regularizer)} of {getattr(weight, 'path', '')!r} gave"
                    found.append(penalty(regularizer(weight.value), what))
    return found


def _dead(loss: Array) -> bool:
    """True for a value of a trace that is over."""
    backend = registry.current()
    return backend.has("transforms") and backend.transforms.leaks(loss, backend.transforms.level())
