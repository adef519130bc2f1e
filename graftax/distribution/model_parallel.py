"""ModelParallel: weights are sharded by rules."""

from __future__ import annotations

from collections.abc import Sequence

from graftax.backend.meshes import Mesh
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.distribution.distribution import Distribution
from graftax.distribution.rules import Rule


class ModelParallel(Distribution):
    """Model parallelism: rules say how weights and their slots are sharded; all others are replicated.

    Each device computes with its part of a weight, so that layers can be larger than the memory of one device.
    In addition, the rows of batches are sharded over the data axes.

    Args:
        mesh: A result of `mesh`, such as ``mesh(data=4, model=2)``.
        rules: Pairs ``(selector, axes)``, at least one; see `Distribution` and `tensor_parallel`.
        data: The axis, or axes, over which the rows of a batch are sharded. Defaults to ``"data"``.
        tolerance: The fraction of bytes, from 0 to 1, that may stay replicated although they should be sharded.
            Defaults to 0.02.

    Raises:
        ArgumentError: there are no rules.

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
