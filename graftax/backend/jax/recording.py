"""Recording: a trace that runs every operation where it would have run, and tells recorders what was computed.

Values stay what they are: real arrays in eager code, traced values inside another transformation. A recorder gets a
*call* for each operation that touches what it tracks, from which the operation can be run again under any transform.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp

from graftax.backend.gradients import Recorder
from graftax.backend.jax import tracing
from graftax.core.errors import BackendCapabilityError, GradientError, GraftaxError

_JITS = ("jit", "pjit", "closed_call", "core_closed_call")
_CANNOT_STAGE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
    GraftaxError,
)


# --- calls: operations that can be run again --------------------------------------------------------------------------


class _Operation:
    """One primitive with its parameters; a compiled function called inside is one of these, too."""

    __slots__ = ("_params", "_primitive")

    def __init__(self, primitive: Any, params: dict[str, Any]) -> None:
        self._primitive = primitive
        self._params = params

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        return _bind(self._primitive, inputs, self._params)

    @property
    def key(self) -> Hashable:
        return self._primitive, tuple(self._params.items())


class _Staged:
    """A custom rule whose Python ran once, abstractly; the arrays it closes over come first among the inputs."""

    __slots__ = ("_count", "_program")

    key = None  # staged anew each time, so never met again

    def __init__(self, program: Any, count: int) -> None:
        self._program = program
        self._count = count

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        closed_over = map(_hold_fixed, inputs[: self._count])
        results: list[Any] = jax.core.eval_jaxpr(self._program, closed_over, *inputs[self._count :])
        return results


@jax.custom_jvp
def _hold_fixed(x: jax.Array) -> Any:
    return x


@_hold_fixed.defjvp
def _(primals: Any, tangents: Any) -> Any:
    raise GradientError(
        "a function with a derivative of its own closes over an array that the gradient depends on",
        "its rule says nothing about that array",
        "pass the array as an argument",
    )


class _Rerun:
    """A custom rule that is run from its Python functions again."""

    __slots__ = ("_functions", "_params", "_primitive")

    def __init__(self, primitive: Any, functions: tuple[Any, ...], params: dict[str, Any]) -> None:
        self._primitive = primitive
        self._functions = functions
        self._params = params

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        for function in self._functions:
            for store in getattr(function, "stores", ()):  # what a run leaves there may be set only once
                if store:
                    store.reset()
        results: Sequence[Any] = self._primitive.bind(*inputs, subfuns=self._functions, **self._params)
        return results

    @property
    def key(self) -> Hashable:
        if not all(map(_of_jax, self._functions)):
            return None  # Python of the user, which may do something else the next time
        # the transforms of the first hold the arguments that are no arrays
        return self._primitive, tuple(f.f for f in self._functions), self._functions[0].transforms


class _Opened:
    """A compiled function with recorded arrays among its constants: run step by step, with these as inputs instead."""

    __slots__ = ("_constants", "_params", "_primitive")

    key = None

    def __init__(self, primitive: Any, params: dict[str, Any], constants: list[Any]) -> None:
        self._primitive = primitive
        self._params = params
        self._constants = constants  # kept, so that their ids stay theirs

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        count = len(self._constants)
        replaced = {id(old): new for old, new in zip(self._constants, inputs[:count], strict=True)}
        return _run_opened(self._primitive, self._params, inputs[count:], replaced)


def _run_opened(
    primitive: Any, params: dict[str, Any], inputs: Sequence[Any], replaced: dict[int, Any]
) -> Sequence[Any]:
    if not any(id(constant) in replaced for constant in _constants_in(params)):
        return _bind(primitive, inputs, primitive.get_bind_params(params))
    if primitive.name not in _JITS:
        raise BackendCapabilityError(
            f"a jitted function inside a {primitive.name} closes over an array that a tape watches",
            "there it is a constant, which has no gradient",
            "pass the array to the jitted function as an argument",
        )
    # jit names its program in one way, the operations that only call one in another
    closed = params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]
    program = closed.jaxpr
    values: dict[Any, Any] = {}

    def read(atom: Any) -> Any:
        value = atom.val if isinstance(atom, tracing.Literal) else values[atom]
        return replaced.get(id(value), value)

    values.update(zip(program.constvars, closed.consts, strict=True))
    values.update(zip(program.invars, inputs, strict=True))
    for equation in program.eqns:
        results = _run_opened(equation.primitive, equation.params, [read(v) for v in equation.invars], replaced)
        values.update(zip(equation.outvars, results, strict=True))
    return [read(v) for v in program.outvars]


def _bind(primitive: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    result = primitive.bind(*inputs, **params)
    outputs: Sequence[Any] = result if primitive.multiple_results else (result,)
    return outputs


def _of_jax(function: Any) -> bool:
    module = getattr(getattr(function, "f", None), "__module__", None) or ""
    return module == "jax" or module.startswith("jax.")


# --- constants of compiled functions ----------------------------------------------------------------------------------

_known_constants: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()


def _constants_in(params: dict[str, Any]) -> list[Any]:
    """Return the arrays that are constants of the programs among the parameters, each once."""
    found: list[Any] = []
    for program in _programs_in(params):
        known = _known_constants.get(program)
        if known is None:
            known = _known_constants[program] = list({id(c): c for c in _constants_of(program)}.values())
        found += known
    return found


def _programs_in(params: dict[str, Any]) -> Iterable[Any]:
    if "jaxpr" in params and "donated_invars" in params:  # a compiled function, as each eager op is: nothing else in it
        return (params["jaxpr"],)
    return _programs_among(params)


def _programs_among(params: dict[str, Any]) -> Iterator[Any]:
    for value in params.values():
        if isinstance(value, tracing.PROGRAMS):
            yield value
        elif type(value) is tuple:
            yield from (v for v in value if isinstance(v, tracing.PROGRAMS))


def _constants_of(program: Any) -> Iterator[Any]:
    yield from getattr(program, "consts", ())
    for equation in getattr(program, "jaxpr", program).eqns:
        yield from (v.val for v in equation.invars if isinstance(v, tracing.Literal) and isinstance(v.val, jax.Array))
        yield from _constants_in(equation.params)


# --- the trace --------------------------------------------------------------------------------------------------------


class RecordingLevel(tracing.Level):  # type: ignore[misc]
    """Runs operations at the level around it, and tells its recorders."""

    def __init__(self, parent: Any) -> None:
        super().__init__()
        # jax asks both of every level: where operations go next, and whether compound types have to be opened before
        self.parent_trace = parent
        self.requires_low = parent.requires_low
        self.recorders: tuple[Recorder, ...] = ()

    def process_primitive(self, primitive: Any, args: Any, params: dict[str, Any], /) -> Any:
        """Record an ordinary operation; jit, scan, cond and while are among these."""
        if any(params.get("donated_invars", ())):  # what is recorded will be read again
            params = {**params, "donated_invars": (False,) * len(params["donated_invars"])}
        result = self.parent_trace.process_primitive(primitive, args, params)
        if not self.recorders:
            return result
        if primitive.name == "stop_gradient":  # gives back what it got, by which the two could not be told apart
            return self._renew(result) if result is args[0] else result
        # only operations with a program inside can close over arrays, and all of these have several results
        constants = _constants_in(params) if primitive.multiple_results else []
        call: Callable[..., Sequence[Any]] | None = None
        for recorder in self.recorders:
            if constants and recorder.tracks(constants):
                opened = _Opened(primitive, params, constants)
                recorder.record(opened, [*constants, *args], result)
            elif recorder.tracks(args):
                _refuse_mutable(args, result)
                call = call or _Operation(primitive, params)
                recorder.record(call, args, result if primitive.multiple_results else (result,))
        return result

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, **params: Any) -> Any:
        """Record a function with a derivative of its own."""
        return self._custom(primitive, (fun, jvp), list(tracers), params)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, **params: Any
    ) -> Any:
        """Record a function with a gradient of its own."""
        return self._custom(primitive, (fun, fwd, bwd), list(tracers), params)

    def _custom(self, primitive: Any, functions: tuple[Any, ...], args: list[Any], params: dict[str, Any]) -> Any:
        with tracing.at(self.parent_trace):
            mine = all(map(_of_jax, functions))
            if not self.recorders or (mine and not any(r.tracks(args) for r in self.recorders)):
                return primitive.bind(*args, subfuns=functions, **params)
            call: Any = _Rerun(primitive, functions, params)
            inputs = args
            if not mine:  # it may close over recorded arrays: staging finds them, if its Python needs no values
                try:
                    closed = jax.make_jaxpr(call)(*args)
                except _CANNOT_STAGE:
                    pass
                else:
                    call, inputs = _Staged(closed.jaxpr, len(closed.consts)), [*closed.consts, *args]
            # recorders tell arrays apart by identity, so an input that comes back must not be the same object
            given = {id(value) for value in inputs}
            outputs = [jnp.copy(out) if id(out) in given else out for out in call(*inputs)]
        for recorder in self.recorders:
            if recorder.tracks(inputs):
                recorder.record(call, inputs, outputs)
        return outputs

    def process_call(self, primitive: Any, fun: Any, tracers: Any, params: dict[str, Any], /) -> Any:
        """Record a function that is called in place."""
        with tracing.at(self):  # so that what is inside is recorded step by step
            return fun.call_wrapped(*tracers)

    def process_shard_map(self, primitive: Any, fun: Any, tracers: Any, /, **params: Any) -> Any:
        """Record a function over shards, not compiled."""
        if any(recorder.tracks(jax.tree.leaves(list(tracers))) for recorder in self.recorders):
            raise BackendCapabilityError(
                "shard_map of an array that a tape watches", "it is not compiled", "jax.jit(jax.shard_map(...))"
            )
        return self.parent_trace.process_shard_map(primitive, fun, tracers, **params)

    def stage_value(self, val: Any) -> Any:
        """Take in a value that enters the level."""
        return self.parent_trace.stage_value(val)

    def cur_qdd(self, x: jax.Array) -> Any:
        """Return the state of a mutable object of jax."""
        return self.parent_trace.cur_qdd(x)

    def _renew(self, x: jax.Array) -> Any:
        with tracing.at(self.parent_trace):
            return jnp.copy(x)


_ARRAY = type(jnp.zeros(()))


def _refuse_mutable(args: Any, result: Any) -> None:
    results = result if isinstance(result, list | tuple) else (result,)
    # the type first: to ask JAX of an array whether it is mutable takes as long as all else that is recorded of it
    if any(type(value) is not _ARRAY and isinstance(value, tracing.Ref) for value in (*args, *results)):
        raise BackendCapabilityError(
            "a mutable jax.Ref meets an array that a tape watches",
            "a tape records values, and a Ref changes its own",
            "use a Variable, or put the part with the Ref into a jitted function",
        )


class _PerThread(threading.local):
    eager: RecordingLevel | None = None


_per_thread = _PerThread()


def start(recorder: Recorder) -> RecordingLevel:
    """Tell the recorder what this thread computes from now on, at the present level."""
    level = tracing.current_level()
    if not isinstance(level, RecordingLevel):
        if not tracing.is_eager(level):
            level = RecordingLevel(level)
        else:  # one for each thread: it is part of the keys by which jax finds compiled functions again
            level = _per_thread.eager = _per_thread.eager or RecordingLevel(level)
    level.recorders = (*level.recorders, recorder)
    tracing.go_to(level)
    return level


def stop(recorder: Recorder, level: RecordingLevel) -> None:
    """Tell it no more; in whatever order recorders stop, the last one restores the level around."""
    level.recorders = tuple(r for r in level.recorders if r is not recorder)
    while isinstance(here := tracing.current_level(), RecordingLevel) and not here.recorders:
        tracing.go_to(here.parent_trace)
