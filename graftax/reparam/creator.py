"""CheckedCreator: the base of creators whose settings are checked when they are made and whenever one is assigned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, TypeAlias

from graftax.core.argument_kinds import checked_flag
from graftax.core.errors import ArgumentError
from graftax.core.hyperparameters import check_integer, check_number
from graftax.variables.graph.structure import Adjustable

Check: TypeAlias = "Callable[[str, Any], Any]"
"""Returns what is kept of a setting, given its name and value, or raises."""


class CheckedCreator(Adjustable):
    """A creator with settings: weights that it makes after one is assigned have the new one, those before keep theirs.

    Subclasses list in ``checks`` what each setting may be.
    """

    checks: ClassVar[Mapping[str, Check]] = {}

    def __setattr__(self, name: str, value: object) -> None:
        check = self.checks.get(name)
        super().__setattr__(name, value if check is None else check(name, value))


def count(reason: str, example: int, least: int = 1, most: float = float("inf")) -> Check:
    """Return a check for integers from a least to a largest one."""
    return partial(_count, reason, example, least, most)


def check_positive(reason: str, example: float) -> Check:
    """Return a check for finite numbers above 0."""
    return lambda name, value: check_number(name, value, lambda number: number > 0, reason, example)


def not_negative(reason: str, example: float) -> Check:
    """Return a check for finite numbers from 0 up."""
    return lambda name, value: check_number(name, value, lambda number: number >= 0, reason, example)


def share(reason: str, example: float) -> Check:
    """Return a check for numbers from 0 to 1."""
    return lambda name, value: check_number(name, value, lambda number: 0 <= number <= 1, reason, example)


def check_choice(choices: tuple[str, ...], reason: str) -> Check:
    """Return a check for some words."""
    return partial(_check_choice, choices, reason)


flag: Check = checked_flag
"""Check for True and False."""


def _count(reason: str, example: int, least: int, most: float, name: str, value: object) -> int:
    return check_integer(name, value, reason, example, least, most)


def _check_choice(choices: tuple[str, ...], reason: str, name: str, value: object) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"{name}={value!r:.60}", reason, f"one of {', '.join(choices)}")
    return value
