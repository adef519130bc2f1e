"""Structure: a count of changes on which a trace may depend, besides values of Variables."""

from __future__ import annotations


class Structure:
    """A count of structural changes; a compiled function compares it to know whether to look closer."""

    def __init__(self) -> None:
        self.version = 0
        self.made = 0
        """How many Variables have been made: who listed some before a call sees whether it has to look again."""

    def bump(self) -> None:
        """Note that something has changed that a trace may depend on."""
        self.version += 1


structure = Structure()
