"""ExportMixin: the method of a model that exports it as a program which runs without graftax."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from graftax.core.short_traceback import door
from graftax.training.wired import Wired

if TYPE_CHECKING:
    from graftax.export.report import ExportReport
    from graftax.export.signature import InputLike


class ExportMixin(Wired):
    """A layer that can be exported, such as `Model`."""

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
        """Export what ``predict`` computes, the call with ``training=False``, as an artefact that needs JAX alone.

        This is ``graftax.export.save(path, self, *inputs, ...)``. The inputs are known from the first call of the
        model, or from its graph; the first axis can have any size. A ``predict_step`` of one's own is what is exported;
        for the call of such a model, ``graftax.export.save(path, lambda x: model(x, training=False), Spec(...))``.

        Args:
            path: A folder, or a file that ends in ``.zip``.
            *inputs: The inputs of the model, as for `graftax.export.Signature`. Defaults to those of the first call.
            platforms: The platforms that the program can run on. Defaults to ``("cpu", "cuda", "tpu")``.
            vjp_order: How many times it can be differentiated. Defaults to 0.
            weights: ``"apart"`` for weights in a file of their own, ``"inside"`` for constants of the program. Defaults
                to ``"apart"``.
            assigns: Whether the call may assign Variables, as a stateful recurrent layer does; the artefact then keeps
                their new values after each call. Defaults to False.
            check: Whether the artefact is loaded and compared with the model. Defaults to True.
            overwrite: Whether an existing artefact is replaced. Defaults to False.

        Returns:
            A report of what was written and compared.

        Raises:
            NotBuiltError: no inputs are given, and the model has not been called.
            ExportError: the model cannot be exported, for example because it branches on the size of the batch.
            ExportMismatch: the artefact computes other values than the model.
            DestinationExists: something exists at the path already.

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
