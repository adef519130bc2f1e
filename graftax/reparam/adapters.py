"""Adapters by name, over all weights of a model: list, use, leave, remove and merge what LoRA and others have added."""

from __future__ import annotations

import typing as _typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from graftax.core.errors import ArgumentTypeError, GraftError
from graftax.core.namespaces import make_getattr as _answering
from graftax.core.selectors import Selector
from graftax.core.short_traceback import door
from graftax.reparam.adapted import Adapted
from graftax.reparam.adapter_test import OfAdapters
from graftax.reparam.distance import check_tolerance, distance, tolerance_for
from graftax.reparam.places import expressions, give_penalty, replace, thaw
from graftax.variables.graph.following import leaves_of
from graftax.variables.graph.module import Module, structure, walk_with_edges
from graftax.variables.state.storage import concretely

__all__ = ["active", "disabled", "merge", "named", "names", "remove", "use"]


@door
def names(model: Module) -> list[str]:
    """Return the adapters of a model, in the order in which they came, as far as weights that have several tell.

    Example:
        >>> import graftax as gx
        >>> layer = gx.layers.Dense(3)
        >>> layer.build((2,))
        >>> for name in ("poet", "lawyer"):
        ...     done = gx.graft(layer, gx.reparam.LoRA(rank=1, name=name), where="kernel")
        >>> names(layer)
        ['poet', 'lawyer']
    """
    return _in_order([weight.adapters for weight in chain] for chain in _chains(model))


@door
def active(model: Module) -> list[str]:
    """Return the adapters in use, in the order in which they apply; where weights differ, those in use anywhere.

    Example:
        >>> import graftax as gx
        >>> with gx.variable_creator_scope(gx.reparam.LoRA(rank=1)):
        ...     layer = gx.layers.Dense(3)
        ...     layer.build((2,))
        >>> active(layer)
        ['lora']
    """
    return _in_order([weight.active for weight in chain] for chain in _chains(model))


@door
def use(model: Module, *names: str) -> None:
    """Use these adapters, applied in this order, and no others; without a name, the model is its base.

    An adapter that is not in use is frozen, so that no optimizer decays it. What is used is saved with whole models
    (``model.save``) and in checkpoints, not in files of adapters alone; compiled functions are traced once more.

    Args:
        model: The model, or a part of one.
        names: Adapters; a weight that does not have one does without.

    Raises:
        GraftError: the model has no adapters, or none of that name; or a name comes twice; or an adapter is to apply
            before one that lies beneath another expression beneath it. Nothing is changed then.

    Example:
        >>> import graftax as gx
        >>> with gx.variable_creator_scope(gx.reparam.LoRA(rank=1)):
        ...     layer = gx.layers.Dense(3)
        ...     layer.build((2,))
        >>> use(layer)
        >>> active(layer), [v.path for v in layer.trainable_variables]
        ([], ['bias'])
        >>> use(layer, "lora")
    """
    known = _weights_with(model, names, "use")
    for chain in _chains(model):
        _check_nesting(chain, names)
    for weight in known:
        weight.switch(names)


@door
@contextmanager
def disabled(model: Module) -> Iterator[None]:
    """Make the model its base within the block: such as the reference of a preference loss.

    As with `use`, it is the model that changes, for all threads: one that trains it meanwhile trains the base. Where
    threads run the model with adapters and without, the reference is a copy: ``copy.deepcopy(model)``.

    Raises:
        GraftError: the model has no adapters, or another thread is in such a block with some of its weights.

    Example:
        >>> import numpy as np, graftax as gx
        >>> with gx.variable_creator_scope(gx.reparam.LoRA(rank=1)):
        ...     layer = gx.layers.Dense(3)
        ...     y = layer(np.ones((1, 2), "float32"))
        >>> with disabled(layer):
        ...     reference = layer(np.ones((1, 2), "float32"))
        >>> active(layer)
        ['lora']
    """
    weights = _weights_with(model, (), "disabled")
    before = [(weight, list(weight.active)) for weight in weights]
    with _in_no_other_thread(weights, model):
        try:
            for weight in weights:
                weight.switch(())
            yield
        finally:
            for weight, active in before:
                weight.switch(active)


@contextmanager
def _in_no_other_thread(weights: list[Adapted], model: Module) -> Iterator[None]:
    """Note that this thread has disabled the adapters of some weights.

    Raises:
        GraftError: another one has.
    """
    here, outermost = get_ident(), [weight for weight in weights if id(weight) not in _disabled_in]
    try:
        for weight in weights:
            if _disabled_in.setdefault(id(weight), here) != here:
                outermost = [one for one in outermost if _disabled_in.get(id(one)) == here]
                raise GraftError(
                    f"adapters.disabled of {type(model).__name__} while another thread is in such a block with it",
                    "which adapters are in use is state of the model, the same for all threads: where the one block "
                    "ends, the other would have them in use, too, or none of them ever again",
                    "reference = copy.deepcopy(model) for one of the threads; or one threading.Lock() around both",
                )
        yield
    finally:
        for weight in outermost:
            _disabled_in.pop(id(weight), None)


