"""Functions that tell their gradients themselves, with Variables inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from graftax.backend import registry
from graftax.core import tree
from graftax.core.short_traceback import door, door_around
from graftax.core.typedefs import VariableLike, unwrap
from graftax.core.user_functions import check_functions
from graftax.transforms.flow.remat import remat
from graftax.transforms.gradients import custom_call
from graftax.transforms.gradients.custom_rule import CustomRule
from graftax.variables import masks

P = ParamSpec("P")
R = TypeVar("R")


@door
def custom_gradient(fn: Callable[..., tuple[Any, Callable[..., Any]]]) -> Callable[..., Any]:
    """Give a function a gradient of its own: it returns its value, and a function from output to input gradients.

    ``grad_fn(dy, ...)`` takes a gradient for each array of the value (zeros for one that does not matter), and returns
    one for each positional argument, None for zero. If the function reads trainable Variables, which are found by
    themselves, it is ``grad_fn(dy, ..., variables=None)``, gets a list of these and returns ``(gradients of arguments,
    [gradients of variables])``. Higher derivatives are those of ``grad_fn``.

    Values with a gradient must come in as positional arguments or as trainable Variables: keyword arguments count as
    constants, and a gradient that would have to flow to what the function closes over is refused. A Variable as an
    argument is passed as its value, integers and other objects as they are; those have no gradient, though one (or
    None) may be returned for an integer. What the function assigns to Variables takes effect once, and carries the
    gradient that follows from how it was computed, not one that is told. It cannot be differentiated forwards.

    The Python of ``fn`` runs once a call, and where something differentiates or compiles, that of its ``grad_fn`` right
    after it: what either looks at (a variable of the loop around, a list) counts as it is then, whatever comes later.
    Python that asks for values (``if x > 0``) runs where there are some, once more after the attempt without; its
    ``grad_fn`` runs when the gradient is taken, then.

    Args:
        fn: Takes any arguments and structures of these; returns ``(value, grad_fn)``.

    Raises:
        ArgumentTypeError: no ``grad_fn`` was returned, or it takes no ``variables`` though there are some.
        GradientError: it returns another number of gradients than there are arguments or Variables; or something is
            differentiated that it closes over, or a Variable that it reads and that is not trainable.
        ShapeError: a gradient has another shape than what it is the gradient of.

    Example:
        >>> import graftax as gx
        >>> @custom_gradient
        ... def log1pexp(x):
        ...     e = gx.ops.exp(x)
        ...     return gx.ops.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))
        >>> float(gx.grad(log1pexp)(100.0))  # what JAX derives is nan
        1.0
    """
    check_functions("custom_gradient", "@graftax.custom_gradient above a function", fn)

    @door_around(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        return custom_call.run(CustomRule(fn, args, kwargs))

    return run


@door
def recompute_grad(fn: Callable[P, R]) -> Callable[P, R]:
    """Return a function that computes the same, and computes it again for its gradient, to keep less in memory.

    `graftax.remat` under the name that TensorFlow has for it.

    Example:
        >>> import graftax as gx
        >>> round(float(gx.grad(recompute_grad(gx.ops.sin))(1.0)), 4)
        0.5403
    """
    check_functions("recompute_grad", "graftax.recompute_grad(fn)", fn)
    return remat(fn)


@door
def grad_pass_through(fn: Callable[P, R]) -> Callable[P, R]:
    """Return a function with the same value, whose gradient is that of the identity (the straight-through estimator).

    Variables that it reads get no gradient. The value has the shape of the argument; of several arguments, there are as
    many values.

    Source: Bengio, Léonard, Courville (2013), arXiv 1308.3432.

    Example:
        >>> import graftax as gx
        >>> value, gradient = gx.value_and_grad(lambda x: grad_pass_through(gx.ops.round)(1.3 * x))(2.0)
        >>> float(value), round(float(gradient), 4)
        (3.0, 1.3)
    """
    check_functions("grad_pass_through", "graftax.grad_pass_through(ops.round)(x)", fn)

    @door_around(fn)
    def run(*args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
        def pull(*dys: Any, variables: list[Any] | None = None) -> Any:
            return (list(dys), [None] * len(variables)) if variables else list(dys)

        return cast(Callable[..., Any], fn)(*args, **kwargs), pull

    return custom_gradient(run)


@door
def stop_gradient(x: object) -> Any:
    """Return the same values, constant to differentiation.

    Args:
        x: An array, a Variable (its value comes back), or any structure of these; anything else in it stays as it is.

    Example:
        >>> import graftax as gx
        >>> float(gx.grad(lambda x: x * stop_gradient({"x": x})["x"])(3.0))
        3.0
    """
    arrays = registry.current().arrays

    def stop(leaf: Any) -> Any:
        if isinstance(leaf, VariableLike | np.ndarray) or arrays.is_array(leaf):
            stopped = arrays.stop_gradient(arrays.asarray(unwrap(leaf)))
            masks.carry_over(leaf, stopped)
            return stopped
        return leaf

    return tree.map_structure(stop, x)
