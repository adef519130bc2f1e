"""A ``compile`` of one's own: what it was given is kept, so that a file can give it to another model of the class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from graftax.core.errors import ArgumentError
from graftax.core.wrapping import wraps
from graftax.layers.building import Buildable, is_built
from graftax.variables.graph.made_with import MadeWith

COMPILED_WITH = "_gx_compiled_with"
"""The attribute for what was given, and for whether the model was built by then."""


def record_arguments(compile: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``compile`` that keeps its arguments with the model; of several, in base classes, the outermost."""

    @wraps(compile)
    def run(self: Buildable, *args: Any, **kwargs: Any) -> Any:
        was_built = is_built(self)
        found = compile(self, *args, **kwargs)
        object.__setattr__(self, COMPILED_WITH, (MadeWith(args, kwargs), was_built))
        return found

    return run


def own_arguments(model: Any, names: Iterable[str]) -> tuple[MadeWith, bool] | None:
    """Return what a ``compile`` of the user's was given, and whether the model was built by then.

    It is None if there is no such ``compile``, or it takes what that of `Model` takes.

    Args:
        model: The model.
        names: The arguments of the ``compile`` of `Model`.

    Raises:
        ArgumentError: the arguments are not known.
    """
    given: tuple[MadeWith, bool] | None = getattr(model, COMPILED_WITH, None)
    if given is None or given[0].known:
        return given
    try:
        inspect.signature(model.compile).bind(**dict.fromkeys(names))
    except TypeError:
        kind = type(model).__name__
        raise ArgumentError(
            f"save: {kind}.compile{inspect.signature(type(model).compile)}, which {kind} defines itself",
            "what it was given is not known of this model: it is a copy, which could not take that along",
            "model.compile(...) once more before model.save(path); or model.save_weights(path)",
        ) from None
    return None
