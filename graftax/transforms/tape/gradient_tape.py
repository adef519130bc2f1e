"""GradientTape: differentiate what an ordinary block of eager code computed; and its forward-mode twin.

Inside the block values are what they are, so Python may print them and decide by them. Only operations that touch
something watched are recorded; a gradient computes the block again, and differentiates that. Effects inside functions
that are recorded as one (compiled functions, custom gradients, callbacks) therefore happen again.

At points where a function of `graftax.ops` has no derivative the numbers are the same as those of `graftax.grad`, which
are those of JAX but for the norm and the three below it, where JAX has nan:

============================== ===========
derivative                     value
============================== ===========
sqrt(x) at 0                   inf
where(x > 0, sqrt(x), 0) at 0  nan
abs(x) at 0                    1
activations.relu(x) at 0       0
maximum(x, 0) at 0             0.5
clip(x, 0, 1) at 0 and at 1    0.5
norm(x), angle(x) at 0         0
arctan2(x, y) at the origin    0
logaddexp(x, y) of two -inf    0
power(x, y) where both are 0   0
max(x) where several are equal shared evenly
eigh, svd with equal values    nan for vectors, right for values
============================== ===========

The gradient of a real value with respect to a complex one is that of JAX, too: the conjugate of the direction of
steepest ascent, so that ``z - rate * ops.conj(gradient)`` descends.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError, GradientError, ShapeError, TapeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, Shape
from graftax.transforms.chunk_size import check_chunk_size
from graftax.transforms.gradients.derivatives import batch_jacobian, jacobian, pull, rows_differ
from graftax.transforms.gradients.directions import direction
from graftax.transforms.gradients.sources import at_home
from graftax.transforms.tape.block import RecordedBlock, Source, Unconnected, unconnected_value
from graftax.transforms.tape.replay import Transform, run
from graftax.variables.variable import Variable


class GradientTape(RecordedBlock):
    """Records what its block computes from watched arrays and Variables, for gradients of it.

    Trainable Variables are watched when they are read. What is assigned in the block and read again carries its
    gradient, as in every transform here and unlike in TensorFlow; ``ops.stop_gradient(value)`` in the assignment cuts
    it. The gradient with respect to a Variable is that with respect to the value that it starts with: the one that it
    has when it is first read in the block, unless it was assigned in there before (then it is unconnected). An
    assignment between two blocks of a persistent tape, or in `stop_recording`, makes a new start, and gradients of
    several starts add up.

    A gradient may be taken inside the block, too, where other tapes record it. Under `graftax.jit` a tape costs nothing
    but time while tracing; in eager code every operation inside is slower by some tens of microseconds or more, and
    `graftax.value_and_grad` of a function is the faster way.

    Args:
        persistent: Whether gradients may be taken more than once. Defaults to False.
        watch_accessed_variables: Whether trainable Variables are watched when they are read. Defaults to True.

    Raises:
        BackendCapabilityError: at entry: the backend has no gradients.
        TapeError: entered inside its own block, or used at the wrong time.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable(3.0)
        >>> with GradientTape() as outer:
        ...     with GradientTape() as inner:
        ...         y = w * w * w
        ...         if y > 20:  # a real value
        ...             y = y * 2
        ...     first = inner.gradient(y, w)
        >>> float(first), float(outer.gradient(first, w))
        (54.0, 36.0)
    """

    @door
    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        super().__init__(watch_accessed_variables)
        self._persistent = persistent
        self._spent = False

    def __enter__(self) -> Self:
        self._enter()
        if self._spent:  # of a tape used again nothing counts that it has forgotten already
            self._spent = False
            self._record.clear()
        return self

    @door
    def watch(self, x: Any) -> None:
        """Record what is computed from these from here on.

        Args:
            x: An array, a Variable (trainable or not), a Module (its trainable Variables), or a structure of these.

        Raises:
            ArgumentTypeError: something else, such as a NumPy array.
            TapeError: outside of the block.
        """
        if not self._inside:
            raise TapeError(
                "GradientTape.watch() outside of its block", "nothing is recorded there", "call it first in the block"
            )
        leaves = tree.flatten(self._expand(x))
        self._check_level("watch", leaves)
        for leaf in leaves:
            self._watch(leaf)

    @door
    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the Variables that are watched, in the order of their first reads."""
        users = (storage.user for storage in self._record.variables)
        return tuple(user for user in users if isinstance(user, Variable))

    @door
    def reset(self) -> None:
        """Forget what was recorded, and what was watched.

        Raises:
            TapeError: not recording.
        """
        if self._frame is None:
            raise TapeError(
                "GradientTape.reset() while it does not record",
                "there is nothing to go on with",
                "tape.reset() inside of its block; outside, a new graftax.GradientTape()",
            )
        self._record.clear()
        self._frame.memo.clear()

    @door
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Unconnected = "none",
    ) -> Any:
        """Compute the gradient of the sum of all elements of the target.

        Args:
            target: An array, or a structure of arrays, whose gradients add up.
            sources: An array, a Variable, a Module, or a structure of these.
            output_gradients: A weight for each element of the target, in the same structure. Defaults to ones.
            unconnected_gradients: What a source gets that the target does not depend on, or through
                ``stop_gradient``, rounding and the like only: ``"none"`` for None, ``"zero"`` for zeros. Defaults to
                ``"none"``.

        Returns:
            Gradients in the structure of the sources; for a Module, a dict by path.

        Raises:
            ArgumentTypeError: the target or a source is no array.
            GradientError: the target is not floating.
            TapeError: a second time without ``persistent``; before the block; outside of its compiled function.
        """
        values, slots = self._begin("gradient", target, unconnected_gradients)
        structure = self._expand(sources)
        weights = _output_gradients(values, target, output_gradients)
        wanted = [(slot, weight) for slot, weight in zip(slots, weights, strict=True) if slot is not None]
        leaves = self._sources(structure)
        found = self._run(pull, [slot for slot, _ in wanted], leaves, [weight for _, weight in wanted])
        return self._end(structure, _sums(leaves, found, (), 0, unconnected_gradients))

    @door
    def jacobian(
        self,
        target: Array,
        sources: Any,
        unconnected_gradients: Unconnected = "none",
        chunk_size: int | None = None,
    ) -> Any:
        """Compute the derivatives of each element of the target, vectorised.

        Args:
            target: An array.
            sources: An array, a Variable, a Module, or a structure of these.
            unconnected_gradients: What a source gets that the target does not depend on: None or zeros. Defaults to
                ``"none"``.
            chunk_size: How many elements of the target at a time; bounds the memory. Defaults to None, for all.

        Shape:
            ``(*target), (*source) -> (*target, *source)``
        """
        check_chunk_size("jacobian", chunk_size)
        (value,), slots = self._begin("jacobian", _check_single(target, "jacobian"), unconnected_gradients)
        structure = self._expand(sources)
        leaves = self._sources(structure)
        ends = [slot for slot in slots if slot is not None]
        shape = tuple(value.shape)
        found = self._run(jacobian, ends, leaves, [], shape, str(value.dtype), chunk_size)
        return self._end(structure, _sums(leaves, found, shape, 0, unconnected_gradients))

    @door
    def batch_jacobian(
        self,
        target: Array,
        source: Any,
        unconnected_gradients: Unconnected = "none",
        chunk_size: int | None = None,
        check: bool = False,
    ) -> Any:
        """Compute the Jacobian of each example of a batch, whose target depends on no other example of the source.

        Args:
            target: An array whose first axis is the batch.
            source: An array or Variable with the same first axis.
            unconnected_gradients: What a source gets that the target does not depend on: None or zeros. Defaults to
                ``"none"``.
            chunk_size: How many elements of an example of the target at a time; bounds the memory. Defaults to
                None, for all.
            check: Whether to make sure, for the first and the last example, that they depend on no other; without, the
                numbers are wrong if they do. Defaults to False.

        Shape:
            ``(batch, *target), (batch, *source) -> (batch, *target, *source)``

        Raises:
            ShapeError: the first axes differ, or there is none besides.
            GradientError: with ``check``: examples depend on each other.
        """
        check_chunk_size("batch_jacobian", chunk_size)
        (value,), slots = self._begin("batch_jacobian", _check_single(target, "batch_jacobian"), unconnected_gradients)
        shape, inner = tuple(value.shape), tuple(getattr(source, "shape", ()))
        if len(shape) < 2 or len(inner) < 2 or shape[0] != inner[0]:
            raise ShapeError(
                f"batch_jacobian of a target of shape {shape} with respect to a source of shape {inner}",
                "both have the batch as their first axis, and at least one more",
                "jacobian() of a single example; reshape(x, (batch, 1)) of numbers",
            )
        leaves = self._sources(source)
        ends = [slot for slot in slots if slot is not None]
        if check and ends:
            self._check_rows(ends, leaves, shape, str(value.dtype))
        found = self._run(batch_jacobian, ends, leaves, [], shape, str(value.dtype), chunk_size)
        return self._end(source, _sums(leaves, found, shape, 1, unconnected_gradients))

    def _check_rows(self, ends: list[int], leaves: list[Source], shape: tuple[int, ...], dtype: str) -> None:
        differ = self._run(rows_differ, ends, leaves, [], shape, dtype)
        if any(bool(value) for value in differ.values()):
            raise GradientError(
                "batch_jacobian(check=True): an example of the target depends on another example of the source",
                "the Jacobians of single examples do not exist then (batch statistics, attention over the batch, ...)",
                "jacobian(), which gives all of it",
            )

    def _begin(self, verb: str, target: object, kind: Unconnected) -> tuple[list[Any], list[int | None]]:
        self._check_entered(verb)
        unconnected_value(kind, (), "float32")
        if self._spent and not self._persistent:
            raise TapeError(
                f"a second {verb}() of a tape that is not persistent",
                "it forgot what it recorded after the first, to free the memory",
                "graftax.GradientTape(persistent=True), or all sources in one call",
            )
        result = self._targets(target, verb)  # before it stops: a mistake here leaves the tape as it was
        if not self._persistent:
            self._stop()
            self._spent = True
        return result

    def _run(
        self, transform: Transform, targets: list[int], leaves: list[Source], extra: list[Any], *statics: Hashable
    ) -> dict[int, Any]:
        """Return what a transform gives for each slot of the sources that the targets depend on."""
        replay, values, constants = self._replay(targets, leaves)
        if not values:
            return {}
        # operation by operation is a way for gradients alone: Jacobians are computed for many weights at once
        otherwise = replay.pull if transform is pull else None
        found = run(transform, replay, values, constants, extra, *statics, otherwise=otherwise)
        return {slot: value for slot, value in zip(replay.connected, found, strict=True) if value is not None}

    def _end(self, structure: object, gradients: list[Any]) -> Any:
        if not self._persistent:
            self._record.clear()
        return tree.rebuild(structure, iter(gradients))