_disabled_in: dict[int, int] = {}
"""The weights, by their numbers, that are their bases in a block of `disabled` now, and the thread that is in it."""


@door
def remove(model: Module, *names: str) -> None:
    """Remove adapters with what they have learnt; a weight without adapters is its base again.

    Raises:
        GraftError: there is none of that name.

    Example:
        >>> import graftax as gx
        >>> layer = gx.layers.Dense(3)
        >>> layer.build((2,))
        >>> kernel = layer.kernel
        >>> done = gx.graft(layer, gx.reparam.LoRA(rank=1), where="kernel")
        >>> remove(layer, "lora")
        >>> layer.kernel is kernel and kernel.trainable
        True
    """
    for weight in _weights_with(model, _check_names(names, "remove"), "remove"):
        weight.remove_adapters(names)
    _unwrap(model)


@door
def merge(model: Module, *names: str, tolerance: float | None = None) -> None:
    """Fold adapters that are in use into the base; the function stays what it is, and other adapters stay there.

    Args:
        model: The model, or a part of one.
        names: Adapters.
        tolerance: How far a weight may move, relative to its norm; a base in few bits cannot have any value. Defaults
            to None: 1e-3, or what the creator of the base states as its ``tolerance``, as in `graft`.

    Raises:
        GraftError: there is none of that name, it is not in use, or it applies after one that it cannot overtake (two
            sums can, as of LoRA); or a weight would move further than ``tolerance``. Nothing is changed then.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(3, use_bias=False)
        >>> layer.build((2,))
        >>> done = gx.graft(layer, gx.reparam.LoRA(rank=1, name="poet"), where="kernel")
        >>> up = layer.kernel.adapters["poet"].up.assign(np.ones((1, 3)))
        >>> before = layer.kernel.numpy()
        >>> merge(layer, "poet")
        >>> layer.kernel, bool(np.allclose(layer.kernel, before))
        (Variable('kernel', shape=(2, 3), dtype=float32, ...), True)
    """
    limit = None if tolerance is None else check_tolerance(tolerance)
    chosen = _weights_with(model, _check_names(names, "merge"), "merge")
    for weight in chosen:
        _check_order(weight, names)
    undo: list[tuple[Any, Any]] = []
    undo_names = [(weight, weight.adapters, weight.active) for weight in chosen]
    errors: list[tuple[float, str, float]] = []
    try:
        with concretely():
            for weight in chosen:
                before = weight.value
                base: Any = weight.base
                undo += [(leaf, leaf.value) for leaf in leaves_of(base)]
                base.assign(weight.apply_adapters([name for name in weight.active if name in names], base.value))
                weight.remove_adapters(names)
                enough = getattr(base, "tolerance", 1e-3) if limit is None else limit
                errors.append((distance(weight.value, before), weight.path, enough))
            _check_distances(errors)
    except BaseException:
        for leaf, value in reversed(undo):
            leaf.assign(value)
        for weight, adapters, active in undo_names:
            weight.adapters, weight.active = adapters, active
        raise
    _unwrap(model)


@door
def named(*names: str) -> Selector:
    """Select the Variables of adapters of these names, as ``only=gx.adapters.named("poet")`` for a checkpoint.

    Example:
        >>> import graftax as gx
        >>> with gx.variable_creator_scope(gx.reparam.LoRA(rank=1, name="poet")):
        ...     layer = gx.layers.Dense(3)
        ...     layer.build((2,))
        >>> layer.freeze(named("poet"))
        ['kernel/adapters/poet/down', 'kernel/adapters/poet/up']
    """
    wanted = frozenset(_check_names(names, "named"))
    return Selector("predicate", f"adapters.named({', '.join(map(repr, names))})", OfAdapters(wanted))


# --- inside -----------------------------------------------------------------------------------------------------------


def _find_adapted_weights(model: Module) -> list[Adapted]:
    return [weight for chain in _chains(model) for weight in chain]


def _chains(model: Module) -> list[list[Adapted]]:
    """Return for each weight its parts that have adapters, in the order in which they apply: the innermost first."""
    if not isinstance(model, Module):
        raise ArgumentTypeError(
            f"{model!r:.60}, of type {type(model).__name__}, in place of a model",
            "adapters are looked for in a Module",
            "gx.adapters.names(model)",
        )
    chains: list[list[Adapted]] = []
    above: tuple[Any, ...] | None = None
    for edges, node in walk_with_edges(model):
        if isinstance(node, Adapted):
            if above is not None and edges[: len(above)] == above:
                chains[-1].insert(0, node)
            else:
                chains.append([node])
            above = edges
    return chains


