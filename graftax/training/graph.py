"""Graph: the wiring of the layers and ops of a model, as plain data without references to layers.

A graph is built once, from the results of calls on `graftax.Input`. Running it calls each layer and op again, so
gradients, compiling, masks and everything else see ordinary calls. Layers and Variables are numbers in the graph, and
the model holds them: if a layer is replaced in the model, the new one is called from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from graftax import ops
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.core.typedefs import Array
from graftax.layers import symbolic_call
from graftax.ops.symbolic import Origin, Symbolic, leaves, map_leaves
from graftax.ops.symbolic_array import subscript
from graftax.variables.graph.prints import comparison_key, is_plain


@dataclass(frozen=True, slots=True)
class Result:
    """A value in the graph: the number of a step and of its result."""

    step: int
    place: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A Variable or layer that is an argument of a step: its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a layer or an op.

    Args:
        callee: The number of the layer, or the name of the op.
        args: Its arguments, nested, with `Result` and `Operand` in place of values that exist only at run time.
        kwargs: The keyword arguments, likewise.
        results: A structure with a `Spec` for each result.
        is_input: Whether the result is an input of the model.
        last_used: The values that no later step needs.
    """

    callee: int | str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: Any
    is_input: bool = False
    last_used: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A graph: its steps, in the order in which they run.

    Args:
        steps: The steps; inputs come first.
        inputs: The structure of the inputs, with a `Result` for each array.
        outputs: The structure of the outputs, likewise.
    """

    steps: tuple[Step, ...]
    inputs: Any
    outputs: Any
    layers: int = field(init=False)
    operands: int = field(init=False)
    _key: Any = field(init=False)

    def __post_init__(self) -> None:
        numbers = [step.callee for step in self.steps if isinstance(step.callee, int)]
        given = [
            leaf.number
            for step in self.steps
            for leaf in leaves(step.args) + leaves(step.kwargs)
            if isinstance(leaf, Operand)
        ]
        object.__setattr__(self, "layers", max(numbers, default=-1) + 1)
        object.__setattr__(self, "operands", max(given, default=-1) + 1)
        object.__setattr__(self, "_key", _hashable_key((self.steps, self.inputs, self.outputs)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __deepcopy__(self, memo: object) -> Graph:
        return self  # immutable, so copies can share it

    def run(self, inputs: Sequence[Any], layers: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Any:
        """Run all steps, and return the outputs.

        Args:
            inputs: The inputs, in the order of ``inputs``.
            layers: The layers, by their numbers in steps.
            operands: The Variables and layers, by the numbers of `Operand`.
        """
        values: dict[Result, Any] = dict(zip(tree.flatten(self.inputs), inputs, strict=True))

        def value_of(leaf: object) -> Any:
            if isinstance(leaf, Result):
                return values[leaf]
            return operands[leaf.number] if isinstance(leaf, Operand) else leaf

        def declared_value_of(leaf: object) -> Any:
            value = value_of(leaf)
            if isinstance(leaf, Result) and self.steps[leaf.step].is_input:
                value = in_dtype(value, self.steps[leaf.step].results.dtype)
            return value

        for number, step in enumerate(self.steps):
            if not step.is_input:
                if isinstance(step.callee, str):
                    called, found = function_of(step.callee), declared_value_of
                else:
                    called, found = layers[step.callee], value_of  # layers cast what they get, each to what it needs
                results = tree.flatten(called(*map_leaves(found, step.args), **map_leaves(found, step.kwargs)))
                values.update((Result(number, place), value) for place, value in enumerate(results))
            for result in step.last_used:
                values.pop(result, None)
        return map_leaves(declared_value_of, self.outputs)

    def takers(self) -> list[int]:
        """Return the numbers of the layers that are called on the inputs just as the graph gets them."""
        given = (self.inputs,)
        return [s.callee for s in self.steps if isinstance(s.callee, int) and s.args == given and not s.kwargs]

    def record(self, layers: Sequence[Any], operands: Sequence[Any]) -> dict[Result, Symbolic]:
        """Return new symbolic values for all results, for a copy of the model, which has layers of its own."""
        values: dict[Result, Symbolic] = {}

        def value_of(leaf: object) -> Any:
            if isinstance(leaf, Result):
                return values[leaf]
            return operands[leaf.number] if isinstance(leaf, Operand) else leaf

        for number, step in enumerate(self.steps):
            callee = step.callee if isinstance(step.callee, str) else layers[step.callee]
            origin = Origin(
                callee, map_leaves(value_of, step.args), map_leaves(value_of, step.kwargs), step.results, step.is_input
            )
            if not isinstance(callee, str):
                symbolic_call.note(origin)
            for place, value in enumerate(tree.flatten(symbolic_call.results_of(origin))):
                values[Result(number, place)] = value
        return values


def in_dtype(value: Array, dtype: str) -> Array:
    """Return fractions in a dtype, anything else as it is."""
    kind = str(value.dtype)
    return ops.cast(value, dtype) if kind != dtype and is_floating(kind) else value


def function_of(name: str) -> Callable[..., Any]:
    """Return the function of a step that calls an op."""
    if name == "subscript":
        return subscript
    found: Callable[..., Any] = getattr(ops, name)
    return found


def _hashable_key(value: Any) -> Any:
    """Return a hashable key, which is equal for graphs that compute the same."""
    if isinstance(value, Step):
        parts = (value.callee, value.args, value.kwargs, value.results, value.is_input)
        return Step, tuple(_hashable_key(part) for part in parts)
    if isinstance(value, dict):
        return dict, tuple((key, _hashable_key(part)) for key, part in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(_hashable_key(part) for part in value)
    if isinstance(value, slice):
        return slice, value.start, value.stop, value.step
    if is_plain(value):
        return type(value), comparison_key(value)
    known = type(value).__hash__
    return id(value) if known is None or known is object.__hash__ else value  # type: ignore[comparison-overlap]
