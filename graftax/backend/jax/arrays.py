"""The arrays of JAX: jax.numpy and the primitives that it lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax import export as jax_export
from jax import lax

from graftax.backend.host import (
    NARROW,
    copy_for_device,
    dtype_name,
    host_array,
    host_dtype,
    imaginary_lost,
    no_plain_numbers,
    remote_values_error,
)
from graftax.backend.jax import ctc, foreign, neural, packing, tracing, windows
from graftax.backend.jax.constant_value import constant_value
from graftax.backend.jax.namespace import namespace
from graftax.backend.neural import Padding
from graftax.core import free_sizes
from graftax.core.dtypes import is_complex
from graftax.core.typedefs import Array, DTypeLike, Shape

_config: Any = jax.config
free_sizes.add(cast(Callable[[object], bool], jax_export.is_symbolic_dim))
_convert: Any = jax.jit(jnp.astype, static_argnums=1, inline=True)


class JaxArrays:
    """The array functions of the JAX backend."""

    numpy: Any = namespace

    def asarray(self, x: Any, dtype: DTypeLike | None = None) -> Any:
        """Return a strongly typed jax.Array; memory of the caller is copied, never shared."""
        name = None if dtype is None else self.canonical_dtype(dtype)
        if isinstance(x, (list, tuple)) and _holds_arrays(x):
            if name is None or is_complex(name):
                return jnp.asarray(_copy_for_device(x), dtype=name)
            whole = jnp.asarray(_copy_for_device(x))  # complex ones come to light before they are converted
            x = whole if whole.dtype.kind == "c" else jnp.asarray(_copy_for_device(x), dtype=name)
        if isinstance(x, jax.Array):
            if name is None or name == x.dtype.name:
                return x
            if x.dtype.kind == "c" and name != "bool" and not is_complex(name):
                raise imaginary_lost(x.dtype.name, name)
            return _convert(x, name)
        if free_sizes.is_free(x):
            return jnp.asarray(x, dtype=name)
        # JAX reads the memory of NumPy later, when its owner may have written there; what is read here is our own
        host = host_array(x, name, not _config.jax_enable_x64)
        if tracing.runs_at_once():
            return jnp.array(host)  # the quickest way, compiled once for each shape and dtype
        with tracing.eagerly():  # what is known stays known, so that it can be checked
            return jax.device_put(host)  # placed: weights that a traced call makes need no compiling for each new shape

    def adopt(self, values: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        """Place all in one call; on the CPU, what begins at a multiple of 64 bytes is not copied."""
        placed: list[Any] = jax.device_put(list(values))
        return placed

    def is_array(self, x: Any) -> bool:
        """Tell whether it is a jax.Array, traced ones included."""
        return isinstance(x, jax.Array)

    def constant_value(self, x: object) -> Any:
        """Return the value of a traced array that follows from constants alone, such as a shape; else None."""
        return constant_value(x)

    def is_concrete(self, x: Any) -> bool:
        """Tell whether it is not traced."""
        return not isinstance(x, jax.core.Tracer)

    def is_weak(self, x: object) -> bool:
        """Tell whether it is an array that a Python number became, such as one that was traced."""
        return bool(getattr(x, "weak_type", False))

    def canonical_dtype(self, dtype: DTypeLike) -> str:
        """Return the name of the dtype that arrays really get; 32 bits unless ``jax_enable_x64``."""
        name = dtype_name(dtype)
        return name if _config.jax_enable_x64 else NARROW.get(name, name)

    def to_numpy(self, x: Array) -> np.ndarray[Any, Any]:
        """Return the values on the host; read-only.

        Raises:
            StateError: a part of them is with other processes only.
            ProcessError: the computation of them needed a process that is no longer there.
        """
        try:
            return np.asarray(x)
        except RuntimeError as error:
            if getattr(x, "is_fully_addressable", True):
                raise
            raise foreign.lost_others_error(error) or remote_values_error(tuple(x.shape)) from error

    def eager(self) -> AbstractContextManager[None]:
        """Run operations on concrete arrays now within the block, even while tracing."""
        return tracing.eagerly()

    def fuse(self, function: Callable[..., Any], static: tuple[str, ...]) -> Callable[..., Any]:
        """Compile the function into one piece, one version for each value of its static arguments."""
        return jax.jit(function, static_argnames=static, inline=True)

    def join(self, parts: Sequence[Any]) -> Any:
        """Join all elements of arrays of one dtype in a row."""
        return packing.join(parts)

    def split(self, row: Array, shapes: Sequence[Shape]) -> list[Any]:
        """Return the arrays of these shapes that `join` put in a row."""
        return packing.split(row, shapes)

    def conv(
        self,
        x: Any,
        kernel: Any,
        strides: Shape,
        padding: Padding,
        dilation: Shape,
        groups: int,
        input_dilation: Shape | None = None,
    ) -> Any:
        """Convolve, channels last; on a CPU, few input channels and each by itself take other forms."""
        if groups == 1 and input_dilation is None and windows.prefers_matmul(kernel.shape):
            return windows.conv_by_matmul(x, kernel, strides, padding, dilation)
        if input_dilation is None and windows.prefers_slices(x.shape[-1], kernel.shape, groups):
            return windows.conv_by_slices(x, kernel, strides, padding, dilation)
        space = "DHW"[5 - x.ndim :]
        if any(map(free_sizes.any_free, padding)):  # JAX pads by a free size, but not inside of a convolution
            edges: Any = [(0, 0, 0), *((low, high, 0) for low, high in padding), (0, 0, 0)]
            x, padding = lax.pad(x, np.zeros((), x.dtype)[()], edges), [(0, 0)] * len(padding)
        return lax.conv_general_dilated(
            x,
            kernel,
            window_strides=tuple(strides),
            padding=[(int(low), int(high)) for low, high in padding],
            lhs_dilation=input_dilation,
            rhs_dilation=tuple(dilation),
            dimension_numbers=(f"N{space}C", f"{space}IO", f"N{space}C"),
            feature_group_count=groups,
        )

    def max_pool(self, x: Any, window: Shape, strides: Shape, padding: Padding) -> Any:
        """Return the maximum over windows; padding never wins."""
        lowest = _lowest(x.dtype)
        return windows.pool(x, window, strides, padding, jnp.maximum, lax.max, lowest)

    def sum_pool(self, x: Any, window: Shape, strides: Shape, padding: Padding) -> Any:
        """Sum over windows."""
        return windows.pool(x, window, strides, padding, jnp.add, lax.add, np.zeros((), x.dtype)[()])

    def erf(self, x: Any) -> Any:
        """Return the Gauss error function."""
        return lax.erf(x)

    def erfc(self, x: Any) -> Any:
        """Return ``1 - erf(x)``, exact where that is near 0."""
        return lax.erfc(x)

    def erfinv(self, x: Any) -> Any:
        """Return the inverse of the Gauss error function."""
        return lax.erf_inv(x)

    def lgamma(self, x: Any) -> Any:
        """Return the logarithm of the absolute value of the gamma function."""
        return lax.lgamma(x)

    def digamma(self, x: Any) -> Any:
        """Return the slope of `lgamma`."""
        return lax.digamma(x)

    def sigmoid(self, x: Any) -> Any:
        """Return ``1 / (1 + exp(-x))`` without overflow."""
        return lax.logistic(x)

    def rsqrt(self, x: Any) -> Any:
        """Return ``1 / sqrt(x)``."""
        return lax.rsqrt(x)

    def top_k(self, x: Any, k: int) -> tuple[Any, Any]:
        """Return the largest ``k`` values of the last axis and where they are."""
        values, indices = lax.top_k(x, k)
        return values, indices

    def standardize(self, x: Array, axes: tuple[int, ...], epsilon: float) -> Any:
        """Return ``(x - mean) / sqrt(variance + epsilon)`` over axes."""
        return neural.standardize(x, axes, epsilon)

    def attention_kernel(
        self,
        query: Any,
        key: Any,
        value: Any,
        mask: Any,
        bias: Any,
        scale: float,
        is_causal: bool,
        implementation: str,
    ) -> Any:
        """Attend by a kernel of `jax.nn.dot_product_attention`."""
        return neural.attention_kernel(query, key, value, mask, bias, scale, is_causal, implementation)

    def attention(self, query: Any, key: Any, value: Any, mask: Any, bias: Any) -> Any:
        """Return ``softmax(query @ key^T + bias) @ value``; 0 where a query sees no key."""
        return neural.attention(query, key, value, mask, bias)

    def ctc_loss(self, labels: Any, logits: Any, label_lengths: Any, logit_lengths: Any, blank: int) -> Any:
        """Compute minus the log probability of the labels of each row, over all alignments; inf if there is none."""
        return ctc.loss(labels, logits, label_lengths, logit_lengths, blank)

    def ctc_beam_search(self, logits: Any, logit_lengths: Any, blank: int, beam_width: int, top_paths: int) -> Any:
        """Return the likeliest labels of each row, how many they are, and the logarithms of their probabilities."""
        return ctc.beam_search(logits, logit_lengths, blank, beam_width, top_paths)

    def stop_gradient(self, x: Array) -> Any:
        """Return the same values, constant to differentiation."""
        return lax.stop_gradient(x)

    def with_jvp(
        self,
        function: Callable[..., Any],
        rule: Callable[[tuple[Array, ...], tuple[Array, ...]], tuple[object, object]],
        *arrays: Array,
    ) -> Any:
        """Return ``function(*arrays)``, whose derivative is that of the rule."""
        ruled: Any = jax.custom_jvp(function)
        ruled.defjvp(rule)
        return ruled(*arrays)

    def set_at(self, x: Any, index: Any, value: Any) -> Any:
        """Return ``x`` with the elements that ``index`` selects replaced."""
        return _with_empty(x.at[index].set(value), value)

    def scatter_add(self, x: Any, indices: Any, updates: Any) -> Any:
        """Return ``x`` with ``updates[i]`` added to row ``indices[i]``."""
        return _with_empty(x.at[indices].add(updates), updates)

    def scatter_reduce(self, x: Any, indices: Any, updates: Any, how: str) -> Any:
        """Return ``x`` with ``updates[i]`` taken into row ``indices[i]``: the larger or the smaller one."""
        rows = x.at[indices]
        return _with_empty(rows.max(updates) if how == "max" else rows.min(updates), updates)

    def solve_triangular(self, x: Any, y: Any, lower: bool, adjoint: bool) -> Any:
        """Return the solution of ``x @ result = y``, or of ``x^H @ result = y``; one triangle of ``x`` is read."""
        return lax.linalg.triangular_solve(
            x, y, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint and x.dtype.kind == "c"
        )

    def lu_factor(self, x: Any) -> tuple[Any, Any]:
        """Return both triangles of ``P @ x = L @ U`` in one, and the row that each was exchanged with."""
        factors, pivots, _ = lax.linalg.lu(x)
        return factors, pivots

    def complex_of(self, real: Any, imag: Any) -> Any:
        """Return complex numbers with these parts."""
        return lax.complex(real, imag)

    def slice(self, x: Any, begin: Any, shape: Shape) -> Any:
        """Return the block of a shape that begins at ``begin``."""
        return lax.dynamic_slice(x, begin, shape)

    def slice_update(self, x: Any, begin: Any, updates: Any) -> Any:
        """Return ``x`` with the block that begins at ``begin`` replaced."""
        return lax.dynamic_update_slice(x, updates, begin)


def _copy_for_device(values: object) -> Any:
    if isinstance(values, (list, tuple)):
        return list(map(_copy_for_device, values))
    if free_sizes.is_free(values):
        return jnp.asarray(values)
    if (unfit := no_plain_numbers(values)) is not None:
        raise unfit
    return copy_for_device(values) if isinstance(values, np.ndarray) else values


def _holds_arrays(values: object) -> bool:
    if isinstance(values, (list, tuple)):
        return any(map(_holds_arrays, values))
    return isinstance(values, jax.Array) or free_sizes.is_free(values)


def _lowest(dtype: Any) -> Any:
    kind = host_dtype(dtype.name)
    if jnp.issubdtype(dtype, jnp.floating):
        return np.array(-np.inf, kind)[()]
    return kind.type(False) if kind.kind == "b" else np.array(np.iinfo(kind).min, kind)[()]


def _with_empty(found: Any, updates: Any) -> Any:
    """Return what depends on updates of no rows, too: JAX leaves them out, and a loss would not depend on a layer."""
    if 0 not in getattr(updates, "shape", ()) or not jnp.issubdtype(updates.dtype, jnp.inexact):
        return found
    return found + jnp.sum(updates).astype(found.dtype)
