"""The description of a whole model in a file, besides the values of its Variables, and rebuilding the model from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graftax.core.errors import ArgumentError, CorruptCheckpoint, GraftaxError
from graftax.layers import building
from graftax.layers.building import is_built, unbuilt_below
from graftax.layers.layer import Layer
from graftax.reparam.base import Reparam
from graftax.reparam.graft import graft
from graftax.reparam.places import weights
from graftax.training.whole.description import Describing
from graftax.training.whole.rebuilding import Rebuilding
from graftax.variables import creation
from graftax.variables.graph.module import Module, walk_with_edges
from graftax.variables.graph.node import ignored
from graftax.variables.graph.prints import is_plain
from graftax.variables.random_state import RandomState
from graftax.variables.state.storage import concretely
from graftax.variables.variable import Variable

KEY = "graftax.model"
FORMAT = 1


def described(model: Any) -> dict[str, Any]:
    """Return the description of a model, after a check that the model can be rebuilt from it.

    Raises:
        ArgumentError: a part of the model could not be rebuilt.
    """
    describing = Describing()
    found: dict[str, Any] = {"format": FORMAT, "model": describing.value(model, "model")}
    found["input_shape"] = describing.value(_built_for(model), "the shape of the input")
    found["grafts"] = [
        [weight.path, [describing.value(one, f"the creator of {weight.path}") for one in weight.node._gx_creators]]
        for weight in weights(model)
        if isinstance(weight.node, Reparam) and weight.node._gx_creators
    ]
    found["compile"] = None if model._gx_objectives is None else _compiled(model, describing)
    back = RandomState({}).point_of_return()
    try:
        with creation.scopes.replaced(()):
            twin = rebuilt(found, describing.names.__getitem__)
    except GraftaxError as error:
        error.add_context(f"save of {model._gx_title()}, which is rebuilt on trial")
        raise
    finally:
        back()
    _require_alike(model, twin)
    found["changes"] = list(_changes(model, twin))
    return found


def _built_for(model: Layer) -> Any:
    return model._gx_input_shape if is_built(model) else None


def _compiled(model: Any, describing: Describing) -> dict[str, Any]:
    objectives = model._gx_objectives
    given = {"optimizer": objectives.optimizer, **objectives.given()}
    given |= {"run_eagerly": model._gx_run_eagerly, "steps_per_execution": model._gx_steps_per_execution}
    return {name: describing.value(one, f"compile({name}=...)") for name, one in given.items()}


def rebuilt(said: Any, find: Callable[[str], Any]) -> Any:
    """Return the rebuilt model, with built layers, grafts, and compiled.

    Args:
        said: The description in the file.
        find: Returns the class or function of a name.

    Raises:
        CorruptCheckpoint: it is not a description of a model.
    """
    try:
        making = Rebuilding(find)
        model = making.value(said["model"])
        shape = making.value(said["input_shape"])
        grafts = [(path, [making.value(one) for one in creators]) for path, creators in said["grafts"]]
        given = None if said["compile"] is None else {name: making.value(v) for name, v in said["compile"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, GraftaxError):
            raise
        raise CorruptCheckpoint(
            "the description of a model", f"that cannot be read: {error}", "another file"
        ) from error
    if shape is not None and unbuilt_below(model):
        with building.again.entered(True):
            model.build(shape)
    with concretely():
        for path, creators in grafts:
            for creator in creators:
                graft(model, creator, where=path, tolerance=float("inf"))
    for path, name, value in said.get("changes", ()):
        _change(model, path, name, value)
    if given is not None:
        model.compile(**given)
    return model


def _require_alike(model: Module, twin: Module) -> None:
    """Raise unless both models have parts of the same classes and Variables of the same shapes.

    Raises:
        ArgumentError: they differ; the message names the first difference.
    """
    one, other = dict(_parts(model)), dict(_parts(twin))
    for path in dict.fromkeys((*one, *other)):
        if one.get(path) != other.get(path):
            raise ArgumentError(
                f"save: {path or 'the model'} is {one.get(path, 'not there')}",
                f"made again from the arguments of its constructors it is {other.get(path, 'not there')}: what was "
                "put there otherwise is nothing that a file could bring back",
                "make it in __init__ or build, of arguments; or model.save_weights(path), which takes any model",
            )


def _parts(model: Module) -> Iterator[tuple[str, str]]:
    for edges, node in walk_with_edges(model):
        path = "/".join(map(str, edges))
        if isinstance(node, Variable):
            yield path, f"{node.dtype}{list(node.shape)} ({node.role})"
        elif isinstance(node, Module):
            yield path, type(node).__name__


def _changes(model: Module, twin: Module) -> Iterator[list[Any]]:
    """Yield plain attributes that were assigned after construction: path, name, value."""
    others = dict(walk_with_edges(twin))
    for edges, node in walk_with_edges(model):
        if not isinstance(node, Module) or isinstance(node, Reparam):
            continue
        skip = ignored(type(node))
        before = vars(others[edges])
        for name, value in vars(node).items():
            if name in skip or name.startswith("_") or name == "built" or not is_plain(value):
                continue
            if name not in before or (is_plain(before[name]) and before[name] != value):
                yield ["/".join(map(str, edges)), name, value]


def _change(model: Module, path: str, name: str, value: object) -> None:
    for edges, node in walk_with_edges(model):
        if "/".join(map(str, edges)) == path and is_plain(value) and not name.startswith("_"):
            setattr(node, name, value)
            return
    raise CorruptCheckpoint(f"{path}.{name} in the description of a model", "there is no such place", "another file")
