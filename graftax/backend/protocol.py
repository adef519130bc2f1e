"""A backend as a whole: its name, its groups, the words that it has for its library.

The groups are deliberately narrow. Everything else in graftax is written on top of them, so that a new backend is one
package with a class for each group that it has. What each group must do is written down in `graftax.backend.api`.

*arrays*, *random* (required), *devices*
    What there is to compute with, here in this file.
*meshes*
    Arrays that several devices keep together (`graftax.backend.meshes`).
*tracing*
    Levels, and nested containers (`graftax.backend.tracing`). Whoever has one of the next six has it, too.
*gradients*, *vectorizing*, *compiling*, *control_flow*, *callbacks*, *exporting*
    Derivatives; rows computed together; functions traced once and run as programs; loops and branches within a
    program; Python called from one; programs as files. Each has its own module.
*processes*
    Several processes that run one program, and arrays over the devices of all (`graftax.backend.processes`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from graftax.backend.neural import Neural
from graftax.backend.packing import Packing
from graftax.core.errors import GraftaxError
from graftax.core.typedefs import Array, DTypeLike, Shape

if TYPE_CHECKING:
    import numpy as np

    from graftax.backend.callbacks import Callbacks
    from graftax.backend.compiling import Compiling
    from graftax.backend.control_flow import ControlFlow
    from graftax.backend.exporting import Exporting
    from graftax.backend.gradients import Gradients
    from graftax.backend.meshes import Meshes
    from graftax.backend.processes import Processes
    from graftax.backend.tracing import Tracing
    from graftax.backend.vectorizing import Vectorizing
    from graftax.backend.wording import Wording


class Arrays(Neural, Packing, Protocol):
    """The array functions."""

    numpy: Any

    def asarray(self, x: Any, dtype: DTypeLike | None = None) -> Array:
        """Return a native array; Python numbers, lists and NumPy arrays are converted, 64-bit types made canonical."""
        ...

    def adopt(self, values: Sequence[np.ndarray[Any, Any]]) -> list[Array]:
        """Make native arrays of NumPy arrays to which nobody will write any more: their memory may be used as it is.

        Each is of a canonical dtype, in the order of C, and begins at a multiple of 64 bytes where it can.
        """
        ...

    def is_array(self, x: Any) -> bool:
        """Tell whether it is a native array, a traced one included."""
        ...

    def constant_value(self, x: object) -> Any:
        """Return the value of a traced array that follows from constants alone, if the backend can tell; else None."""
        ...

    def is_concrete(self, x: Any) -> bool:
        """Tell whether the values are there to be looked at: not a traced array."""
        ...

    def is_weak(self, x: object) -> bool:
        """Tell whether an array stands for a Python number, whose dtype gives way to that of other arrays."""
        ...

    def canonical_dtype(self, dtype: DTypeLike) -> str:
        """Return the name of the dtype that an array asked for with ``dtype`` really gets."""
        ...

    def to_numpy(self, x: Array) -> np.ndarray[Any, Any]:
        """Return the values on the host, without a copy where possible; the result may be read-only."""
        ...

    def eager(self) -> AbstractContextManager[None]:
        """Run operations on concrete arrays now within the block, even while a function is being traced."""
        ...

    def fuse(self, function: Callable[..., Any], static: tuple[str, ...]) -> Callable[..., Any]:
        """Compile the function into one piece where that helps; the named arguments are no arrays, but hashable."""
        ...

    def stop_gradient(self, x: Array) -> Array:
        """Return the same values, constant to differentiation."""
        ...

    def with_jvp(
        self,
        function: Callable[..., Any],
        rule: Callable[[tuple[Array, ...], tuple[Array, ...]], tuple[object, object]],
        *arrays: Array,
    ) -> Any:
        """Return ``function(*arrays)``, one array or a tuple, with a derivative of its own, forwards and backwards.

        ``rule(arrays, tangents)`` gives ``(results, tangents of these)``, linear in the tangents, and may be
        differentiated again. Both are pure, and close over no array. Without derivatives, the rule is not needed.
        """
        ...

    def set_at(self, x: Array, index: object, value: Array) -> Array:
        """Return ``x`` with the elements that ``index`` selects replaced; ``x`` itself stays as it is."""
        ...

    def scatter_add(self, x: Array, indices: Array, updates: Array) -> Array:
        """Return ``x`` with ``updates[i]`` added to row ``indices[i]``; duplicates add up."""
        ...

    def scatter_reduce(self, x: Array, indices: Array, updates: Array, how: str) -> Array:
        """Compute ``x`` with ``updates[i]`` taken into row ``indices[i]``: ``"max"`` or ``"min"`` of both."""
        ...

    def solve_triangular(self, x: Array, y: Array, lower: bool, adjoint: bool) -> Array:
        """Return the solution of ``x @ result = y``, or of ``x^H @ result = y``; one triangle of ``x`` is read."""
        ...

    def lu_factor(self, x: Array) -> tuple[Array, Array]:
        """Return both triangles of ``P @ x = L @ U`` in one, and the row that each was exchanged with, as int32."""
        ...

    def complex_of(self, real: Array, imag: Array) -> Array:
        """Return complex numbers of twice the bytes, with just these parts, infinite ones too."""
        ...

    def slice(self, x: Array, begin: Array, shape: Shape) -> Array:
        """Return the block of a shape that begins at ``begin``, which may be traced."""
        ...

    def slice_update(self, x: Array, begin: Array, updates: Array) -> Array:
        """Return ``x`` with the block that begins at ``begin`` replaced."""
        ...


class Random(Protocol):
    """Keyed random numbers; every method is pure.

    Half precision is drawn in float32 and rounded: it has too few numbers near 0 for a draw of its own.
    """

    def key(self, seed: int) -> Array:
        """Return the key of a seed: the low and high 32 bits, high first, as uint32 of shape (2,)."""
        ...

    def fold_in(self, key: Array, data: int | Array) -> Array:
        """Return a new key from a key and a 32-bit number."""
        ...

    def split(self, key: Array, num: int = 2) -> Array:
        """Return ``num`` new keys, shape ``(num, 2)``."""
        ...

    def bits(self, key: Array, shape: Shape) -> Array:
        """Draw uniform uint32."""
        ...

    def uniform(self, key: Array, shape: Shape, dtype: str, minval: Any = 0.0, maxval: Any = 1.0) -> Array:
        """Draw uniformly from ``[minval, maxval)``; what is rounded up to ``maxval`` becomes the number below."""
        ...

    def normal(self, key: Array, shape: Shape, dtype: str) -> Array:
        """Draw from the standard normal distribution."""
        ...

    def truncated_normal(self, key: Array, lower: float, upper: float, shape: Shape, dtype: str) -> Array:
        """Draw from the standard normal distribution between two bounds."""
        ...

    def randint(self, key: Array, shape: Shape, minval: int, maxval: int, dtype: str) -> Array:
        """Draw integers from ``[minval, maxval)``."""
        ...

    def bernoulli(self, key: Array, p: Any, shape: Shape) -> Array:
        """Draw booleans that are True with probability ``p``."""
        ...

    def permutation(self, key: Array, x: int | Array) -> Array:
        """Return a shuffle of ``arange(x)``, or of the first axis of ``x``."""
        ...

    def categorical(self, key: Array, logits: Array, axis: int = -1, shape: Shape | None = None) -> Array:
        """Draw from softmax(logits) along an axis."""
        ...


class Devices(Protocol):
    """The devices that hold arrays."""

    def list(self) -> list[str]:
        """Return names such as ``cpu:0``."""
        ...

    def put(self, x: Any, device: str) -> Array:
        """Return the array on a device; raises ArgumentError listing the devices if there is none of that name."""
        ...

    def move(self, x: Array, device: str | None) -> Array:
        """Return the values on a device, None for the default one; derivatives go the same way, back."""
        ...

    def find(self, device: str) -> str:
        """Return the whole name of a device, such as ``gpu:0`` for ``gpu``; raises ArgumentError as `put` does."""
        ...

    def scope(self, device: str | None) -> AbstractContextManager[Any]:
        """Compute there, within the block, from arrays that were not put anywhere; None for the default device."""
        ...

    def wait(self, x: Any) -> Any:
        """Block until every array of the structure is computed, and return it."""
        ...


class Backend(Protocol):
    """A backend: its name and its groups. Asking for a group it lacks raises BackendCapabilityError."""

    @property
    def name(self) -> str:
        """Return the name that `use` takes."""
        ...

    @property
    def wording(self) -> Wording:
        """Return what messages call its library."""
        ...

    @property
    def libraries(self) -> Collection[str]:
        """Return the top-level packages that it is made of, itself included: their lines are none of the user's."""
        ...

    @property
    def notices(self) -> Collection[str]:
        """Return how notes begin that its libraries add to exceptions and that tell nothing about the user."""
        ...

    def translate_error(self, error: Exception) -> GraftaxError | None:
        """Return the error of graftax that says what an error of its libraries means; None where that is not known."""
        ...

    def options(self) -> dict[str, bool]:
        """Return how it compiles: options by name, as they are; none where there is nothing to choose."""
        ...

    def set_option(self, name: str, value: bool) -> None:
        """Set an option for all that is compiled from now on.

        Raises:
            BackendError: it is too late.
            BackendCapabilityError: there is no such option.
        """
        ...

    @property
    def arrays(self) -> Arrays:
        """Return the group 'arrays': functions of arrays."""
        ...

    @property
    def random(self) -> Random:
        """Return the group 'random': random numbers."""
        ...

    @property
    def devices(self) -> Devices:
        """Return the group 'devices': where arrays lie."""
        ...

    @property
    def meshes(self) -> Meshes:
        """Return the group 'meshes': arrays that several devices keep together."""
        ...

    @property
    def tracing(self) -> Tracing:
        """Return the group 'tracing': levels and nested containers."""
        ...

    @property
    def gradients(self) -> Gradients:
        """Return the group 'gradients': derivatives."""
        ...

    @property
    def vectorizing(self) -> Vectorizing:
        """Return the group 'vectorizing': rows computed together."""
        ...

    @property
    def compiling(self) -> Compiling:
        """Return the group 'compiling': functions as programs."""
        ...

    @property
    def control_flow(self) -> ControlFlow:
        """Return the group 'control flow': branches and loops within a program."""
        ...

    @property
    def callbacks(self) -> Callbacks:
        """Return the group 'callbacks': Python called from a program."""
        ...

    @property
    def processes(self) -> Processes:
        """Return the group 'processes': several of them that run one program."""
        ...

    @property
    def exporting(self) -> Exporting:
        """Return the group 'exporting': programs as files."""
        ...

    def has(self, group: str) -> bool:
        """Tell whether the backend has the group of that name."""
        ...
