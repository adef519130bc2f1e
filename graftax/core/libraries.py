"""What the backends in use say of the libraries below them: their names, their notices, what their errors mean."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

_OWN = frozenset({"graftax", "numpy"})  # graftax itself computes with NumPy on the host, whatever the backend


class Below(Protocol):
    """What a backend says of its libraries (`graftax.backend.protocol.Backend`)."""

    @property
    def libraries(self) -> Collection[str]:
        """Return their top-level packages."""
        ...

    @property
    def notices(self) -> Collection[str]:
        """Return how the notes begin that they add to exceptions."""
        ...

    def translate_error(self, error: Exception) -> Exception | None:
        """Return what an error of one of them means, as an error of graftax; None for one that it does not know."""
        ...


_told: list[Below] = []
_names: frozenset[str] = _OWN
_notices: tuple[str, ...] = ()


def add(below: Below) -> bool:
    """Take note of a backend that is in use from now on; False if it was already."""
    if any(one is below for one in _told):
        return False
    _told.append(below)
    _sum_up()
    return True


def remove(below: Below) -> None:
    """Forget a backend that was in use for a while."""
    _told[:] = [one for one in _told if one is not below]
    _sum_up()


def _sum_up() -> None:
    global _names, _notices
    _names = _OWN.union(*(one.libraries for one in _told))
    _notices = tuple(notice for one in _told for notice in one.notices)


def names() -> frozenset[str]:
    """Return the top-level packages whose lines are none of the user's."""
    return _names


def notices() -> tuple[str, ...]:
    """Return how the notes begin that say nothing about the user's code."""
    return _notices


def translate(error: Exception) -> Exception | None:
    """Return what an error of one of these libraries means; None if no backend knows it."""
    told = (meant for one in _told if (meant := one.translate_error(error)) is not None)
    return next(told, None)
