"""What a backend must offer, in four groups; a backend may lack a group, and says so.

The groups are deliberately narrow. Everything else in graftax is written on top of them, so a new backend is one
folder with up to four classes and a line in the registry.

*arrays* (required)
    ``numpy`` is a namespace with the functions of the NumPy API (jax.numpy, numpy). Results are canonical: never
    64 bits wide unless the backend was told to (JAX: ``jax_enable_x64``), and equal to NumPy's to rounding.
    The primitives of neural networks that NumPy lacks are in `graftax.backend.neural`. Channels are always last.
*random* (required)
    Stateless and keyed. A key is a uint32 array of shape (2,). The generator is Threefry-2x32 in JAX's partitionable
    form, so that a key gives the same bits on every backend.
*transforms* (optional)
    Tracing with late inputs (see `graftax.backend.program`), gradients, compilation, control flow (see
    `graftax.backend.control`).
*devices* (optional)
    Listing, placing, waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from graftax.backend.checking import Checking
from graftax.backend.control import ControlFlow
from graftax.backend.neural import Neural
from graftax.backend.packing import Packing
from graftax.backend.program import Cell, Program
from graftax.core.typedefs import Array, DTypeLike, Shape

if TYPE_CHECKING:
    import numpy as np


class Arrays(Neural, Packing, Protocol):
    """The array functions."""

    numpy: Any

    def asarray(self, x: Any, dtype: DTypeLike | None = None) -> Array:
        """A native array; Python numbers, lists and NumPy arrays are converted, 64-bit types made canonical."""
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


class Lift(Protocol):
    """What a function that is being traced reads cells through."""

    level: Any
    cells: list[Any]
    """Those that were read."""
    groups: list[Sequence[Cell]]
    """Cells of one dtype that may share a buffer, put in here while the function runs."""

    def read(self, cell: Cell, like: Any = None) -> Array:
        """The value of a cell, of the shape of its buffer or that of another value; ask once for each cell."""
        ...


class Recorder(Protocol):
    """What wants to know which operations are run on the arrays that it tracks."""

    def tracks(self, values: Sequence[Any]) -> bool:
        """True if it tracks one of these arrays, told apart by identity."""
        ...

    def record(self, call: Callable[..., Sequence[Any]], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """``outputs`` were computed as ``call(*inputs)``, which may be called again under any transform.

        ``call.key`` is equal for calls that do the same, and None (or cannot be hashed) where that is not known.
        """
        ...


class Transforms(ControlFlow, Checking, Protocol):
    """Tracing, gradients, compilation. A *level* is the trace that operations go to, an opaque object."""

    def is_tracer(self, x: Any) -> bool:
        """True for a traced value."""
        ...

    def level(self) -> Any:
        """The level now."""
        ...

    def eager(self) -> bool:
        """True if operations run at once."""
        ...

    def staged_within(self, level: Any) -> bool:
        """True if, inside ``level``, a program is being written down: concrete arrays would become its constants.

        None for any level: true in every such trace.
        """
        ...

    def leaks(self, value: Any, level: Any) -> bool:
        """True if the value lives in a trace inside ``level``, and so will be gone before it."""
        ...

    def flatten(self, tree: Any) -> tuple[list[Any], Any]:
        """Leaves and structure of nested containers; None is structure."""
        ...

    def flatten_with_ways(self, tree: Any) -> tuple[list[tuple[tuple[str, ...], Any]], Any]:
        """The same, each leaf with the way to it as Python writes it: ``(".mu", "[0]", "['w']")``."""
        ...

    def unflatten(self, structure: Any, leaves: list[Any]) -> Any:
        """The containers again."""
        ...

    def trace(
        self,
        function: Callable[[Any, list[Any]], tuple[list[Any], list[tuple[Any, Any]]]],
        leaves: list[Any],
        looks: str = "plain",
    ) -> Program:
        """Run ``function(lift, leaves) -> (results, [(cell, new value)])`` once, abstractly; see `Program`.

        ``looks`` says what a run of it raises for (`graftax.backend.traced_checks`).

        Raises:
            CompileError: it needs the value of a traced array; the message names the line.
        """
        ...

    def value_and_grad(self, function: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[tuple[Any, Any], Any]]:
        """``((value, aux), gradient)`` with respect to the first argument; ``function`` returns ``(value, aux)``."""
        ...

    def eval_shape(self, function: Callable[..., Any], *args: Any) -> Any:
        """Shapes and dtypes of the results, nothing computed."""
        ...

    def start_recording(self, recorder: Recorder) -> tuple[Any, Any]:
        """Tell the recorder what this thread computes from now on; the level that records, and the one around it."""
        ...

    def stop_recording(self, recorder: Recorder, level: Any) -> None:
        """Tell it no more; recorders may stop in any order."""
        ...

    def unrecorded_copy(self, value: Array, level: Any) -> Array:
        """A copy that the recorders of that level do not notice."""
        ...

    def vjp(self, function: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """The results, and the function from their cotangents to those of the arguments."""
        ...

    def vjp_with_aux(
        self, function: Callable[..., tuple[Any, Any]], *args: Any
    ) -> tuple[Any, Callable[[Any], tuple[Any, ...]], Any]:
        """The same for a function that returns ``(results, aux)``; ``aux`` has no cotangents."""
        ...

    def tapped(self, value: Array, token: Array, hear: Callable[[Any], None], level: Any) -> Array:
        """The value at a level; when cotangents go back to ``token``, ``hear`` gets that of the value, if it has one.

        ``token`` is a floating scalar that is differentiated at that level.
        """
        ...

    def custom_vjp(
        self,
        function: Callable[[list[Any]], list[Any]],
        forward: Callable[[list[Any]], tuple[list[Any], list[Any], Any]],
        backward: Callable[[list[Any], Any, list[Any]], list[Any]],
        inputs: list[Any],
        refused: Sequence[Callable[[], Exception] | None],
    ) -> list[Any]:
        """``function(inputs)``, with a rule for its cotangents.

        ``forward(inputs)`` gives the same results, arrays to keep, and any object to keep. ``backward(arrays, object,
        cotangents of results)`` gets None for an integer result, and gives the cotangents of the inputs, None for zero.
        All three are pure and may be run later, and at levels inside the present one. ``refused`` has for each input
        what gives the error to raise where that is differentiated.
        """
        ...

    def jvp(self, function: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The results and their tangents."""
        ...

    def map_rows(self, function: Callable[[Any], Any], rows: Any, chunk_size: int | None = None) -> Any:
        """The function of each row, computed together, or ``chunk_size`` rows at a time."""
        ...

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function compiled; it must not read Variables."""
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
    def arrays(self) -> Arrays: ...
    @property
    def random(self) -> Random: ...
    @property
    def transforms(self) -> Transforms: ...
    @property
    def devices(self) -> Devices: ...
    def has(self, group: str) -> bool:
        """True if the backend has the group of that name."""
        ...
