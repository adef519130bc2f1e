"""Gradients of ordinary functions with respect to Variables, or to their first argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_inexact
from graftax.core.errors import ArgumentTypeError, GradientError
from graftax.core.short_traceback import door, door_around
from graftax.core.typedefs import unwrap
from graftax.core.wrapping import function_name
from graftax.transforms.gradients.sources import (
    at_home,
    check_sources,
    check_wrt,
    expand,
    first_argument,
    moved_value,
    refuse_late,
    value_of,
)
from graftax.transforms.lifting.carried import hand_on
from graftax.transforms.lifting.frames import Substitution
from graftax.transforms.lifting.lifted import Lifted, Outcome
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable

P = ParamSpec("P")
R = TypeVar("R")


@door
def value_and_grad(fn: Callable[P, R], wrt: object = None, has_aux: bool = False) -> Callable[P, tuple[R, Any]]:
    """Return a function that gives the value of ``fn`` and its gradient.

    Assignments that ``fn`` makes on its way (moving averages, random streams) take effect as they would in a plain
    call, and what is assigned and read again carries its gradient; ``ops.stop_gradient(value)`` in the assignment cuts
    it. The gradient with respect to a Variable is that with respect to its value when the call starts; one
    on which the value does not depend has a gradient of zero.

    Args:
        fn: Returns a scalar, or ``(scalar, anything)`` with ``has_aux``.
        wrt: A Variable, a Module (its trainable Variables, by path), or a nested list, tuple or dict of these; the
            gradient has the same structure. Defaults to None, for the first argument of ``fn``, any structure of
            floating arrays.
        has_aux: Whether ``fn`` returns something besides; the value is then the pair. Defaults to False.

    Raises:
        ArgumentTypeError: ``fn`` is no function.
        GradientError: there is nothing to differentiate with respect to, it is not floating, or the value is no scalar.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, 2.0])
        >>> value, gradient = value_and_grad(lambda x: gx.ops.sum(w * w * x), wrt=w)(3.0)
        >>> float(value), gradient.tolist()
        (15.0, [6.0, 12.0])
        >>> float(value_and_grad(lambda x: x * x)(3.0)[1])
        6.0
    """
    if not callable(fn):
        raise ArgumentTypeError(
            f"value_and_grad got {type(fn).__name__}",
            "it differentiates a function, which computes the loss when it is called",
            "graftax.value_and_grad(lambda: compute_loss(...), wrt=variables)()",
        )
    return _gradient_function(fn, wrt, has_aux)


@door
def grad(fn: Callable[P, Any], wrt: object = None, has_aux: bool = False) -> Callable[P, Any]:
    """Return a function that gives the gradient of ``fn``; arguments as for `value_and_grad`.

    With ``has_aux`` it returns ``(gradient, aux)``.

    Example:
        >>> float(grad(lambda x: x**3)(2.0))
        12.0
    """
    both = value_and_grad(fn, wrt, has_aux)

    @door_around(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return run


def reached_value_and_grad(
    fn: Callable[[], Any], wrt: Sequence[Variable], check: Callable[[Sequence[Any]], None]
) -> Callable[[], tuple[Any, list[Any]]]:
    """Do as `value_and_grad` with ``has_aux``, with None for each Variable on which the value does not depend.

    Args:
        fn: Returns ``(scalar, anything)``.
        wrt: The Variables.
        check: Gets the gradients; where it raises, nothing that ``fn`` assigned takes effect.
    """
    return _gradient_function(fn, wrt, True, check)


def _gradient_function(
    fn: Callable[..., Any],
    wrt: object,
    has_aux: bool,
    check: Callable[[Sequence[Any]], None] | None = None,
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that gives value and gradient; with ``check``, a gradient that is not there is None."""
    check_wrt(wrt)

    @door_around(fn)
    def run(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        structure = first_argument(fn, args) if wrt is None else expand(wrt)
        leaves_of_it = tree.flatten(structure)
        sources = leaves_of_it if wrt is None else list(dict.fromkeys(leaves_of_it))  # a Variable twice is still one
        storages = [] if wrt is None else [source._storage for source in sources]
        arrays = registry.current().arrays
        look = value_of if wrt is None else moved_value
        values = [arrays.asarray(look(source)) for source in sources]
        check_sources(fn, sources, values, structure)
        transforms = registry.current().gradients
        parent = frames.top
        watched = fn if wrt is None or check is not None else refuse_late(fn, wrt)  # with check, minimize does
        lifted = Lifted(lambda result: transforms.flatten(_split(fn, result, has_aux)))

        def pure(values: list[Any]) -> tuple[Any, Outcome]:
            # with wrt= the arguments are constants, and the Variables are what the frame says
            call_args = args
            if wrt is None:
                hand_on(leaves_of_it, values)
                call_args = (tree.rebuild(args[0], iter(values)), *args[1:])
            frame = Substitution(parent, zip(storages, values, strict=False), transforms.level())
            outcome = lifted(frame, lambda: watched(*call_args, **kwargs))
            return outcome.leaves[0], outcome._replace(leaves=outcome.leaves[1:])

        differentiate = transforms.value_and_grad if check is None else transforms.value_and_reached_grad
        (value, outcome), gradients = differentiate(pure)(values)
        if check is not None:
            check(gradients)
        pair = lifted.commit(outcome._replace(leaves=[value, *outcome.leaves]))
        result = pair if has_aux else value
        if wrt is not None:
            if any(storage.home is not None for storage in storages):
                gradients = at_home(storages, gradients)
            found = dict(zip(sources, gradients, strict=True))
            gradients = [found[leaf] for leaf in leaves_of_it]
        return result, tree.rebuild(structure, iter(gradients))

    return run


def _pair(fn: Callable[..., Any], result: object) -> tuple[Any, Any]:
    if isinstance(result, tuple | list) and len(result) == 2:
        return result[0], result[1]
    shape = getattr(result, "shape", None)
    what = f"a {type(result).__name__}" if shape is None else f"an array of shape {tuple(shape)}"
    if isinstance(result, tuple | list | dict):
        what += f" of {len(result)}"
    raise GradientError(
        f"{function_name(fn)} returned {what} for has_aux=True",
        "it is a pair: the value to differentiate, and anything besides",
        "return loss, (one, other)",
    )


def _split(fn: Callable[..., Any], result: object, has_aux: bool) -> tuple[Any, Any]:
    value, aux = _pair(fn, result) if has_aux else (result, None)
    if value is None:
        raise GradientError(
            f"{function_name(fn)} returned None", "there is no value to differentiate", "return the loss"
        )
    if isinstance(value, tuple | list | dict):
        raise GradientError(
            f"{function_name(fn)} returned a {type(value).__name__} of {len(value)}",
            "only a result that is one number has a gradient",
            "return the loss alone" if has_aux else "has_aux=True for a function that returns loss, anything",
        )
    value = registry.current().arrays.asarray(unwrap(value))
    if tuple(value.shape) != ():
        raise GradientError(
            f"{function_name(fn)} returned shape {tuple(value.shape)}",
            "only a result that is one number has a gradient",
            "return ops.mean(...) or ops.sum(...)",
        )
    kind = str(value.dtype)
    if not is_inexact(kind):
        raise GradientError(
            f"{function_name(fn)} returned dtype {kind}",
            "only floating values have gradients; what is counted or compared has none",
            "a loss that changes smoothly, such as ops.mean(ops.square(error)), in place of an accuracy",
        )
    return value, aux
