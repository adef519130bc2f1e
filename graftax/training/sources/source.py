"""Source: the interface of sources of batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from graftax.training.batch import Batch
from graftax.training.class_weights import ClassWeights


class Source(Protocol):
    """A source of batches."""

    @property
    def weighted_by(self) -> tuple[str, ...]:
        """Return the arguments of the user that gave weights beside the data, such as ``"class_weight="``."""
        ...

    @property
    def class_weights(self) -> ClassWeights | None:
        """Return the weights of classes that the user gave, which its batches have in them."""
        ...

    @property
    def steps(self) -> int | None:
        """Return the number of batches in an epoch; None if it is not known before the end."""
        ...

    def steps_in(self, epoch: int, start: int = 0) -> int | None:
        """Return the number of batches in an epoch, of which ``start`` are done.

        It is another one than `steps` in an epoch that a run is resumed in with batches of another size.
        """
        ...

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch (counted from 0), from batch ``start`` on."""
        ...

    def example(self) -> Batch:
        """Return a batch as an example, without removing it from the epochs."""
        ...

    def get_state(self, index: int = 0, epoch: int | None = None) -> dict[str, Any]:
        """Return the position of the source after ``index`` batches of an epoch, besides these two numbers."""
        ...

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a position for the next epoch."""
        ...
