"""Prove in your tests that a backend of yours keeps the contract of `graftax.backend.api`."""

from graftax.backend.testing.check import Check as Check
from graftax.backend.testing.check import Kit as Kit
from graftax.backend.testing.conformance import Conformance as Conformance

__all__ = [
    "Check",
    "Conformance",
    "Kit",
]


def __dir__() -> list[str]:
    return sorted(__all__)
