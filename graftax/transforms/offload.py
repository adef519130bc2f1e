"""offload: a part of a program that is compiled for, and runs on, another device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, CompileError
from graftax.core.short_traceback import door, door_around
from graftax.core.typedefs import Array, unwrap
from graftax.core.user_functions import check_functions
from graftax.core.wrapping import function_name
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.transforms.lifting.frames import CompileFrame, Substitution
from graftax.variables.state.storage import Storage, frames

P = ParamSpec("P")
R = TypeVar("R")


class _Elsewhere(Substitution):
    """State as a program on another device sees it: values are brought there, what is assigned comes back."""

    def __init__(self, device: str) -> None:
        backend = registry.current()
        level = backend.tracing.level() if backend.has("tracing") else None
        super().__init__(frames.top, (), level)
        self._device = device
        self._owner: dict[Storage, Any] = {}

    def read(self, storage: Storage) -> Array:
        """Return the value, on the device."""
        if storage not in self._now:
            value = super().read(storage)
            _require_one_device([value], self._device)
            self._now[storage] = registry.current().devices.move(value, self._device)
        return self._now[storage]


@door
def offload(fn: Callable[P, R], device: str) -> Callable[P, R]:
    """Return a function that computes the same on another device, and gives its results back on the default one.

    It is compiled for that device. Arguments, and the Variables that it reads, are brought there at each call;
    assignments come back, and so do gradients, on the same way: call it from eager code, from a function that
    `graftax.value_and_grad` differentiates, under a tape, in loops of your own. What runs before and after it stays
    where it was. A compiled function cannot have it inside: compile the parts around it.

    JAX can mark a part of one program for the host (``jax.experimental.compute_on``), and that is not used here. In JAX
    0.10 and 0.12, gradients pass such a part only while all of its values stay in the memory of the device, which on a
    CPU is no offloading at all; once arguments or results lie in ``pinned_host`` memory, `jax.grad` raises, since the
    memory kinds of a value and of its gradient differ.

    Args:
        fn: Takes and returns any structure of arrays; it may read and assign Variables.
        device: Such as ``"cpu:0"`` or ``"gpu:1"``; case does not matter. ``"gpu"`` alone is the first one of
            this process, while the numbers of several processes differ.

    Raises:
        ArgumentTypeError: ``device`` is no text.
        ArgumentError: there is no such device; or, in a call, an array lies on several devices.
        CompileError: in a call: inside of a function that is being compiled.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, 2.0])
        >>> squares = offload(lambda x: gx.ops.sum((w * x) ** 2), "cpu:0")
        >>> value, (gradient,) = gx.value_and_grad(lambda: squares(3.0), wrt=[w])()
        >>> float(value), gradient.tolist()
        (45.0, [18.0, 36.0])
    """
    check_functions("offload", 'graftax.offload(fn, "cpu:0")', fn)
    if not isinstance(device, str):
        raise ArgumentTypeError(
            f"offload got {device!r:.60} of type {type(device).__name__}",
            "a device is called by its name",
            'graftax.offload(fn, "cpu:0")',
        )
    registry.current().devices.find(device)
    compiled: Any = None

    @door_around(fn)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal compiled
        backend = registry.current()
        staged = backend.has("tracing") and backend.tracing.staged_within(None)
        if staged or any(isinstance(frame, CompileFrame) for frame in frames.items):
            raise CompileError(
                f"offload({function_name(fn)}, {device!r}) inside a function that is being compiled",
                "one program runs on the devices that it was compiled for; a part of one can be given to the host, but "
                "no gradient passes where values change the kind of memory",
                "compile the parts before and after it, graftax.jit(before) and graftax.jit(after), and leave the "
                "function around the three to Python",
            )
        if not backend.has("compiling"):  # one device, the host
            return fn(*args, **kwargs)
        if compiled is None:
            compiled = CompiledFunction(fn)
        move = backend.devices.move
        leaves, structure = backend.tracing.flatten((args, kwargs))
        leaves = [unwrap(leaf) for leaf in leaves]
        arrays = [leaf for leaf in leaves if backend.arrays.is_array(leaf)]
        _require_one_device(arrays, device)
        there = [move(leaf, device) if hasattr(leaf, "dtype") else leaf for leaf in leaves]
        given, named = backend.tracing.unflatten(structure, there)
        frame = _Elsewhere(device)
        with frames.entered(frame), backend.devices.scope(device):
            results = compiled(*given, **named)
        for storage, value in frame.written.items():
            storage.write(move(value, None))
        found, shape = backend.tracing.flatten(results)
        back = [move(one, None) if backend.arrays.is_array(one) else one for one in found]
        result: R = backend.tracing.unflatten(shape, back)
        return result

    return run


def _require_one_device(arrays: Iterable[Any], device: str) -> None:
    """Raise for an array that several devices keep.

    Raises:
        ArgumentError: names its shape, and the mesh.
    """
    backend = registry.current()
    for array in arrays:
        mesh = backend.meshes.mesh_of(array) if backend.has("meshes") else None
        if mesh is not None:
            raise ArgumentError(
                f"an array of shape {tuple(array.shape)} over the mesh {dict(mesh.shape)}, for offload to {device!r}",
                "each process would bring all of it to one device",
                "distribution.gather(x) before, and distribution.shard(result) after",
            )
