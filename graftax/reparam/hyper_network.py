"""HyperNetwork: weights that another module computes from learned embeddings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from graftax import ops
from graftax.core.errors import ArgumentTypeError, CreatorError, ShapeError
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator, count
from graftax.variables import creation
from graftax.variables.graph.module import Module
from graftax.variables.initializers import Constant, RandomNormal
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import concretely


def _checked_module(_: str, module: object) -> Module:
    if not isinstance(module, Module) or not callable(module):
        raise ArgumentTypeError(
            f"HyperNetwork(module={type(module).__name__})",
            "it computes the weights, and its own weights are trained",
            "HyperNetwork(graftax.layers.Dense(256))",
        )
    return module


class HyperNetwork(CheckedCreator):
    r"""A creator that lets a module compute weights of two and more axes; other shapes pass.

    .. math:: \mathrm{vec}(W) = [f(z_1), f(z_2), \dots]

    Each weight has embeddings ``z`` of its own, as many as it takes to fill it with what the module makes of them; what
    is too much is cut off. All share the module, which is trained with them and counts once. How the weights start
    follows from the module, not from their initializers. No creator sees the module's weights, unless
    it is built before.

    Args:
        module: ``(pieces, embedding_size) -> (pieces, numbers)``.
        embedding_size: The size of an embedding. Defaults to 8.

    Raises:
        ArgumentTypeError: the module is none, or cannot be called.
        ArgumentError: ``embedding_size`` is not a positive integer.
        ShapeError: at a creation: the module gives something of another shape.
        CreatorError: at a creation: the weight has a given value.

    Example:
        >>> import numpy as np, graftax as gx
        >>> with gx.variable_creator_scope(HyperNetwork(gx.layers.Dense(32), embedding_size=4)):
        ...     layer = gx.layers.Dense(8)
        ...     y = layer(np.ones((1, 16), "float32"))
        >>> [(v.path, v.shape) for v in layer.kernel.variables]  # 4 pieces of 32 numbers
        [('kernel/embedding', (4, 4)), ('kernel/module/kernel', (4, 32)), ('kernel/module/bias', (32,))]

    Source: Ha, Dai and Le, arXiv 1609.09106.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "module": _checked_module,
        "embedding_size": count("a size is a positive integer", 8),
    }

    def __init__(self, module: Any, embedding_size: int = 8) -> None:
        self.module = module
        self.embedding_size = embedding_size

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the computed weight for a matrix or kernel, anything else as it would have been."""
        if len(spec.shape) < 2:
            return next_creator(spec)
        if isinstance(spec.initializer, Constant):
            raise CreatorError(
                f"{self!r} for {spec.path!r}, which has a given value",
                "a module computes the weight, and cannot be made to give this one",
                "where= with weights that start at random",
            )
        return ComputedWeight(next_creator, spec, self.module, self.embedding_size)

    def __repr__(self) -> str:
        return f"HyperNetwork({type(self.module).__name__}, embedding_size={self.embedding_size})"


class ComputedWeight(Reparam):
    """The weight that `HyperNetwork` makes.

    Args:
        next_creator: Makes the embeddings.
        spec: The spec of the weight.
        module: What computes.
        embedding_size: The size of an embedding.
    """

    def __init__(
        self,
        next_creator: Callable[[VariableSpec], VariableLike],
        spec: VariableSpec,
        module: Any,
        embedding_size: int,
    ) -> None:
        super().__init__(spec)
        with concretely(), creation.scopes.replaced(()):  # which would have it compute itself
            made = module(ops.zeros((1, embedding_size), spec.dtype))  # builds it
        if len(made.shape) != 2 or made.shape[0] != 1:
            raise ShapeError(
                f"{module!r} made shape {tuple(made.shape)} of an embedding of shape (1, {embedding_size})",
                f"a row of numbers is what {spec.path!r} takes from each embedding",
                f"a module (pieces, {embedding_size}) -> (pieces, numbers)",
            )
        pieces = -(-math.prod(spec.shape) // made.shape[1])
        shape = (pieces, embedding_size)
        self.embedding = next_creator(spec.replace(name="embedding", shape=shape, initializer=RandomNormal(stddev=1.0)))
        self.module = module

    def forward(self) -> Array:
        """Compute the rows that the module makes, one after the other."""
        embedding = ops.asarray(self.embedding)
        rows = ops.cast(self.module(embedding), embedding.dtype)
        return ops.reshape(ops.reshape(rows, (-1,))[: self.size], self.shape)