def _in_order(chains: Iterable[list[Iterable[str]]]) -> list[str]:
    """Return the names of all weights in one order that is right for each of them, where there is one."""
    orders = [[name for names in chain for name in names] for chain in chains]
    found: list[str] = []
    while left := [order for order in ([n for n in order if n not in found] for order in orders) if order]:
        later = {name for order in left for name in order[1:]}
        found.append(next((order[0] for order in left if order[0] not in later), left[0][0]))
    return found


def _check_nesting(chain: list[Adapted], names: tuple[str, ...]) -> None:
    """Raise if adapters are to apply in an order that the expressions between them do not allow."""
    wanted = [name for name in names if any(name in weight.adapters for weight in chain)]
    possible = list(dict.fromkeys(name for weight in chain for name in wanted if name in weight.adapters))
    if wanted != possible:
        raise GraftError(
            f"adapters.use: {', '.join(map(repr, wanted))} in this order at {chain[-1].path!r}",
            "another expression lies between them there, so that they apply in the order in which they were grafted",
            f"gx.adapters.use(model, {', '.join(map(repr, possible))})",
        )


def _weights_with(model: Module, names: tuple[str, ...], function: str) -> list[Adapted]:
    """Return the adapted weights that have one of these; all, if there are no names."""
    known = _find_adapted_weights(model)
    if not known:
        raise GraftError(
            f"adapters.{function}: {type(model).__name__} has no adapters",
            "no weight of it was grafted with any, or it is not built",
            'gx.graft(model, gx.reparam.LoRA(rank=8), where="**/kernel") first',
        )
    there = list(dict.fromkeys(name for weight in known for name in weight.adapters))
    for name in names:
        if name not in there or names.count(name) > 1:
            raise GraftError(
                f"adapters.{function} got {name!r}{' twice' if name in there else ''}",
                f"{type(model).__name__} has {', '.join(map(repr, there))}, each once",
                f"adapters.{function}(model, {there[0]!r})",
            )
    return known if function in ("use", "disabled") else [w for w in known if not w.adapters.keys().isdisjoint(names)]


def _check_names(names: tuple[str, ...], function: str) -> tuple[str, ...]:
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise GraftError(
            f"adapters.{function} got {wrong[0]!r:.60} of type {type(wrong[0]).__name__}",
            "adapters are told apart by their names, each an argument of its own",
            f'adapters.{function}({"" if function == "named" else "model, "}"lora", "poet")',
        )
    if not names:
        raise GraftError(
            f"adapters.{function} without a name", "it says which adapters", 'the name of one, such as "lora"'
        )
    return names


def _check_order(weight: Adapted, names: tuple[str, ...]) -> None:
    """Raise if merging would change the function."""
    stays: list[str] = []
    for name in weight.adapters:
        if name in names and name not in weight.active:
            raise GraftError(
                f"merge: {name!r} is not in use at {weight.path!r}",
                "merging it would change what the model computes",
                f"gx.adapters.use(model, {name!r}) first, or remove it",
            )
    for name in weight.active:
        if name not in names:
            stays.append(name)
        elif not all(weight.adapters[other].additive for other in (name, *stays) if stays):
            raise GraftError(
                f"merge: at {weight.path!r}, {name!r} applies after {', '.join(map(repr, stays))}",
                "in another order they make another weight",
                f"merge {', '.join(map(repr, (*stays, name)))} together, or use {name!r} first",
            )


def _check_distances(errors: list[tuple[float, str, float]]) -> None:
    """Raise if a weight moved further than its tolerance, with the one that would do for all of them."""
    far = [one for one in errors if not one[0] <= one[2]]
    if not far:
        return
    error, path, tolerance = next((one for one in far if one[0] != one[0]), max(far))
    others = f", the furthest of {len(far)} such weights" if len(far) > 1 else ""
    raise GraftError(
        f"merge: {path!r} cannot have the value that it has now: {error:.2g} of its norm away{others}",
        f"more than tolerance={tolerance:g}; nothing was changed",
        "values without nan"
        if error != error
        else f"tolerance={tolerance_for(error)}, or gx.ungraft(model), for plain Variables",
    )


def _unwrap(model: Module) -> None:
    """Put the base in the place of each weight that has no adapters left."""
    for weight in expressions(model, Adapted):
        node = weight.node
        if not node.adapters:
            replace(model, weight, node.base)
            give_penalty(node, node.base)
            thaw(node.base, node.made_trainable)
    structure.bump()  # after the change: another thread looks again as soon as it counts


if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("adapters")


def __dir__() -> list[str]:
    return sorted(__all__)
