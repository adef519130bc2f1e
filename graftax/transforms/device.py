"""device: where Variables are made and operations run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graftax.backend import registry
from graftax.core.errors import ArgumentTypeError, CompileError, StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import VariableLike
from graftax.transforms.lifting.frames import CompileFrame
from graftax.variables.creation import NextCreator, scopes, variable_creator_scope
from graftax.variables.graph.module import Module, walk
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable


def _put(variable: Variable, name: str | None) -> None:
    storage = variable._storage
    if storage.home is not None:
        raise _within_a_distribution(name, f"the variable {variable.path!r}")
    arrays, devices = storage.backend.arrays, storage.backend.devices
    value = arrays.to_numpy(storage.buffer)
    with devices.scope(name):
        storage.buffer = arrays.asarray(value, variable.dtype) if name is None else devices.put(value, name)


def _is_of(variable: Variable, created: VariableLike) -> bool:
    """Return True unless the Variable was there before, as one that is shared."""
    node: object = variable
    while node is not created and node is not None:
        node = getattr(node, "_gx_owner", None)
    return node is created


def _within_a_distribution(name: str | None, values: str) -> StateError:
    return StateError(
        f"device({name!r}) and the scope of a distribution, one inside of the other",
        f"{values} would lie on one device and over a mesh at once",
        "gx.distribution.mesh(devices=...) of the devices that are meant, or one of the two scopes",
    )


@door
@contextmanager
def device(name: str | None) -> Iterator[None]:
    """Run the operations of a block on a device, where the Variables that are made in it belong for good.

    Operations on arrays that were put on a device (such Variables) run where these are. A layer belongs to the device
    in whose block it was constructed. Compiled functions that are called in the block run there, too.

    Args:
        name: Such as ``"cpu:0"`` or ``"gpu"`` (the first of its kind); case does not matter. None is the default
            device, in the middle of another block. The innermost block counts.

    Raises:
        ArgumentTypeError: ``name`` is no text.
        ArgumentError: there is no such device; the message lists those there are.
        StateError: in the scope of a distribution, which says where Variables lie.
        CompileError: while a function is being compiled: a program runs on one device.

    Example:
        >>> import graftax as gx
        >>> with device("cpu:0"):
        ...     v = gx.Variable([1.0, 2.0])
        >>> [str(d.platform) for d in v.value.devices()]
        ['cpu']
    """
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(
            f"device got {name!r:.60} of type {type(name).__name__}",
            "a device is called by its name",
            'device("cpu:0")',
        )
    backend = registry.current()
    staged = backend.has("tracing") and backend.tracing.staged_within(None)
    if staged or any(isinstance(frame, CompileFrame) for frame in frames.items):
        raise CompileError(
            f"device({name!r}) inside a function that is being compiled",
            "a compiled program runs on one device, and the block would change nothing",
            f"with graftax.device({name!r}): around the call of the compiled function",
        )

    if any(scope.distributes for scope in scopes.items):
        raise _within_a_distribution(name, "what is made there")

    def place(next_creator: NextCreator, spec: VariableSpec) -> VariableLike:
        made = next_creator(spec)
        # a creator of a scope around this one may have made an expression over several Variables
        for node in walk(made) if isinstance(made, Module) else [made]:
            if isinstance(node, Variable) and _is_of(node, made):
                _put(node, name)
        return made

    with backend.devices.scope(name), variable_creator_scope(place, roles=None):
        yield
