"""Buffers that are not there: Variables of which only shape and dtype are known, for a look before memory is taken."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from graftax.backend.protocol import Backend
from graftax.core.errors import StateError
from graftax.core.scopes import ScopeStack
from graftax.core.typedefs import Array, Shape
from graftax.variables.graph.node import Node
from graftax.variables.state.home import Home, HomesMoved
from graftax.variables.state.storage import Storage

_scope: ScopeStack[bool] = ScopeStack("unallocated")


@dataclass(frozen=True)
class NoBuffer:
    """The shape and dtype of a buffer that nobody has made.

    Example:
        >>> import numpy as np
        >>> NoBuffer((2, 3), np.dtype("float32")).size
        6
    """

    shape: Shape
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        """Return how many axes it would have."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return how many numbers it would hold."""
        return math.prod(self.shape)


class UnallocatedStorage(Storage):
    """The storage of a Variable that has no value until one is assigned."""

    __slots__ = ()

    def __init__(self, shape: Shape, dtype: str, backend: Backend, user: Node) -> None:
        super().__init__(NoBuffer(shape, np.dtype(dtype)), backend, user)  # type: ignore[arg-type]  # nobody computes with it

    def concrete(self) -> Array:
        """Return the value, if one has been assigned.

        Raises:
            StateError: none has.
        """
        require_allocated((self,))
        return super().concrete()

    def move(self, home: Home | None) -> None:
        """Let the value, if there is one, and what is assigned lie there from now on."""
        if is_allocated(self):
            super().move(home)
        elif home is not self.home:
            self.home = home
            HomesMoved.count += 1


def is_allocated(storage: Storage) -> bool:
    """Tell whether there is a value."""
    buffer: object = storage.buffer if isinstance(storage, UnallocatedStorage) else None
    return not isinstance(buffer, NoBuffer)


def require_allocated(storages: Iterable[Storage]) -> None:
    """Raise if a storage has no value.

    Raises:
        StateError: names the Variable.
    """
    for storage in storages:
        if not is_allocated(storage):
            raise StateError(
                f"the value of the variable {storage.path!r}, of shape {storage.buffer.shape}, is asked for",
                "graftax.build_abstract made it: of such a Variable only shape and dtype are there",
                "the model itself: it is as it was before build_abstract, and model(x) or model.fit(x, y) builds it",
            )


@contextmanager
def allocate_nothing(really: bool = True) -> Iterator[None]:
    """Let Variables made in the block have no values.

    Args:
        really: False for a block in which all is as it was outside.
    """
    if not really:
        yield
        return
    with _scope.entered(True):
        yield


def is_allocating() -> bool:
    """Tell whether Variables that are made now have values."""
    return _scope.top is None
