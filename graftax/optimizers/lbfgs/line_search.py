"""A line search for the strong Wolfe conditions, whose bracketing and narrowing are one loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

from graftax import ops
from graftax.core.typedefs import Array
from graftax.transforms.flow.while_loop import while_loop


class Point(NamedTuple):
    """Where a step leads: the loss there, and its slope along the direction."""

    step: Array
    value: Array
    slope: Array


class Search(NamedTuple):
    """How far a search has come.

    ``low`` has the lowest loss so far, and one that fell enough; ``gradient`` is that of ``low``. Once ``bracketed``, a
    step as it is sought lies between ``low`` and ``high``; until then ``high`` is where ``low`` was before. ``trial``
    is what to look at next.
    """

    low: Point
    gradient: Array
    high: Point
    bracketed: Array
    trial: Array
    found: Array
    evaluations: Array


def strong_wolfe(
    evaluate: Callable[[Array], tuple[Point, Array]],
    start: Point,
    gradient: Array,
    first: Array,
    c1: float,
    c2: float,
    max_evaluations: int,
    narrowest: Array,
) -> Search:
    """Find a step with ``value <= start.value + c1 * step * start.slope`` and ``|slope| <= c2 * |start.slope|``.

    A point whose loss or slope is not finite counts as one whose loss is too high. If none is ``found``, ``low`` is the
    best that was seen; the start, if no other fell enough.

    Args:
        evaluate: What is at a step, and the gradient there.
        start: What is at 0; its slope is negative.
        gradient: That at 0.
        first: The step to try first.
        c1: What part of the fall that the slope promises has to be there.
        c2: How flat it has to be, compared with the start.
        max_evaluations: After so many points it ends.
        narrowest: A bracket of this width is not narrowed any more.

    Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 3.5 and 3.6: as long as the far end of the
    bracket is at infinity, both ask the same of a point and differ in the next guess alone.
    """

    def is_unfinished(search: Search) -> Array:
        wide = ops.logical_or(~search.bracketed, ops.abs(search.high.step - search.low.step) > narrowest)
        return ops.logical_and(wide, ops.logical_and(~search.found, search.evaluations < max_evaluations))

    def look(search: Search) -> Search:
        low, high, bracketed = search.low, search.high, search.bracketed
        new, its_gradient = evaluate(search.trial)
        enough = ops.logical_and(new.value <= start.value + c1 * new.step * start.slope, new.value < low.value)
        falls = ops.logical_and(_is_finite(new), enough)
        onwards = ops.where(bracketed, high.step - low.step, 1.0)
        turns = new.slope * onwards >= 0  # so the minimum is between the two lowest
        behind = _choose(ops.logical_or(turns, ~bracketed), low, high)
        low, high = _choose(falls, new, low), _choose(falls, behind, new)
        bracketed = ops.logical_or(bracketed, ops.logical_or(turns, ~falls))
        return Search(
            low=low,
            gradient=ops.where(falls, its_gradient, search.gradient),
            high=high,
            bracketed=bracketed,
            trial=_next_step(low, high, bracketed),
            found=ops.logical_and(falls, ops.abs(new.slope) <= -c2 * start.slope),
            evaluations=search.evaluations + 1,
        )

    no, none = ops.zeros((), "bool"), ops.zeros((), "int32")
    return cast(Search, while_loop(is_unfinished, look, Search(start, gradient, start, no, first, no, none)))


def _next_step(low: Point, high: Point, bracketed: Array) -> Array:
    """Return where the cubic through both points is least, but well inside of a bracket; or onwards, not too far.

    No nan is made on the way, since there are programs that look for them.
    """
    finite, width = _is_finite(high), high.step - low.step
    near = low.step + ops.where(bracketed, 0.1 * width, -width)
    far = low.step + ops.where(bracketed, 0.9 * width, -9 * width)
    rise, slope = ops.where(finite, high.value, low.value) - low.value, ops.where(finite, high.slope, low.slope)
    middle = low.slope + slope - 3 * rise / _not_zero(width)
    square = middle * middle - low.slope * slope
    root = ops.sign(width) * ops.sqrt(ops.maximum(square, 0.0))
    bottom = low.slope - slope - 2 * root
    cubic = low.step + width * (low.slope - root - middle) / _not_zero(bottom)
    usable = ops.logical_and(finite, ops.logical_and(square >= 0, ops.abs(bottom) > 0))
    guess = ops.where(usable, cubic, ops.where(finite, 0.5 * (near + far), near))
    return ops.clip(guess, ops.minimum(near, far), ops.maximum(near, far))


def _is_finite(point: Point) -> Array:
    return ops.logical_and(ops.isfinite(point.value), ops.isfinite(point.slope))


def _choose(which: Array, yes: Point, no: Point) -> Point:
    return Point(*(ops.where(which, a, b) for a, b in zip(yes, no, strict=True)))


def _not_zero(x: Array) -> Array:
    return ops.where(ops.abs(x) > 0, x, ops.ones_like(x))
