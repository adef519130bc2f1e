"""remat: less memory for a gradient, at the price of computing what it needs again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar, cast

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door, door_around
from graftax.core.user_functions import check_functions
from graftax.transforms.lifting.carried import hand_on
from graftax.transforms.lifting.frames import Around, PartFrame
from graftax.transforms.lifting.lifted import Lifted, Outcome

P = ParamSpec("P")
R = TypeVar("R")


@door
def remat(fn: Callable[P, R], policy: Literal["dots", "dots_without_batch"] | None = None) -> Callable[P, R]:
    """Return a function that computes the same, and computes it again for its gradient, to keep less in memory.

    Args:
        fn: Returns any structure of arrays; it may read and write Variables. Its values are traced.
        policy: What is kept all the same: ``"dots"`` for results of matrix products, ``"dots_without_batch"`` for
            those without batch axes (of dense layers, not of attention). Defaults to None, for nothing.

    Raises:
        ArgumentError: there is no such policy.

    Example:
        >>> import graftax as gx
        >>> float(gx.grad(remat(gx.ops.sin))(0.0))
        1.0
    """
    check_functions("remat", "graftax.remat(fn)", fn)
    if policy not in (None, "dots", "dots_without_batch"):
        raise ArgumentError(f"remat got policy={policy!r}", "there is no such policy", '"dots" or "dots_without_batch"')

    @door_around(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        transforms = registry.current().control_flow
        leaves, structure = transforms.flatten((args, kwargs))
        is_array = registry.current().arrays.is_array
        around, lifted = Around(), Lifted()

        def part(given: list[Any]) -> Outcome:
            values = iter(given)
            filled = [next(values) if is_array(leaf) else leaf for leaf in leaves]
            hand_on(leaves, filled)
            call_args, call_kwargs = transforms.unflatten(structure, filled)
            return lifted(PartFrame(around), lambda: cast(Callable[..., R], fn)(*call_args, **call_kwargs))

        return lifted.commit(transforms.remat(part, policy)([leaf for leaf in leaves if is_array(leaf)]))

    return run
