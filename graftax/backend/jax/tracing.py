"""The one file that uses semi-private JAX: which trace is current, and inputs that are found while tracing.

What `graftax.backend.jax.recording` needs of it is named here, too, and checked when this file is imported: on a JAX
that lacks one of the names there is one clear error.

A *late input* is a primitive without operands that is bound at the outermost trace of a compiled function, wherever the
read happens: inside a gradient, a vmap, the body of a scan. After tracing, these equations are turned into inputs.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from operator import attrgetter
from typing import Any

import jax
import jax.core
from jax._src import clusters, config, distributed
from jax._src import core as private
from jax._src import pjit as private_jit
from jax._src import xla_bridge as bridge
from jax._src.interpreters import partial_eval as private_partial_eval
from jax.extend import core as jax_extend
from jax.extend.core import primitives
from jax.interpreters import ad, batching, mlir
from jax.interpreters.partial_eval import dce_jaxpr as dce_jaxpr

from graftax.backend.jax.constants import copy_constant
from graftax.core.errors import BackendError, StaleReadError
from graftax.core.scopes import register_ambient, register_sign
from graftax.core.typedefs import VariableLike

KNOWN = "0.10 to 0.12"
extend: Any = jax_extend  # what it exports to type checkers differs between versions; `check` looks for the names
_NEEDED = (
    ("jax._src.config", "trace_context debug_nans debug_infs"),
    ("jax._src.clusters.ClusterEnv", "_cluster_types"),
    ("jax._src.interpreters.partial_eval.trace_to_jaxpr", "cache_keys evict_weakref"),
    ("jax._src.api.VJP", "jaxpr"),
    ("jax._src.pjit._infer_params_cached", "cache_keys evict_weakref"),
    ("jax._src.distributed.global_state", "client process_id num_processes preemption_sync_manager"),
    ("jax._src.xla_bridge", "backends_are_initialized"),
    ("jax._src.core", "pytype_aval_mappings Trace Ref eval_trace trace_ctx get_axis_env"),
    ("jax._src.core.Trace", "process_primitive process_custom_jvp_call process_custom_vjp_call stage_value"),
    ("jax._src.core.trace_ctx", "trace set_trace"),
    ("jax.extend.core", "Primitive Jaxpr ClosedJaxpr Literal set_current_trace"),
    ("jax.extend.core.primitives", "jit_p"),
    ("jax.interpreters.ad", "primitive_jvps primitive_transposes"),
    ("jax.interpreters.batching", "primitive_batchers"),
    ("jax.interpreters.mlir", "register_lowering"),
    ("jax.core", "ShapedArray Tracer eval_jaxpr"),
)


def missing_names(root: object) -> list[str]:
    """Return the names that are used here and that the package ``root``, a version of jax, does not have."""
    found = []
    for place, names in _NEEDED:
        here = root
        for part in place.split(".")[1:]:
            here = getattr(here, part, None)
        found += [f"{place}.{name}" for name in names.split() if not hasattr(here, name)]
    return found


def named_axes() -> tuple[str, ...]:
    """Return the names of the axes that maps around this code have given names to."""
    return tuple(name for name in private.get_axis_env().axis_sizes if isinstance(name, str))


def check(root: Any) -> None:
    """Raise BackendError if ``root`` is a version of jax that this file does not know."""
    if lacking := missing_names(root):
        raise BackendError(
            f"graftax knows jax {KNOWN}; this is {root.__version__}, which lacks {', '.join(lacking)}",
            "compiling functions and recording tapes needs a few names that jax does not promise to keep",
            'pip install "jax>=0.10,<0.13"',
        )


check(jax)

Level: Any = private.Trace
"""The base of traces; to make one's own."""
Ref: Any = private.Ref
"""Mutable arrays of jax."""
Literal: Any = extend.Literal
"""A constant among the operands of an equation."""
ClosedJaxpr: Any = extend.ClosedJaxpr
"""A program with its constants."""
Primitive: Any = extend.Primitive
"""An operation of one's own, with its rules for derivatives, rows and lowering."""
derivative_rules: Any = ad.primitive_jvps
transpose_rules: Any = ad.primitive_transposes
row_rules: Any = batching.primitive_batchers
lower_as: Any = mlir.register_lowering
jit_p: Any = primitives.jit_p
"""The operation that is a compiled function."""
PROGRAMS: Any = (extend.ClosedJaxpr, extend.Jaxpr)
"""Programs among the parameters of an equation."""

_piece_of = jax.make_user_context(default_value=None)
pieces: Any = (private_partial_eval.trace_to_jaxpr, private_jit._infer_params_cached)
"""Where jax keeps what it traced, by the function and by what `config.trace_context` gives."""
_numbers = itertools.count()
late_input = extend.Primitive("graftaxlate_input")


@late_input.def_abstract_eval  # type: ignore[untyped-decorator]
def _(*, index: int, shape: tuple[int, ...], dtype: object) -> Any:
    return jax.core.ShapedArray(shape, dtype)


