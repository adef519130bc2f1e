"""The function load_model, which loads a whole model from a file."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.saved_arrays import read
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.training.model import Model
from graftax.training.whole.model_file import KEY, READABLE, rebuilt
from graftax.training.whole.public_classes import Custom, custom_by_name, look_up
from graftax.training.whole.saving_mixin import roots_of
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import nodes_on_weights


@door
def load_model(path: str | os.PathLike[str], custom: Custom = ()) -> Any:
    """Load a model that ``model.save(path)`` has saved: its layers, wiring, grafts, weights, and arguments of compile.

    No code of the file is run, and no module that it names is imported: public classes of graftax are looked up by
    name, all others must be in ``custom``.

    The layers keep the dtype policies that they had, whatever the global policy is now. The devices of the Variables
    are not saved: load within the ``scope()`` of a distribution.

    The random streams of its layers continue from their saved states. The global seed of the program is not changed, so
    the order in which `fit` shuffles, for example, depends on `set_random_seed`. `Checkpoint.restore` also restores the
    global seed, and ``fit(resume=...)`` a whole run.

    Args:
        path: The directory.
        custom: Your own classes and functions that the model uses: a list, or a dict by their names at the time of the
            save. Defaults to none.

    Raises:
        ArgumentError: the file has no whole model, or needs a class that is not given, or a given one is not used.
        CheckpointError: the file is damaged, or a given class creates other weights.

    Example:
        >>> import os, tempfile, graftax as gx
        >>> path = os.path.join(tempfile.mkdtemp(), "whole")
        >>> _ = gx.Sequential([gx.Input((3,)), gx.layers.Dense(2)]).save(path)
        >>> again = load_model(path)
        >>> again.layers
        [<Dense(2) 'layers/0', kernel (3, 2), bias (2,)>]
    """
    own = custom_by_name(custom)
    with read(path) as saved:
        said, known = saved.meta.get(KEY), frozenset(saved)
    if not isinstance(said, dict):
        raise ArgumentError(
            f"{os.fspath(path)} holds no whole model",
            "it is a checkpoint of values alone",
            "gx.Checkpoint(model=model).restore(path), or model.load_weights(path), with the model made first",
        )
    if said.get("format") not in READABLE:
        raise ArgumentError(
            f"{os.fspath(path)} has a model in format {said.get('format')!r:.20}",
            f"this version of graftax reads formats {', '.join(map(str, READABLE))}",
            "the version that saved it",
        )
    used: set[str] = set()
    model = rebuilt(said, lambda name: look_up(name, own, used, said))
    if not isinstance(model, Model):
        raise ArgumentError(
            f"{os.fspath(path)} describes no model", "load_model gives a Model", "a file that model.save(path) wrote"
        )
    if idle := [name for name in own if name not in used]:
        raise ArgumentError(
            f"custom= has {', '.join(idle)}", "the file has no such class or function", "custom= without it"
        )
    Checkpoint(**roots_of(model)).restore(path, skip=["gx.random", *_lacking_on_weights(model, known)])
    return model


def _lacking_on_weights(model: Model, known: Collection[str]) -> list[str]:
    """Return the Variables of regularizers and constraints on weights that a file lacks, as older ones do."""
    found = (thing for node in model.submodules for _, thing in nodes_on_weights(node) if isinstance(thing, Module))
    paths = (f"model/{variable.path}" for thing in found for variable in thing.variables)
    return [path for path in paths if path not in known]
