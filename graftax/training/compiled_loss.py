"""What a model holds of the losses that it was compiled with: their Variables are trained, saved and copied with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from graftax.core import tree, user_line
from graftax.core.errors import AssignmentError
from graftax.losses.loss import Loss
from graftax.variables.graph.config_objects import attributes_in
from graftax.variables.graph.kept_names import names_kept_by
from graftax.variables.graph.module import Module, walk
from graftax.variables.graph.node import Branch, Node, is_inside, own_nodes
from graftax.variables.graph.reserved import LOSS, Own
from graftax.variables.variable import Variable

WEIGHTS = "compiled_loss_weights"
"""The attribute of a model that holds the factors, which may change."""
COMPILED = frozenset({"loss", "loss_weights", "weighted_metrics", "run_eagerly"})
"""Arguments of `compile` that are no attributes of a model."""


def hold(model: Any, loss: object, weights: object) -> None:
    """Let a model hold the losses with Variables, beside those that it has as attributes, and the factors.

    A loss that is not built yet, or makes Variables in its `call`, is held before it has them: values of checkpoints
    wait for them there.

    Args:
        model: The model.
        loss: What `compile` was given.
        weights: The model's own factors, those of `own_factors`: compiled steps notice when they change.
    """
    others = _find_other_parts(model)
    held = {name: node for name, one in _iterate_named(loss) if (node := _to_hold(one, model, others)) is not None}
    may_change = isinstance(weights, dict | list) and not _trainable_factors(weights, others)
    found = {LOSS: held.get("") or held or None, WEIGHTS: weights if may_change else None}
    for name, value in found.items():
        if value is not None:
            setattr(model, name, Own(value))
        elif name in vars(model):
            delattr(model, name)


def modules_of(loss: object) -> list[Module]:
    """Return the losses that are Modules with Variables, or methods of these, each once."""
    nodes = [node for _, one in _iterate_named(loss) if (node := _node_of(one)) is not None]
    return list(dict.fromkeys(filter(_has_variables, nodes)))


def variables_of(loss: object) -> list[Variable]:
    """Return the Variables of losses, each once."""
    nodes = modules_of(loss)
    return list(dict.fromkeys(leaf for node in nodes for leaf in walk(node) if isinstance(leaf, Variable)))


class KeptVariables:
    """The values of Variables, for a block that may assign others.

    Args:
        variables: The Variables.
    """

    def __init__(self, variables: list[Variable]) -> None:
        # copies, since a step may donate the buffers
        self._values = [(variable, np.array(variable.numpy())) for variable in variables]

    def restore(self) -> None:
        """Assign the values again."""
        for variable, value in self._values:
            variable.assign(value)


def warn_of_lost(model: Module, loss: object, weights: object) -> None:
    """Warn of Variables in functions and plain objects given as losses, which nobody trains or saves.

    Args:
        model: The model.
        loss: What `compile` was given.
        weights: The same. A factor is no weight to be trained: it would go where the loss is least, below 0.
    """
    for name in _trainable_factors(weights, _find_other_parts(model) if weights else frozenset()):
        user_line.warn(
            f"loss_weights has a Variable for {name!r}, which belongs to no Module: it is neither trained nor saved. "
            "Instead: gx.Variable(1.0, trainable=False), which is saved with the model; or an attribute of the model"
        )
    for _, one in _iterate_named(loss):
        inner = getattr(one, "fn", one)
        for where, variable in _find_hidden(inner):
            if variable._gx_owner is None and not is_inside(variable, model):
                user_line.warn(
                    f"the loss {inner!r:.80} uses the Variable {where}, which belongs to no Module: it is neither "
                    "trained nor saved. Instead: an attribute of the model, self.scale = gx.Variable(...); or of a "
                    "class of losses, class L(gx.losses.Loss)"
                )
        for where, part in _losses_in(inner):
            names = [variable.name for variable in part.variables if variable.trainable]
            if names and not is_inside(part, model):
                user_line.warn(
                    f"the loss {inner!r:.80} calls the loss {where} ({type(part).__name__}), which is no part of this "
                    f"model: its Variables {', '.join(map(repr, names)):.80} are neither trained nor saved. "
                    "Instead: that loss itself, compile(loss=...); or a class of losses that has it as an attribute"
                )


def refuse_late(model: object, name: str, value: object, compile_arguments: Mapping[str, Any]) -> None:
    """Raise if an argument of `compile` is assigned to an attribute of the model, which nothing would look at.

    A model whose own step computes the loss is compiled without one, and may call its attributes as it likes.

    Args:
        model: The model.
        name: One of `COMPILED`.
        value: What is assigned; arrays and other numbers are a program's own.
        compile_arguments: What `compile` was given, by argument.

    Raises:
        AssignmentError: it is.
    """
    is_one = isinstance(value, str | bool | Mapping | list | tuple | Module) or callable(value)
    if not is_one or _as_given(value, compile_arguments.get(name, model)) or compile_arguments["loss"] is None:
        return
    shown = f"{value!r:.60}"
    settings = shown if name == "loss" else f"loss, {name}={shown}"
    raise AssignmentError(
        f"{type(model).__name__}.{name} = {shown} after compile",
        f"fit uses what compile was given as {name}, and would not look at this",
        f"model.compile(model.optimizer, {settings}), with metrics= as before: the optimizer goes on with its slots",
    )


def refuse_setting(model: object, name: str, value: object) -> None:
    """Raise if how steps run is assigned to an attribute of the model, as in Keras, and not given to `compile`.

    Raises:
        AssignmentError: it is.
    """
    is_count = name == "steps_per_execution" and isinstance(value, int) and not isinstance(value, bool)
    if not is_count and not (name == "jit_compile" and (isinstance(value, bool) or value == "auto")):
        return
    raise AssignmentError(
        f"{type(model).__name__}.{name} = {value!r:.60} after compile",
        "fit uses what compile was given, and would not look at this"
        if is_count
        else "steps are always compiled, but where compile was given run_eagerly=True",
        f"model.compile(model.optimizer, loss, {f'{name}={value}' if is_count else 'run_eagerly=True'}), with metrics= "
        "as before: the optimizer goes on with its slots" + ("" if is_count else "; without it, they are compiled"),
    )


def _as_given(value: object, given: object) -> bool:
    """Tell whether a value is what `compile` was given, whose lists and dicts the model has copies of."""
    if type(value) is not type(given):
        return False
    ours, others = tree.flatten_with_paths(value), tree.flatten_with_paths(given)
    return len(ours) == len(others) and all(a[0] == b[0] and a[1] is b[1] for a, b in zip(ours, others, strict=True))


def _iterate_named(loss: object) -> Iterator[tuple[str, object]]:
    """Yield losses, or factors, with the names of their outputs; a single one has none."""
    if isinstance(loss, Mapping):
        parts = [(str(name), one) for name, one in loss.items()]
    elif isinstance(loss, list | tuple):
        parts = [(str(i), one) for i, one in enumerate(loss)]
    else:
        parts = [("", loss)]
    yield from ((name, one) for name, one in parts if one is not None and not isinstance(one, str))


def _trainable_factors(weights: object, others: frozenset[int]) -> list[str]:
    """Return the names of the outputs whose factors are Variables to be trained, which the model does not have."""
    found = [(name, one) for name, one in _iterate_named(weights) if isinstance(one, Variable) and one.trainable]
    return [name for name, one in found if id(one) not in others]


def _node_of(loss: object) -> Module | None:
    """Return the Module that a loss is, or whose method it is."""
    owner = loss.__self__ if isinstance(loss, MethodType) else loss
    return owner if isinstance(owner, Module) else None


def _find_other_parts(model: Module) -> frozenset[int]:
    """Return all that hangs below a model by other ways than what the last `compile` was given, by id."""
    return frozenset(map(id, walk_parts(model, of_root=False)))


def walk_parts(model: Node, of_root: bool) -> Iterator[Node]:
    """Yield all below a model, each once, but for what `compile` gave to models below it, and if asked to itself."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if not isinstance(node, Module):
            continue
        is_compiled = vars(node).get("_gx_objectives") is not None
        skipped = (LOSS, WEIGHTS) if is_compiled and not (of_root and node is model) else ()
        waiting += [child for edges, child in own_nodes(node) if edges[0] not in skipped]