def _no_array(variable: object) -> Any:
    """Raise for a Variable that is given to a function of JAX, which would take it for another library's array."""
    raise StaleReadError(  # no TypeError: of these, JAX makes its own
        f"a function of JAX got the {type(variable).__name__} {getattr(variable, 'path', '')!r}",
        "JAX takes arrays only, and what it compiles would not see that the value changes",
        "the function of graftax.ops in place of that of jax.numpy; or pass variable.value",
    )


private.pytype_aval_mappings[VariableLike] = _no_array


register_ambient(config.trace_context, name="a setting of JAX")  # the precision of matrix products, for example
register_sign(partial(attrgetter("trace"), private.trace_ctx))


def looks_for_nans() -> bool:
    """Tell whether JAX is to raise for nan or infinity in what a program gives; asked at each run of one."""
    return bool(config.debug_nans.value or config.debug_infs.value)


def coordination() -> Any:
    """Return what speaks with the service of several processes: values by key, barriers; None for one that is alone."""
    return distributed.global_state.client


def coordination_place() -> tuple[int, int]:
    """Return the number of this process and how many there are; starts no devices."""
    state = distributed.global_state
    return (0, 1) if state.client is None else (state.process_id, state.num_processes)


def abandon() -> list[Any]:
    """Let JAX forget the service, such that its end waits for nobody; return what speaks with it."""
    state = distributed.global_state
    kept = [state.client, state.service, state.preemption_sync_manager]
    state.client = state.service = state.preemption_sync_manager = None
    return kept


def is_in_cluster(without: str = "") -> bool:
    """Tell whether the environment is one in which JAX finds the other processes by itself, but for one kind."""
    kinds = [kind for kind in clusters.ClusterEnv._cluster_types if kind.__name__ != without]
    return any(kind.is_env_present() for kind in kinds if not kind.opt_in_only_method)


def preemption_manager() -> Any:
    """Return what hears that a process is to end, and finds the step at which all do; None where nobody listens."""
    return distributed.global_state.preemption_sync_manager


def is_initialized() -> bool:
    """Tell whether JAX has looked for its devices, from which on XLA takes no more options."""
    return bool(bridge.backends_are_initialized())


def current_level() -> Any:
    """Return the trace that operations go to now; an opaque object, the same one while nothing changes."""
    return private.trace_ctx.trace


def is_eager(level: object) -> bool:
    """Tell whether it is the level on which operations run at once."""
    return level is private.eval_trace


def runs_at_once() -> bool:
    """Tell whether operations run at once here; asked at each compiled call, and so in one step."""
    return private.trace_ctx.trace is private.eval_trace


def eagerly() -> AbstractContextManager[Any]:
    """Run operations within the block at once, whatever is being traced around it."""
    return at(private.eval_trace) if _piece_of.value is None else _eagerly_in_a_trace()


@contextmanager
def _eagerly_in_a_trace() -> Iterator[None]:
    with at(private.eval_trace), _piece_of(None):  # else jax would compile each operation once more for this trace
        yield


def at(level: object) -> AbstractContextManager[Any]:
    """Send operations within the block to that level."""
    manager: AbstractContextManager[Any] = extend.set_current_trace(level)
    return manager


def go_to(level: object) -> None:
    """Send operations of this thread to that level from now on."""
    private.trace_ctx.set_trace(level)


def levels_above(level: object) -> list[Any]:
    """Return the level and those around it, innermost first."""
    chain = []
    while level is not None:
        chain.append(level)
        level = getattr(level, "parent_trace", None)
    return chain


def is_staged_within(level: object) -> bool:
    """Tell whether the level now, or one between it and ``level``, writes a program down (jit, scan, cond, ...)."""
    # by name: the class is private, and importing it would bind this file to one more place in jax
    trace = private.trace_ctx.trace
    while trace is not level and trace is not None and trace is not private.eval_trace:
        if type(trace).__name__ == "DynamicJaxprTrace":
            return True
        trace = getattr(trace, "parent_trace", None)
    return False


def level_of(tracer: Any) -> Any:
    """Return the level that a traced value belongs to."""
    return tracer._trace


class Lift:
    """Turns reads of cells into late inputs of the trace that is current when it is made."""

    def __init__(self) -> None:
        self.level = current_level()
        self.cells: list[Any] = []
        self.groups: list[Sequence[Any]] = []

    def read(self, cell: Any, like: Any = None) -> Any:
        """Return the value of a cell as an input of the program; each cell is asked for once."""
        index = len(self.cells)
        self.cells.append(cell)
        kind = cell.buffer if like is None else like
        # the read may happen inside of a scan or a branch, whose own trace ends before the program is complete
        with extend.set_current_trace(self.level):
            return late_input.bind(index=index, shape=kind.shape, dtype=kind.dtype)


class _Number(int):
    """Tells the pieces of one trace from those of others."""


class _Shared(threading.local):
    number: _Number | None = None
    over: frozenset[_Number] = frozenset()  # numbers of pieces that no trace will get again


_shared = _Shared()


