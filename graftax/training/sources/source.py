"""Source: where batches come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from graftax.training.batch import Batch


class Source(Protocol):
    """Where batches come from."""

    @property
    def steps(self) -> int | None:
        """Batches in an epoch, or None if nobody knows before the end."""
        ...

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, counted from 0, from a batch on."""
        ...

    def example(self) -> Batch:
        """A batch like the others, which is none the less there in its place later."""
        ...

    def get_state(self, index: int = 0) -> dict[str, Any]:
        """What says where the stream of batches stands, after so many batches of the epoch, besides their number."""
        ...

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from there with the next epoch."""
        ...
