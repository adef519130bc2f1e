"""The argument ``chunk_size`` of what maps over rows."""

from __future__ import annotations

from graftax.core.errors import ArgumentError
from graftax.core.hyperparameters import meant_number
from graftax.core.static_numbers import check_known


def check_chunk_size(name: str, chunk_size: int | None) -> None:
    """Raise for what is no number of rows.

    Args:
        name: The function that got it, for the message.
        chunk_size: How many rows at a time, or None for all.

    Raises:
        ArgumentError: It is no positive integer.
    """
    if chunk_size is not None and (type(chunk_size) is not int or chunk_size < 1):
        check_known(f"{name}: chunk_size", chunk_size)
        raise ArgumentError(
            f"{name} got chunk_size={chunk_size!r}",
            "it is a positive number of rows, or None",
            f"chunk_size={meant_number(chunk_size, 64, lambda rows: rows > 0)}",
        )
