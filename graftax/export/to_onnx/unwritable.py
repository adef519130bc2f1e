"""Unwritable: what a rule raises; whoever writes the equation tells the user, with its layer and line."""

from __future__ import annotations


class Unwritable(Exception):
    """An equation that no node says; with why, and what to do about it.

    Args:
        why: Why it cannot be written.
        instead: What the user can do.
    """

    def __init__(self, why: str, instead: str) -> None:
        super().__init__(why)
        self.why, self.instead = why, instead
