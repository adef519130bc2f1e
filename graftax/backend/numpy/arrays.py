"""The arrays of the reference backend: NumPy's, with the result types of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any

import numpy as np

from graftax.backend.host import NARROW, dtype_name, host_array, host_dtype, imaginary_lost, limits, no_plain_numbers
from graftax.backend.neural import Padding
from graftax.backend.numpy import ctc, lu, special, windows
from graftax.backend.numpy.namespace import NumpyNamespace, copy_results, is_wide, silence, to_canonical
from graftax.core.dtypes import is_complex
from graftax.core.errors import BackendCapabilityError
from graftax.core.typedefs import Array, DTypeLike, Shape


class NumpyArrays:
    """The array functions of the NumPy backend; see `graftax.backend.numpy.namespace.x64` for 64 bits."""

    numpy: Any = NumpyNamespace(np)

    def asarray(self, x: Any, dtype: DTypeLike | None = None) -> Any:
        """Return a NumPy array that cannot be written to; memory of the caller is copied."""
        name = None if dtype is None else self.canonical_dtype(dtype)
        if (unfit := no_plain_numbers(x)) is not None:
            raise unfit
        if isinstance(x, (np.ndarray, np.generic)) and name is not None and x.dtype.name != name:
            if x.dtype.kind == "c" and name != "bool" and not is_complex(name) and np.any(x.imag):
                raise imaginary_lost(x.dtype.name, name)
            with np.errstate(all="ignore"):
                array = np.asarray(_saturate(x, name).astype(host_dtype(name)))
        else:
            array = host_array(x, name, not is_wide())
        array.flags.writeable = False
        return array

    def adopt(self, values: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        """Return the same arrays, which cannot be written to any more."""
        for value in values:
            value.flags.writeable = False
        return list(values)

    def is_array(self, x: Any) -> bool:
        """Tell whether it is a NumPy array or scalar."""
        return (
            isinstance(x, (np.ndarray, np.generic))
            and x.dtype.kind not in "OSUMmT"
            and x.dtype.names is None
            and not isinstance(x, np.ma.MaskedArray)
        )

    def constant_value(self, x: object) -> Any:
        """Return None: nothing is traced here."""
        return None

    def is_concrete(self, x: Any) -> bool:
        """Return True: nothing is traced."""
        return True

    def is_weak(self, x: object) -> bool:
        """Return False: NumPy has no weak arrays."""
        return False

    def canonical_dtype(self, dtype: DTypeLike) -> str:
        """Return the name of the dtype that arrays really get; 32 bits unless inside ``x64``."""
        name = dtype_name(dtype)
        return name if is_wide() else NARROW.get(name, name)

    def to_numpy(self, x: Array) -> np.ndarray[Any, Any]:
        """Return the array, not to be written to."""
        array = np.asarray(x).view()
        array.flags.writeable = False
        return array

    def eager(self) -> AbstractContextManager[None]:
        """Do nothing: everything is eager."""
        return nullcontext()

    def fuse(self, function: Callable[..., Any], static: tuple[str, ...]) -> Callable[..., Any]:
        """Return the function with canonical results of their own; nothing is compiled."""
        return copy_results(silence(function))

    def join(self, parts: Sequence[Any]) -> Any:
        """Join all elements of arrays of one dtype in a row."""
        return np.concatenate([np.ravel(part) for part in parts])

    def split(self, row: Array, shapes: Sequence[Shape]) -> list[Any]:
        """Return the arrays of these shapes that `join` put in a row, copied."""
        ends = np.cumsum([prod(shape) for shape in shapes])
        return [part.reshape(shape).copy() for part, shape in zip(np.split(row, ends[:-1]), shapes, strict=True)]

    def conv(
        self,
        x: Array,
        kernel: Array,
        strides: Shape,
        padding: Padding,
        dilation: Shape,
        groups: int,
        input_dilation: Shape | None = None,
    ) -> Any:
        """Convolve, channels last."""
        stretched = x if input_dilation is None else windows.dilate(x, input_dilation)
        return to_canonical(windows.conv(stretched, kernel, tuple(strides), padding, tuple(dilation), groups))

    def max_pool(self, x: Array, window: Shape, strides: Shape, padding: Padding) -> Any:
        """Return the maximum over windows."""
        floating = x.dtype.kind not in "iub"
        lowest = -np.inf if floating else False if x.dtype.kind == "b" else np.iinfo(x.dtype).min
        return to_canonical(windows.pool(x, window, strides, padding, np.max, lowest))

    def sum_pool(self, x: Array, window: Shape, strides: Shape, padding: Padding) -> Any:
        """Sum over windows."""
        return to_canonical(windows.pool(x, window, strides, padding, np.sum, 0).astype(x.dtype))

    def erf(self, x: Array) -> Any:
        """Return the Gauss error function."""
        return to_canonical(special.erf(x))

    def erfc(self, x: Array) -> Any:
        """Return ``1 - erf(x)``, exact where that is near 0."""
        return to_canonical(special.erfc(x))

    def erfinv(self, x: Array) -> Any:
        """Return the inverse of the Gauss error function."""
        return to_canonical(special.erfinv_wide(x) if x.dtype.itemsize > 4 else special.erfinv(x))

    def lgamma(self, x: Array) -> Any:
        """Return the logarithm of the absolute value of the gamma function."""
        return to_canonical(special.lgamma(x))

    def digamma(self, x: Array) -> Any:
        """Return the slope of `lgamma`."""
        return to_canonical(special.digamma(x))

    def sigmoid(self, x: Array) -> Any:
        """Return ``1 / (1 + exp(-x))`` without overflow."""
        small = self.numpy.exp(-self.numpy.abs(x))
        return self.numpy.where(x >= 0, 1, small) / (1 + small)

    def rsqrt(self, x: Array) -> Any:
        """Return ``1 / sqrt(x)``."""
        return self.numpy.reciprocal(self.numpy.sqrt(x))

    def top_k(self, x: Any, k: int) -> tuple[Any, Any]:
        """Return the largest ``k`` values of the last axis and where they are."""
        backwards = np.argsort(np.flip(x, -1), axis=-1, stable=True)
        indices = (x.shape[-1] - 1 - np.flip(backwards, -1))[..., :k]
        return np.take_along_axis(x, indices, -1), to_canonical(indices)

    def standardize(self, x: Array, axes: tuple[int, ...], epsilon: float) -> Any:
        """Return ``(x - mean) / sqrt(variance + epsilon)`` over axes."""
        centred = x - self.numpy.mean(x, axes, keepdims=True)
        variance = self.numpy.mean(self.numpy.square(self.numpy.abs(centred)), axes, keepdims=True)
        return centred * self.rsqrt(variance + epsilon)

    def attention_kernel(
        self,
        query: object,
        key: object,
        value: object,
        mask: object,
        bias: object,
        scale: float,
        is_causal: bool,
        implementation: str,
    ) -> Any:
        """Raise: there are no kernels."""
        raise BackendCapabilityError(
            f"attention with implementation={implementation!r}",
            "the numpy backend has no kernels",
            'implementation=None, or graftax.backend.use("jax")',
        )

    def attention(self, query: Any, key: Any, value: Any, mask: Array | None, bias: Array | None) -> Any:
        """Return ``softmax(query @ key^T + bias) @ value``; 0 where a query sees no key."""
        np_, wide = self.numpy, "float32" if value.dtype.itemsize < 4 else value.dtype
        scores = np_.matmul(self.asarray(query, wide), np_.swapaxes(self.asarray(key, wide), -1, -2))
        if bias is not None:
            scores = scores + self.asarray(bias, wide)
        allowed = True if mask is None else mask
        lowest = np.finfo(scores.dtype).min
        scores = np_.where(allowed, scores, lowest)
        highest = np_.max(scores, axis=-1, keepdims=True, initial=-np.inf)
        weights = np_.where(allowed, np_.exp(scores - highest), 0)
        total = np_.sum(weights, axis=-1, keepdims=True)
        share = weights / np_.where(total == 0, 1, total)
        return self.asarray(np_.matmul(share, self.asarray(value, wide)), value.dtype)

    def ctc_loss(self, labels: Array, logits: Array, label_lengths: Array, logit_lengths: Array, blank: int) -> Any:
        """Compute minus the log probability of the labels of each row, over all alignments; inf if there is none."""
        return to_canonical(ctc.loss(labels, logits, label_lengths, logit_lengths, blank))

    def ctc_beam_search(self, logits: Array, logit_lengths: Array, blank: int, beam_width: int, top_paths: int) -> Any:
        """Return the likeliest labels of each row, how many they are, and the logarithms of their probabilities."""
        return tuple(map(to_canonical, ctc.beam_search(logits, logit_lengths, blank, beam_width, top_paths)))

    def stop_gradient(self, x: Array) -> Any:
        """Return the array itself: there are no gradients."""
        return x

    def with_jvp(self, function: Callable[..., Any], rule: object, *arrays: Array) -> Any:
        """Call the function: there are no derivatives."""
        return function(*arrays)

    def set_at(self, x: Any, index: object, value: object) -> Any:
        """Return ``x`` with the elements that ``index`` selects replaced."""
        result = x.copy()
        result[index] = value
        return result

    def scatter_add(self, x: Any, indices: Array, updates: Array) -> Any:
        """Return ``x`` with ``updates[i]`` added to row ``indices[i]``."""
        result = x.copy()
        np.add.at(result, indices, updates)
        return result

    def scatter_reduce(self, x: Any, indices: Array, updates: Array, how: str) -> Any:
        """Return ``x`` with ``updates[i]`` taken into row ``indices[i]``: the larger or the smaller one."""
        result = x.copy()
        (np.maximum if how == "max" else np.minimum).at(result, indices, updates)
        return result

    def solve_triangular(self, x: Array, y: Array, lower: bool, adjoint: bool) -> Any:
        """Return the solution of ``x @ result = y``, or of ``x^H @ result = y``; one triangle of ``x`` is read."""
        part = np.tril(x) if lower else np.triu(x)
        part = np.conj(part).swapaxes(-1, -2) if adjoint else part
        rows = range(part.shape[-1]) if lower != adjoint else reversed(range(part.shape[-1]))
        found, done = np.zeros_like(y), np.zeros(part.shape[-1], bool)
        with np.errstate(all="ignore"):
            for i in rows:
                known = np.matmul(part[..., i : i + 1, done], found[..., done, :])
                found[..., i : i + 1, :] = (y[..., i : i + 1, :] - known) / part[..., i : i + 1, i : i + 1]
                done[i] = True
        return to_canonical(found)

    def lu_factor(self, x: Array) -> tuple[Any, Any]:
        """Return both triangles of ``P @ x = L @ U`` in one, and the row that each was exchanged with."""
        factors, pivots = lu.factor(x)
        return to_canonical(factors), to_canonical(pivots)

    def complex_of(self, real: Array, imag: Array) -> Any:
        """Return complex numbers with these parts."""
        found = np.empty(real.shape, "complex128" if real.dtype.itemsize > 4 else "complex64")
        found.real, found.imag = real, imag
        return to_canonical(found)

    def slice(self, x: Any, begin: Any, shape: Shape) -> Any:
        """Return the block of a shape that begins at ``begin``."""
        return x[_block(begin, shape)].copy()

    def slice_update(self, x: Any, begin: Array, updates: Array) -> Any:
        """Return ``x`` with the block that begins at ``begin`` replaced."""
        result = x.copy()
        result[_block(begin, updates.shape)] = updates
        return result


def _saturate(x: Any, dtype: str) -> Any:
    """Cast floats to integers as JAX does: what does not fit becomes an end of the dtype, and nan 0."""
    if x.dtype.kind != "f" or not dtype.startswith(("int", "uint")):
        return x
    low, high = limits(dtype)
    return np.clip(np.nan_to_num(x.astype("float64"), nan=0.0, posinf=high, neginf=low), low, high)


def _block(begin: Any, sizes: Shape) -> tuple[slice, ...]:
    return tuple(slice(first, first + size) for first, size in zip(begin.tolist(), sizes, strict=True))
