"""Variables that appear while a function runs whose gradient was asked for all Variables of a Module: they are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.core import tree
from graftax.core.errors import GradientError
from graftax.core.wrapping import function_name, wraps
from graftax.variables.graph.module import Module
from graftax.variables.graph.structure import structure
from graftax.variables.variable import Variable


def modules_in(given: object) -> list[Module]:
    """Return the Modules with respect to which a gradient is taken. A list of Variables is what somebody chose."""
    return [one for one in tree.flatten(given) if isinstance(one, Module)]


def refuse_late(fn: Callable[..., Any], modules: list[Module]) -> Callable[..., Any]:
    """Return a function that raises where it builds a part of Modules whose Variables are listed now.

    Args:
        fn: The function.
        modules: The Modules; for none, the function is returned as it is.

    Raises:
        GradientError: when called: it has made trainable Variables of such a Module, which would have no gradient.
    """
    if not modules:
        return fn
    made = structure.made
    listed = [(module, frozenset(map(id, module.trainable_variables))) for module in modules]

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        found = fn(*args, **kwargs)
        if structure.made != made:
            for module, known in listed:
                _require_known(fn, module, [one for one in module.trainable_variables if id(one) not in known])
        return found

    return run


def _require_known(fn: Callable[..., Any], module: Module, late: list[Variable]) -> None:
    if late:
        names = ", ".join(repr(one.path) for one in late[:3]) + (f" and {len(late) - 3} more" if len(late) > 3 else "")
        raise GradientError(
            f"{function_name(fn)} made {names}, while a gradient with respect to {type(module).__name__} "
            f"{module.name!r} was taken",
            "its Variables were listed before, when that part was not built: this step would train the others alone",
            "model.build_for(x) before, or one call of that part on an example; the next step would work, too",
        )
