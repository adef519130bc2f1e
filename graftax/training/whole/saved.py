"""Saved: the part of a model that puts it into a file, whole or its weights alone."""

from __future__ import annotations

import os
from typing import Any

from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.report import RestoreReport
from graftax.checkpoint.save import SaveReport
from graftax.core.short_traceback import door
from graftax.training.exported import Exported
from graftax.training.whole.model_file import KEY, described
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


class Saved(Exported):
    """The part of a model that puts it into a file."""

    _gx_objectives: Any = None

    @door
    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> SaveReport:
        """Save the whole model, to be loaded by `graftax.load_model` without the program that made it.

        A checkpoint as `graftax.Checkpoint` writes it, of ``model`` and ``optimizer``, which has besides what the model
        is made of: arguments of constructors, the graph, grafts, what `compile` was given. It has what was put onto the
        model later, too: dtype and remat policies, adapters in use, what is frozen, regularizers, constraints, ties,
        attributes. It holds no code: of classes and functions of your own it has the names, and they are given to
        ``load_model``. To be sure that this will do, the model is made again on trial, and compared.

        Args:
            path: The directory to make.
            overwrite: Whether a checkpoint that is there is replaced. Defaults to False.

        Returns:
            What was written.

        Raises:
            ArgumentError: a part cannot be made again, such as a lambda; it is named, and nothing is written.
            DestinationExists: something is there already.

        Example:
            >>> import os, tempfile, numpy as np, graftax as gx
            >>> x = gx.Input((3,))
            >>> model = gx.Model(x, gx.layers.Dense(2)(x) * 0.5)
            >>> path = os.path.join(tempfile.mkdtemp(), "whole")
            >>> _ = model.save(path)
            >>> again, ones = gx.load_model(path), np.ones((1, 3), "float32")
            >>> bool((again(ones) == model(ones)).all())
            True
        """
        return Checkpoint(**roots_of(self)).save(path, overwrite=overwrite, meta={KEY: described(self)})

    @door
    def save_weights(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> SaveReport:
        """Save the Variables of the model alone: ``Checkpoint(model=model).save(path)``.

        Args:
            path: The directory to make.
            overwrite: Whether a checkpoint that is there is replaced. Defaults to False.

        Raises:
            DestinationExists: something is there already.
        """
        return Checkpoint(model=self).save(path, overwrite=overwrite, skip=_RANDOM)

    @door
    def load_weights(self, path: str | os.PathLike[str]) -> RestoreReport:
        """Give the Variables the values that `save_weights` or `save` has written; all must fit.

        Those of layers that are not built yet wait until they are.

        Args:
            path: The checkpoint.

        Raises:
            CheckpointError: something does not fit; nothing is assigned.
        """
        return Checkpoint(model=self).restore(path, only="model/**")


_RANDOM = "gx.random"


def roots_of(model: Any) -> dict[str, Module | Variable]:
    """Return what a file of a whole model has: the model, and the optimizer if there is one.

    A checkpoint holds one Variable at least, so a model without any has one beside it.
    """
    objectives = model._gx_objectives
    optimizer = None if objectives is None else objectives.optimizer
    roots: dict[str, Module | Variable] = {"model": model}
    if isinstance(optimizer, Module):
        roots["optimizer"] = optimizer
    if not any(isinstance(root, Module) and root.variables for root in roots.values()):
        roots["no_variables"] = Variable(0, trainable=False, role="counter")
    return roots
