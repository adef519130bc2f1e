"""The error where the weights or states of a layer need a size that its graph does not know: the input to write."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import ArgumentError
from graftax.core.input_lines import write_input
from graftax.ops.symbolic import Symbolic, leaves, origins_behind

_BATCH, _SIZE = 4, 8
"""Numbers that stand in the message for those of the user."""


def needs_batch_size(title: str, given: object) -> ArgumentError:
    """Return the error for a layer with ``stateful=True``.

    Args:
        title: The layer, for messages.
        given: The arguments of its call.
    """
    return ArgumentError(
        f"{title} got {_text(given)}",
        "with stateful=True it keeps a state for each sequence, and the number of sequences in a batch is None here",
        f"{_lines(given, knows_batch=True)}, with the size of your batches",
    )


def needs_size(title: str, given: object) -> ArgumentError:
    """Return the error for a layer whose weights need a size that is None.

    Args:
        title: The layer, for messages.
        given: The arguments of its call.
    """
    only_batch = all(None not in layer.shape for layer in _inputs_of(given))
    return ArgumentError(
        f"{title} got {_text(given)}",
        "its weights need the size that is None here, and which is not known before a call",
        f"{_lines(given, only_batch)}, with your size in place of {_BATCH if only_batch else _SIZE}",
    )


def _text(given: object) -> str:
    return ", ".join(repr(leaf.spec) for leaf in leaves(given) if isinstance(leaf, Symbolic))


def _inputs_of(given: object) -> list[Any]:
    """Return the input layers that the arguments of a call are computed from, in their order."""
    return [origin.callee for origin in origins_behind(given) if origin.is_input]


def _lines(given: object, knows_batch: bool) -> str:
    """Return what to write for the inputs: with the size of a batch, or else with all sizes of a sample."""
    found = []
    for layer in _inputs_of(given):
        shape = layer.shape if knows_batch else tuple(_SIZE if size is None else size for size in layer.shape)
        dtype = layer.input_dtype if layer.input_dtype != layer.compute_dtype else None
        batch_size = _BATCH if knows_batch and layer.batch_size is None else layer.batch_size
        found.append(
            write_input({"shape": shape, "dtype": dtype, "batch_size": batch_size, "name": layer.declared.name})
        )
    return "; ".join(found)
