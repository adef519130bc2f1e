"""Who is told that Python chose a branch by a value, where a compiled step depends on all of the branches."""

from __future__ import annotations

from graftax.core.scopes import ScopeStack


class EagerChoices:
    """Whether there was such a choice while this was entered in `watching`."""

    __slots__ = ("made",)

    def __init__(self) -> None:
        self.made = False


watching: ScopeStack[EagerChoices] = ScopeStack("watch of eager choices")


def note_choice() -> None:
    """Tell all that watch: what this step depends on says nothing of the next."""
    for choices in watching.items:
        choices.made = True
