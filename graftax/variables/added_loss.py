"""AddedLoss: the sum of the terms of the loss that a layer added in its latest outermost call.

It is state as any other, so that gradients, compiled functions, branches and loops carry the terms out by the one
mechanism that there is. It is no part of the object graph: it is neither saved nor copied.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from graftax.backend.protocol import Backend
from graftax.core.errors import StateError
from graftax.core.typedefs import Array
from graftax.variables.initializers import Zeros
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import Frame, Storage, frames
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.variables.graph.module import Module


_MAP = "a graftax.vectorized_map"
_TRACE = "a function traced outside of graftax, which is over"


def _make_nan(dtype: str) -> np.ndarray[Any, Any]:
    """Return a nan with other bits than those that computations make."""
    bits = np.asarray(float("nan"), dtype).view(f"uint{8 * np.dtype(dtype).itemsize}")
    found: np.ndarray[Any, Any] = (bits | np.asarray(0x2A5A5, bits.dtype)).view(dtype)
    return found


class _Sum(Storage):
    """The buffer. In a function that plain JAX traces it may hold a traced value, for as long as that exists.

    Where the terms stayed inside of a map or trace, it is nan, so that no compiled program takes them for 0; a nan of
    its own, so that a sum that really is nan is not taken for it.
    """

    __slots__ = ("stayed_in", "unknown", "zero")

    passing = True

    def __init__(self, zero: Array, backend: Backend, user: Variable) -> None:
        super().__init__(zero, backend, user)
        self.zero = zero
        with backend.arrays.eager():  # it outlives the trace in which a layer adds its first term
            self.unknown: Array = backend.arrays.asarray(_make_nan(str(zero.dtype)))
        self.stayed_in = ""

    def concrete(self) -> Array:
        """Return the value; the unknown one where it lived in a trace that is over."""
        backend = self.backend
        if backend.has("tracing") and backend.tracing.leaks(self.buffer, backend.tracing.level()):
            self.buffer, self.stayed_in = self.unknown, _TRACE
        return self.buffer

    def check(self, value: object) -> None:
        """Raise for a value that would outlive its trace, unless plain JAX traces all: there it can be read inside."""
        if frames.top is not None and value is not self.zero and value is not self.unknown:
            super().check(value)


class AddedLoss(Variable):
    """The sum of what one layer added, in one dtype.

    Example:
        >>> import graftax as gx
        >>> layer = gx.layers.Dense(1, name="dense")
        >>> total = AddedLoss.of(layer, "float32")
        >>> total.path, float(total)
        ('dense/added loss', 0.0)
    """

    number: int
    """Of the outermost call whose terms it sums."""
    _layer: weakref.ref[Module]
    _storage: _Sum  # pyright: ignore[reportIncompatibleVariableOverride]  # the buffer is made with it, and stays

    @classmethod
    def of(cls, layer: Module, dtype: str) -> AddedLoss:
        """Return the sum of nothing so far."""
        self = cls.from_spec(
            VariableSpec(shape=(), dtype=dtype, initializer=Zeros(), trainable=False, role="counter", path="added loss")
        )
        assert isinstance(self, AddedLoss)
        self._storage = _Sum(self._storage.buffer, self._storage.backend, self)
        self._layer = weakref.ref(layer)
        self.number = 0
        return self

    @property
    def backend(self) -> Backend:
        """Return whose array it is."""
        return self._storage.backend

    @property
    def _gx_path(self) -> str:
        """Return what messages call it."""
        layer = self._layer()
        return "added loss" if layer is None else f"{layer._gx_path or layer.name}/added loss"

    def add(self, term: Array) -> None:
        """Add a term."""
        self._storage.write(self._storage.read() + term.astype(self._dtype))

    def take(self, back: Array | None = None) -> Array:
        """Return the sum, and put another one in its place.

        Args:
            back: The other one. Defaults to None, the sum of nothing.
        """
        found = self._storage.read()
        self._storage.write(self._storage.zero if back is None else back)
        return found

    def stay_in_rows(self) -> None:
        """Note that a map over rows is over, in which each row has added terms of its own."""
        self._storage.stayed_in = _MAP
        self._storage.write(self._storage.unknown)

    def has_terms(self) -> bool:
        """Tell whether anything was added since the outermost call, or step, began."""
        return self._storage.read() is not self._storage.zero

    def known(self) -> Array:
        """Return the sum.

        Raises:
            StateError: the terms stayed inside of a map over rows, or of a trace.
        """
        storage = self._storage
        found = storage.read()
        if storage.stayed_in and (found is storage.unknown or self._is_unknown(found)):
            layer: Any = self._layer()
            raise StateError(
                f"losses of {'a layer' if layer is None else layer._gx_title()}, whose terms were added in "
                f"{storage.stayed_in}",
                "each row has terms of its own there, and losses outside of it would be without them",
                "terms, outputs = graftax.vectorized_map(fn, x), where fn returns sum(model.losses), outputs; then "
                "ops.mean(terms); or graftax.map_fn, which adds them up"
                if storage.stayed_in is _MAP
                else "return sum(model.losses) from that function; or graftax.jit, which carries the terms out",
            )
        return found

    def _is_unknown(self, value: Array) -> bool:
        arrays = self._storage.backend.arrays
        bits: bytes = arrays.to_numpy(self._storage.unknown).tobytes()
        return arrays.is_concrete(value) and arrays.to_numpy(value).tobytes() == bits

    def forget(self, number: int, stack: tuple[Frame, ...]) -> None:
        """Begin anew for an outermost call, where that one began: what is around a loop is set to zero before it."""
        self.number = number
        storage = self._storage
        if not stack:
            storage.buffer = storage.zero
            return
        stack[-1].memo.forget(storage)
        stack[-1].write(storage, storage.zero)
