"""The test of the selector that `adapters.named` gives, which describes a saved model by its names."""

from __future__ import annotations

from graftax.reparam.adapted import adapter_of


class OfAdapters:
    """Tells whether a Variable belongs to an adapter of one of these names.

    Args:
        names: The names of the adapters.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def __call__(self, variable: object) -> bool:
        """Tell whether a Variable does."""
        return adapter_of(variable) in self.names
