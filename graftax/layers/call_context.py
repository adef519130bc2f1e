"""Contexts around layer calls: to see the masks afterwards, and to name what is traced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graftax.backend import registry
from graftax.core.scopes import ScopeStack
from graftax.layers.arguments import check_flag
from graftax.variables.calls import CallContext, contexts


@contextmanager
def call_context(training: bool | None = None) -> Iterator[CallContext]:
    """Open a context around several layer calls, to see their masks afterwards.

    Args:
        training: The flag that layers inherit which are given none. Defaults to None, that of the call around it.

    Example:
        >>> import numpy as np, graftax as gx
        >>> embedding = gx.layers.Embedding(5, 2, mask_zero=True)
        >>> with call_context() as context:
        ...     out = embedding(np.array([[1, 0]]))
        ...     mask = context.mask_of(out)
        >>> mask.tolist()
        [[True, False]]
    """
    outer = contexts.top
    if training is not None:
        training = check_flag("training", training)
    elif outer is not None:
        training = outer.training
    with contexts.entered(CallContext(None, training, outer)):
        yield contexts.top  # type: ignore[misc]


_parts: ScopeStack[str] = ScopeStack("part of a program")


@contextmanager
def name_part(path: str) -> Iterator[None]:
    """Let what is traced in the block belong to the layer of a path, for profilers and `graftax.find_nan`."""
    backend = registry.current()
    if not backend.has("tracing"):
        yield
        return
    outer = _parts.top
    if outer is not None and path.startswith(f"{outer}/"):
        name = path[len(outer) + 1 :]
    else:
        name = path if outer is None else f"/{path}"  # of a layer that another one holds: its path begins anew
    with _parts.entered(path), backend.tracing.named(name):
        yield


def part_of_program() -> str:
    """Return the path of the layer whose call is being traced; ``""`` outside of all."""
    return _parts.top or ""
