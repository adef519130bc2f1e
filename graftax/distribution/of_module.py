"""The distribution of a Module."""

from __future__ import annotations

from typing import Any

from graftax.distribution.distribution import Distribution
from graftax.distribution.scope import DistributionScope
from graftax.variables import creation
from graftax.variables.graph.module import Module, walk


def distribution_of(module: Module) -> Distribution | None:
    """Return the distribution of the Variables of a Module; before it has any, that of the enclosing scopes.

    Example:
        >>> import graftax as gx
        >>> d = gx.distribution.DataParallel(gx.distribution.mesh(data=1))
        >>> with d.scope():
        ...     layer = gx.layers.Dense(2)
        >>> distribution_of(layer) is d, distribution_of(gx.layers.Dense(2))
        (True, None)
    """
    for variable in module.variables:
        home: Any = variable._storage.home
        if home is not None and home.fixed and isinstance(home.placement, Distribution):
            return home.placement
    captured = (node._gx_captured for node in walk(module) if isinstance(node, Module))
    return (
        next((found for scopes in captured if (found := active_distribution(scopes)) is not None), None)
        or active_distribution()
    )


def active_distribution(remembered: tuple[creation.CreatorScope, ...] = ()) -> Distribution | None:
    """Return the distribution of the innermost scope, else of the remembered ones; None if there is none."""
    for scope in (*reversed(creation.scopes.items), *reversed(remembered)):
        if isinstance(scope, DistributionScope) and isinstance(scope.distribution, Distribution):
            return scope.distribution
    return None
