"""Attention and AdditiveAttention: without projections, for one head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax import ops
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError, ShapeError
from graftax.core.typedefs import Array
from graftax.layers import shapes
from graftax.layers.arguments import check_choice, check_flag, check_last_axis, check_range, to_floating, widen
from graftax.layers.layer import Layer
from graftax.layers.masking import as_bool, check_mask, combine_masks, hide, zero_hidden_nan
from graftax.layers.policy import DTypePolicy
from graftax.variables import random
from graftax.variables.keys import checked_seed
from graftax.variables.random import SeedGenerator
from graftax.variables.variable import Variable


class Attention(Layer):
    r"""Returns for each row of a query a weighted mean of the rows of values, by the products of queries and keys.

    .. math:: \mathrm{softmax}(s\,Q K^\top) V

    A call takes ``[query, value]`` or ``[query, value, key]``, and ``mask=[query_mask, value_mask]``: nobody looks at
    what the mask of the values hides, and a query that sees nothing, or is hidden, gets 0.

    Args:
        use_scale: Whether there is a learned factor ``s`` of the scores. Defaults to False.
        score_mode: ``"dot"`` for products, or ``"concat"`` for ``v * sum(tanh(s * (query + key)))`` with a learned
            ``v``. Defaults to ``"dot"``.
        dropout: The share of weights dropped in training. Defaults to 0.
        seed: Fixes the draws of the dropout, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the softmax is taken in float32 at least.

    Further arguments of a call: ``use_causal_mask`` to look at no later row, ``return_attention_scores`` to get the
    weights, too.

    Shape:
        ``[(batch, t, d), (batch, s, e), (batch, s, d)] -> (batch, t, e)``, and weights of ``(batch, t, s)``

    Raises:
        ArgumentError: a setting is out of range.
        ArgumentTypeError: the input is no list of two or three arrays.
        ShapeError: the arrays do not fit.

    Example:
        >>> import numpy as np
        >>> query, value = np.ones((2, 3, 4), "float32"), np.ones((2, 5, 4), "float32")
        >>> Attention()([query, value]).shape
        (2, 3, 4)

    Source: Luong et al., arXiv 1508.04025.
    """

    _gx_of_weights = frozenset({"score_mode", "use_scale"})

    supports_masking = True
    compiles_call = True

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.use_scale = check_flag("use_scale", use_scale)
        self.score_mode = check_choice("score_mode", score_mode, ("dot", "concat"))
        self.dropout = check_range("dropout", dropout, 0, 1)
        self.seed = None if seed is None else checked_seed(seed)
        self.seed_generator = SeedGenerator(seed) if dropout else None

    def build(self, input_shape: Any) -> None:
        self._check(input_shape)
        self.scale: Variable | None = self.add_weight((), "ones", name="scale") if self.use_scale else None
        self.concat_score_weight: Variable | None = None
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight((), "ones", name="concat_score_weight")
        if self.seed_generator is not None:
            self.seed_generator.build()

    def call(
        self,
        inputs: Sequence[Array],
        mask: Any = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ) -> Any:
        self._check(tree.map_structure(shapes.shape_of, inputs))
        query, value, *rest = (to_floating(part, self.compute_dtype) for part in inputs)
        key = rest[0] if rest else value
        masks = [None, None] if mask is None else list(mask) if isinstance(mask, list | tuple) else [mask]
        if len(masks) not in (2, len(inputs)):
            raise ArgumentTypeError(
                f"{'one mask' if len(masks) == 1 else f'{len(masks)} masks'} for {len(inputs)} arrays",
                "there is one for each, with None where there is none; keys may do with that of the values",
                f"mask=[query_mask, value_mask{', None' * (len(inputs) - 2)}]",
            )
        check_flag("return_attention_scores", return_attention_scores)
        query_mask = None if masks[0] is None else check_mask(masks[0], tuple(query.shape), 2, "mask of the query")
        value_mask = None if masks[1] is None else check_mask(masks[1], tuple(value.shape), 2, "mask of the value")
        if len(masks) == 3 and masks[2] is not None:
            value_mask = combine_masks(value_mask, check_mask(masks[2], tuple(key.shape), 2, "mask of the keys"))
        query, key, value = zero_hidden_nan(query, query_mask), hide(key, value_mask), hide(value, value_mask)
        scores = widen(self.scores(query, key))
        allowed = None if value_mask is None else value_mask[:, None, :]
        if check_flag("use_causal_mask", use_causal_mask):
            past = ops.tri(query.shape[1], key.shape[1], dtype="bool")[None]
            allowed = past if allowed is None else ops.logical_and(allowed, past)
        if allowed is not None:
            scores = ops.where(allowed, scores, float("-inf"))
        weights = ops.softmax(scores)
        if self.seed_generator is not None and training:
            keep = random.bernoulli(weights.shape, 1 - self.dropout, seed=self.seed_generator)
            weights = ops.where(keep, weights / max(1 - self.dropout, 1e-9), 0)
        weights = ops.cast(weights, value.dtype)
        out = hide(ops.matmul(weights, value), query_mask)
        return (out, weights) if return_attention_scores else out

    def scores(self, query: Array, key: Array) -> Array:
        """Return how much each row of the query looks at each of the keys, before the softmax."""
        if self.concat_score_weight is not None:
            total = query[:, :, None] + key[:, None]
            if self.scale is not None:
                total = total * self.scale
            return ops.sum(ops.tanh(total), axis=-1) * self.concat_score_weight
        scores = ops.matmul(widen(query), ops.swapaxes(widen(key), 1, 2))  # products go beyond short formats
        return scores if self.scale is None else scores * ops.cast(self.scale, scores.dtype)

    def compute_mask(self, inputs: Any, mask: Any) -> Array | None:
        """Return that of the query."""
        given = mask[0] if isinstance(mask, list | tuple) else mask
        return None if given is None else as_bool(given)

    def _check(self, inputs: object) -> None:
        if shapes.is_shape(inputs):
            raise ArgumentTypeError(
                f"one array of shape {inputs}",
                "attention takes a query and values, and keys where these are others, in one list",
                f"{self.name}([x, x]) for attention of x to itself, {self.name}([query, value]) else; "
                "MultiHeadAttention(...)(query, value) for one with projections",
            )
        if not isinstance(inputs, list | tuple) or len(inputs) not in (2, 3):
            raise ArgumentTypeError(
                "no list of arrays" if not isinstance(inputs, list | tuple) else f"a list of {len(inputs)} arrays",
                "attention takes a query and values, and keys where these are others, in one list",
                f"{self.name}([query, value]); MultiHeadAttention for one with projections",
            )
        query, value, key = (tuple(shape) for shape in (inputs if len(inputs) == 3 else (*inputs, inputs[1])))
        fits = len(query) == len(value) == len(key) == 3 and query[2] == key[2] and value[1] == key[1]
        if not fits or not query[0] == value[0] == key[0]:  # one of 1 would be broadcast to the others
            raise ShapeError(
                f"a query of shape {query}, values {value}, keys {key}",
                "they are (batch, t, d), (batch, s, e) and (batch, s, d)",
                "Dense layers before it, for other sizes",
            )


class AdditiveAttention(Attention):
    r"""Returns for each row of a query a weighted mean of the rows of values, by a small network of query plus key.

    .. math:: \mathrm{softmax}\Bigl(\sum_d s_d \tanh(Q_d + K_d)\Bigr) V

    A call takes the same as that of `Attention`.

    Args:
        use_scale: Whether there are learned factors ``s``, one for each feature; else they are 1. Defaults to True.
        dropout: The share of weights dropped in training. Defaults to 0.
        seed: Fixes the draws of the dropout, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the softmax is taken in float32 at least.

    Shape:
        ``[(batch, t, d), (batch, s, e), (batch, s, d)] -> (batch, t, e)``, and weights of ``(batch, t, s)``

    Raises:
        ArgumentError: a setting is out of range.
        ArgumentTypeError: the input is no list of two or three arrays.
        ShapeError: the arrays do not fit.

    Example:
        >>> import numpy as np
        >>> query, value = np.ones((2, 3, 4), "float32"), np.ones((2, 5, 4), "float32")
        >>> out, weights = AdditiveAttention()([query, value], return_attention_scores=True)
        >>> out.shape, weights.shape
        ((2, 3, 4), (2, 3, 5))

    Source: Bahdanau et al., arXiv 1409.0473.
    """

    def __init__(
        self,
        use_scale: bool = True,
        dropout: float = 0.0,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(use_scale, "dot", dropout, seed, name, trainable, dtype)

    def build(self, input_shape: Any) -> None:
        self._check(input_shape)
        self.scale = self.add_weight((input_shape[0][-1],), "glorot_uniform", name="scale") if self.use_scale else None
        if self.seed_generator is not None:
            self.seed_generator.build()

    def scores(self, query: Array, key: Array) -> Array:
        if self.scale is not None:
            check_last_axis(query, self.scale.shape[0])
        total = ops.tanh(query[:, :, None] + key[:, None])
        return ops.sum(total if self.scale is None else total * self.scale, axis=-1)
