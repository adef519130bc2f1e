"""ForwardAccumulator: how the results of a block change along a direction."""

from __future__ import annotations

from typing import Any, Self

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ShapeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, unwrap
from graftax.transforms.gradients.derivatives import push
from graftax.transforms.gradients.directions import direction
from graftax.transforms.gradients.sources import check_arrays, check_once
from graftax.transforms.tape.block import RecordedBlock, Unconnected, check_traceable, unconnected_value
from graftax.transforms.tape.record import is_differentiable
from graftax.transforms.tape.replay import run


class ForwardAccumulator(RecordedBlock):
    """Forward mode: how what its block computes changes along one direction of what it is computed from.

    A Variable among the primals moves from the value that it has at the entry of the block; what is assigned in the
    block carries its tangent.

    Args:
        primals: An array, a Variable, or a structure of these.
        tangents: The direction: arrays of the same shapes, in the same structure.

    Raises:
        ArgumentTypeError: a primal is no array and no Variable.
        ArgumentError: the tangents have another structure, or a Variable is among the primals twice.
        ShapeError: a tangent has another shape than its primal.
        DTypeError: a tangent is complex, and its primal is not.
        GradientError: there is no primal.

    Example:
        >>> import graftax as gx
        >>> x = gx.Variable(2.0)
        >>> with ForwardAccumulator(x, gx.ops.asarray(1.0)) as accumulator:
        ...     y = x**3
        >>> float(accumulator.jvp(y))
        12.0
    """

    @door
    def __init__(self, primals: object, tangents: object) -> None:
        super().__init__(trainable=False)
        self._primals = self._expand(primals)
        check_arrays(
            "ForwardAccumulator got the primals",
            self._primals,
            "an array, a Variable, or a structure with some in it; an unbuilt model has no Variables before its first "
            "call",
        )
        leaves = tree.flatten(self._primals)
        check_once("ForwardAccumulator", leaves)
        for leaf in leaves:
            check_traceable("a primal of ForwardAccumulator", leaf)
        given: list[Any] = []
        tree.map_structure(lambda _, one: given.append(unwrap(one)), self._primals, tangents)
        shapes = [tuple(leaf.shape) for leaf in leaves]
        self._tangents = [_cast_tangent(leaf, tangent) for leaf, tangent in zip(leaves, given, strict=True)]
        if [tuple(tangent.shape) for tangent in self._tangents] != shapes:
            raise ShapeError(
                f"tangents of shapes {[tuple(t.shape) for t in self._tangents]} for primals of shapes {shapes}",
                "each primal has one tangent of its shape",
                "ops.ones_like(primal), or another array of that shape",
            )

    def __enter__(self) -> Self:
        self._record.clear()
        self._enter()
        for leaf in tree.flatten(self._primals):
            self._watch(leaf)
        return self

    @door
    def jvp(self, target: Any, unconnected_gradients: Unconnected = "none") -> Any:
        """Compute the tangents of the target, in its structure; None (or zeros) for what depends on no primal.

        Raises:
            ArgumentTypeError: the target is no array.
            GradientError: it is not floating.
        """
        self._check_entered("jvp")
        unconnected_value(unconnected_gradients, (), "float32")  # raises for what is no choice
        values, slots = self._targets(target, "jvp")
        # a Variable that was assigned in the block has several slots; the first is that of the primal
        leaves = [(leaf, dict([*slots.items()][:1])) for leaf, slots in self._sources(self._primals)]
        moving = {slot: t for (_, slots), t in zip(leaves, self._tangents, strict=True) for slot in slots}
        results = []
        for value, slot in zip(values, slots, strict=True):
            replay, primals, constants = self._replay([] if slot is None else [slot], leaves)
            if replay.connected:
                tangents = [moving[source] for source in replay.connected]
                results.append(run(push, replay, primals, constants, tangents))
            else:
                results.append(unconnected_value(unconnected_gradients, value.shape, value.dtype))
        return tree.rebuild(target, iter(results))


def _cast_tangent(primal: object, tangent: Any) -> Array:
    """Return a tangent in the dtype of its primal; as it is where that has no derivative, whatever the tangent is."""
    value = unwrap(primal)
    if not is_differentiable(value):
        return registry.current().arrays.asarray(tangent)
    return direction("a tangent of ForwardAccumulator", tangent, value.dtype)  # type: ignore[no-any-return]
