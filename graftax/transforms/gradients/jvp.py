"""Derivatives along a direction, in forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError, ShapeError
from graftax.core.short_traceback import door
from graftax.core.user_functions import check_functions, check_takes
from graftax.core.wrapping import function_name
from graftax.transforms.gradients.directions import direction
from graftax.transforms.gradients.sources import check_arrays, check_once, check_sources, moved_value
from graftax.transforms.gradients.vjp import floating_results
from graftax.transforms.lifting.carried import hand_on
from graftax.transforms.lifting.frames import Substitution
from graftax.transforms.lifting.lifted import Lifted, Outcome
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable


@door
def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Compute ``fn(*primals)``, and how it changes as they move along ``tangents``; forward mode.

    A Variable among the primals is passed to ``fn`` as it is, and moves wherever ``fn`` reads it, from the value that
    it has at the call; what is assigned carries its tangent.

    Args:
        fn: Returns any structure of floating arrays; what it assigns to Variables takes effect.
        primals: The arguments: floating arrays, Variables, or structures of these.
        tangents: The direction: arrays of the same shapes, in the same structure.

    Raises:
        ArgumentTypeError: the primals are no list or tuple.
        ArgumentError: the tangents have another structure than the primals, or a Variable is among these twice.
        DTypeError: a tangent is complex, and its primal is not.
        ShapeError: a tangent has another shape than its primal.
        GradientError: a primal or the value is not floating, or a function inside can only be differentiated backwards.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable(2.0)
        >>> value, change = jvp(lambda w, x: w * w * x, (w, 3.0), (1.0, 0.0))
        >>> float(value), float(change)
        (12.0, 12.0)
    """
    check_functions("jvp", "graftax.jvp(fn, (x,), (tangent,))", fn)
    if not isinstance(primals, list | tuple):
        raise ArgumentTypeError(
            f"jvp of {function_name(fn)} got primals of type {type(primals).__name__}",
            "they are the arguments of the function",
            "jvp(fn, (x,), (tangent,))",
        )
    arrays, transforms = registry.current().arrays, registry.current().gradients
    primals, tangents = list(primals), list(tangents)
    check_takes("jvp", "fn", fn, ["primal"] * len(primals), "graftax.jvp(fn, (x, y), (dx, dy)): fn gets the primals")
    check_arrays(
        f"jvp of {function_name(fn)} got the primals",
        primals,
        "graftax.jvp(fn, (x,), (tangent,)), where x is an array, a Variable, or a structure with some in it",
    )
    leaves = tree.flatten(primals)
    check_once(f"jvp of {function_name(fn)}", leaves)
    values = [arrays.asarray(moved_value(leaf)) for leaf in leaves]
    check_sources(fn, leaves, values, primals)
    directions: list[Any] = []

    def add_direction(leaf: object, tangent: Any) -> None:
        value = values[len(directions)]
        along = direction(f"a tangent of jvp of {function_name(fn)}", tangent, value.dtype)
        if tuple(along.shape) != tuple(value.shape):
            raise ShapeError(
                f"jvp of {function_name(fn)} got a tangent of shape {tuple(along.shape)} for a primal of shape "
                f"{tuple(value.shape)}",
                "each primal has one tangent of its shape",
                f"ops.broadcast_to(tangent, {tuple(value.shape)}), if it fits",
            )
        directions.append(along)

    tree.map_structure(add_direction, primals, tangents)
    parent = frames.top
    lifted = Lifted(partial(floating_results, fn))

    def pure(*values: Any) -> Outcome:
        hand_on(leaves, values)
        moved = [(leaf._storage, new) for leaf, new in zip(leaves, values, strict=True) if isinstance(leaf, Variable)]
        filled = [leaf if isinstance(leaf, Variable) else new for leaf, new in zip(leaves, values, strict=True)]
        frame = Substitution(parent, moved, transforms.level())
        return lifted(frame, lambda: fn(*tree.rebuild(primals, iter(filled))))

    outcome, change = transforms.jvp(pure, values, directions)
    return lifted.commit(outcome), transforms.unflatten(lifted.structure, change.leaves)
