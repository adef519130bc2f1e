"""FullyShardedDataParallel: weights and slots are sharded over all devices, and gathered for use."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graftax.backend.meshes import Axes, Mesh
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.distribution.axes import check_axes, names_in, size_of
from graftax.distribution.distribution import Distribution
from graftax.distribution.placing import Decision
from graftax.distribution.rules import Rule
from graftax.variables.state.home import Described


class FullyShardedDataParallel(Distribution):
    """Fully sharded data parallelism: each device stores a part of each weight and slot, and computes some rows.

    A weight is gathered before its use, and its gradient is reduced and scattered to the parts. So the memory of
    weights and slots is divided by the number of devices; the numbers are the same as on one device. Each weight is
    split along its largest dimension that no rule splits and that is divisible by the number of devices. Also known
    as FSDP, and as ZeRO stage 3 (Rajbhandari et al., arXiv:1910.02054).

    Args:
        mesh: A result of `mesh`. Defaults to None: all devices on one axis ``"data"``.
        rules: Pairs ``(selector, axes)``, such as those of `tensor_parallel`; see `Distribution`. Defaults to none.
        data: The axis, or axes, over which the rows of a batch are sharded. Defaults to ``"data"``.
        over: The axis, or axes, over which weights are split. ``data=("replica", "data"), over="data"`` keeps one copy
            of all weights in each group of devices with a fast connection. Defaults to None: those of ``data``.
        min_size: Weights with fewer elements are replicated, since gathering them would cost more than storing them.
            Defaults to 16384.
        tolerance: The fraction of bytes, from 0 to 1, of weights with at least ``min_size`` elements that may stay
            replicated because no dimension is divisible; more raises at the first step. Defaults to 0.02.

    Raises:
        ArgumentError: the mesh has no axis of a name.
        StateError: at the first step, if too many bytes stay replicated.

    Example:
        >>> import graftax as gx
        >>> d = FullyShardedDataParallel(gx.distribution.mesh(data=1), min_size=1)
        >>> with d.scope():
        ...     layer = gx.layers.Dense(4)
        >>> layer.build((None, 8))
        >>> d.report(layer).rows[0].axes
        ('data', None)
    """

    @door
    def __init__(
        self,
        mesh: Mesh | None = None,
        rules: Sequence[Rule] = (),
        *,
        data: str | tuple[str, ...] = "data",
        over: str | tuple[str, ...] | None = None,
        min_size: int = 2**14,
        tolerance: float = 0.02,
    ) -> None:
        super().__init__(mesh, rules, data=data, tolerance=tolerance)
        axes = self.data if over is None else (over,) if isinstance(over, str) else tuple(over)
        check_axes((axes,), self.mesh, f"{type(self).__name__}(over={over!r})")
        self.over: tuple[str, ...] = axes
        if type(min_size) is not int or min_size < 1:
            raise ArgumentError(f"min_size={min_size!r}", "it is a number of elements", "min_size=2**14")
        self.min_size = min_size

    def axes(self, spec: Described, ruled: Axes) -> Axes:
        """Return the axes of rules, and ``over`` for the largest remaining dimension that is divisible."""
        if math.prod(spec.shape) < self.min_size or set(names_in(ruled)) & set(self.over):
            return ruled
        count = size_of(self.mesh, self.over)
        free = [
            i
            for i, (size, entry) in enumerate(zip(spec.shape, ruled, strict=True))
            if entry is None and not size % count
        ]
        if not free:
            return ruled
        best = max(free, key=lambda i: spec.shape[i])
        entry = self.over[0] if len(self.over) == 1 else self.over
        return tuple(entry if i == best else other for i, other in enumerate(ruled))

    def _gx_why(self, spec: Described, ruled: Axes, axes: Axes) -> str:
        if axes != ruled:
            place = next(i for i, pair in enumerate(zip(axes, ruled, strict=True)) if pair[0] != pair[1])
            return f"dimension {place}, the largest that is free"
        if math.prod(spec.shape) < self.min_size:
            return f"fewer than {self.min_size} elements"
        return "" if set(names_in(ruled)) & set(self.over) else self._undivided(spec)

    def _undivided(self, spec: Described) -> str:
        return f"no free dimension of {tuple(spec.shape)} is divisible by {size_of(self.mesh, self.over)}"

    def _gx_unsplit(self, spec: Described, decision: Decision) -> str | None:
        if math.prod(spec.shape) < self.min_size:
            return None
        return "" if set(names_in(decision.axes)) & set(self.over) else self._undivided(spec)
