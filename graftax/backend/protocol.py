"""A backend as a whole: its name, its groups, the words that it has for its library.

The groups are deliberately narrow. Everything else in graftax is written on top of them, so that a new backend is one
package with a class for each group that it has. What each group must do is written down in `graftax.backend.api`.

*arrays*, *random* (required), *devices*
    What there is to compute with, here in this file.
*tracing*
    Levels, and nested containers (`graftax.backend.tracing`). Whoever has one of the next five has it, too.
*gradients*, *vectorizing*, *compiling*, *control_flow*, *callbacks*
    Derivatives; rows computed together; functions traced once and run as programs; loops and branches within a
    program; Python called from one. Each has its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from graftax.backend.callbacks import Callbacks
from graftax.backend.compiling import Compiling
from graftax.backend.control_flow import ControlFlow
from graftax.backend.gradients import Gradients
from graftax.backend.neural import Neural
from graftax.backend.packing import Packing
from graftax.backend.tracing import Tracing
from graftax.backend.vectorizing import Vectorizing
from graftax.backend.wording import Wording
from graftax.core.errors import GraftaxError
from graftax.core.typedefs import Array, DTypeLike, Shape

if TYPE_CHECKING:
    import numpy as np


class Arrays(Neural, Packing, Protocol):
    """The array functions."""

    numpy: Any

    def asarray(self, x: Any, dtype: DTypeLike | None = None) -> Array:
        """A native array; Python numbers, lists and NumPy arrays are converted, 64-bit types made canonical."""
        ...

    def adopted(self, values: Sequence[np.ndarray[Any, Any]]) -> list[Array]:
        """Native arrays of NumPy arrays to which nobody will write any more: their memory may be used as it is.

        Each is of a canonical dtype, in the order of C, and begins at a multiple of 64 bytes where it can.
        """
        ...

    def is_array(self, x: Any) -> bool:
        """True for a native array, a traced one included."""
        ...

    def foreseen(self, x: Any) -> Any:
        """The value of a traced array that follows from constants alone, if the backend can tell; else None."""
        ...

    def is_concrete(self, x: Any) -> bool:
        """True if the values are there to be looked at: not a traced array."""
        ...

    def is_weak(self, x: Any) -> bool:
        """True for an array that stands for a Python number, whose dtype gives way to that of other arrays."""
        ...

    def canonical_dtype(self, dtype: DTypeLike) -> str:
        """The name of the dtype that an array asked for with ``dtype`` really gets."""
        ...

    def to_numpy(self, x: Array) -> np.ndarray[Any, Any]:
        """The values on the host, without a copy where possible; the result may be read-only."""
        ...

    def eager(self) -> AbstractContextManager[None]:
        """Inside, operations on concrete arrays run now, even while a function is being traced."""
        ...

    def fused(self, function: Callable[..., Any], static: tuple[str, ...]) -> Callable[..., Any]:
        """The function compiled into one piece where that helps; the named arguments are no arrays, but hashable."""
        ...

    def stop_gradient(self, x: Array) -> Array:
        """The same values, constant to differentiation."""
        ...

    def set_at(self, x: Array, index: Any, value: Array) -> Array:
        """``x`` with the elements that ``index`` selects replaced; ``x`` itself stays as it is."""
        ...

    def scatter_add(self, x: Array, indices: Array, updates: Array) -> Array:
        """``x`` with ``updates[i]`` added to row ``indices[i]``; duplicates add up."""
        ...

    def scatter_reduce(self, x: Array, indices: Array, updates: Array, how: str) -> Array:
        """``x`` with ``updates[i]`` taken into row ``indices[i]``: ``"max"`` or ``"min"`` of both."""
        ...

    def slice(self, x: Array, begin: Array, shape: Shape) -> Array:
        """The block of a shape that begins at ``begin``, which may be traced."""
        ...

    def slice_update(self, x: Array, begin: Array, updates: Array) -> Array:
        """``x`` with the block that begins at ``begin`` replaced."""
        ...


class Random(Protocol):
    """Keyed random numbers; every method is pure."""

    def key(self, seed: int) -> Array:
        """The key of a seed: the low and high 32 bits, high first, as uint32 of shape (2,)."""
        ...

    def fold_in(self, key: Array, data: int | Array) -> Array:
        """A new key from a key and a 32-bit number."""
        ...

    def split(self, key: Array, num: int = 2) -> Array:
        """``num`` new keys, shape ``(num, 2)``."""
        ...

    def bits(self, key: Array, shape: Shape) -> Array:
        """Uniform uint32."""
        ...

    def uniform(self, key: Array, shape: Shape, dtype: str, minval: Any = 0.0, maxval: Any = 1.0) -> Array:
        """Uniform in ``[minval, maxval)``."""
        ...

    def normal(self, key: Array, shape: Shape, dtype: str) -> Array:
        """Standard normal."""
        ...

    def truncated_normal(self, key: Array, lower: float, upper: float, shape: Shape, dtype: str) -> Array:
        """Standard normal between two bounds."""
        ...

    def randint(self, key: Array, shape: Shape, minval: int, maxval: int, dtype: str) -> Array:
        """Integers in ``[minval, maxval)``."""
        ...

    def bernoulli(self, key: Array, p: Any, shape: Shape) -> Array:
        """Booleans that are True with probability ``p``."""
        ...

    def permutation(self, key: Array, x: int | Array) -> Array:
        """A shuffle of ``arange(x)``, or of the first axis of ``x``."""
        ...

    def categorical(self, key: Array, logits: Array, axis: int = -1, shape: Shape | None = None) -> Array:
        """Draws from softmax(logits) along an axis."""
        ...


class Devices(Protocol):
    """Where arrays live."""

    def list(self) -> list[str]:
        """Names such as ``cpu:0``."""
        ...

    def put(self, x: Any, device: str) -> Array:
        """The array on a device; raises ArgumentError listing the devices if there is none of that name."""
        ...

    def scope(self, device: str | None) -> AbstractContextManager[Any]:
        """Inside, what is computed from arrays that were not put anywhere goes there; None for the default device."""
        ...

    def wait(self, x: Any) -> Any:
        """Block until every array of the structure is computed, and return it."""
        ...


class Backend(Protocol):
    """A backend: its name and its groups. Asking for a group it lacks raises BackendCapabilityError."""

    @property
    def name(self) -> str: ...
    @property
    def wording(self) -> Wording:
        """What messages call its library."""
        ...

    @property
    def libraries(self) -> Collection[str]:
        """Top-level packages that it is made of, itself included: their lines are none of the user's."""
        ...

    @property
    def notices(self) -> Collection[str]:
        """How the notes begin that its libraries add to exceptions, and that say nothing about the user's code."""
        ...

    def translated(self, error: Exception) -> GraftaxError | None:
        """The error of graftax that says what an error of its libraries means; None where that is not known."""
        ...

    @property
    def arrays(self) -> Arrays: ...
    @property
    def random(self) -> Random: ...
    @property
    def devices(self) -> Devices: ...
    @property
    def tracing(self) -> Tracing: ...
    @property
    def gradients(self) -> Gradients: ...
    @property
    def vectorizing(self) -> Vectorizing: ...
    @property
    def compiling(self) -> Compiling: ...
    @property
    def control_flow(self) -> ControlFlow: ...
    @property
    def callbacks(self) -> Callbacks: ...
    def has(self, group: str) -> bool:
        """True if the backend has the group of that name."""
        ...