# --- arguments and results --------------------------------------------------------------------------------------------


def _check_single(target: object, verb: str) -> Any:
    if not tree.is_leaf(target):
        raise ArgumentTypeError(
            f"{verb}() got a {type(target).__name__}", "its target is one array", "one call for each"
        )
    return target


def _output_gradients(values: list[Any], target: object, gradients: object) -> list[Any]:
    arrays = registry.current().arrays
    leaves = [None] * len(values) if gradients is None else _up_to(target, gradients)
    weights = []
    for value, leaf in zip(values, leaves, strict=True):
        weight = arrays.numpy.ones_like(value) if leaf is None else direction("output_gradients", leaf, value.dtype)
        if tuple(weight.shape) not in ((), tuple(value.shape)):
            raise ShapeError(
                f"output_gradients of shape {tuple(weight.shape)} for a target of shape {tuple(value.shape)}",
                "there is one weight for each element",
                f"weights of shape {tuple(value.shape)}, or one number for all",
            )
        weights.append(arrays.numpy.broadcast_to(weight, value.shape))
    return weights


def _up_to(target: Any, structure: Any) -> list[Any]:
    """Return what stands in one structure in the places of the leaves of another."""
    if tree.is_leaf(target):
        return [structure]
    if (
        type(structure) is not type(target)
        or len(structure) != len(target)
        or (isinstance(structure, dict) and structure.keys() != target.keys())
    ):
        raise ArgumentError(
            f"output_gradients {structure!r} for a target that is a {type(target).__name__} of {len(target)}",
            "they have the same structure as the target",
            "one array in place of each array of the target",
        )
    keys = target if isinstance(target, dict) else range(len(target))
    return [leaf for key in keys for leaf in _up_to(target[key], structure[key])]


def _sums(leaves: list[Source], gradients: dict[int, Any], shape: Shape, skip: int, kind: Unconnected) -> list[Any]:
    """Sum for each source over its slots: a Variable has one for each value that was read."""
    results = []
    for leaf, slots in leaves:
        parts = [gradients[slot] for slot in slots if slot in gradients]
        total: Any = (
            sum(parts[1:], parts[0]) if parts else unconnected_value(kind, (*shape, *leaf.shape[skip:]), leaf.dtype)
        )
        if isinstance(leaf, Variable) and skip == 0 and total is not None and tuple(total.shape) == leaf.shape:
            [total] = at_home([leaf._storage], [total])
        results.append(total)
    return results
