"""graft: put an expression behind weights that exist already; ungraft: fold it back into plain Variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from graftax.core.errors import AssignmentError, CreatorError, GraftError, SelectorError
from graftax.core.roles import check_roles
from graftax.core.selectors import SelectorLike
from graftax.core.short_traceback import door
from graftax.core.typedefs import VariableLike
from graftax.reparam.adapted import Adapted
from graftax.reparam.base import Reparam
from graftax.reparam.distance import check_tolerance, distance, tolerance_for
from graftax.reparam.places import (
    Weight,
    chosen_weights,
    fold,
    freeze,
    is_frozen,
    own_leaves,
    replace,
    spec_of,
    weight_at,
    weights,
)
from graftax.reparam.shared import SharedWeight
from graftax.reparam.ties import join, require_ties_stay
from graftax.variables.creation import Creator, check_creator, note_creator
from graftax.variables.graph.module import Module, structure, walk
from graftax.variables.graph.node import outermost
from graftax.variables.initializers import Zeros
from graftax.variables.spec import Regularizer, VariableSpec
from graftax.variables.state.storage import concretely
from graftax.variables.trainability import Trainability
from graftax.variables.variable import Variable, make


class Graft(NamedTuple):
    """One weight that was replaced."""

    path: str
    """Its path from the Module that was given."""
    weight: VariableLike
    """What stands there now."""
    error: float
    """How far its value moved, relative to its norm."""


@door
def graft(
    module: Module,
    creator: Creator,
    where: SelectorLike = "**",
    roles: Sequence[str] = ("weight",),
    tolerance: float | None = None,
) -> list[Graft]:
    """Let a creator replace weights of a Module that is built, trained or restored; their values stay what they are.

    The creator is the same that `variable_creator_scope` takes. A part that it asks for under the name ``"base"``, or
    under the one that it states as its ``base_name``, of the shape and dtype of the weight, is what was there: the
    Variable with whatever an optimizer keeps for it, or the expression that was grafted before, which goes on as a
    part. If anything fails, nothing is changed.

    Args:
        module: The Module.
        creator: ``creator(next_creator, spec) -> Variable or VariableLike``.
        where: Which weights, by their path from ``module``. Defaults to all that the creator does not pass on.
        roles: The roles it sees. Defaults to ``("weight",)``.
        tolerance: How far a value may move, relative to its norm, also that of an expression without ``inverse``, whose
            parts stay as they were made; what the creator states as its ``tolerance``, such as
            one that rounds, else 1e-3. Defaults to None.

    Returns:
        What was replaced.

    Raises:
        SelectorError: ``where`` matches no weight.
        GraftError: the creator replaced nothing, or a value moved further than ``tolerance``, or would have to move a
            weight that stands elsewhere, or an expression is there already that the new one would not keep.
        CreatorError: the creator returned nothing, or something of another shape.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(3)
        >>> before = layer(np.ones((1, 4), "float32"))
        >>> done = graft(layer, gx.reparam.LoRA(rank=2), where="kernel")
        >>> [v.path for v in layer.trainable_variables], bool((layer(np.ones((1, 4), "float32")) == before).all())
        (['kernel/adapters/lora/down', 'kernel/adapters/lora/up', 'bias'], True)
        >>> ungraft(layer)
        ['kernel']
    """
    check_creator(creator)
    if tolerance is None:
        tolerance = getattr(creator, "tolerance", 1e-3)
    tolerance = check_tolerance(tolerance)
    wanted = check_roles(roles)
    known = [weight for weight in weights(module) if weight.node.role in wanted]
    chosen = chosen_weights(known, where, "graft: where")
    made: list[tuple[Weight, Graft]] = []
    changed: list[tuple[Variable, Trainability]] = []
    penalties: dict[int, Regularizer | None] = {}  # those of weights that become parts, by id
    try:
        with concretely():
            for weight in chosen:
                new = _make(weight, creator, changed, penalties)
                if new is not weight.node:
                    made.append((weight, Graft(weight.path, new, _settle(weight, new, tolerance))))
            _check_distances(made, tolerance, creator)
        if not made:
            raise GraftError(
                f"graft: {creator!r} passed on all of {', '.join(weight.path for weight in chosen[:5])}",
                "it replaces none of them: most creators take matrices only",
                'where="**/kernel", or another creator',
            )
    except BaseException:
        for variable, before in reversed(changed):
            variable.trainability = before
        structure.bump()
        raise
    for weight, done in made:
        replace(module, weight, done.weight)
        weight.node.regularizer = penalties.get(id(weight.node), weight.node.regularizer)
    return [done for _, done in made]


@door
def ungraft(module: Module, where: SelectorLike = "**", untie: bool = False) -> list[str]:
    """Fold expressions back into plain Variables with the values that they have now.

    Where the Variable from before is there as the base, it is assigned the value. Optimizers keep what they have for
    it, averages of its values from before included. Weights that are tied (`graftax.reparam.Shared`) become one
    Variable, which all of their layers hold.

    Args:
        module: The Module.
        where: Which weights, by their path from ``module``. Defaults to all that are grafted.
        untie: Whether weights that are tied become Variables of their own, trained apart from then on. Defaults to
            False.

    Returns:
        Their paths.

    Raises:
        SelectorError: ``where`` matches none that is grafted.
        GraftError: a weight is tied to another one such that one Variable cannot be both, transposed for example;
            nothing is changed.

    Example:
        >>> import graftax as gx
        >>> with gx.variable_creator_scope(gx.reparam.LowRank(rank=1)):
        ...     layer = gx.layers.Dense(2)
        ...     layer.build((1, 3))
        >>> ungraft(layer), layer.kernel.shape
        (['kernel'], (3, 2))
    """
    known = [weight for weight in weights(module) if isinstance(weight.node, Reparam)]
    if not known and weights(module):
        raise SelectorError(
            f"ungraft: nothing is grafted in {type(module).__name__}",
            f"its {len(weights(module))} weights are plain Variables",
            "leave it out; graftax.graft(model, creator, where=...) puts expressions in",
        )
    chosen = chosen_weights(known, where, "ungraft: where")
    ties: list[Weight] = []
    if not untie:
        require_ties_stay(chosen)
        ties = [weight for weight in chosen if isinstance(weight.node, SharedWeight)]
    own = [weight for weight in chosen if weight not in ties]
    with concretely():
        plain = [fold(weight.node) for weight in own]
    for weight, variable in zip(own, plain, strict=True):
        replace(module, weight, variable)
    join(module, ties)
    return [weight.path for weight in chosen]


def graft_again(module: Module, creator: Creator, path: str) -> None:
    """Put an expression behind a weight as `graft` does, whatever value it has then: its parts get theirs from a file.

    Args:
        module: The Module.
        creator: What made the expression.
        path: The weight, from ``module``; a part of an expression, too.

    Raises:
        ArgumentError: there is no such weight.
        GraftError: the creator replaces nothing.
    """
    weight = weight_at(module, path)
    penalties: dict[int, Regularizer | None] = {}
    with concretely():
        new = _make(weight, creator, [], penalties)
    if new is weight.node:
        raise GraftError(
            f"{creator!r} passed on {path!r}", "it made an expression of it before", "the creator as it was then"
        )
    replace(module, weight, new)
    weight.node.regularizer = penalties.get(id(weight.node), weight.node.regularizer)


# --- what -----------------------------------------------------------------------------------------------------------


def _make(
    weight: Weight,
    creator: Creator,
    changed: list[tuple[Variable, Trainability]],
    penalties: dict[int, Regularizer | None],
) -> VariableLike:
    node = weight.node
    spec = spec_of(node, Zeros())
    parts: list[Any] = []
    carried = is_frozen(node)
    name = getattr(creator, "base_name", "base")

    def next_creator(requested: VariableSpec) -> VariableLike:
        nonlocal carried
        base = requested.name == name and requested.path in (spec.path, f"{spec.path}/{name}")  # none of a part of it
        if requested is spec or (base and (requested.shape, requested.dtype) == (spec.shape, spec.dtype)):
            penalties[id(node)] = requested.regularizer  # that of the whole is the expression's
            rests = requested.resting > 0 or not requested.trainable
            carried = carried and not rests  # the base stays frozen, what is new is what is to be trained
            differs = rests if spec.trainable else requested.trainable
            if differs and not isinstance(node, Adapted):  # whose base rests already
                for leaf in own_leaves(node):
                    changed.append((leaf, leaf.trainability))
                    if rests:
                        leaf.trainability = leaf.trainability.with_resting()
                    else:
                        leaf.trainable = True
                structure.bump()
            return cast(VariableLike, node)
        parts.append(make(requested))
        return cast(VariableLike, parts[-1])

    new = creator(next_creator, spec)
    for part in parts if carried else ():
        freeze(part)
    if not isinstance(new, VariableLike) or tuple(getattr(new, "shape", spec.shape)) != spec.shape:
        raise CreatorError(
            f"graft: {creator!r} returned {new!r} for the weight {weight.path!r} of shape {spec.shape}",
            "a creator returns a Variable, or a VariableLike of the shape that was asked for",
            "return next_creator(spec) for what is to stay as it is",
        )
    if new is not node:
        _check_kept(weight, new, creator)
        note_creator(new, node, creator)
    return new


def _check_kept(weight: Weight, new: Any, creator: Creator) -> None:
    """Raise if an expression stands there that is no part of the new one: what it has learned and keeps would go."""
    old = weight.node
    kept = {id(part) for part in (walk(new) if isinstance(new, Module) else ())}  # adapters move to one more of them
    lost = () if id(old) in kept or not isinstance(old, Reparam) else own_leaves(old)
    if all(id(leaf) in kept for leaf in lost):
        return
    parts = ", ".join(dict.fromkeys(leaf.path for leaf in lost))
    raise GraftError(
        f"graft: {weight.path!r} is {old!r} already, which {creator!r} does not take as a part",
        f"only its value would stay, and {parts} would be gone; nothing was changed",
        f"graftax.ungraft(module, {weight.path!r}) first, which folds it into its value; or both creators as nested "
        "scopes when the weight is made; or where= with other weights",
    )


def _settle(weight: Weight, new: Any, tolerance: float) -> float:
    """Give the new weight the value of the old one; how far it is from it."""
    old = weight.node.value
    error = distance(new.value, old)
    known = distance(old, old) == 0  # else it has nan or infinities itself
    if (error > 0 or (error != error and known)) and new is not weight.node:
        if elsewhere := _shared_paths(new, weight.node):
            if error <= tolerance:
                return error
            raise GraftError(
                f"graft: {weight.path!r} and {', '.join(elsewhere)} for it, by {new!r}, differ by {error:.2g}",
                "graft changes no value, neither that of the one nor that of the other",
                "assign the one to the other first, or share them when they are made, in a variable_creator_scope",
            )
        has_inverse = not isinstance(new, Reparam) or type(new).inverse is not Reparam.inverse
        if error <= tolerance and not has_inverse:
            return error  # it cannot come nearer, and need not
        try:
            new.assign(old)
        except AssignmentError as problem:
            enough = f"tolerance={tolerance_for(error)}"
            moved = "" if has_inverse else f", and changes by {error:.2g} of its norm ({enough} allows this)"
            problem.add_context(f"graft: the value of {weight.path!r} must stay the same{moved}")
            raise
        error = distance(new.value, old)
    constraint = getattr(new, "constraint", None)
    if error > tolerance and constraint is not None and distance(constraint(old), old) > tolerance:
        raise GraftError(
            f"graft: {weight.path!r} has a value that its own constraint {constraint!r} changes",
            "the constraint becomes part of the expression, whatever the creator; nothing was changed",
            "project the value first: weight.assign(weight.constraint(weight.value))",
        )
    if error != error and known:
        raise GraftError(
            f"graft: what {new!r} makes of {weight.path!r} is nan after {type(new).__name__}.inverse",
            "the weight itself has numbers only; nothing was changed",
            "an inverse that assigns parts of which forward makes numbers",
        )
    if error != error:
        raise GraftError(
            f"graft: {weight.path!r} or what {new!r} makes of it is nan",
            "whether it has kept its value cannot be told; nothing was changed",
            "weight.assign(ops.nan_to_num(weight.value)) first",
        )
    return error


def _check_distances(grafts: list[tuple[Weight, Graft]], tolerance: float, creator: Creator) -> None:
    """Raise if a value moved too far, with the tolerance that would do for all of them."""
    far = [done for _, done in grafts if done.error > tolerance]
    if not far:
        return
    furthest = max(far, key=lambda done: done.error)
    others = f", the furthest of {len(far)} such weights" if len(far) > 1 else ""
    enough = f"tolerance={tolerance_for(furthest.error)}"
    raise GraftError(
        f"graft: {furthest.weight!r} cannot have the value that {furthest.path!r} has: it is {furthest.error:.2g} of "
        f"its norm away{others}",
        f"more than tolerance={tolerance:g}; nothing was changed",
        f"a higher rank, or {enough}" if hasattr(creator, "rank") else f"if its value may change so far, {enough}",
    )


def _shared_paths(new: Any, old: Any) -> list[str]:
    """Return the paths of Variables of the new weight that are not its own: other weights hold them too."""
    leaves, known = (node.variables if isinstance(node, Module) else [node] for node in (new, old))
    own = {id(leaf) for leaf in known}
    return [v.path for v in leaves if id(v) not in own and v._gx_owner is not None and outermost(v) is not new]
