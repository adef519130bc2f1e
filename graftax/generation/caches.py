"""What is known of caches: their room, whether they saw a mask, and their rows, which beams exchange."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graftax import ops
from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ArgumentError, ShapeError, StateError
from graftax.core.typedefs import Array
from graftax.layers.attention_cache import AttentionCache


def attention_caches(cache: Any) -> Iterator[AttentionCache]:
    """Yield each AttentionCache of a structure."""
    if isinstance(cache, AttentionCache):
        yield cache
    elif isinstance(cache, dict | list | tuple):
        for part in cache.values() if isinstance(cache, dict) else cache:
            yield from attention_caches(part)


def only_attention_caches(cache: object) -> bool:
    """Tell whether a structure consists of AttentionCaches, whose room and masks are known."""
    parts = tree.flatten(cache)
    return len(parts) == sum(len(tree.flatten(one)) for one in attention_caches(cache)) > 0


def has_own_arrays(cache: object) -> bool:
    """Tell whether there are arrays outside of AttentionCaches, whose room nobody knows."""
    if isinstance(cache, dict | list | tuple) and not isinstance(cache, AttentionCache):
        return any(map(has_own_arrays, cache.values() if isinstance(cache, dict) else cache))
    return not isinstance(cache, AttentionCache) and len(getattr(cache, "shape", ())) > 0


def check_room(cache: Any, steps: int, new: int) -> None:
    """Raise if a cache has no room for a prompt of ``steps`` and what comes behind it.

    Raises:
        ArgumentError: it has none; compiled code would write over the last positions.
    """
    arrays = registry.current().arrays
    needed = steps + new - 1  # nothing follows the last token
    for found in attention_caches(cache):
        room, position = found.key.shape[1], ops.asarray(found.position)
        filled = int(arrays.to_numpy(position)) if arrays.is_concrete(position) else 0
        if filled + needed > room:
            raise ArgumentError(
                f"a cache of {room} positions, {filled} of them filled, a prompt of {steps} and max_new_tokens={new}",
                f"that takes {needed} more",
                f"make_cache(batch_size, length={filled + needed})",
            )


def mask_was_used(before: Any, after: Any, mask: Array) -> Array:
    """Return whether every AttentionCache hides what the mask of the prompt hides."""
    seen = ops.asarray(True)
    for old, new in zip(attention_caches(before), attention_caches(after), strict=True):
        if new.visible is None:
            seen = ops.logical_and(seen, ops.all(mask))
            continue
        added = ops.slice(new.visible, ops.stack([0, old.position]), tuple(mask.shape))
        seen = ops.logical_and(seen, ops.logical_not(ops.any(ops.logical_and(added, ops.logical_not(mask)))))
    return seen


def lost_mask_error() -> StateError:
    """Return the error for a step in which the mask of the prompt did not reach the attention."""
    return StateError(
        "prompts of different lengths, and an attention that looked at their padding",
        "the mask of the tokens got lost within the step: operations between layers, such as +, hand none on",
        "layers.Add()([a, b]) in place of a + b, or mask= and query_mask= of the next layer; docs/masks.md",
    )


def repeat_rows(cache: Any, rows: int, times: int) -> Any:
    """Return a cache with each row as often as there are beams."""
    return tree.map_structure(lambda leaf: ops.repeat(leaf, times, axis=0) if _has_rows(leaf, rows) else leaf, cache)


def select_rows(cache: Any, rows: Array) -> Any:
    """Return a cache with these of its rows."""
    count = rows.shape[0]
    return tree.map_structure(lambda leaf: ops.take(leaf, rows, axis=0) if _has_rows(leaf, count) else leaf, cache)


def _has_rows(leaf: Any, rows: int) -> bool:
    shape = tuple(getattr(leaf, "shape", ()))
    if shape and shape[0] != rows:
        raise ShapeError(
            f"a cache with an array of shape {shape}, for {rows} sequences",
            "beams exchange their rows, so that the first axis is that of the batch; a number alone serves all",
            f"an array of shape ({rows}, ...), put back with ops.moveaxis within the step",
        )
    return bool(shape)
