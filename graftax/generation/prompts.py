"""Prompts of different lengths, as one array: padded on the left, with a mask and the places of the tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from graftax.core.typedefs import Array, unwrap
from graftax.layers.masking import as_bool
from graftax.variables import masks

_LEAST, _LARGEST = -(2**31), 2**31 - 1
_INSTEAD = "[[4, 2, 7], [1, 5]], or an array of integers of shape (batch, steps)"


class Prompt(NamedTuple):
    """Prompts that end at the same place, so that what is written to all of them stands at one place, too."""

    tokens: Array
    """``(batch, steps)``."""
    mask: Array | None
    """``(batch, steps)``: False for the padding in front; None where there is none."""

    @property
    def lengths(self) -> Array:
        """Return the number of tokens in each row."""
        batch, steps = self.tokens.shape
        return ops.full((batch,), steps, "int32") if self.mask is None else ops.sum(ops.cast(self.mask, "int32"), 1)

    @property
    def positions(self) -> Array:
        """Return the place of each token in its own row, 0 for padding."""
        steps = self.tokens.shape[1]
        return ops.maximum(ops.arange(steps)[None, :] - (steps - self.lengths)[:, None], 0)


def as_arrays(prompt: Any, mask: Any, pad_token: int) -> tuple[Array, Array | None]:
    """Return the tokens as one array, and which of them count: None for all.

    Raises:
        ArgumentTypeError: the prompt is neither an array nor a list of lists.
        ShapeError: it has other than two axes, no steps, or a mask of another shape.
        DTypeError: tokens are no integers, or a mask holds neither truth values nor integers.
        ArgumentError: a prompt is empty, or has a token that int32 cannot hold, or a mask holds other numbers than 0
            and 1.
    """
    rows = _rows(prompt)
    if rows is not None:
        if mask is not None:
            raise ArgumentError(
                "a list of prompts and prompt_mask=", "their lengths say which tokens count", "the list alone"
            )
        longest = max(map(len, rows))
        _check_sizes(np.asarray([token for row in rows for token in row], object))
        padded = np.full((len(rows), longest), pad_token, "int32")
        counts = np.zeros(padded.shape, bool)
        for i, row in enumerate(rows):
            padded[i, longest - len(row) :] = row
            counts[i, longest - len(row) :] = True
        return ops.asarray(padded), None if counts.all() else ops.asarray(counts)
    mask = masks.mask_or_carried(mask, prompt)
    array: Any = ops.asarray(unwrap(prompt))
    if array.ndim != 2 or not array.size:
        raise ShapeError(f"a prompt of shape {tuple(array.shape)}", "it is (batch, steps), with at least one", _INSTEAD)
    if array.dtype.kind not in "iu":
        raise DTypeError(f"a prompt of dtype {array.dtype.name}", "tokens are integers", _INSTEAD)
    arrays = registry.current().arrays
    if array.dtype.itemsize >= 4 and array.dtype.name != "int32":
        if arrays.is_concrete(array):
            _check_sizes(arrays.to_numpy(array))
        array = ops.clip(array, 0 if array.dtype.kind == "u" else _LEAST, _LARGEST)  # none wraps around
    array = ops.cast(array, "int32")
    if mask is None:
        return array, None
    shown: Any = as_bool(mask, "prompt_mask")
    if tuple(shown.shape) != tuple(array.shape):
        raise ShapeError(
            f"prompt_mask of shape {tuple(shown.shape)} for a prompt of shape {tuple(array.shape)}",
            "it says of each token whether it counts",
            f"prompt_mask of shape {tuple(array.shape)}",
        )
    if arrays.is_concrete(shown):
        host = arrays.to_numpy(shown)
        if not host.any(axis=1).all():
            raise ArgumentError(
                f"prompt_mask that hides all of row {int(host.any(axis=1).argmin())}",
                "what comes next follows from what is there",
                "at least one token in each row, such as that of the beginning",
            )
        if host.all():
            return array, None
    return array, shown


def _check_sizes(tokens: np.ndarray[Any, Any]) -> None:
    """Raise if a token is too large for the integers that tokens are."""
    beyond = tokens[(tokens > _LARGEST) | (tokens < _LEAST)]
    if beyond.size:
        raise ArgumentError(
            f"a prompt with the token {int(beyond[0])}",
            f"tokens are numbers of a vocabulary, of the dtype int32, which ends at {_LARGEST}",
            _INSTEAD,
        )


def on_the_right(tokens: Array, mask: Array | None, pad_token: int) -> Prompt:
    """Return the prompts with all that counts moved to the right, in order, wherever it stood."""
    if mask is None:
        return Prompt(tokens, None)
    order = ops.argsort(ops.cast(mask, "int32"), axis=1)  # what is equal keeps its order
    moved = ops.take_along_axis(mask, order, axis=1)
    return Prompt(ops.where(moved, ops.take_along_axis(tokens, order, axis=1), pad_token), moved)


def _rows(prompt: Any) -> list[list[int]] | None:
    """Return a list of lists of integers as one; None for an array."""
    if hasattr(prompt, "shape"):
        return None
    if not isinstance(prompt, list | tuple) or not prompt:
        raise ArgumentTypeError(f"{prompt!r:.60} as a prompt", "it holds tokens", _INSTEAD)
    rows = []
    for i, row in enumerate(prompt):
        listed = row.tolist() if hasattr(row, "tolist") else row
        if not isinstance(listed, list | tuple) or not all(type(token) is int for token in listed):
            raise ArgumentTypeError(f"a prompt whose row {i} is {row!r:.40}", "a row is a list of integers", _INSTEAD)
        if not listed:
            raise ArgumentError(
                f"a prompt whose row {i} is empty",
                "what comes next follows from what is there",
                "at least one token in each row, such as that of the beginning",
            )
        rows.append(list(listed))
    return rows
