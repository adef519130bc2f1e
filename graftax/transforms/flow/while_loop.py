"""while_loop, whose parts may read and write Variables: Python's ``while`` eagerly, one program when compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from graftax.backend import registry
from graftax.core.errors import ArgumentError, GradientError, StateError
from graftax.core.short_traceback import door
from graftax.core.static_numbers import check_known
from graftax.core.user_functions import check_functions, check_takes
from graftax.transforms.flow.attribute_changes import require_same_program, traced_until_stable
from graftax.transforms.flow.body import trace_until_stable
from graftax.transforms.flow.branches import note_choice, predicate
from graftax.transforms.lifting.agreement import as_dtypes
from graftax.transforms.lifting.carried import Carry
from graftax.transforms.lifting.outline import Outline
from graftax.transforms.lifting.parts import Part, Threaded


@door
def while_loop(
    cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: object, maximum_iterations: int | None = None
) -> Any:
    """Run ``carry = body_fn(carry)``, from ``init``, as long as ``cond_fn(carry)`` holds.

    Eagerly this is Python's ``while``. Compiled it is differentiable forwards only, unless ``maximum_iterations`` is
    given: then that many steps are laid out, which can be differentiated, and those after the end are skipped.

    Args:
        cond_fn: Returns one truth value; it may read Variables.
        body_fn: Returns the next carry; it may read and write Variables. Compiled, the carry keeps its structure,
            shapes and dtypes.
        init: The first carry: any structure of arrays.
        maximum_iterations: After so many turns the loop ends, whatever the condition says. Defaults to None, for no
            bound.

    Returns:
        The last carry.

    Raises:
        ShapeError: the condition is no scalar, or a shape of the carry changes.
        DTypeError: a dtype of the carry changes.
        ArgumentError: the structure of the carry changes, or ``maximum_iterations`` is negative.
        StateError: ``cond_fn`` writes a Variable; or, compiled, a function changes a plain attribute of a Module on
            which later turns depend.
        GradientError: compiled and without ``maximum_iterations``, when a gradient is taken backwards.

    Example:
        >>> while_loop(lambda n: n < 100, lambda n: n * 3, 1)
        243
    """
    check_functions("while_loop", "graftax.while_loop(lambda n: n < 10, lambda n: n + 1, 0)", cond_fn, body_fn)
    check_takes("while_loop", "cond_fn", cond_fn, ["carry"], _LINE)
    check_takes("while_loop", "body_fn", body_fn, ["carry"], _LINE)
    if maximum_iterations is not None and (type(maximum_iterations) is not int or maximum_iterations < 0):
        check_known("while_loop: maximum_iterations", maximum_iterations)
        raise ArgumentError(
            f"while_loop got maximum_iterations={maximum_iterations!r}", "it is a number of steps, or None", "100"
        )
    backend = registry.current()
    if backend.has("tracing") and backend.tracing.staged_within(None):
        return _compile_while(cond_fn, body_fn, init, maximum_iterations)
    carry, left = init, maximum_iterations
    while left is None or left > 0:
        flag = predicate("while_loop", cond_fn(carry))
        if not backend.arrays.is_concrete(flag):  # differs from row to row, from here on
            return _compile_while(cond_fn, body_fn, carry, left)
        if not bool(flag):
            if left == maximum_iterations and carry is init:  # the body, which a compiled loop depends on, never ran
                note_choice()
            break
        carry = body_fn(carry)
        left = None if left is None else left - 1
    return carry


_LINE = "graftax.while_loop(lambda carry: carry[0] < 10, lambda carry: (carry[0] + 1, carry[1]), (0, x))"


def _compile_while(
    cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: object, maximum_iterations: int | None
) -> Any:
    transforms = registry.current().control_flow
    own = Carry("while_loop", init)

    def condition(leaves: list[Any]) -> tuple[Any]:
        return (predicate("while_loop", cond_fn(own.unpack(leaves))),)

    def body(leaves: list[Any]) -> tuple[Any]:
        return (own.pack(body_fn(own.unpack(leaves))),)

    # the condition comes first, as in the first turn of a plain loop: what the body changes, that turn does not see
    anew = partial(Part, "while_loop", condition, own.leaves, (cond_fn,))
    looking = traced_until_stable("while_loop", "condition", anew(), anew)
    part, leaves, changed = trace_until_stable("while_loop", body_fn, body, Outline(own.structure, own.leaves))
    if changed:
        require_same_program("while_loop", looking, anew(), changed)
    if any(map(registry.current().arrays.is_weak, own.leaves)):  # the body may have made other dtypes of these
        looking = Part("while_loop", condition, leaves)
    if looking.written:
        raise StateError(
            f"the condition of a while_loop assigns {looking.written[0].path!r}",
            "how often a condition is computed is not defined (it may be a random stream that it draws from)",
            "assign and draw in body_fn, and pass what the condition needs in the carry",
        )
    threaded = Threaded(part)
    check, step = threaded.bind(looking), threaded.bind(part)
    dtypes = [str(leaf.dtype) for leaf in leaves]

    def should_continue(carry: Any) -> Any:
        return check.run(check.closed, *carry)[0][0]

    def proceed(carry: Any) -> Any:
        new, after = step.run(step.closed, *carry)
        return after, as_dtypes(new, dtypes)

    start = threaded.state(), leaves
    if maximum_iterations is None:
        after, leaves = transforms.while_loop(should_continue, proceed, start, _backwards)
    else:
        # a scan has room for what the way back needs of each step
        def step_if(carry: object, _: object) -> tuple[Any, None]:
            return transforms.cond(should_continue(carry), proceed, lambda same: same, carry), None

        (after, leaves), _ = transforms.scan(step_if, start, None, maximum_iterations, False)
    threaded.commit(after)
    return own.unpack(leaves)


def _backwards() -> GradientError:
    return GradientError(
        "a gradient of a compiled while_loop without a bound",
        "the gradient needs the inputs of every step, and memory for them is reserved before the program runs",
        "while_loop(cond_fn, body_fn, init, maximum_iterations=100); graftax.scan for a number of steps that is known, "
        "graftax.jvp for a derivative forwards",
    )
