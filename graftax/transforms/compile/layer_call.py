"""A Module's forward compiled behind its eager call: one program in place of one operation after another.

The program is found by what the Module is made of (its `blueprint`) and what it is called with, so layers that are
alike share one. It reads and writes the Variables of the Module at hand.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from graftax.backend import registry
from graftax.backend.host import copy_for_device
from graftax.backend.protocol import Backend
from graftax.backend.traced_checks import EAGER, traces
from graftax.core import scopes
from graftax.core.errors import GraftaxError
from graftax.transforms.compile import run_eagerly as eagerly
from graftax.transforms.compile.blueprint import blueprint
from graftax.transforms.compile.guard import Guard
from graftax.transforms.compile.repeated import host_kind
from graftax.transforms.compile.run import buffer_of
from graftax.transforms.lifting.frames import CompileFrame
from graftax.variables import creation
from graftax.variables.graph.module import Module, Node, walk
from graftax.variables.state.donation import at_rest
from graftax.variables.state.storage import TRIES, Storage, exchange, frames
from graftax.variables.state.unallocated import require_allocated
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.backend.program import Cell, Lift, Program

MISSED: Final = object()
"""What `call` gives where the forward is to run as it stands."""


class _Program(NamedTuple):
    """A compiled forward, and which of the Module's Variables it reads and assigns: their numbers."""

    run: Callable[[list[Any], list[Any], list[Any]], list[Any]]
    changing: list[int]
    read: list[int]
    written: list[int]
    results: int  # how many; new values come after them
    out_structure: Any  # None for one array


_programs: OrderedDict[Hashable, _Program | None] = OrderedDict()
_MOST = 2048  # programs, the one used longest ago forgotten first
_MOST_PLANS = 64  # of one Module, the one made first forgotten first: each keeps its program


class _Plan(Guard):
    """A program, and the storages of one Module that it reads and writes."""

    def __init__(self, program: _Program, storages: list[Storage], nodes: Iterable[Node], backend: Backend) -> None:
        require_allocated(storages)
        self.run = program.run
        self.read = [storages[i] for i in program.read]
        self.written = [storages[i] for i in program.written]
        self._taken = [program.written.index(i) for i in program.changing]
        self.backend = backend
        self.eager = backend.compiling.eager
        self._unflatten = backend.compiling.unflatten
        self._out_structure = program.out_structure
        self._results = program.results
        super().__init__(nodes)

    def run_and_assign(self, arrays: list[Any]) -> list[Any]:
        """Run, and assign the new values; once more where another thread has assigned meanwhile: no two draw alike."""
        if not self.written:
            return self.run([], [*map(buffer_of, self.read)], arrays)
        for _ in range(TRIES):
            results, done = self._attempt(arrays)
            if done:
                return results
        with at_rest((*self.written, *self.read)):
            return self._attempt(arrays)[0]

    def _attempt(self, arrays: list[Any]) -> tuple[list[Any], bool]:
        before = [storage.buffer for storage in self.written]
        results = self.run([before[i] for i in self._taken], [s.buffer for s in self.read], arrays)
        return results, exchange(self.written, before, results[-len(before) :])

    def result(self, results: list[Any]) -> Any:
        """Return what the forward returns, of what the program does."""
        if self._out_structure is None:
            return results[0]
        return self._unflatten(self._out_structure, results[: self._results])


class _Repeated(NamedTuple):
    """A call on one array, by which the next one like it is recognized without a key being made and looked up."""

    type: type[Any]
    kind: object
    signs: list[object]
    kind_of: Callable[[Any], object]
    plan: _Plan


class Plans(dict[Hashable, _Plan | None]):
    """The plans of one Module by what it was called with; a copy of the Module makes its own."""

    last: _Repeated | None = None

    def __reduce__(self) -> tuple[type[Plans], tuple[()]]:
        return Plans, ()


