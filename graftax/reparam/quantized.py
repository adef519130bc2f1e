"""Int8 and Int4: frozen weights stored as small integers and scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from graftax import ops
from graftax.core.typedefs import Array, Initializer, VariableLike
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator
from graftax.reparam.grid import Grid, Per, checked_per, codes_of, pack_int4, scale_of, unpack_int4
from graftax.variables.initializers import Zeros
from graftax.variables.keys import variable_key
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import concretely


class Int8(CheckedCreator):
    r"""A creator that stores weights of two and more axes as frozen integers of 8 bits with scales; other shapes pass.

    .. math:: w = s \, c, \quad c \in \{-127, \dots, 127\}

    The scale ``s`` is such that the largest magnitude is 127. Adapters over it train at full precision, as in QLoRA:
    graft `LoRA` onto the stored model, or enter its scope inside that of this creator.

    Args:
        per: ``"channel"``, one scale for each index of the last axis, or ``"tensor"``, one for all. Defaults to
            ``"channel"``.

    Attributes:
        tolerance: How far `graftax.graft` lets a weight move; only one with extreme outliers moves further.

    Raises:
        ArgumentError: there is no such ``per``.
        CreatorError: another creator would compute the integers.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(8)
        >>> y = layer(np.ones((1, 16), "float32"))
        >>> done = gx.graft(layer, Int8(), where="kernel")
        >>> done = gx.graft(layer, gx.reparam.LoRA(rank=2), where="kernel")
        >>> [(v.path, v.dtype) for v in layer.kernel.base.variables]
        [('kernel/base/codes', 'int8'), ('kernel/base/scale', 'float32')]

    Source: Jacob et al., arXiv 1712.05877; adapters over it: Dettmers et al., arXiv 2305.14314.
    """

    bits: ClassVar[int] = 8
    checks: ClassVar[Mapping[str, Check]] = {"per": checked_per}

    def __init__(self, per: Per = "channel") -> None:
        self.per: Per = per

    @property
    def tolerance(self) -> float:
        """Return how far `graftax.graft` lets a weight move."""
        return 2.0 ** (3 - self.bits)

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the stored weight for a matrix or kernel, anything else, and parts of adapters, as they would be."""
        if len(spec.shape) < 2 or spec.adapter is not None:
            return next_creator(spec)
        return QuantizedWeight(next_creator, spec, self.bits, self.per)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(per={self.per!r})"


class Int4(Int8):
    """As `Int8`, with integers from -7 to 7, of which two share a byte.

    Example:
        >>> import graftax as gx
        >>> with gx.variable_creator_scope(Int4()):
        ...     layer = gx.layers.Dense(8)
        ...     layer.build((16,))
        >>> [(v.path, v.dtype, v.size) for v in layer.kernel.variables]
        [('kernel/codes', 'uint8', 64), ('kernel/scale', 'float32', 8)]
    """

    bits = 4


class QuantizedWeight(Reparam):
    """The weight that `Int8` and `Int4` make; what is assigned is rounded.

    Args:
        next_creator: Makes the parts.
        spec: The spec of the weight.
        bits: 8, or 4: then two codes share a byte.
        per: What has a scale of its own.
    """

    def __init__(
        self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec, bits: int, per: Per
    ) -> None:
        super().__init__(spec)
        self.made_trainable = spec.trainable
        self.bits = bits
        self.tolerance = 8 / 2**bits
        self.per: Per = per
        shape = (-(-math.prod(spec.shape) // 2),) if bits == 4 else spec.shape
        frozen = spec.replace(name="codes", trainable=False, initializer=Zeros())
        self.codes = next_creator(frozen.replace(dtype="uint8" if bits == 4 else "int8", shape=shape))
        scales = spec.shape[-1:] if per == "channel" else ()
        self.scale = next_creator(frozen.replace(name="scale", path=f"{spec.path}/scale", shape=scales))
        with concretely():  # as the weight would start, rounded
            start: Initializer = spec.initializer
            key: Any = None  # what draws nothing must not shift the draws of others
            if getattr(start, "draws", True):
                key = ops.asarray(variable_key(spec.owner, spec.path, getattr(start, "seed", None), start))
            self.inverse(start(key, spec.shape, spec.dtype))

    def forward(self) -> Array:
        """Compute ``scale * codes``."""
        scale = ops.asarray(self.scale)
        codes = ops.asarray(self.codes)
        if self.bits == 4:
            codes = unpack_int4(codes, self.shape)
        return ops.cast(codes, scale.dtype) * scale

    def grid(self) -> Grid:
        """Return the grid that its numbers lie on."""
        return Grid(ops.asarray(self.scale), None, self.bits)

    def inverse(self, value: Array) -> None:
        """Store the nearest numbers of the grid."""
        scale = ops.cast(scale_of(value, self.bits, self.per), self.dtype)
        codes = ops.cast(codes_of(value, scale, self.bits), "int8")
        self.codes.assign(pack_int4(codes) if self.bits == 4 else codes)  # type: ignore[attr-defined]
        self.scale.assign(scale)  # type: ignore[attr-defined]
