"""The description of a whole model in a file, besides the values of its Variables, and rebuilding the model from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graftax.core.errors import CorruptCheckpoint, GraftaxError
from graftax.layers import building
from graftax.layers.building import is_built, unbuilt_below
from graftax.layers.layer import Layer
from graftax.layers.table_columns import Columns
from graftax.reparam.base import Reparam
from graftax.reparam.graft import graft_again
from graftax.training.whole.adapted_layers import AdaptedLayers, find_adapted_states
from graftax.training.whole.comparison import require_alike
from graftax.training.whole.description import Describing
from graftax.training.whole.differences import differences, differences_on_weights, restore_differences
from graftax.training.whole.first_calls import build_as_called, first_call
from graftax.training.whole.object_states import add_states, set_states
from graftax.training.whole.own_compile import own_arguments
from graftax.training.whole.policies import Policies, policies_of
from graftax.training.whole.rebuilding import Rebuilding
from graftax.training.whole.shared_weights import describe_creator
from graftax.variables import creation
from graftax.variables.graph.module import Module, walk, walk_with_edges
from graftax.variables.random_state import RandomState

KEY = "graftax.model"
FORMAT = 2
OWN_COMPILE = 3
"""The format of models with a ``compile`` of their own, which earlier versions would not call."""
WITH_STATES = 4
"""The format of models with plain objects whose attributes have changed, which earlier versions would not set."""
READABLE = (1, 2, 3, 4)
"""Formats that can be read: 1 did not tell dtype policies, nor what was put onto a finished model."""


def describe_model(model: Any) -> dict[str, Any]:
    """Return the description of a model, after a check that the model can be rebuilt from it.

    Raises:
        ArgumentError: a part of the model could not be rebuilt.
    """
    describing = Describing()
    found: dict[str, Any] = {"format": FORMAT, "model": describing.value(model, "model")}
    found["input_shape"] = describing.value(_read_input_shape(model), "the shape of the input")
    found["built_below"] = [
        [path, describing.value(layer._gx_input_shape, f"the shape of the input of {path}")]
        for path, layer in _list_built_below(model)
    ]
    found["first_calls"] = [
        [path, describing.value(call, f"the first call of {path or 'the model'}")]
        for path, layer in [("", model), *_list_built_below(model)]
        if (call := first_call(layer)) is not None
    ]
    found["grafts"] = [
        [path, [describe_creator(one, node, describing, model, path) for one in node._gx_creators]]
        for path, node in _list_created(model)
    ]
    found |= _describe_compile(model, describing)
    found["policies"] = policies_of(describing.objects)
    found["adapted"] = find_adapted_states(describing)
    found["columns"] = describing.value(model._gx_columns.x, "the columns of the table that it was trained on")
    back = RandomState({}).point_of_return()
    try:
        with creation.scopes.replaced(()):
            twin, making, policies = _rebuild(found, describing.names.__getitem__)
            if apart := list(_list_unbuilt(model, twin)):
                found["built_below"] += [
                    [path, describing.value(layer._gx_input_shape, f"the shape of the input of {path}")]
                    for path, layer in apart
                ]
                found["first_calls"] += [
                    [path, describing.value(call, f"the first call of {path}")]
                    for path, layer in apart
                    if (call := first_call(layer)) is not None
                ]
                twin, making, policies = _rebuild(found, describing.names.__getitem__)
            _finish(twin, found, making, policies)
            on_weights = differences_on_weights(model, twin, describing)
            restore_differences(twin, on_weights, making)
            require_alike(model, twin)
            states: list[list[Any]] = []
            done: set[int] = set()
            add_states(states, done, describing, making)
            others = differences(model, twin, describing)
            restore_differences(twin, others, making)
            found["differences"] = on_weights + others
            add_states(states, done, describing, making)
            if states:
                found |= {"format": WITH_STATES, "states": states}
    except GraftaxError as error:
        error.add_context(f"save of {model._gx_title()}, which is rebuilt on trial")
        raise
    finally:
        back()
    return found


def _list_created(model: Module) -> Iterator[tuple[str, Any]]:
    """Yield the expressions that creators have made, with their paths: what is made first comes first."""
    for edges, node in walk_with_edges(model):
        if isinstance(node, Reparam) and node._gx_creators:
            whole = node._gx_owner
            if (
                not isinstance(whole, Reparam) or getattr(whole, whole.base_name, None) is not node
            ):  # else the whole names them
                yield "/".join(map(str, edges)), node


def _list_built_below(model: Layer) -> Iterator[tuple[str, Layer]]:
    """Yield the layers, with their paths, that were built by themselves, such as those taken from another model."""
    inside: set[int] = set()
    for edges, node in walk_with_edges(model):
        if isinstance(node, Layer) and is_built(node) and id(node) not in inside:
            inside.update(id(part) for part in walk(node))
            if node is not model and node._gx_input_shape is not None:
                yield "/".join(map(str, edges)), node


def _list_unbuilt(model: Layer, twin: Layer) -> Iterator[tuple[str, Layer]]:
    """Yield the layers, with their paths, that no call of the twin has built, such as a teacher."""
    lack = set(map(id, unbuilt_below(twin)))
    paths = {"/".join(map(str, edges)) for edges, node in walk_with_edges(twin) if id(node) in lack}
    for edges, node in walk_with_edges(model):
        path = "/".join(map(str, edges))
        if path in paths and isinstance(node, Layer) and is_built(node) and node._gx_input_shape is not None:
            yield path, node


def _read_input_shape(model: Layer) -> Any:
    return model._gx_input_shape if is_built(model) else None


def _describe_compile(model: Any, describing: Describing) -> dict[str, Any]:
    objectives = model._gx_objectives
    given: dict[str, Any] = {}
    if objectives is not None:
        given = {"optimizer": objectives.optimizer, **objectives.given_arguments()}
        given |= {"run_eagerly": model._gx_run_eagerly, "steps_per_execution": model._gx_steps_per_execution}
    if (own := own_arguments(model, given)) is not None:
        made, was_built = own
        args = [describing.value(one, f"compile(...)[{i}]") for i, one in enumerate(made.args)]
        kwargs = [[name, describing.value(one, f"compile({name}=...)")] for name, one in made.kwargs.items()]
        return {"format": OWN_COMPILE, "compile": None, "compiled_with": [args, kwargs, was_built]}
    if objectives is None:
        return {"compile": None}
    return {"compile": {name: describing.value(one, f"compile({name}=...)") for name, one in given.items()}}


def rebuilt(description: Any, find: Callable[[str], Any]) -> Any:
    """Return the rebuilt model, with built layers, grafts, and compiled.

    Args:
        description: The description in the file.
        find: Returns the class or function of a name.

    Raises:
        CorruptCheckpoint: it is not a description of a model.
    """
    try:
        model, making = _rebuild_and_finish(description, find)
        later = set_states(description.get("states", []), making)
        restore_differences(model, description.get("differences", ()), making)
        if set_states(later, making):
            raise ValueError("attributes of objects that it does not have")
        for path, name, value in description.get("changes", ()):  # of format 1
            restore_differences(model, [["model", path, name, value]], making)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, GraftaxError):
            raise
        raise CorruptCheckpoint(
            "the description of a model", f"that cannot be read: {error}", "another copy of the file"
        ) from error
    return model


def _rebuild_and_finish(description: Any, find: Callable[[str], Any]) -> tuple[Any, Rebuilding]:
    model, making, policies = _rebuild(description, find)
    _finish(model, description, making, policies)
    return model, making


def _rebuild(description: Any, find: Callable[[str], Any]) -> tuple[Any, Rebuilding, Policies]:
    """Return the model as its classes make it, with the weights that its call, or the file, says."""
    policies = Policies(description.get("policies", []))
    making = Rebuilding(find, policies, AdaptedLayers(description.get("adapted", [])))
    with building.again.entered(policies.before_build):
        model = making.model = making.value(description["model"])
        _compile_as_then(model, description, making, is_built=False)
        calls = {path: making.value(call) for path, call in description.get("first_calls", ())}
        shape = making.value(description["input_shape"])
        if shape is not None and unbuilt_below(model):
            _build(model, shape, calls.get(""))
        shapes = {path: making.value(one) for path, one in description.get("built_below", ())}
        for path, layer in [("/".join(map(str, edges)), node) for edges, node in walk_with_edges(model)]:
            if path in shapes and isinstance(layer, Layer) and unbuilt_below(layer):
                _build(layer, shapes[path], calls.get(path))
    return model, making, policies


def _finish(model: Any, description: Any, making: Rebuilding, policies: Policies) -> None:
    """Set, graft and compile what is put onto a built model."""
    with building.again.entered(policies.before_build):
        policies.settle(model)
        for path, creators in description["grafts"]:
            for creator in creators:
                graft_again(model, making.value(creator), path)
        _compile_as_then(model, description, making, is_built=True)
        if description["compile"] is not None:
            model.compile(**{name: making.value(one) for name, one in description["compile"].items()})
        if description.get("columns") is not None:
            model._gx_columns = Columns(making.value(description["columns"]))


def _build(layer: Layer, shape: Any, call: Any) -> None:
    """Build a layer as it was: by its first call, if a shape says less."""
    if call is None:
        layer.build(shape)
    else:
        build_as_called(layer, call)


def _compile_as_then(model: Any, description: Any, making: Rebuilding, is_built: bool) -> None:
    """Call a ``compile`` of the user's if that was called before, or after, the model was built: it may use either."""
    args, kwargs, was_built = description.get("compiled_with") or ([], [], None)
    if was_built is is_built:
        model.compile(*map(making.value, args), **{name: making.value(one) for name, one in kwargs})
