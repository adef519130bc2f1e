"""Write a backend of your own: the protocols to fulfil, the base class to begin with, conversion on the host.

A backend is an object with a ``name``, ``libraries`` and one attribute for each group that it has; subclass
`BackendBase` and list the groups in ``groups``. An entry point of the group ``graftax.backends`` gives it a name for
``graftax.backend.use``. `graftax.backend.testing.Conformance` proves all of the following.

**Groups.** `Arrays` and `Random` are required; `Devices` lists and places; `Meshes` spreads an
array over several devices. `Tracing` says what is traced and takes
nested containers apart; `Gradients`, `Vectorizing`, `Compiling`, `ControlFlow` and `Callbacks` stand on it, each
alone, and `Exporting` on `Compiling`. Without `Compiling` training runs step by step and eager; without `ControlFlow`
recurrent layers loop in Python; what cannot do without a group raises BackendCapabilityError. `Processes` is for
programs that run in several at once; without it a process is alone.

**Native arrays** never change. They have ``shape`` (a tuple of Python integers), ``ndim``, ``size`` (a property) and
``dtype``; the methods ``reshape``, ``astype``, ``tolist``, ``item``, and ``T``. The dtype has ``name``, ``kind`` (a
letter as in NumPy) and ``itemsize``, can be hashed, is equal to its name, and ``str`` gives the name. Arrays can be
referenced weakly, are told apart by identity, and nothing keeps one that nobody uses. Operators broadcast as those of
NumPy, and return NotImplemented for a `VariableLike` on the other side. Negative steps, ``None`` and integer arrays
are indices. ``float``, ``int``, ``complex``, ``bool`` and ``numpy.asarray`` convert; a vector as a number is a
TypeError.

**Memory of the caller** is copied: whatever is written there later is not seen, neither by ``asarray`` nor by
``flatten``.

**Dtypes** are bool, int8 to int32, uint8 to uint32, float16, bfloat16, float32 and complex64, and 64 bits become 32.
A Python number takes the dtype of the array that it meets; two dtypes meet as in ``jax.numpy.promote_types``.

**Functions** of ``Arrays.numpy`` are those in `NAMES`, with the signatures of NumPy and the results of NumPy to
rounding. Channels come last. Random numbers are Threefry-2x32 in the partitionable form of ``jax.random``: a key
gives equal bits.

**Kinks.** Where a derivative is a matter of choice, ``graftax.backend.testing`` has a table: ``abs`` has 1 at 0;
``maximum``, ``minimum`` and ``clip`` share the gradient equally where both sides are equal, and so do ``max``,
``min`` and max pooling among ties; ``prod`` is exact with a zero; ``sign`` and ``round`` have 0; ``sqrt`` has inf at
0. The gradient of a real value with respect to ``x + iy`` is ``df/dx - i df/dy``, so that of the real part of ``z *
z`` is ``2 * z`` (not conjugated).

**Structures** are nested tuples, lists, dicts in the order in which they were written, named tuples and None, and
what the program registered with the library; see `Tracing`. **Levels** are compared by identity.

**Errors.** ``translate_error`` says what an error of the library means. ``libraries`` are the packages whose lines are
none of the user's, the backend's own included. ``wording`` has the words for messages.
"""

from graftax.backend.axis_origins import AxisOrigin as AxisOrigin
from graftax.backend.axis_origins import AxisOrigins as AxisOrigins
from graftax.backend.axis_origins import AxisQuestion as AxisQuestion
from graftax.backend.base import GROUPS as GROUPS
from graftax.backend.base import BackendBase as BackendBase
from graftax.backend.callbacks import Callbacks as Callbacks
from graftax.backend.compiling import Compiling as Compiling
from graftax.backend.control_flow import ControlFlow as ControlFlow
from graftax.backend.control_flow import Staged as Staged
from graftax.backend.exporting import ExportedArray as ExportedArray
from graftax.backend.exporting import ExportedProgram as ExportedProgram
from graftax.backend.exporting import Exporting as Exporting
from graftax.backend.gradients import Gradients as Gradients
from graftax.backend.gradients import Recorder as Recorder
from graftax.backend.host import check_fits as check_fits
from graftax.backend.host import copy_for_device as owned
from graftax.backend.host import dtype_name as dtype_name
from graftax.backend.host import host_array as host_array
from graftax.backend.host import host_dtype as host_dtype
from graftax.backend.host import limits as limits
from graftax.backend.host import no_plain_numbers as no_plain_numbers
from graftax.backend.meshes import Mesh as Mesh
from graftax.backend.meshes import Meshes as Meshes
from graftax.backend.namespace_names import NAMES as NAMES
from graftax.backend.neural import Neural as Neural
from graftax.backend.packing import Packing as Packing
from graftax.backend.processes import Held as Held
from graftax.backend.processes import Joining as Joining
from graftax.backend.processes import Processes as Processes
from graftax.backend.processes import Started as Started
from graftax.backend.program import Cell as Cell
from graftax.backend.program import Lift as Lift
from graftax.backend.program import Lowering as Lowering
from graftax.backend.program import Program as Program
from graftax.backend.protocol import Arrays as Arrays
from graftax.backend.protocol import Backend as Backend
from graftax.backend.protocol import Devices as Devices
from graftax.backend.protocol import Random as Random
from graftax.backend.registry import load as load
from graftax.backend.registry import scope as scope
from graftax.backend.tracing import Checking as Checking
from graftax.backend.tracing import Tracing as Tracing
from graftax.backend.vectorizing import Vectorizing as Vectorizing
from graftax.backend.wording import Wording as Wording
from graftax.core.typedefs import VariableLike as VariableLike

__all__ = [
    "GROUPS",
    "NAMES",
    "Arrays",
    "AxisOrigin",
    "AxisOrigins",
    "AxisQuestion",
    "Backend",
    "BackendBase",
    "Callbacks",
    "Cell",
    "Checking",
    "Compiling",
    "ControlFlow",
    "Devices",
    "ExportedArray",
    "ExportedProgram",
    "Exporting",
    "Gradients",
    "Held",
    "Joining",
    "Lift",
    "Lowering",
    "Mesh",
    "Meshes",
    "Neural",
    "Packing",
    "Processes",
    "Program",
    "Random",
    "Recorder",
    "Staged",
    "Started",
    "Tracing",
    "VariableLike",
    "Vectorizing",
    "Wording",
    "check_fits",
    "dtype_name",
    "host_array",
    "host_dtype",
    "limits",
    "load",
    "no_plain_numbers",
    "owned",
    "scope",
]


def __dir__() -> list[str]:
    return sorted(__all__)
