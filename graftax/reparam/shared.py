"""Shared: a weight that another weight stands for too, as it is or transposed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from graftax import ops
from graftax.core.errors import ArgumentTypeError, DTypeError, ShapeError
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator, flag
from graftax.variables.spec import VariableSpec


def _check_source(_: str, source: object) -> VariableLike:
    if not isinstance(source, VariableLike):
        raise ArgumentTypeError(
            f"Shared(source={type(source).__name__})",
            "only a Variable, or an expression over Variables, can be shared",
            "Shared(embedding.embeddings) once the layer is built, not the layer or an array",
        )
    return source


class Shared(CheckedCreator):
    """A creator that puts one weight behind others: weight tying, such as of an output layer with an embedding.

    The source counts once: optimizers move it once, by the sum of all gradients, and checkpoints hold it once.
    `graftax.graft` ties weights of equal values only; `graftax.ungraft(..., untie=True)` of the weight unties them.
    What is grafted onto the source, or folded into it, stands for the weight too, where one Module holds both.

    Args:
        source: A Variable or an expression.
        transpose: Whether its axes are reversed. Defaults to False.

    Raises:
        ArgumentTypeError: the source is something else.
        ShapeError: at a creation: the weight has another shape.
        DTypeError: at a creation: the weight has another dtype.

    Example:
        >>> import numpy as np, graftax as gx
        >>> embedding = gx.layers.Embedding(50, 8)
        >>> vectors = embedding(np.array([3, 1]))
        >>> with gx.variable_creator_scope(Shared(embedding.embeddings, transpose=True), where="kernel"):
        ...     output = gx.layers.Dense(50, use_bias=False)
        ...     scores = output(vectors)
        >>> model = gx.Sequential([embedding, output])
        >>> [(v.path, v.shape) for v in model.variables]
        [('layers/0/embeddings', (50, 8))]

    Source: Press and Wolf, arXiv 1608.05859.
    """

    checks: ClassVar[Mapping[str, Check]] = {"source": _check_source, "transpose": flag}

    def __init__(self, source: VariableLike, transpose: bool = False) -> None:
        self.source: Any = source
        self.transpose = transpose

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Let the source stand for the weight."""
        shape = tuple(self.source.shape)
        if (shape[::-1] if self.transpose else shape) != spec.shape:
            other = f", transpose={not self.transpose}"
            fits = (shape if self.transpose else shape[::-1]) == spec.shape
            raise ShapeError(
                f"{self!r} of shape {shape} for {spec.path!r} of shape {spec.shape}",
                "a shared weight has one shape" + (", here reversed" if self.transpose else ""),
                f"Shared(source{other if fits else ''}), where= with the weights that are to be tied",
            )
        if self.source.dtype != spec.dtype:
            raise DTypeError(
                f"{self!r} of dtype {self.source.dtype} for {spec.path!r} of dtype {spec.dtype}",
                "a shared weight has one dtype",
                f'dtype="{self.source.dtype}" for the layer',
            )
        return SharedWeight(spec, self.source, self.transpose)

    def __repr__(self) -> str:
        return f"Shared({self.source._gx_path!r}, transpose={self.transpose})"


class SharedWeight(Reparam):
    """The weight that `Shared` makes.

    Args:
        spec: The spec of the weight.
        source: What stands for it.
        transpose: Whether its axes are reversed.
    """

    def __init__(self, spec: VariableSpec, source: VariableLike, transpose: bool) -> None:
        super().__init__(spec)
        self.source = source
        self.transpose = transpose

    def forward(self) -> Array:
        """Compute the source."""
        return ops.transpose(self.source) if self.transpose else ops.asarray(self.source)

    def inverse(self, value: Array) -> None:
        """Move the source, and all that share it."""
        cast(Any, self.source).assign(ops.transpose(value) if self.transpose else value)
