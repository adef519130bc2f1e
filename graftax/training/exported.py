"""Exported: the part of a model that is written as a program which runs without graftax."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from graftax.core.short_traceback import door
from graftax.training.wired import Wired

if TYPE_CHECKING:
    from graftax.export.report import ExportReport
    from graftax.export.signature import InputLike


class Exported(Wired):
    """A layer that can be exported; `Model` is one."""

    @door
    def export(
        self,
        path: str | os.PathLike[str],
        *inputs: InputLike,
        platforms: Sequence[str] = ("cpu", "cuda", "tpu"),
        vjp_order: int = 0,
        weights: Literal["apart", "inside"] = "apart",
        assigns: bool = False,
        check: bool = True,
        overwrite: bool = False,
    ) -> ExportReport:
        """Write ``predict``, the call with ``training=False``, as an artefact that runs with JAX alone.

        It is ``graftax.export.save(path, self, *inputs, ...)``. What the model takes is known from its first call, or
        from the inputs of its graph; the first axis is free.

        Args:
            path: A folder, or a file that ends in ``.zip``.
            *inputs: What the model takes, as for `graftax.export.Signature`. Defaults to what the first call took.
            platforms: Where the program runs. Defaults to ``("cpu", "cuda", "tpu")``.
            vjp_order: How often it can be differentiated. Defaults to 0.
            weights: ``"apart"``, or ``"inside"`` of the program. Defaults to ``"apart"``.
            assigns: Whether the call may assign Variables after training, too, as a stateful recurrent layer does; the
                artefact then has their new values after each call. Defaults to False.
            check: Whether what was written is loaded and compared with the model. Defaults to True.
            overwrite: Whether an artefact that is there is replaced. Defaults to False.

        Returns:
            What was written and compared.

        Raises:
            NotBuiltError: no inputs are given, and the model has not been called.
            ExportError: it cannot be exported, such as a model that decides by the size of the batch.
            ExportMismatch: what was written computes something else.
            DestinationExists: something is there.

        Example:
            >>> import tempfile, numpy as np, graftax as gx
            >>> model = gx.Sequential([gx.layers.Dense(2)])
            >>> y = model(np.ones((1, 3), "float32"))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     report = model.export(f"{folder}/net")
            ...     predict = gx.export.load(f"{folder}/net").predict
            >>> predict(np.ones((5, 3), "float32")).shape
            (5, 2)
        """
        # lazy: the loader imports an array library, and most models are never exported
        from graftax.export.first_call import signature_of
        from graftax.export.saving import save

        return save(
            path,
            signature_of(self, *inputs, assigns=assigns),
            roots=self,
            platforms=platforms,
            vjp_order=vjp_order,
            weights=weights,
            check=check,
            overwrite=overwrite,
        )
