"""The terms that layers add to the loss: what `add_loss` got in the latest call, and penalties of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from graftax.backend import registry
from graftax.core.errors import StaleReadError, StateError
from graftax.core.scopes import ScopeStack
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, VariableLike
from graftax.layers import building
from graftax.layers.keras_names import KerasNames
from graftax.reparam.base import Reparam, is_trainable
from graftax.variables import given_states
from graftax.variables.added_loss import AddedLoss
from graftax.variables.calls import CallContext, contexts, next_number
from graftax.variables.given_back import label_of, penalty
from graftax.variables.graph.module import Module, structure, walk
from graftax.variables.graph.node import own_nodes
from graftax.variables.graph.prints import Print, print_of
from graftax.variables.spec import Regularizer
from graftax.variables.state.storage import Frame, frames, touch
from graftax.variables.variable import Variable

R = TypeVar("R")

terms_read: ScopeStack[set[int]] = ScopeStack("terms of the loss that a step reads")
"""The ids of the weights and sums of layers whose terms `losses` has given in a step."""


class Totals(dict[str, AddedLoss]):
    """What a layer added, by dtype; a copy of the layer has added nothing."""

    made = 0
    """How many layers have added something; while it is 0, a call has nothing to forget."""

    def __reduce__(self) -> tuple[type[Totals], tuple[()]]:
        return Totals, ()


class AddsLosses(KerasNames):
    """The part of a layer that has terms of the loss.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(1, kernel_regularizer="l2", kernel_initializer="ones")
        >>> y = layer(np.ones((1, 3), "float32"))
        >>> [round(float(loss), 4) for loss in layer.losses]
        [0.03]
    """

    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_regularized", "_gx_added"})

    _gx_regularized: tuple[tuple[VariableLike, Regularizer], ...] = ()  # of weights that cannot say it themselves
    _gx_added: Totals | None = None

    @door
    def add_loss(self, loss: ArrayLike) -> None:
        """Add a term to the loss of the model; to be called inside `call`.

        `losses` says how long it stays. The term gets there out of gradients, compiled functions, branches and loops,
        whose turns are summed; out of `graftax.vectorized_map` it cannot.

        Args:
            loss: One real number; ``ops.sum`` or ``ops.mean`` makes one of several.

        Raises:
            ShapeError: it is several numbers.
            StateError: no layer is being called, or a `graftax.vectorized_map` is in between.
        """
        _add(self, loss)

    @property
    def losses(self) -> list[Array]:
        """Return terms of the loss: what this layer and those below added, and penalties of their trainable weights.

        Each layer that has ever added a term gives one number: the sum of its terms in its latest outermost call, which
        is a call that no call of another layer is around. An outermost call of a layer begins by forgetting the terms
        of that layer and of all below it, and so does each step of `fit`, ``train_on_batch`` and `evaluate`. So terms
        of layers below count also where these were called one by one. Compiled or not, the numbers are the same, inside
        of the function and after it. Terms of outermost calls inside of a `graftax.vectorized_map`, or of a function
        that plain JAX traced, are to be read there: outside, `losses` raises until the next call.

        Raises:
            StateError: the terms stayed inside of a map or trace; or a penalty is asked for after a
                `graftax.functional_call`, which had other weights.

        Example:
            >>> import numpy as np, graftax as gx
            >>> class Activity(gx.Layer):
            ...     def call(self, x):
            ...         self.add_loss(gx.ops.mean(x))
            ...         return x
            >>> model = gx.Sequential([Activity(), Activity()])
            >>> _ = model(np.ones((4, 2), "float32"))
            >>> [float(loss) for loss in model.losses]
            [1.0, 1.0]
        """
        return _collect_terms(self)

    def _gx_traced_attributes(self) -> dict[str, Any]:
        """Return what a trace may depend on: plain attributes, the children, and the penalties of weights."""
        penalties = tuple(regularizer for _, regularizer in self._gx_regularized)
        return {**super()._gx_traced_attributes(), "penalties of weights": penalties}

    def _gx_fingerprint(self) -> dict[str, Print]:
        """Return what a trace may depend on: plain attributes, the children, and whether terms of the loss are kept."""
        return {**super()._gx_fingerprint(), "added losses": print_of([*(self._gx_added or ())])}


def _add(layer: AddsLosses, loss: ArrayLike) -> None:
    """Add a term to what the layer added in this outermost call.

    Raises:
        StateError: no layer is being called.
    """
    term = penalty(loss, f"add_loss of {layer._gx_title()} got")
    context = contexts.top
    if context is None or context.root is None:
        raise StateError(
            f"{layer._gx_title()}.add_loss() {'in build' if building.is_building() else 'outside of a call'}",
            "the terms of a layer are those of its latest call, and a term that is added here would belong to no call",
            "self.add_loss(...) in call; add_weight(..., regularizer=...) for a penalty on a weight; "
            "a term of the loss in train_step: loss = self.compute_loss(x, y, y_pred) + term",
        )
    _put(layer, term, "float64" if str(term.dtype) == "float64" else "float32", context)


def _put(layer: AddsLosses, term: Array, dtype: str, context: CallContext) -> None:
    totals = layer._gx_added
    if totals is None:
        totals = Totals()
        object.__setattr__(layer, "_gx_added", totals)
        Totals.made += 1
    if dtype not in totals or totals[dtype].backend is not registry.current():
        totals[dtype] = AddedLoss.of(layer, dtype)
        structure.bump()  # what has read its losses is traced anew
    total = totals[dtype]
    if total.number != context.number:
        total.forget(context.number, context.frames)
    total.add(term)


def taken_from(root: Module, call: Callable[[], R]) -> tuple[R, dict[str, Array]]:
    """Return the result of a call, and the terms of this call, by the place of their layer below ``root`` and dtype.

    They do not count as terms of these layers; `give` says whose they are.

    Args:
        root: The layer that is called.
        call: Calls it.
    """
    before = {id(total): total.take() for _, _, total in _placed(root)}
    out = call()
    terms: dict[str, Array] = {}
    for place, dtype, total in _placed(root):
        terms[f"{place}/{dtype}"] = total.take(before.get(id(total)))
    return out, terms


def give(root: Module, terms: Mapping[str, Array]) -> None:
    """Add terms that `taken_from` returned for a layer like ``root``."""
    context = contexts.top
    assert context is not None
    parts = _adding(root)
    for key, term in terms.items():
        place, dtype = key.split("/")
        _put(parts[int(place)], term, dtype, context)


def _placed(root: Module) -> list[tuple[int, str, AddedLoss]]:
    return [
        (place, dtype, total)
        for place, layer in enumerate(_adding(root))
        for dtype, total in (layer._gx_added or {}).items()
    ]


def _adding(root: Module) -> list[AddsLosses]:
    return [layer for layer in walk(root) if isinstance(layer, AddsLosses)]


def forget(root: Module, number: int | None = None, stack: tuple[Frame, ...] | None = None) -> None:
    """Forget the terms of a layer and of those below.

    Args:
        root: The layer.
        number: That of the outermost call which begins. Defaults to None, a number of no call.
        stack: The frames around that call. Defaults to None, those of now.
    """
    if Totals.made:
        for total in _totals(root):
            total.forget(next_number() if number is None else number, frames.items if stack is None else stack)


def _totals(root: Module) -> list[AddedLoss]:
    return [total for _, _, total in _placed(root)]


def keep_penalty(layer: AddsLosses, weight: Any, regularizer: Regularizer | None) -> None:
    """Make sure that the penalty which a layer asked for counts, for a weight that creators made or found.

    The weight itself has its penalty, so a penalty that a creator added or removed counts. A weight that several layers
    share counts once, with the penalty that it has already, or else with this one.
    """
    if not isinstance(weight, Variable | Reparam):
        if regularizer is not None:  # a value of another kind, which knows of no penalties
            layer._gx_regularized = (*layer._gx_regularized, (weight, regularizer))
    elif weight._gx_owner is not None and weight.regularizer is None and regularizer is not None:
        weight.regularizer = regularizer


def _collect_terms(root: Module) -> list[Array]:
    """Return the terms of a layer and of those below, each weight once."""
    found: list[Array] = []
    seen, read = set[int](), terms_read.top
    for module in walk(root):
        if not isinstance(module, Module):
            continue
        if isinstance(module, AddsLosses):
            touch(module)
            totals = (module._gx_added or {}).values()
            found += [total.known() for total in totals]
            seen |= {id(total) for total in totals}
        is_given = given_states.is_latest(module)
        try:
            penalties = [term for term in _penalties(module, seen) if term is not None]
        except StaleReadError:  # in a function that plain JAX traces
            if is_given:
                raise _of_own_weights(root, module) from None
            raise
        if penalties and is_given:
            raise _of_own_weights(root, module)
        found += penalties
    if read is not None:
        read |= seen
    return found


def unread_terms(root: Module, read: set[int]) -> Iterator[str]:
    """Yield what adds terms to the loss and is not among those read: layers with terms in this step, weights.

    Args:
        root: The layer around all.
        read: What `terms_read` got in the step.
    """
    for module in walk(root):
        if isinstance(module, AddsLosses) and not module._gx_frozen:
            totals = (module._gx_added or {}).values()
            if any(total.has_terms() and id(total) not in read for total in totals):
                yield f"add_loss of {module._gx_title()}"
        for _, weight in own_nodes(module) if isinstance(module, Module) else ():
            has_one = isinstance(weight, Variable | Reparam) and weight.regularizer is not None
            if has_one and id(weight) not in read and is_trainable(weight):
                read.add(id(weight))  # once, where several layers have it
                yield f"the regularizer of {weight._gx_path!r}"


def _penalties(module: Module, seen: set[int]) -> Iterator[Array | None]:
    """Yield the penalties of the weights of one Module, but for those that were seen before."""
    if isinstance(module, Reparam) and is_trainable(module) and (term := module.penalty()) is not None:
        yield penalty(term, f"{type(module).__name__}.penalty of {module._gx_path!r} gave")
    if isinstance(module, AddsLosses):
        yield from (_penalty(weight, regularizer) for weight, regularizer in module._gx_regularized)
    whole = module.regularizer if isinstance(module, Reparam) else None
    for _, weight in own_nodes(module):
        if not isinstance(weight, Variable | Reparam) or id(weight) in seen:
            continue
        if weight.regularizer is not whole:  # a part that has the penalty of the whole adds nothing to it
            seen.add(id(weight))
            yield _penalty(weight, weight.regularizer)


def _of_own_weights(root: Module, module: Module) -> StateError:
    title = root._gx_title() if isinstance(root, AddsLosses) else type(root).__name__
    return StateError(
        f"losses of {title} after a functional_call, which had other weights",
        f"the penalties of {module._gx_path or type(module).__name__!r} would be those of its own weights, and pass no "
        "gradient to the state that was given",
        "a layer around it whose call returns self.model(x), sum(self.model.losses), with functional_call of that; "
        "model(x) before losses, if its own weights are meant",
    )


def _penalty(weight: Any, regularizer: Regularizer | None) -> Array | None:
    """Return the penalty of a weight; None if it has none or is not trained."""
    if regularizer is None or not is_trainable(weight):
        return None
    what = f"the regularizer {label_of(regularizer)} of {getattr(weight, '_gx_path', '')!r} gave"
    return penalty(regularizer(weight.value), what)
