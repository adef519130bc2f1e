"""load_model: a whole model out of a file."""

from __future__ import annotations

import os
from typing import Any

from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.saved_arrays import read
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.training.model import Model
from graftax.training.whole.model_file import KEY, READABLE, rebuilt
from graftax.training.whole.public_classes import Custom, found, given
from graftax.training.whole.saved import roots_of


@door
def load_model(path: str | os.PathLike[str], custom: Custom = ()) -> Any:
    """Return the model that ``model.save(path)`` has written: its layers, wiring, grafts, weights, and how it trains.

    No code of the file is run, and no module that it names is imported: a public class of graftax is looked up here,
    any other is one of ``custom``.

    Its layers have the dtype policies that they had, whatever the global one is now. On which devices its Variables lie
    is the program's: load within the ``scope()`` of a distribution.

    The streams of its layers go on where they were. The global seed is the program's own and stays as it is: what is
    drawn from it later, such as the order in which `fit` shuffles, follows `set_random_seed`.
    `Checkpoint.restore` brings it back, and ``fit(resume=...)`` a whole run.

    Args:
        path: The directory.
        custom: Your classes and functions that the model is made of: a list, or a dict by the names that they had.
            Defaults to none.

    Raises:
        ArgumentError: the file holds no whole model; it has a class that is not given, or one is given that it has not.
        CheckpointError: the file is damaged, or a class that was given makes other weights.

    Example:
        >>> import os, tempfile, graftax as gx
        >>> path = os.path.join(tempfile.mkdtemp(), "whole")
        >>> _ = gx.Sequential([gx.Input((3,)), gx.layers.Dense(2)]).save(path)
        >>> again = load_model(path)
        >>> again.layers
        [<Dense(2) 'layers/0', kernel (3, 2), bias (2,)>]
    """
    own = given(custom)
    with read(path) as saved:
        said = saved.meta.get(KEY)
    if not isinstance(said, dict):
        raise ArgumentError(
            f"{os.fspath(path)} holds no whole model",
            "it is a checkpoint of values alone",
            "gx.Checkpoint(model=model).restore(path), or model.load_weights(path), with the model made first",
        )
    if said.get("format") not in READABLE:
        raise ArgumentError(
            f"{os.fspath(path)} has a model in format {said.get('format')!r:.20}",
            f"this version of graftax reads formats {' and '.join(map(str, READABLE))}",
            "the version that saved it",
        )
    used: set[str] = set()
    model = rebuilt(said, lambda name: found(name, own, used))
    if not isinstance(model, Model):
        raise ArgumentError(f"{os.fspath(path)} describes no model", "load_model gives a Model", "another file")
    if idle := [name for name in own if name not in used]:
        raise ArgumentError(
            f"custom= has {', '.join(idle)}", "the file has no such class or function", "custom= without it"
        )
    Checkpoint(**roots_of(model)).restore(path, skip="gx.random")
    return model