def _to_hold(loss: object, model: Module, others: frozenset[int]) -> Module | None:
    """Return the Module of a loss that has Variables, or will have; None where the model has it otherwise."""
    node = _node_of(loss)
    if node is None or node is model or id(node) in others:
        return None
    return node if _has_variables(node) or makes_later(node) else None


def _has_variables(node: Module) -> bool:
    return any(isinstance(leaf, Variable) for leaf in walk(node))


def makes_later(node: Module) -> bool:
    """Tell whether a Module has a part that is not built, or is a loss whose `call` keeps something on it."""
    if any(isinstance(one, Branch) and one._gx_lacks_weights for one in walk(node)):
        return True
    return isinstance(node, Loss) and bool(names_kept_by(type(node), ("call",)))


def _losses_in(loss: object) -> Iterator[tuple[str, Loss]]:
    """Yield the losses that a function calls. Other Modules, such as a teacher, are often not meant to be trained."""
    if isinstance(loss, FunctionType | partial):
        yield from ((name, one) for name, one in _uses_of(loss) if isinstance(one, Loss))


def _uses_of(function: FunctionType | partial[Any]) -> Iterator[tuple[str, object]]:
    """Yield what a function closes over and names, and what a partial was given."""
    if isinstance(function, partial):
        given = {**{str(i): one for i, one in enumerate(function.args)}, **function.keywords}
        yield from ((f"{name!r} of partial", one) for name, one in given.items())
        if isinstance(function.func, FunctionType | partial):
            yield from _uses_of(function.func)
        return
    code = function.__code__
    found = {name: function.__globals__.get(name) for name in code.co_names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not assigned yet
            found[name] = cell.cell_contents
    yield from ((repr(name), one) for name, one in found.items())


def _find_hidden(loss: object) -> Iterator[tuple[str, Variable]]:
    """Yield the Variables that a function closes over and would train, and those that a plain object has."""
    if isinstance(loss, FunctionType | partial):
        yield from ((n, one) for n, one in _uses_of(loss) if isinstance(one, Variable) and one.trainable)
        return
    holder = loss.__self__ if isinstance(loss, MethodType) else loss
    if not isinstance(holder, Node | type):
        for name, content in attributes_in(holder):
            if isinstance(content, Variable):
                yield f"{type(holder).__name__}.{name}", content