def _forget_pieces() -> None:
    """Let jax forget the pieces that no trace will get again: it keeps each for as long as its function lives.

    These are mostly functions of jax itself, which live for ever: a search over a hundred models would keep all that
    was traced for each of them.
    """
    numbers, _shared.over = _shared.over, frozenset()
    for kept in pieces:
        for function, context, *_ in kept.cache_keys():
            is_over = not numbers.isdisjoint(part for part in context if type(part) is _Number)
            if is_over and (alive := function()) is not None:
                kept.evict_weakref(alive)


def renew() -> bool:
    """Make what jax traces now of no use later in this trace, nor to another one; False outside of `stage`."""
    if _shared.number is not None:
        _shared.over |= {_shared.number}
    _shared.number = _Number(next(_numbers))
    if _piece_of.value is None:
        return False
    _piece_of(_shared.number).__enter__()  # `stage` puts back what was there before it
    return True


def is_jitted_within(level: object) -> bool:
    """Tell whether the level now, or one between it and ``level``, is that of a jitted function."""
    trace = current_level()
    while trace is not level and trace is not None:
        if getattr(getattr(getattr(trace, "frame", None), "debug_info", None), "traced_for", "") in ("jit", "pjit"):
            return True
        trace = getattr(trace, "parent_trace", None)
    return False


def stage(function: Callable[[list[Any]], list[Any]], leaves: list[Any], shared: bool = False) -> tuple[Any, list[Any]]:
    """Trace ``function`` once: a program of (constants, late inputs, leaves), and the constants.

    ``function`` makes its `Lift` itself; the late inputs of the program are in the order of its cells. With ``shared``,
    what jax has traced for others is used again.
    """
    # JAX keeps what it traced inside (the body of a scan, a jitted function) for the next time it meets the same Python
    # function. Such a piece may refer to late inputs of this trace, so no other trace must get it.
    if shared and _shared.number is None:
        renew()
    is_outermost = _piece_of.value is None
    number = _Number(next(_numbers)) if not shared or _shared.number is None else _shared.number
    try:
        with _piece_of(number):
            closed = jax.make_jaxpr(function)(leaves)
    finally:
        if not shared:
            _shared.over |= {number}
        if is_outermost:  # a trace around this one may meet pieces of jax's own functions again
            _forget_pieces()
    jaxpr = closed.jaxpr
    # a tracer among the constants belongs to a trace around this one, or else to one that has ended without a word
    here = levels_above(current_level())
    if any(isinstance(const, jax.core.Tracer) and level_of(const) not in here for const in closed.consts):
        raise jax.errors.UnexpectedTracerError("a traced value of a trace that is over became a constant")
    # the placeholders become arguments: until the trace is over, nobody knows how many cells it reads
    late = {e.params["index"]: e.outvars[0] for e in jaxpr.eqns if e.primitive is late_input}
    lifted = jaxpr.replace(
        invars=[late[i] for i in range(len(late))] + list(jaxpr.invars),
        eqns=[e for e in jaxpr.eqns if e.primitive is not late_input],
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    return lifted, [*map(copy_constant, closed.consts)]


@contextmanager
def apart() -> Iterator[None]:
    """Keep the pieces that jax traces in the block from every other trace: Variables are constants in them."""
    is_outermost = _piece_of.value is None
    number, before = _Number(next(_numbers)), _shared.number
    _shared.number = None
    try:
        with _piece_of(number):
            yield
    finally:
        _shared.number = before
        _shared.over |= {number}
        if is_outermost:
            _forget_pieces()


# --- looking at programs ----------------------------------------------------------------------------------------------


def programs_in(value: object) -> Iterator[Any]:
    """Yield the programs among parameters."""
    if isinstance(value, PROGRAMS):
        yield value
    elif isinstance(value, tuple | list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from programs_in(one)


def bind(equation: Any, inputs: Sequence[Any]) -> list[Any]:
    """Return the results of an equation for these inputs."""
    functions, parameters = (), equation.primitive.get_bind_params(equation.params)
    if isinstance(parameters, tuple):  # before jax 0.11: with the functions apart
        functions, parameters = parameters
    results = equation.primitive.bind(*functions, *inputs, **parameters)
    return list(results) if equation.primitive.multiple_results else [results]


def scan_counts(parameters: dict[str, Any]) -> tuple[int, int]:
    """Return how many constants and how much carry a scan has."""
    if "num_consts" in parameters:
        return parameters["num_consts"], parameters["num_carry"]
    constants, carry, _ = map(list, parameters["ft_in"].unpack())  # from jax 0.11 on
    return len(constants), len(carry)


def origin(equations: Sequence[Any]) -> tuple[list[str], bool, list[tuple[str, int, str]]]:
    """Return names of parts, whether it is of a transposition, and lines, innermost first, of an equation.

    A line is a file, a number and the name of the function.
    """
    names: list[str] = []
    backward = False
    lines: list[tuple[str, int, str]] = []
    for equation in equations:
        source = equation.source_info
        for part in source.name_stack.stack:
            if type(part).__name__ == "Scope":
                names = [part.name[1:]] if part.name.startswith("/") else [*names, part.name]
            else:
                backward = backward or part.name == "transpose"
        if source.traceback is not None:
            frames = source.traceback.frames
            lines = [(frame.file_name, frame.line_num, frame.function_name) for frame in frames] + lines
    return names, backward, lines
