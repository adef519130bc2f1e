"""TransformerEncoder and TransformerDecoder: one block each, of attention and a small network."""

from __future__ import annotations

from typing import Any

from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentTypeError, DTypeError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers import activations
from graftax.layers.activations import Activation, ActivationLike
from graftax.layers.arguments import array_shape, check_flag, check_positive, check_range, single_shape
from graftax.layers.attention_cache import AttentionCache
from graftax.layers.dense import Dense
from graftax.layers.dropout import Dropout
from graftax.layers.layer import Layer
from graftax.layers.layer_normalization import LayerNormalization
from graftax.layers.multi_head_attention import MultiHeadAttention
from graftax.layers.named_activation import NamedActivation
from graftax.layers.policy import DTypePolicy
from graftax.layers.shapes import shape_of
from graftax.variables.initializers import InitializerLike
from graftax.variables.keys import checked_seed


class TransformerBlock(Layer):
    """The base of `TransformerEncoder` and `TransformerDecoder`, which describe the arguments."""

    _gx_of_weights = frozenset(
        {
            "activation",
            "dropout",
            "intermediate_dim",
            "layer_norm_epsilon",
            "num_heads",
            "num_key_value_heads",
            "rotary_base",
            "seed",
        }
    )

    supports_masking = True
    compiles_call = True
    activation: Activation = NamedActivation()  # type: ignore[assignment]  # takes names, too
    _gx_column_parts = ("feedforward_intermediate",)  # a pair of Dense layers, as `tensor_parallel` splits them
    _gx_row_parts = ("feedforward_output",)

    def __init__(
        self,
        intermediate_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        activation: ActivationLike = "relu",
        layer_norm_epsilon: float = 1e-5,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        normalize_first: bool = False,
        num_key_value_heads: int | None = None,
        rotary_base: float | None = None,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.intermediate_dim = check_positive("intermediate_dim", intermediate_dim, 64)
        self.num_heads = check_positive("num_heads", num_heads)
        self.num_key_value_heads = num_key_value_heads
        self.dropout = check_range("dropout", dropout, 0, 1)
        self.activation = activations.get(activation)
        self.layer_norm_epsilon = check_range("layer_norm_epsilon", layer_norm_epsilon, 0, float("inf"))
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.normalize_first = check_flag("normalize_first", normalize_first)
        self.rotary_base, self.seed = rotary_base, None if seed is None else checked_seed(seed)
        self._attention(self.num_heads * 2)  # its arguments are looked at here, not at the first call

    def _seed_of(self, part: int) -> int | None:
        """Return a seed for the dropout of one part: with one for all, they would drop the same places."""
        return None if self.seed is None else (self.seed + part) % 2**64

    def _attention(self, features: int, part: int = 0) -> MultiHeadAttention:
        if features % self.num_heads:
            raise ShapeError(
                f"an input of {features} features, num_heads={self.num_heads}",
                "each head has as many features",
                f"num_heads={next(n for n in range(min(self.num_heads, features), 0, -1) if features % n == 0)}",
            )
        return MultiHeadAttention(
            self.num_heads,
            features // self.num_heads,
            num_key_value_heads=self.num_key_value_heads,
            output_dim=features,
            dropout=self.dropout,
            rotary_base=self.rotary_base,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
            seed=self._seed_of(part),
            trainable=self.trainable,
            dtype=self._gx_policy,
        )

    def _dense(self, units: int) -> Dense:
        return Dense(
            units,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
            trainable=self.trainable,
            dtype=self._gx_policy,
        )

    def _norm(self) -> LayerNormalization:
        return LayerNormalization(epsilon=self.layer_norm_epsilon, trainable=self.trainable, dtype=self._gx_policy)

    def _drop(self, part: int) -> Dropout:
        return Dropout(self.dropout, seed=self._seed_of(part), dtype=self._gx_policy)

    def make_parts(self, features: int) -> None:
        """Make the parts that every block has."""
        self.features = features
        self.self_attention, self.self_attention_norm = self._attention(features), self._norm()
        self.self_attention_dropout = self._drop(1)
        self.feedforward_intermediate, self.feedforward_output = (
            self._dense(self.intermediate_dim),
            self._dense(features),
        )
        self.feedforward_norm, self.feedforward_dropout = self._norm(), self._drop(2)

    def check_input(self, x: Array, mask: Array | None) -> None:
        """Raise if the input is no sequence of the features that the block was made for, or the mask is of pairs."""
        features = single_shape(array_shape(x), 3, 3)[-1]
        if features != self.features:
            raise ShapeError(
                f"an input of shape {tuple(x.shape)}",
                f"the block was made for {self.features} features, at the first call",
                f"an input with {self.features}, or a new block for the other number",
            )
        if not is_floating(x.dtype):
            raise DTypeError(
                f"an input of dtype {x.dtype}",
                "a block attends to features, which are numbers with fractions; integers are most often indices",
                f'Embedding(...) before it; ops.cast(x, "{self.compute_dtype}") of numbers that are features',
            )
        if mask is not None and len(sizes := tuple(shape_of(mask) or ())) > 2 and sizes[-1] == x.shape[1]:
            raise ShapeError(
                f"mask of shape {sizes} for an input of shape {tuple(x.shape)}",
                f"it says which positions count, and is of {tuple(x.shape[:2])}; this one says which one sees which",
                "block(x, attention_mask=...)",
            )

    def feed_forward(self, x: Array, mask: Array | None) -> Array:
        """Return the small network, with what is around it."""
        inside = self.feedforward_norm(x, mask=mask) if self.normalize_first else x
        inner = self.feedforward_intermediate(inside)
        out = x + self.feedforward_dropout(self.feedforward_output(self.activation(inner)))
        return out if self.normalize_first else self.feedforward_norm(out, mask=mask)


class TransformerEncoder(TransformerBlock):
    """Attention of a sequence to itself and a small network, each added to what it got and normalized.

    Args:
        intermediate_dim: Size of the small network's inner layer.
        num_heads: Number of heads of the attention; it divides the number of features.
        dropout: The share of values, and of weights of the attention, dropped in training. Defaults to 0.
        activation: The activation of the small network. Defaults to ``"relu"``.
        layer_norm_epsilon: The epsilon of the normalizations. Defaults to 1e-5.
        kernel_initializer: What the kernels start as.
        bias_initializer: What the biases start as. Defaults to zeros.
        normalize_first: Whether attention and network get normalized input, in place of a normalized sum. Defaults to
            False.
        num_key_value_heads: How many heads keys and values have, as for `MultiHeadAttention`. Defaults to None, all.
        rotary_base: The base of a `RotaryEmbedding` of queries and keys. Defaults to None, none.
        seed: Fixes the draws of the dropouts. Defaults to None: streams of their own.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    A call takes ``mask``, of ``(batch, steps)``, in place of the one that the input carries, ``attention_mask`` and
    ``use_causal_mask`` as `MultiHeadAttention` does.

    Shape:
        ``(batch, steps, features) -> (batch, steps, features)``

    Raises:
        ArgumentError: a setting is out of range.
        ShapeError: features that the heads do not divide, or others than those of the first input.
        DTypeError: the sequence holds integers.

    Example:
        >>> import numpy as np
        >>> TransformerEncoder(64, num_heads=2)(np.ones((2, 5, 8), "float32")).shape
        (2, 5, 8)

    Source: Vaswani et al., arXiv 1706.03762; normalization first: Xiong et al., arXiv 2002.04745.
    """

    def build(self, input_shape: Shape) -> None:
        self.make_parts(single_shape(input_shape, 3, 3)[-1])

    def call(
        self, x: Array, mask: Array | None = None, attention_mask: Array | None = None, use_causal_mask: bool = False
    ) -> Array:
        self.check_input(x, mask)
        seen = self.self_attention_norm(x, mask=mask) if self.normalize_first else x
        looked = self.self_attention(
            seen, attention_mask=attention_mask, use_causal_mask=use_causal_mask, query_mask=mask
        )
        x = x + self.self_attention_dropout(looked)
        return self.feed_forward(x if self.normalize_first else self.self_attention_norm(x, mask=mask), mask)


class TransformerDecoder(TransformerBlock):
    """Attention of a sequence to what came before in it, attention to another one, and a small network.

    Without a second sequence it is a block of a language model.

    Args: as for `TransformerEncoder`.

    A call takes the sequence and, where the first call had one, the sequence to look at, ``context``; ``mask`` and
    ``context_mask`` in place of those that they carry; ``use_causal_mask``, by default True; and ``cache``, as
    `make_cache` gives it: then it returns ``(out, cache)``. With ``use_causal_mask=False`` all positions of a call see
    each other, beside those that the cache has. ``attention_mask``, as for `MultiHeadAttention`, says in addition which
    position of the sequence sees which: ``documents[:, :, None] == documents[:, None, :]`` where several documents
    stand in one row, with the number of the document at each position.

    Shape:
        ``(batch, t, features), (batch, s, others) -> (batch, t, features)``

    Raises:
        ArgumentError: a setting is out of range, or the cache is full.
        ArgumentTypeError: a second sequence where the first call had none, or the other way round.
        ShapeError: features that the heads do not divide, or others than those of the first input.
        DTypeError: the sequence holds integers.

    Example:
        >>> import numpy as np
        >>> x, context = np.ones((2, 5, 8), "float32"), np.ones((2, 7, 6), "float32")
        >>> block = TransformerDecoder(64, num_heads=2)
        >>> block(x, context).shape
        (2, 5, 8)
        >>> out, cache = block(x[:, :1], context, cache=block.make_cache(batch_size=2, length=5))
        >>> out.shape, int(cache.position)
        ((2, 1, 8), 1)

    Source: Vaswani et al., arXiv 1706.03762.
    """

    def build(self, x_shape: Shape, context_shape: Shape | None = None) -> None:
        if context_shape is None and self._gx_first_named.get("context_mask") is not None:
            raise _unused_mask_error()  # before there are weights for calls without context
        self.make_parts(single_shape(x_shape, 3, 3)[-1])
        self.cross_attention: MultiHeadAttention | None = None
        if context_shape is not None:
            single_shape(context_shape, 3, 3)
            self.cross_attention, self.cross_attention_norm = self._attention(self.features, 3), self._norm()
            self.cross_attention.rotary = None  # positions of two sequences say nothing of each other
            self.cross_attention_dropout = self._drop(4)

    def call(
        self,
        x: Array,
        context: Array | None = None,
        mask: Array | None = None,
        context_mask: Array | None = None,
        use_causal_mask: bool = True,
        cache: AttentionCache | None = None,
        attention_mask: Array | None = None,
    ) -> Any:
        self.check_input(x, mask)
        if (context is None) != (self.cross_attention is None):
            raise ArgumentTypeError(
                f"a call with{'out' if context is None else ''} a sequence to look at",
                f"the first call had {'one' if context is None else 'none'}, for which its weights were made",
                "block(x, context) each time, or block(x) each time",
            )
        if context is None and context_mask is not None:
            raise _unused_mask_error()
        first = self.normalize_first
        seen = self.self_attention_norm(x, mask=mask) if first else x
        looked = self.self_attention(
            seen, attention_mask=attention_mask, use_causal_mask=use_causal_mask, cache=cache, query_mask=mask
        )
        if cache is not None:
            looked, cache = looked
        x = x + self.self_attention_dropout(looked)
        x = x if first else self.self_attention_norm(x, mask=mask)
        if self.cross_attention is not None:
            seen = self.cross_attention_norm(x, mask=mask) if first else x
            looked = self.cross_attention(seen, context, query_mask=mask, value_mask=context_mask)
            x = x + self.cross_attention_dropout(looked)
            x = x if first else self.cross_attention_norm(x, mask=mask)
        out = self.feed_forward(x, mask)
        return out if cache is None else (out, cache)

    def make_cache(self, batch_size: int, length: int) -> AttentionCache:
        """Return an empty cache for `call`, as that of `MultiHeadAttention`.

        Args:
            batch_size: Number of sequences.
            length: Positions that it has room for.

        Raises:
            NotBuiltError: the block is not built.
        """
        self._gx_require_built("make_cache")
        return self.self_attention.make_cache(batch_size, length)


def _unused_mask_error() -> ArgumentTypeError:
    return ArgumentTypeError(
        "context_mask=, and no sequence to look at",
        "nothing would use it",
        "block(x, context, context_mask=...); block(x, mask=...) for positions of x",
    )
