"""The inverse Hessian as the last steps show it: what L-BFGS remembers, and what it makes of that."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from graftax import ops
from graftax.core.typedefs import Array
from graftax.transforms.flow.while_loop import while_loop

_LEAST_CURVATURE = 1e-8
"""Cosine of a step and the change of the gradient: with less, rounding may have made it."""


class History(NamedTuple):
    """Pairs of a step and the change of the gradient over it, in rows; ``pairs`` counts since all were dropped.

    ``written`` says which rows are of this call, in which other variables than before may have taken part.
    """

    steps: Array
    changes: Array
    pairs: Array
    written: Array

    def direction(self, gradient: Array) -> Array:
        """Compute ``-H g`` by two loops over the pairs, newest first and oldest first."""
        size = self.steps.shape[0]
        curvatures = ops.sum(self.steps * self.changes, axis=1)
        good = curvatures > 0  # not so where variables that are frozen now had a part in it
        inverses = ops.where(good, 1 / ops.where(good, curvatures, 1.0), 0.0)

        def row(age: Array) -> tuple[Array, Array, Array]:
            place = (self.pairs - 1 - age) % size
            return ops.take(self.steps, place, axis=0), ops.take(self.changes, place, axis=0), ops.take(inverses, place)

        def newest_first(carry: Any) -> Any:
            age, q, shares = carry
            step, change, inverse = row(age)
            share = inverse * ops.sum(step * q)
            return age + 1, q - share * change, ops.where(ops.equal(_places(size), age), share, shares)

        def oldest_first(carry: Any) -> Any:
            age, r = carry
            step, change, inverse = row(age)
            return age - 1, r + (ops.take(shares, age) - inverse * ops.sum(change * r)) * step

        zero, kept = ops.zeros((), "int32"), ops.minimum(self.pairs, size)
        start = zero, gradient, ops.zeros_like(inverses)
        _, q, shares = while_loop(lambda carry: carry[0] < kept, newest_first, start)
        _, change, inverse = row(zero)
        scale = inverse * ops.sum(change * change)
        usable = ops.logical_and(kept > 0, scale > 0)
        r = q / ops.where(usable, scale, 1.0)
        _, r = while_loop(lambda carry: carry[0] >= 0, oldest_first, (kept - 1, r))
        return cast(Array, -r)

    def add_pair(self, step: Array, change: Array, succeeded: Array) -> History:
        """Return the history with one more pair if that has curvature; an empty history if the search failed."""
        size = self.steps.shape[0]
        lengths = ops.sqrt(ops.sum(step * step)) * ops.sqrt(ops.sum(change * change))
        kept = ops.logical_and(succeeded, ops.sum(step * change) > _LEAST_CURVATURE * lengths)
        here = ops.logical_and(ops.equal(_places(size), self.pairs % size), kept)
        column = ops.expand_dims(here, 1)
        return History(
            ops.where(column, step, self.steps),
            ops.where(column, change, self.changes),
            ops.where(succeeded, self.pairs + ops.cast(kept, "int32"), 0),
            ops.logical_or(self.written, here),
        )


def _places(size: int) -> Array:
    return ops.arange(size, dtype="int32")