def call(
    plans: Plans, module: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run ``forward(*args, **kwargs)`` as one compiled program, or return `MISSED`.

    Args:
        plans: Those of the Module.
        module: All that ``forward`` reads and writes.
        forward: What to compute.
        args: Positional arguments.
        kwargs: Arguments by name.
    """
    if frames.read() or (eagerly.count and eagerly.is_on()):
        return MISSED
    last = plans.last
    if (
        last is not None
        and len(args) == 1
        and not kwargs
        and type(x := args[0]) is last.type
        and last.kind_of(x) == last.kind
        and scopes.signs() == last.signs
        and last.plan.difference() is None
    ):
        plan, arrays = last.plan, [x]
    elif (found := _find(plans, module, forward, args, kwargs)) is not None:
        plan, arrays = found
    else:
        return MISSED
    if len(arrays) == 1 and type(arrays[0]) is np.ndarray:  # several come copied
        arrays[0] = copy_for_device(arrays[0])
    try:
        results = plan.run_and_assign(arrays)
    except GraftaxError:  # a check of values failed, and nothing is assigned: run plainly, the forward says which
        return MISSED
    return plan.result(results)


def _find(
    plans: Plans, module: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[_Plan, list[Any]] | None:
    """Return the plan for a call, and the arrays among its arguments; None where the forward is to run as it stands."""
    backend = registry.current()
    key: Hashable
    arrays: list[Any]
    if len(args) == 1 and not kwargs and hasattr(x := args[0], "dtype"):
        # what gives way to the dtypes of other arrays makes another program
        key = type(x), x.shape, x.dtype, getattr(x, "weak_type", False), scopes.ambient()
        arrays = [x]
    else:
        key, arrays = _key(args, kwargs, backend)
    plan = plans.get(key)
    if plan is None or plan.backend is not backend or not plan.eager() or plan.difference() is not None:
        if not backend.has("compiling") or not backend.compiling.eager() or (plan is None and key in plans):
            return None
        if _made_by_creators(module):
            return None  # a first call builds: what creators do happens in plain Python
        plan = plans[key] = _plan(module, forward, args, kwargs, key, backend)
        if len(plans) > _MOST_PLANS:
            del plans[next(iter(plans))]
        if plan is None:
            return None
    plans.last = _make_repeated(args[0], plan) if len(args) == 1 and not kwargs else None
    return plan, arrays


def _make_repeated(x: object, plan: _Plan) -> _Repeated | None:
    """Return what recognizes one more call on an array like this; None for what is no plain array."""
    if type(x) is np.ndarray:
        kind_of: Callable[[Any], object] = host_kind
    elif plan.backend.arrays.is_array(x) and plan.backend.arrays.is_concrete(x) and hasattr(x, "weak_type"):
        kind_of = plan.backend.compiling.kind
    else:
        return None
    return _Repeated(type(x), kind_of(x), scopes.signs(), kind_of, plan)


def _made_by_creators(module: Module) -> bool:
    """Return True if this call may make Variables through creators, whose code may look at values."""
    if creation.scopes.top is not None:
        return True
    return any(
        node in scope.waiting for node in walk(module) if isinstance(node, Module) for scope in node._gx_captured
    )


def _key(args: tuple[Any, ...], kwargs: dict[str, Any], backend: Backend) -> tuple[Hashable, list[Any]]:
    """Return what tells calls apart, and the arrays among the arguments."""
    if not backend.has("compiling"):
        return None, []
    leaves, structure = backend.compiling.flatten((args, kwargs))
    key: list[Any] = [structure, scopes.ambient()]
    arrays = []
    for leaf in leaves:
        if hasattr(leaf, "dtype"):
            key += (type(leaf), leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False))
            arrays.append(leaf)
        else:
            key.append((type(leaf), leaf if type(leaf) is bool else None))
    return tuple(key), arrays


def _plan(
    module: Module,
    forward: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    key: Hashable,
    backend: Backend,
) -> _Plan | None:
    leaves, structure = backend.compiling.flatten((args, kwargs))
    made_of = blueprint(module) if all(_is_value(leaf, backend) for leaf in leaves) else None
    if made_of is None:
        return None
    full = made_of, key, backend.name
    traced = None
    if full not in _programs:
        traced = _trace(forward, leaves, structure, backend)
        made_of = blueprint(module)  # the call may have built it, with expressions of the user behind its weights
        if made_of is None:
            return None
        full = made_of, key, backend.name
    nodes = list(walk(module))
    storages = [node._storage for node in nodes if isinstance(node, Variable)]
    if full not in _programs:
        _programs[full] = None if traced is None else _number_variables(*traced, storages)
        while len(_programs) > _MOST:
            _programs.popitem(last=False)
    _programs.move_to_end(full)
    program = _programs[full]
    for node in nodes:  # what changes in one of them from now on counts as a change of structure
        object.__setattr__(node, "_gx_watched", True)
    return None if program is None else _Plan(program, storages, nodes, backend)


def _is_value(leaf: object, backend: Backend) -> bool:
    """Return True for a number, or an array that is there, of numbers."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind in "biufc" and not isinstance(leaf, np.ma.MaskedArray)
    return isinstance(leaf, bool) or (backend.arrays.is_array(leaf) and backend.arrays.is_concrete(leaf))


def _trace(
    forward: Callable[..., Any], leaves: list[Any], structure: object, backend: Backend
) -> tuple[Program, int, Any] | None:
    """Return the program, the number and structure of its results; None where a result is an argument as it came."""
    transforms = backend.compiling
    found: list[Any] = []

    def run(lift: Lift, dynamic: list[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
        values = iter(dynamic)
        args, kwargs = transforms.unflatten(structure, [x if type(x) is bool else next(values) for x in leaves])
        frame = CompileFrame(lift)
        with frames.replaced((frame,)), traces.entered(EAGER):
            results, out_structure = transforms.flatten(forward(*args, **kwargs))
        found.extend((out_structure, len(results), any(result is value for result in results for value in dynamic)))
        return results, cast("list[tuple[Any, Any]]", frame.last_values())

    program = transforms.trace(run, [leaf for leaf in leaves if type(leaf) is not bool])
    out_structure, results, passed_on = found
    alone = out_structure == transforms.flatten(0)[1]
    return None if passed_on else (program, results, None if alone else out_structure)


def _number_variables(
    program: Program, results: int, out_structure: object, storages: list[Storage]
) -> _Program | None:
    """Return the program by numbers of Variables; None if it reads or assigns others than those of the Module."""
    number: dict[Cell, int] = {storage: i for i, storage in enumerate(storages)}
    try:
        changing, read, written = (
            [number[cell] for cell in cells] for cells in (program.donated, program.read_only, program.written)
        )
    except KeyError:
        return None
    run = program.run_checked if program.has_checks else program.run
    return _Program(run, changing, read, written, results, out_structure)
