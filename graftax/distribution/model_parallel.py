"""ModelParallel: weights are split as rules say."""

from __future__ import annotations

from collections.abc import Sequence

from graftax.backend.meshes import Mesh
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.distribution.distribution import Distribution
from graftax.distribution.rules import Rule


class ModelParallel(Distribution):
    """Weights, and their slots, are split as rules say; all that no rule selects is whole on each device.

    Each device computes with its part of a split weight, so that layers compute side by side what none could alone.
    Rows of batches are spread over the data axes besides.

    Args:
        mesh: From `mesh`, such as ``mesh(data=4, model=2)``.
        rules: Pairs ``(selector, axes)``, at least one; see `Distribution` and `tensor_parallel`.
        data: The axis, or axes, over which the rows of a batch are spread. Defaults to ``"data"``.
        tolerance: The share of bytes that may stay whole although they were to be split. Defaults to 0.02.

    Raises:
        ArgumentError: there is no rule.

    Example:
        >>> import graftax as gx
        >>> d = ModelParallel(gx.distribution.mesh(data=1, model=1), [("kernel", (None, "model"))])
        >>> with d.scope():
        ...     layer = gx.layers.Dense(4)
        ...     layer.build((None, 8))
        >>> d.report(layer).rows[0].axes
        (None, 'model')
    """

    @door
    def __init__(
        self,
        mesh: Mesh,
        rules: Sequence[Rule],
        *,
        data: str | tuple[str, ...] = "data",
        tolerance: float = 0.02,
    ) -> None:
        super().__init__(mesh, rules, data=data, tolerance=tolerance)
        if not self.rules:
            raise ArgumentError(
                "ModelParallel without a rule",
                "it splits what rules say, and nothing else",
                "rules=graftax.distribution.tensor_parallel(), or DataParallel",
            )
