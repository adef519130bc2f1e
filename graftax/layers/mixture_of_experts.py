"""MixtureOfExperts: small networks of which each row uses a few."""

from __future__ import annotations

import math

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ExportError
from graftax.core.free_sizes import is_free
from graftax.core.typedefs import Array, Initializer, Shape
from graftax.layers import activations
from graftax.layers.activations import Activation, ActivationLike
from graftax.layers.arguments import check_last_axis, check_positive, check_range, single_shape, widen
from graftax.layers.layer import Layer
from graftax.layers.masking import check_mask, expand_mask, hide
from graftax.layers.named_activation import NamedActivation
from graftax.layers.policy import DTypePolicy
from graftax.variables import initializers
from graftax.variables.base_initializer import BaseInitializer
from graftax.variables.given_back import apply_activation
from graftax.variables.initializers import InitializerLike


class MixtureOfExperts(Layer):
    r"""Several small networks, the experts, of which a router chooses a few for each row.

    .. math:: y = \sum_{e \in \text{top } k} g_e\, f(x W_e + b_e) V_e + c_e \qquad g = \mathrm{softmax}(x R)

    where :math:`g` is scaled to sum 1 over the chosen ones.

    Args:
        num_experts: How many experts there are.
        intermediate_dim: Size of the inner layer of an expert.
        top_k: How many experts a row uses. Defaults to 2.
        capacity_factor: How many rows an expert takes, over the number that it would get if all got as many; rows
            beyond it do without that expert. Defaults to None: each expert computes all rows and none is left out,
            which takes ``num_experts / top_k`` times as long.
        activation: ``f``. Defaults to ``"gelu"``.
        balance_weight: The factor of a term of the loss in training that is least, 1 times this, where all experts are
            used alike: ``num_experts * sum(share of rows * mean of g)``. Defaults to 0.01.
        kernel_initializer: What the kernels of router and experts start as, each expert drawn for its own size.
        bias_initializer: What the biases start as. Defaults to zeros.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the router computes in float32 at least.

    Rows that a mask hides use no expert, and give 0.

    Shape:
        ``(..., features) -> (..., features)``

    Raises:
        ArgumentError: a setting is out of range.
        ShapeError: a later input has other features than the first one.

    Example:
        >>> import numpy as np
        >>> layer = MixtureOfExperts(num_experts=4, intermediate_dim=16, top_k=1, capacity_factor=1.25)
        >>> layer(np.ones((2, 5, 8), "float32")).shape, layer.expert_kernel.shape
        ((2, 5, 8), (4, 8, 16))

    Source: Shazeer et al., arXiv 1701.06538; Fedus et al., arXiv 2101.03961.
    """

    _gx_of_weights = frozenset({"intermediate_dim"})

    supports_masking = True
    _gx_mixes_samples = True
    activation: Activation = NamedActivation()  # type: ignore[assignment]  # takes names, too

    def __init__(
        self,
        num_experts: int,
        intermediate_dim: int,
        top_k: int = 2,
        capacity_factor: float | None = None,
        activation: ActivationLike = "gelu",
        balance_weight: float = 0.01,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.num_experts = check_positive("num_experts", num_experts)
        self.intermediate_dim = check_positive("intermediate_dim", intermediate_dim, 64)
        self.top_k = check_positive("top_k", top_k, 2)
        if self.top_k > self.num_experts:
            raise ArgumentError(
                f"top_k={top_k}, num_experts={num_experts}", "a row uses each expert once", f"top_k={num_experts}"
            )
        self.capacity_factor = None
        if capacity_factor is not None:
            self.capacity_factor = check_range("capacity_factor", capacity_factor, 0, float("inf"))
            if self.capacity_factor == 0:
                raise ArgumentError("capacity_factor=0", "the experts would take no rows", "capacity_factor=1.25")
        self.activation = activations.get(activation)
        self.balance_weight = check_range("balance_weight", balance_weight, 0, float("inf"))
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)

    def build(self, input_shape: Shape) -> None:
        features = single_shape(input_shape, least=1)[-1]
        experts, inner = self.num_experts, self.intermediate_dim
        self.router_kernel = self.add_weight((features, experts), self.kernel_initializer, name="router_kernel")
        self.expert_kernel = self.add_weight(
            (experts, features, inner), OfEach(self.kernel_initializer), name="expert_kernel"
        )
        self.expert_bias = self.add_weight((experts, inner), self.bias_initializer, name="expert_bias")
        self.output_kernel = self.add_weight(
            (experts, inner, features), OfEach(self.kernel_initializer), name="output_kernel"
        )
        self.output_bias = self.add_weight((experts, features), self.bias_initializer, name="output_bias")

    def call(self, x: Array, training: bool | None = None, mask: Array | None = None) -> Array:
        check_last_axis(x, self.router_kernel.shape[0])
        shown = None
        if mask is not None:
            mask = check_mask(mask, tuple(x.shape[:-1]), name="mask of rows")  # a row goes to its experts as a whole
            x = hide(x, mask)
            whole = ops.broadcast_to(expand_mask(mask, x.ndim - 1), x.shape[:-1])
            shown = ops.cast(ops.reshape(whole, (-1,)), widen(x).dtype)
        rows = ops.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
        shares = ops.softmax(ops.matmul(widen(rows), ops.cast(self.router_kernel, widen(rows).dtype)))
        best, chosen = ops.top_k(shares, self.top_k)
        gates = best / ops.sum(best, axis=-1, keepdims=True)
        if shown is not None:
            gates = gates * shown[:, None]
        uses = ops.one_hot(chosen, self.num_experts, dtype=str(shares.dtype))  # (rows, k, experts)
        if shown is not None:
            uses = uses * shown[:, None, None]
        if training and self.balance_weight:
            count = ops.maximum(rows.shape[0] if shown is None else ops.sum(shown), 1)
            used = ops.sum(uses, axis=(0, 1)) / (count * self.top_k)
            meant = ops.sum(shares if shown is None else shares * shown[:, None], axis=0) / count
            self.add_loss(self.balance_weight * self.num_experts * ops.sum(ops.stop_gradient(used) * meant))
        if self.capacity_factor is None:
            out = self._run_all_experts(rows, ops.sum(uses * gates[..., None], axis=1))
        else:
            out = self._by_chosen(rows, gates, chosen, uses)
        return ops.reshape(out, x.shape)

    def _run_all_experts(self, rows: Array, weights: Array) -> Array:
        """Let each expert compute all rows: ``weights`` of ``(rows, experts)`` says how much of each is meant."""
        inner = ops.einsum("nd,edh->enh", rows, self.expert_kernel) + self.expert_bias[:, None]
        inner = apply_activation(self.activation, inner, inner.shape)
        weights = ops.cast(weights, rows.dtype)
        inner = inner * ops.transpose(weights)[..., None]
        return ops.einsum("enh,ehd->nd", inner, self.output_kernel) + ops.matmul(weights, self.output_bias)

    def _by_chosen(self, rows: Array, gates: Array, chosen: Array, uses: Array) -> Array:
        """Let each expert compute the rows that chose it, as many as it has room for, first choices first."""
        count, features = rows.shape
        experts, k = self.num_experts, self.top_k
        if is_free(count):
            raise ExportError(
                f"{count} rows for {experts} experts with capacity_factor={self.capacity_factor}",
                "how many rows an expert takes is a number of the program, and depends on a size that is free",
                'numbers in the Spec: graftax.export.Spec("8 16 32"); or capacity_factor=None',
            )
        room = max(math.ceil((self.capacity_factor or 1) * count * k / experts), 1)
        first = ops.reshape(ops.swapaxes(uses, 0, 1), (k * count, experts))
        place = ops.sum((ops.cumsum(first, axis=0) - 1) * first, axis=-1)  # how many chose the same expert before
        taken = (ops.sum(first, axis=-1) > 0) & (place < room)
        slot = ops.reshape(ops.swapaxes(chosen, 0, 1), (-1,)) * room + ops.cast(place, "int32")
        slot = ops.where(taken, slot, experts * room)  # the last one is for those who find no room
        given = ops.scatter_add(ops.zeros((experts * room + 1, features), rows.dtype), slot, ops.tile(rows, (k, 1)))
        parts = ops.reshape(given[:-1], (experts, room, features))
        inner = ops.einsum("end,edh->enh", parts, self.expert_kernel) + self.expert_bias[:, None]
        inner = apply_activation(self.activation, inner, inner.shape)
        out = ops.einsum("enh,ehd->end", inner, self.output_kernel) + self.output_bias[:, None]
        found = ops.take(ops.reshape(out, (experts * room, features)), ops.minimum(slot, experts * room - 1), axis=0)
        weights = ops.where(taken, ops.reshape(ops.swapaxes(gates, 0, 1), (-1,)), 0)
        weighted = found * ops.cast(weights, found.dtype)[:, None]
        return ops.sum(ops.reshape(weighted, (k, count, features)), axis=0)


class OfEach(BaseInitializer):
    """Another initializer, asked for each expert alone: its fans and its orthogonal rows are those of one expert."""

    def __init__(self, initializer: Initializer) -> None:
        self.given = initializer
        self.seed: int | None = getattr(initializer, "seed", None)

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        keys = registry.current().random.split(key, shape[0])
        return ops.stack([self.given(keys[i], shape[1:], dtype) for i in range(shape[0])])
