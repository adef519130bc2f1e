"""HasSettings: the base of expressions and adapters, whose settings say with their parts what a weight is.

What the forward pass of an expression changes, such as a counter of calls or a cache, is no setting: two programs that
compute the same weight differ in it. So attributes are compared before and after the first time that an expression
computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

from graftax.reparam.settings import is_same, settings_of
from graftax.variables.graph.module import Module

Result = TypeVar("Result")
_KEPT = "_gx_changed_by_forward"


class HasSettings(Module):
    """Something with settings that a checkpoint has, and a restore compares."""

    untracked: ClassVar[frozenset[str]] = frozenset({_KEPT})
    _gx_changed_by_forward: frozenset[str] | None = None  # None: it has not computed yet

    @property
    def _gx_settings(self) -> dict[str, Any]:
        """Return the settings, without what the forward pass changes."""
        changed = self._gx_changed_by_forward or ()
        return {name: value for name, value in settings_of(self).items() if name not in changed}

    def _gx_parts_with_settings(self) -> Iterable[HasSettings]:
        """Return what it calls in its forward pass and has settings itself."""
        return ()

    def _gx_facts(self) -> dict[str, Any]:
        """Return the settings, which say with the parts what the weight is."""
        found = self._gx_settings
        return {"settings": found} if found else {}


def compute(forward: Callable[[], Result], expression: HasSettings) -> Result:
    """Call the forward pass of an expression; the first time, note which attributes of expressions it changes.

    Args:
        forward: The forward pass.
        expression: Whose it is.
    """
    return forward() if expression._gx_changed_by_forward is not None else _compute_first(forward, expression)


def _compute_first(forward: Callable[[], Result], expression: HasSettings) -> Result:
    parts = [expression, *expression._gx_parts_with_settings()]
    before = [settings_of(one) for one in parts]
    try:
        return forward()
    finally:
        for one, old in zip(parts, before, strict=True):
            now = settings_of(one)
            changed = [name for name, value in now.items() if name not in old or not is_same(value, old[name])]
            known = one._gx_changed_by_forward or frozenset()
            object.__setattr__(one, _KEPT, known.union(changed))
