"""SavingMixin: the methods of a model that save it, as a whole or only its weights."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.report import RestoreReport
from graftax.checkpoint.save import SaveReport
from graftax.core.errors import MatchError, SettingsMismatch
from graftax.core.ours import is_ours
from graftax.core.short_traceback import door
from graftax.training.export_mixin import ExportMixin
from graftax.training.whole.differences import without_description
from graftax.training.whole.model_file import KEY, describe_model
from graftax.training.whole.own_compile import COMPILED_WITH, record_arguments
from graftax.variables.graph.made_with import MadeWith
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


class SavingMixin(ExportMixin):
    """A model that can be saved as a whole, or only its weights."""

    untracked: ClassVar[frozenset[str]] = frozenset({COMPILED_WITH})

    _gx_objectives: Any = None
    _gx_compiled_with: tuple[MadeWith, bool] | None = None

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        if "compile" in vars(cls) and not is_ours(cls):
            own: Any = cls
            own.compile = record_arguments(own.compile)

    @door
    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> SaveReport:
        """Save the whole model, so that `graftax.load_model` can load it without the program that created it.

        The result is a checkpoint of ``model`` and ``optimizer``, as `graftax.Checkpoint` writes it, which also has the
        architecture: arguments of constructors, the graph, grafts, and arguments of `compile`, of your own, too; and
        what was set later: dtype and remat policies, active adapters, what is frozen or tied, regularizers,
        constraints, attributes, also those of plain objects, such as a vocabulary of your own. It contains no code.
        Your own classes and functions are saved by name, and must be passed to ``load_model``. Before the save, the
        model is rebuilt once, and compared, to check that this works.

        Args:
            path: The directory to create.
            overwrite: Whether an existing checkpoint is replaced. Defaults to False.

        Returns:
            A report of what was written.

        Raises:
            ArgumentError: a part cannot be rebuilt, such as a lambda. The message names it, and nothing is written.
            DestinationExists: something exists at the path already.

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
        report = Checkpoint(**roots_of(self)).save(path, overwrite=overwrite, meta={KEY: describe_model(self)})
        of_others = [part for part in report.plain if not part.startswith("model/")]
        lost = without_description(self, [part for part in report.plain if part.startswith("model/")])
        return report._replace(plain=(*of_others, *lost))

    @door
    def save_weights(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> SaveReport:
        """Save only the Variables of the model: ``Checkpoint(model=model).save(path)``.

        Args:
            path: The directory to create.
            overwrite: Whether an existing checkpoint is replaced. Defaults to False.

        Raises:
            DestinationExists: something exists at the path already.
        """
        return Checkpoint(model=self).save(path, overwrite=overwrite, skip=_RANDOM)

    @door
    def load_weights(self, path: str | os.PathLike[str], *, settings: str = "same") -> RestoreReport:
        """Restore the Variables from a checkpoint of `save_weights` or `save`; all of them must match.

        Values for layers that are not built yet wait until these are built. For a part of them, or other paths, there
        is `graftax.Checkpoint`: ``Checkpoint(model=model).restore(path, only="model/**", skip=..., map=...)``.

        Args:
            path: The checkpoint.
            settings: Whose settings of expressions count where they differ: ``"same"``, ``"saved"`` or ``"program"``,
                as in `graftax.Checkpoint.restore`. Defaults to ``"same"``.

        Raises:
            ArgumentError: there is no such choice.
            CheckpointError: something does not match; nothing is assigned.
        """
        try:
            return Checkpoint(model=self).restore(path, only="model/**", settings=settings)
        except SettingsMismatch:  # which says what there is here, too
            raise
        except MatchError as error:  # it says which options a restore has, and there are fewer here
            call = f'gx.Checkpoint(model=model).restore({os.fspath(path)!r}, only="model/**", ...)'
            error.instead = f"{call}, which takes skip=, map=, mode= and cast=. There, {error.instead}"
            raise


_RANDOM = "gx.random"


def roots_of(model: Any) -> dict[str, Module | Variable]:
    """Return the roots of a file of a whole model: the model, and the optimizer if there is one.

    A checkpoint needs at least one Variable, so one is added for a model without any.
    """
    objectives = model._gx_objectives
    optimizer = None if objectives is None else objectives.optimizer
    roots: dict[str, Module | Variable] = {"model": model}
    if isinstance(optimizer, Module):
        roots["optimizer"] = optimizer
    if not any(isinstance(root, Module) and root.variables for root in roots.values()):
        roots["no_variables"] = Variable(0, trainable=False, role="counter")
    return roots
