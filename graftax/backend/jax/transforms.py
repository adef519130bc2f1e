"""The transforms of JAX: tracing with late inputs, gradients, shapes without values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import attrgetter
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from graftax.backend.axis_origins import AxisOrigin, AxisQuestion
from graftax.backend.gradients import Recorder
from graftax.backend.host import copy_for_device
from graftax.backend.jax import axis_origins, checks, custom, foreign, reached, recording, structures, tracing
from graftax.backend.jax.control import JaxControl
from graftax.backend.jax.program import JaxProgram
from graftax.backend.jax.staged import Staged
from graftax.core import foreign_errors
from graftax.core.short_traceback import cause_to_show
from graftax.core.typedefs import Array

_HOST = frozenset({np.ndarray, np.memmap})


class JaxTransforms(JaxControl):
    """The transforms of the JAX backend."""

    kind = attrgetter("aval")
    eager = staticmethod(tracing.runs_at_once)

    def is_tracer(self, x: object) -> bool:
        """Tell whether it is a traced value."""
        return isinstance(x, jax.core.Tracer)

    def level(self) -> Any:
        """Return the trace that operations go to now."""
        return tracing.current_level()

    def staged_within(self, level: object) -> bool:
        """Tell whether, inside ``level``, a program is being written down."""
        return tracing.is_staged_within(level)

    def leaks(self, value: object, level: object) -> bool:
        """Tell whether the value lives in a trace inside ``level``, and so will be gone before it."""
        if not isinstance(value, jax.core.Tracer):
            return False
        inside = tracing.level_of(value)
        return not any(inside is trace for trace in tracing.levels_above(level))

    def flatten(self, tree: object) -> tuple[list[Any], Any]:
        """Return leaves and structure of nested containers, in their order; registered pytrees included.

        Arrays of NumPy are copied: what runs compiled may read them after their owner has written there.
        """
        leaves, structure = structures.flatten(tree)
        if not _HOST.isdisjoint(map(type, leaves)):
            leaves = [copy_for_device(leaf) if type(leaf) in _HOST else leaf for leaf in leaves]
        return leaves, structure

    def flatten_with_ways(self, tree: object) -> tuple[list[tuple[tuple[str, ...], Any]], Any]:
        """Flatten, with the way to each leaf as Python writes it."""
        return structures.flatten_with_ways(tree)

    def unflatten(self, structure: object, leaves: list[Any]) -> Any:
        """Put leaves back into their containers."""
        return structures.unflatten(structure, leaves)

    def note_check(self, explain: Callable[..., Any], bad: object, looked_at: Sequence[Any]) -> None:
        """Write a check down."""
        checks.note(explain, bad, looked_at)

    def named(self, name: str) -> AbstractContextManager[Any]:
        """Make what is traced in the block belong to a part of that name."""
        part: AbstractContextManager[Any] = jax.named_scope(name)
        return part

    def trace(
        self,
        function: Callable[[Any, list[Any]], tuple[list[Any], list[tuple[Any, Any]]]],
        leaves: list[Any],
        looks: str = "plain",
    ) -> JaxProgram:
        """Run ``function(lift, leaves) -> (results, [(cell, new value)])`` once, abstractly."""
        found: dict[str, Any] = {}

        def run(values: list[Any]) -> list[Any]:
            lift = tracing.Lift()
            results, written = function(lift, values)
            found.update(lift=lift, written=[cell for cell, _ in written])
            return [*results, *(value for _, value in written)]

        with _explain_errors():
            jaxpr, constants = tracing.stage(run, leaves)
        lift = found["lift"]
        return JaxProgram(Staged(jaxpr), constants, lift.cells, found["written"], lift.groups, looks)

    def stage(self, function: Callable[[Any, list[Any]], list[Any]], leaves: list[Any]) -> tuple[Staged, list[Any]]:
        """Run ``function(lift, leaves)`` once, abstractly, and give the program and its constants."""
        given = [leaf if isinstance(leaf, jax.Array) else _to_abstract(leaf) for leaf in leaves]
        with _explain_errors():
            jaxpr, constants = tracing.stage(
                lambda values: function(tracing.Lift(), values), given, shared=not self.staged_within(None)
            )
        return Staged(jaxpr), constants

    def read_within(self, level: object) -> bool:
        """Make sure that what is traced inside ``level`` is traced anew; return False if a jitted function is."""
        return tracing.renew() or not tracing.is_jitted_within(level)

    def value_and_grad(self, function: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[tuple[Any, Any], Any]]:
        """Return a function that gives ``((value, aux), gradient)``; ``function`` returns ``(value, aux)``."""
        result: Callable[..., tuple[tuple[Any, Any], Any]] = jax.value_and_grad(function, has_aux=True)

        def run(*args: Any) -> tuple[tuple[Any, Any], Any]:
            with _explain_errors():
                return result(*args)

        return run

    def value_and_reached_grad(
        self, function: Callable[[list[Any]], tuple[Any, Any]]
    ) -> Callable[[list[Any]], tuple[tuple[Any, Any], list[Any]]]:
        """Do as `value_and_grad` for a list of arrays, with None for each on which the value does not depend."""

        def run(values: list[Any]) -> tuple[tuple[Any, Any], list[Any]]:
            with _explain_errors():
                value, pull, aux = jax.vjp(function, values, has_aux=True)
                found = zip(pull(jnp.ones_like(value))[0], reached.reached_by(pull, len(values)), strict=True)
            return (value, aux), [gradient if is_reached else None for gradient, is_reached in found]

        return run

    def eval_shape(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return shapes and dtypes of the results; nothing is computed."""
        return jax.eval_shape(function, *args)

    def axis_origins(
        self, function: Callable[[list[Any]], AxisQuestion], arrays: Sequence[Any]
    ) -> list[AxisOrigin | None]:
        """Return, for each array asked of, the marked one whose first axes are its own; nothing is computed."""
        return axis_origins.axis_origins(function, arrays)

    def start_recording(self, recorder: Recorder) -> tuple[Any, Any]:
        """Tell the recorder what this thread computes from now on."""
        level = recording.start(recorder)
        return level, level.parent_trace

    def stop_recording(self, recorder: Recorder, level: Any) -> None:
        """Tell it no more."""
        recording.stop(recorder, level)

    def copy_unrecorded(self, value: Any, level: Any) -> Any:
        """Return a copy that the recorders of that level do not notice."""
        with tracing.at(level.parent_trace):
            return jnp.copy(value)

    def vjp(self, function: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """Return the results, and the function from their cotangents to those of the arguments."""
        with _explain_errors():
            results, pull = jax.vjp(function, *args)

        def run(cotangents: object) -> tuple[Any, ...]:
            with _explain_errors():
                return tuple(pull(cotangents))

        return results, run

    def reached_vjp(
        self, function: Callable[[list[Any]], list[Any]], values: list[Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        """Do as `vjp` for a list of arrays, with None for each on which no result depends."""
        with _explain_errors():
            results, pull = jax.vjp(function, values)
        is_reached = reached.reached_by(pull, len(values))

        def run(cotangents: list[Any]) -> list[Any]:
            with _explain_errors():
                found = zip(pull(cotangents)[0], is_reached, strict=True)
            return [cotangent if is_there else None for cotangent, is_there in found]

        return results, run

    def vjp_with_aux(
        self, function: Callable[..., tuple[Any, Any]], *args: Any
    ) -> tuple[Any, Callable[[Any], tuple[Any, ...]], Any]:
        """Do as `vjp` for a function that returns ``(results, aux)``; ``aux`` has no cotangents."""
        with _explain_errors():
            results, pull, aux = jax.vjp(function, *args, has_aux=True)
        return results, pull, aux

    def tap(self, value: Array, token: Array, hear: Callable[[Any], None], level: object) -> Any:
        """Return the value at a level; ``hear`` gets its cotangent."""
        return custom.tap(value, token, hear, level)

    def custom_vjp(
        self,
        function: Callable[[list[Any]], list[Any]],
        forward: Callable[[list[Any]], tuple[list[Any], list[Any], Any]],
        backward: Callable[[list[Any], Any, list[Any]], list[Any]],
        inputs: list[Any],
        refused: Sequence[Callable[[], Exception] | None],
    ) -> list[Any]:
        """Call ``function(inputs)``, with a rule for its cotangents."""
        return custom.call(function, forward, backward, inputs, refused)

    def jvp(self, function: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Return the results and their tangents."""
        try:
            with _explain_errors():
                results, out = jax.jvp(function, args, tangents)
        except TypeError as error:
            if "custom_vjp" not in str(error):
                raise
            raise foreign.only_backwards() from error
        return results, out

    def map_rows(self, function: Callable[[Any], Any], rows: object, chunk_size: int | None = None) -> Any:
        """Return the function of each row, computed together, or ``chunk_size`` rows at a time."""
        with _explain_errors():
            return (
                jax.vmap(function)(rows) if chunk_size is None else jax.lax.map(function, rows, batch_size=chunk_size)
            )

    def named_axes(self) -> tuple[str, ...]:
        """Return the names of axes of `jax.vmap`, `jax.pmap` and `jax.shard_map` around this code."""
        return tracing.named_axes()

    def sum_over_axes(self, x: Array, names: tuple[str, ...]) -> Array:
        """Return the sum over all that runs beside it along those axes."""
        return jax.lax.psum(x, names) if names else x

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Compile the function."""
        return jax.jit(function)


def _to_abstract(leaf: Any) -> Any:
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=getattr(leaf, "weak_type", False))


@contextmanager
def _explain_errors() -> Iterator[None]:
    """Say in our words, with the user's own line, what JAX says of mistakes within the block."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ == "CustomVJPException":  # which has no public name
            closed = custom.closure_error()
            raise closed from cause_to_show(closed, error)
        if (told := foreign_errors.explain(error)) is not None:
            raise told from cause_to_show(told, error)
        raise
