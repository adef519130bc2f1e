"""Graph: how the layers and ops of a model are wired, as plain data that holds no layer.

A graph is read off the values that calls on `graftax.Input` gave, once; running it is calling each layer and op again,
so gradients, compiling, masks and all else see ordinary calls. Layers and Variables stand in it by their number, and
the model holds them: what is put in the place of a layer is called from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from graftax import ops
from graftax.core import tree
from graftax.layers import symbolic_call
from graftax.ops.symbolic import Origin, Symbolic, leaves, mapped
from graftax.ops.symbolic_array import subscript
from graftax.variables.graph.prints import is_plain


@dataclass(frozen=True, slots=True)
class Result:
    """A value in the graph: which result of which step."""

    step: int
    place: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A Variable, or a layer, that an op or a layer is given: its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Step:
    """One call.

    Args:
        callee: The number of the layer, or the name of the op.
        args: Its arguments, nested, with `Result` and `Operand` in the place of what is there only in the call.
        kwargs: Those by name.
        results: A structure with a `Spec` for each result.
        is_input: Whether the result is given, by what the model is called with.
        last_used: Values that no later step needs.
    """

    callee: int | str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: Any
    is_input: bool = False
    last_used: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """The steps in the order in which they run.

    Args:
        steps: The inputs first.
        inputs: The structure of what the model is called with: a `Result` for each array.
        outputs: That of what it gives.
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
        object.__setattr__(self, "_key", _hashable((self.steps, self.inputs, self.outputs)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __deepcopy__(self, memo: object) -> Graph:
        return self  # nothing in it ever changes

    def run(self, given: Sequence[Any], layers: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Any:
        """Return the outputs.

        Args:
            given: The inputs, in the order of ``inputs``.
            layers: What the numbers of steps mean.
            operands: What those of `Operand` mean.
        """
        values: dict[Result, Any] = dict(zip(tree.flatten(self.inputs), given, strict=True))

        def there(leaf: object) -> Any:
            if isinstance(leaf, Result):
                return values[leaf]
            return operands[leaf.number] if isinstance(leaf, Operand) else leaf

        for number, step in enumerate(self.steps):
            if not step.is_input:
                called = function_of(step.callee) if isinstance(step.callee, str) else layers[step.callee]
                results = tree.flatten(called(*mapped(there, step.args), **mapped(there, step.kwargs)))
                values.update((Result(number, place), value) for place, value in enumerate(results))
            for result in step.last_used:
                values.pop(result, None)
        return mapped(there, self.outputs)

    def record(self, layers: Sequence[Any], operands: Sequence[Any]) -> dict[Result, Symbolic]:
        """Return what stands for all values, made anew: for a copy, which has layers of its own."""
        values: dict[Result, Symbolic] = {}

        def there(leaf: object) -> Any:
            if isinstance(leaf, Result):
                return values[leaf]
            return operands[leaf.number] if isinstance(leaf, Operand) else leaf

        for number, step in enumerate(self.steps):
            callee = step.callee if isinstance(step.callee, str) else layers[step.callee]
            origin = Origin(callee, mapped(there, step.args), mapped(there, step.kwargs), step.results, step.is_input)
            if not isinstance(callee, str):
                symbolic_call.note(origin)
            for place, value in enumerate(tree.flatten(symbolic_call.results_of(origin))):
                values[Result(number, place)] = value
        return values


def function_of(name: str) -> Callable[..., Any]:
    """Return the function of a step that calls no layer."""
    if name == "subscript":
        return subscript
    found: Callable[..., Any] = getattr(ops, name)
    return found


def _hashable(value: Any) -> Any:
    """Return what is equal for graphs that compute the same."""
    if isinstance(value, Step):
        parts = (value.callee, value.args, value.kwargs, value.results, value.is_input)
        return Step, tuple(_hashable(part) for part in parts)
    if isinstance(value, dict):
        return dict, tuple((key, _hashable(part)) for key, part in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(_hashable(part) for part in value)
    if isinstance(value, slice):
        return slice, value.start, value.stop, value.step
    if is_plain(value):
        return type(value), value
    known = type(value).__hash__
    return id(value) if known is None or known is object.__hash__ else value  # type: ignore[comparison-overlap]
