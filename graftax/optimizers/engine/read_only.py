"""A frame for code that may run for several variables at once only if it assigns nothing."""

from __future__ import annotations

from graftax.core.typedefs import Array
from graftax.variables.state.storage import Frame, Storage


class Assigning(BaseException):
    """Raised by an assignment where a caller must know of it before; no error, and none that a user's code catches."""


class ReadOnly(Frame):
    """Passes reads on to the frame around it, and raises `Assigning` at the first assignment.

    Args:
        parent: The frame around it.
    """

    def __init__(self, parent: Frame) -> None:
        super().__init__()
        self.parent: Frame = parent  # pyright: ignore[reportIncompatibleVariableOverride]
        self.memo, self.level, self.allows_callback = parent.memo, parent.level, parent.allows_callback

    def read(self, storage: Storage) -> Array:
        """Return the value in the frame around it."""
        return self.parent.read(storage)

    def write(self, storage: Storage, value: Array) -> None:
        """Raise `Assigning`."""
        raise Assigning
