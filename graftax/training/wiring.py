"""Building a `Graph` from the results of calls on `graftax.Input`, with checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.layers.input_layer import InputLayer
from graftax.layers.layer import Layer
from graftax.ops.symbolic import Origin, Symbolic, map_leaves
from graftax.training.graph import Graph, Operand, Result, Step
from graftax.variables.graph.node import Node


class Wiring(NamedTuple):
    """A graph, with the layers and operands of its numbers."""

    graph: Graph
    layers: list[Layer]
    operands: list[Any]
    values: dict[Result, Symbolic]


def wire(inputs: Any, outputs: Any) -> Wiring:
    """Return the graph between inputs and outputs.

    Raises:
        ArgumentTypeError: a value is not a result of `graftax.Input` or of calls on one.
        ArgumentError: an output needs an input that is not given, an input is not used or is given twice, or two layers
            have the same name.
    """
    given, wanted = _leaves("inputs", inputs), _leaves("outputs", outputs)
    cut = {}
    for value in given:
        if value.key in cut:
            raise ArgumentError(
                f"inputs= has {_title(value)} twice", "each input is given once", "a graftax.Input for each"
            )
        cut[value.key] = value
    origins, used = _calls_between(cut, wanted)
    for value in given:
        if value.key not in used:
            names = ", ".join(_title(one) for one in wanted)
            raise ArgumentError(
                f"the input {_title(value)} is disconnected: no output needs it",
                f"the outputs are {names}, and what is given for it would be lost",
                "inputs= without it, or an output that is computed from it",
            )
    return _number_calls(inputs, outputs, given, origins)


def _leaves(argument: str, structure: Any) -> list[Symbolic]:
    found = tree.flatten(structure)
    if not found:
        raise ArgumentError(f"{argument}={structure!r}", "a graph has at least one", "gx.Model(gx.Input((8,)), y)")
    for leaf in found:
        if not isinstance(leaf, Symbolic):
            hint = "a layer is called: layer(x)" if isinstance(leaf, Layer) else "x = graftax.Input((8,)); y = layer(x)"
            raise ArgumentTypeError(
                f"{argument} has {leaf!r:.60}, of type {type(leaf).__name__}",
                "a graph connects symbolic values: results of graftax.Input, and of layers that are called on them",
                hint
                if argument == "outputs" or not isinstance(leaf, Layer)
                else "layer.input, where it was called on one",
            )
    return found


def _calls_between(
    cut: dict[tuple[int, int], Symbolic], outputs: Iterable[Symbolic]
) -> tuple[list[Origin], set[tuple[int, int]]]:
    """Return the calls between inputs and outputs, in their original order, and the inputs that they need."""
    found: dict[int, Origin] = {}
    used = set()
    waiting: list[tuple[Symbolic, Symbolic | None]] = [(value, None) for value in outputs]
    while waiting:
        value, user = waiting.pop()
        if value.key in cut:
            used.add(value.key)
            continue
        origin = value.origin
        if origin.is_input:
            needed = f"by {_title(user)}" if user is not None else "as an output"
            raise ArgumentError(
                f"the graph is disconnected: {_title(value)} is needed {needed}, and is not among the inputs",
                f"inputs= has {', '.join(_title(one) for one in cut.values())}",
                f"inputs=[..., {getattr(value.origin.callee, 'name', 'x')}]",
            )
        if origin.number not in found:
            found[origin.number] = origin
            waiting += [(parent, value) for parent in origin.parents()]
    return [found[number] for number in sorted(found)], used


def _title(value: Symbolic | None) -> str:
    """Return the name of a value in messages: that of its layer or op."""
    assert value is not None
    callee = value.origin.callee
    if isinstance(callee, str):
        return f"ops.{callee}"
    return f"{getattr(callee, 'name', callee)!r} ({'Input' if value.origin.is_input else type(callee).__name__})"


def _number_calls(inputs: Any, outputs: Any, input_leaves: list[Symbolic], origins: list[Origin]) -> Wiring:
    layers, operands = _Numbers(), _Numbers()
    place: dict[tuple[int, int], Result] = {}
    values: dict[Result, Symbolic] = {}
    steps: list[Step] = []

    def number_of(callee: Any) -> int | str:
        return callee if isinstance(callee, str) else layers.number_of(callee)

    def template(leaf: Any) -> Any:
        if isinstance(leaf, Symbolic):
            return place[leaf.key]
        if isinstance(leaf, Node):
            return Operand(operands.number_of(leaf))
        return leaf

    for value in input_leaves:
        layer = value.origin.callee if value.origin.is_input else _input_like(value)
        place[value.key] = Result(len(steps), 0)
        values[place[value.key]] = value
        steps.append(Step(number_of(layer), (), {}, value.spec, is_input=True))
    for origin in origins:
        args, kwargs = map_leaves(template, origin.args), map_leaves(template, origin.kwargs)
        for i, one in enumerate(_results(origin, input_leaves[0])):
            if one is not None and one.key not in place:
                place[one.key] = Result(len(steps), i)
                values[place[one.key]] = one
        steps.append(Step(number_of(origin.callee), args, kwargs, origin.results))
    ends = map_leaves(template, outputs)
    graph = Graph(_mark_last_uses(steps, tree.flatten(ends)), map_leaves(template, inputs), ends)
    _require_apart(layers.all)
    return Wiring(graph, layers.all, operands.all, values)


class _Numbers:
    """Numbers for objects, in the order of their first look-up."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self._numbers: dict[int, int] = {}

    def number_of(self, item: object) -> int:
        """Return the number of an object."""
        if id(item) not in self._numbers:
            self._numbers[id(item)] = len(self.all)
            self.all.append(item)
        return self._numbers[id(item)]


def _results(origin: Origin, like: Symbolic) -> Iterator[Symbolic | None]:
    for one in tree.flatten(like.results_like(origin)):
        yield one if isinstance(one, Symbolic) else None


def _input_like(value: Symbolic) -> InputLayer:
    """Return the symbolic input for a value from within another graph."""
    if not value.ndim:
        raise ArgumentError(
            f"inputs= has {_title(value)}, one number", "an input has an axis for the batch", "the input that it is of"
        )
    batch, *shape = value.shape
    return InputLayer(shape, value.spec.dtype, batch)


def _mark_last_uses(steps: list[Step], ends: list[Any]) -> tuple[Step, ...]:
    """Return the steps, each with the values that no later step needs, so that their memory can be freed."""
    last: dict[Result, int] = {}
    for number, step in enumerate(steps):
        for place in range(len(tree.flatten(step.results))):
            last[Result(number, place)] = number
        uses: list[Any] = []
        map_leaves(uses.append, (step.args, step.kwargs))
        last.update((use, number) for use in uses if isinstance(use, Result))
    kept = {end for end in ends if isinstance(end, Result)}
    done: list[list[Result]] = [[] for _ in steps]
    for result, number in last.items():
        if result not in kept:
            done[number].append(result)
    return tuple(replace(step, last_used=tuple(unused)) for step, unused in zip(steps, done, strict=True))


def _require_apart(layers: list[Layer]) -> None:
    named: dict[str, Layer] = {}
    for i, layer in enumerate(layers):
        name = layer._gx_name
        if name is None:
            continue
        if name in named:
            first = layers.index(named[name])
            raise ArgumentError(
                f"two layers of the graph are called {name!r}: layers/{first} ({type(named[name]).__name__}) and "
                f"layers/{i} ({type(layer).__name__})",
                "a name in selectors, dicts and get_layer means one of them",
                f'name="{name}_{i}" for one',
            )
        named[name] = layer
