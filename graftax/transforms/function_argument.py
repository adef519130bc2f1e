"""The functions that transforms are given: functions, not what they return."""

from __future__ import annotations

from graftax.core.errors import ArgumentTypeError


def check_functions(name: str, instead: str, *functions: object) -> None:
    """Raise unless all of these can be called.

    Args:
        name: What got them, for the message.
        instead: The line to write, for the message.
        *functions: What it got.

    Raises:
        ArgumentTypeError: One is no function.
    """
    for one in functions:
        if not callable(one):
            raise ArgumentTypeError(
                f"{name} got {one!r:.60} of type {type(one).__name__} where it takes a function",
                "it calls the function itself; what a call returns is too late",
                instead,
            )
