"""The primitives of neural networks that NumPy lacks, in the form that a backend runs best. Channels are last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from graftax.core.typedefs import Array, Shape

Padding = Sequence[tuple[int, int]]
"""Zeros before and after each spatial axis."""


class Neural(Protocol):
    """Part of the array functions of a backend."""

    def conv(
        self,
        x: Array,
        kernel: Array,
        strides: Shape,
        padding: Padding,
        dilation: Shape,
        groups: int,
        input_dilation: Shape | None = None,
    ) -> Array:
        """Convolve, channels last: ``(batch, *space, in), (*window, in / groups, out) -> (batch, *space', out)``.

        ``input_dilation`` puts so many minus one zeros between the values of ``x``; negative padding crops.
        """
        ...

    def max_pool(self, x: Array, window: Shape, strides: Shape, padding: Padding) -> Array:
        """Return the maximum over windows: ``(batch, *space, c) -> (batch, *space', c)``; padding never wins."""
        ...

    def sum_pool(self, x: Array, window: Shape, strides: Shape, padding: Padding) -> Array:
        """Sum over windows: ``(batch, *space, c) -> (batch, *space', c)``."""
        ...

    def erf(self, x: Array) -> Array:
        """Return the Gauss error function."""
        ...

    def erfc(self, x: Array) -> Array:
        """Compute ``1 - erf(x)``, exact near 0; ``x`` has 32 bits at least, here and in the next three."""
        ...

    def erfinv(self, x: Array) -> Array:
        """Return the inverse of `erf`: infinite at -1 and 1, nan beyond."""
        ...

    def lgamma(self, x: Array) -> Array:
        """Return the logarithm of the absolute value of the gamma function: infinite at 0, -1, -2 and so on."""
        ...

    def digamma(self, x: Array) -> Array:
        """Return the slope of `lgamma`: nan at 0, -1, -2 and so on."""
        ...

    def sigmoid(self, x: Array) -> Array:
        """Compute ``1 / (1 + exp(-x))`` without overflow."""
        ...

    def rsqrt(self, x: Array) -> Array:
        """Compute ``1 / sqrt(x)``."""
        ...

    def top_k(self, x: Array, k: int) -> tuple[Array, Array]:
        """Return the ``k`` largest values of the last axis, falling, and where they are; the first of equals."""
        ...

    def standardize(self, x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
        """Compute ``(x - mean) / sqrt(variance + epsilon)`` over axes; ``x`` has 32 bits at least."""
        ...

    def ctc_loss(self, labels: Array, logits: Array, label_lengths: Array, logit_lengths: Array, blank: int) -> Array:
        """Compute minus the log probability of the labels of each row, over all alignments; inf if there is none.

        ``(batch, labels), (batch, steps, classes), (batch,), (batch,) -> (batch,)``; logits have 32 bits at least, and
        labels beyond the length of a row are anything.
        """
        ...

    def ctc_beam_search(
        self, logits: Array, logit_lengths: Array, blank: int, beam_width: int, top_paths: int
    ) -> tuple[Array, Array, Array]:
        """Return the likeliest labels of each row, how many they are, and the logarithms of their probabilities.

        ``(batch, steps, classes), (batch,) -> (batch, paths, steps), (batch, paths), (batch, paths)``: after each step
        the ``beam_width`` likeliest prefixes are kept, each with the probability of all alignments that are left of it.
        Logits have 32 bits at least. Labels are followed by -1; paths that there are not are empty, with ``-inf``.
        """
        ...

    def attention_kernel(
        self,
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None,
        bias: Array | None,
        scale: float,
        is_causal: bool,
        implementation: str,
    ) -> Array:
        """Attend by a kernel of the library, with heads behind positions; what a masked row gets is open.

        Raises:
            BackendCapabilityError: there is no such kernel, or none for this device.
        """
        ...

    def attention(self, query: Array, key: Array, value: Array, mask: Array | None, bias: Array | None) -> Array:
        """Compute ``softmax(query @ key^T + bias) @ value``; the query is scaled already; 0 where it sees no key.

        ``(..., t, d), (..., s, d), (..., s, e) -> (..., t, e)``; ``mask``, True where it may attend, and ``bias`` can
        be broadcast to ``(..., t, s)``. The softmax is taken in 32 bits at least.
        """
        ...
