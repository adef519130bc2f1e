"""FakeQuant: weights rounded to a grid in the forward pass, trained as if they were not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from graftax import ops
from graftax.core.errors import CreatorError
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator, count, flag
from graftax.reparam.grid import Grid, Per, checked_per, codes_of, safe_divisor, scale_of
from graftax.reparam.quantized import QuantizedWeight
from graftax.variables.floating import to_floating
from graftax.variables.spec import VariableSpec


class FakeQuant(CheckedCreator):
    r"""A creator that rounds weights of two and more axes to ``2**bits`` numbers at each read; other shapes pass.

    .. math:: w = s \left(\mathrm{round}(v / s + z) - z\right), \quad \frac{\partial w}{\partial v} := 1

    The scale ``s`` follows from the range of the weight as it is: from its largest magnitude, with ``z = 0``, or, where
    not symmetric, from its least and largest number and 0. The gradient goes straight through the rounding. What is
    trained so loses nothing when `graftax.ungraft` and `Int8` or `Int4` store it afterwards.

    Args:
        bits: From 2 to 16. Defaults to 8.
        per: ``"tensor"``, one scale for all, or ``"channel"``, one for each index of the last axis. Defaults to
            ``"tensor"``.
        symmetric: Whether the grid is the same on both sides of 0. Defaults to True.

    Attributes:
        tolerance: How far `graftax.graft` lets a weight move; only one with extreme outliers moves further.

    Raises:
        ArgumentError: ``bits`` or ``per`` is none of these.
        CreatorError: the weight is stored as integers already.

    Example:
        >>> import numpy as np, graftax as gx
        >>> with gx.variable_creator_scope(FakeQuant(bits=2)):
        ...     layer = gx.layers.Dense(8)
        ...     y = layer(np.ones((1, 16), "float32"))
        >>> np.unique(layer.kernel).size, [v.path for v in layer.trainable_variables]
        (3, ['kernel/base', 'bias'])

    Source: Jacob et al., arXiv 1712.05877; the gradient: Bengio et al., arXiv 1308.3432.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "bits": count("a grid has 2 to 16 bits", 8, least=2, most=16),
        "per": checked_per,
        "symmetric": flag,
    }

    def __init__(self, bits: int = 8, per: Per = "tensor", symmetric: bool = True) -> None:
        self.bits = bits
        self.per: Per = per
        self.symmetric = symmetric

    @property
    def tolerance(self) -> float:
        """Return how far `graftax.graft` lets a weight move."""
        return min(1.0, 2.0 ** (3 - self.bits))

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the rounded weight for a matrix or kernel, anything else as it would have been."""
        if len(spec.shape) < 2:
            return next_creator(spec)
        return FakeQuantizedWeight(next_creator, spec, self.bits, self.per, self.symmetric)

    def __repr__(self) -> str:
        return f"FakeQuant(bits={self.bits}, per={self.per!r}, symmetric={self.symmetric})"


class FakeQuantizedWeight(Reparam):
    """The weight that `FakeQuant` makes.

    Args:
        next_creator: Makes the part.
        spec: The spec of the weight.
        bits: How many numbers the grid has, as a power of 2.
        per: What has a scale of its own.
        symmetric: Whether the grid is the same on both sides of 0.
    """

    def __init__(
        self,
        next_creator: Callable[[VariableSpec], VariableLike],
        spec: VariableSpec,
        bits: int,
        per: Per,
        symmetric: bool,
    ) -> None:
        super().__init__(spec)
        self.bits = bits
        self.per: Per = per
        self.symmetric = symmetric
        self.base = next_creator(spec.replace(name="base"))
        if isinstance(self.base, QuantizedWeight):
            raise CreatorError(
                f"FakeQuant of {spec.path!r}, which {self.base!r} stores as integers",
                "it lies on a grid already and is not trained, so that there is nothing to prepare for rounding",
                "FakeQuant while it is trained; then graftax.ungraft(model), and Int8() or Int4()",
            )

    def forward(self) -> Array:
        """Compute the nearest numbers of the grid."""
        base = ops.asarray(self.base)
        fixed = ops.stop_gradient(base)
        wide = to_floating(fixed, "weight")
        rounded = ops.cast(self._round_symmetric(wide) if self.symmetric else self._round_asymmetric(wide), base.dtype)
        return ops.stop_gradient(rounded) + (base - fixed)  # the second term is exactly 0, and has the gradient

    def inverse(self, value: Array) -> None:
        """Assign the value before it is rounded."""
        self.base.assign(value)  # type: ignore[attr-defined]

    def grid(self) -> Grid:
        """Return the grid that the weight as it is now is rounded to."""
        return self._grid(to_floating(ops.asarray(self.base), "weight"))

    def _grid(self, value: Array) -> Grid:
        if self.symmetric:
            return Grid(scale_of(value, self.bits, self.per), None, self.bits)
        axes = None if self.per == "tensor" else tuple(range(value.ndim - 1))
        low, high = ops.minimum(ops.min(value, axis=axes), 0), ops.maximum(ops.max(value, axis=axes), 0)
        scale: Array = (high - low) / (2**self.bits - 1)
        return Grid(scale, ops.round(-low / safe_divisor(scale)), self.bits)  # 0 is a number of the grid

    def _round_symmetric(self, value: Array) -> Array:
        scale = self._grid(value).scale
        return codes_of(value, scale, self.bits) * scale

    def _round_asymmetric(self, value: Array) -> Array:
        scale, zero, _ = self._grid(value)
        steps = ops.clip(ops.round(value / safe_divisor(scale)) + zero, 0, 2**self.bits - 1)
        rounded: Array = (steps - zero) * scale
        return rounded
