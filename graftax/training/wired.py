"""Wired: the part of a model that runs the graph of layers between its inputs and outputs, if there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from graftax.core import tree
from graftax.core.descriptors import Fallback
from graftax.core.errors import ArgumentError, ArgumentTypeError, MissingAttributeError, StateError
from graftax.core.ours import is_ours
from graftax.core.scopes import ScopeStack
from graftax.layers.input_layer import InputLayer
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.ops.symbolic import Symbolic, map_leaves
from graftax.training.depth_order import order_by_depth
from graftax.training.graph import Graph, Result
from graftax.training.wiring import wire
from graftax.variables.graph.module import Module


class Recorded(dict[Result, Symbolic]):
    """The symbolic values of a graph. A copy of the model creates its own, since it has its own layers."""

    def __reduce__(self) -> tuple[type[Recorded], tuple[()]]:
        return Recorded, ()


_running: ScopeStack[Layer] = ScopeStack("graph of layers")


class Wired(Layer):
    """A layer that may have a graph of layers, which its call then runs.

    Args:
        inputs: A result of `graftax.Input`, or a nested structure of these. Defaults to None: no graph; the class
            defines ``call``.
        outputs: Results of calls on the inputs. Defaults to None.
        name: As for `Layer`. Defaults to None.
        trainable: As for `Layer`. Defaults to True.
        dtype: As for `Layer`; the layers of a graph keep their own. Defaults to None.
    """

    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_recorded"})
    _gx_graph: Graph | None = None
    _gx_recorded: Recorded | None = None
    _gx_in_a_row: ClassVar[bool] = False
    """Whether it is made of a list of layers, called one after the other."""

    def __init__(
        self,
        inputs: object = None,
        outputs: object = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        wiring = None
        if isinstance(inputs, str) and outputs is None:
            raise ArgumentTypeError(
                f"{type(self).__name__} got {inputs!r} as inputs", "name= is a keyword argument", f"name={inputs!r}"
            )
        if inputs is not None or outputs is not None:
            if inputs is None or outputs is None:
                if isinstance(inputs, list | tuple) and inputs and all(isinstance(one, Layer) for one in inputs):
                    raise ArgumentTypeError(
                        f"{type(self).__name__} got a list of {len(inputs)} layers",
                        "layers that are called one after the other are a Sequential",
                        "gx.Sequential(layers)",
                    )
                raise ArgumentError(
                    f"{type(self).__name__}({'inputs' if outputs is None else 'outputs'}=...) alone",
                    "a graph of layers lies between inputs and outputs",
                    "gx.Model(inputs, outputs)",
                )
            if type(self).call is not Wired.call:
                raise ArgumentTypeError(
                    f"{type(self).__name__}(inputs, outputs)",
                    "its class has a call, which says what is computed, and a graph would say it again",
                    "a class without call; or gx.Model(inputs, outputs) as an attribute",
                )
            wiring = wire(inputs, outputs)
        super().__init__(name, trainable, dtype)
        if wiring is None:
            return
        self.layers: list[Any] = wiring.layers
        if wiring.operands:
            self.operands: list[Any] = wiring.operands
        self._gx_graph = wiring.graph
        self._gx_recorded = Recorded(wiring.values)
        self._gx_input_shape = map_leaves(lambda leaf: leaf.shape, inputs)
        object.__setattr__(self, "supports_masking", True)
        object.__setattr__(self, "_gx_hands_on_masks", True)
        if is_ours(type(self)):
            object.__setattr__(self, "compiles_call", True)  # if the calls of all layers can be compiled
        self._gx_mark_built()

    @property
    def _gx_call_dtype(self) -> str | None:
        """Return None where there is a graph: its layers cast what they get, each to what it needs."""
        return super()._gx_call_dtype if self._gx_graph is None else None

    # --- running ------------------------------------------------------------------------------------------------------

    if not TYPE_CHECKING:  # so that type checkers accept any arguments in subclasses

        def call(self, inputs: object) -> Any:
            """Compute the outputs of the graph. Subclasses without a graph define it."""
            return super().call(inputs) if self._gx_graph is None else self._gx_run(self._gx_graph, inputs)

    def _gx_run(self, graph: Graph, inputs: object) -> Any:
        if any(one is self for one in _running.items):
            way = [*_running.items, self]
            raise StateError(
                f"the model {self.name!r} calls itself: "
                + " calls ".join(repr(one.name) for one in way[way.index(self) :]),
                "one of its layers holds the model, so the call would never end",
                "another model in that layer",
            )
        if len(self.layers) != graph.layers:
            raise StateError(
                f"the list of layers of {self._gx_title()} has {len(self.layers)}, and its graph {graph.layers}",
                "the graph was recorded when the model was made, and what is added to the list is called by nothing",
                "gx.Model(inputs, outputs), with the layer called between them",
            )
        given = self._gx_given_inputs(graph, inputs)
        operands = self.operands if graph.operands else ()
        with _running.entered(self):
            return graph.run(given, self.layers, operands)

    def _gx_parts_by_depth(self) -> list[Module]:
        graph = self._gx_graph
        return [] if graph is None else [self.layers[number] for number in order_by_depth(graph)]

    def _gx_makes_list(self) -> bool:
        return self._gx_in_a_row or self._gx_graph is not None

    @property
    def _gx_has_call(self) -> bool:
        """Return whether the class defines ``call``, or there is a graph."""
        return self._gx_graph is not None or type(self).call is not Wired.call

    def _gx_given_inputs(self, graph: Graph, inputs: object) -> list[Any]:
        """Return the inputs in the order of the graph.

        Raises:
            ArgumentTypeError: their structure differs from that of the graph.
        """
        layers = self._gx_input_layers(graph)
        names = [layer._gx_name for layer in layers]
        found: list[Any] | None = None
        if isinstance(inputs, Mapping) and not isinstance(graph.inputs, dict):
            if set(inputs) == set(names):
                found = [inputs[name or ""] for name in names]
        elif tree.is_leaf(inputs) == tree.is_leaf(graph.inputs):
            found = _leaves_in_order(graph.inputs, inputs)
        elif tree.is_leaf(graph.inputs) and isinstance(inputs, list | tuple) and len(inputs) == 1:
            found = list(inputs)
        elif len(layers) == 1 and tree.is_leaf(inputs) and isinstance(graph.inputs, list | tuple):
            found = [inputs]  # a model of another one's `inputs`
        if found is None or len(found) != len(layers):
            declared = map_leaves(lambda leaf: graph.steps[leaf.step].results, graph.inputs)
            raise ArgumentTypeError(
                f"{self._gx_title()} got {_format_shapes(inputs)}",
                f"its inputs are {_format_shapes(declared)}"
                + (f", called {', '.join(map(repr, names))}" if None not in names else ""),
                _by_columns(layers, inputs)
                + _without_others(names, inputs)
                + "an array for each, in that structure"
                + ("; or a dict by these names" if None not in names else ""),
            )
        return [layer.check_array(value) for layer, value in zip(layers, found, strict=True)]

    def _gx_output_names(self) -> tuple[str, ...]:
        """Return the given names of the layers whose outputs a graph lists, if all have one; otherwise nothing."""
        graph = self._gx_graph
        if graph is None or not isinstance(graph.outputs, list | tuple):
            return ()
        ends = [graph.steps[leaf.step].callee if isinstance(leaf, Result) else "" for leaf in graph.outputs]
        names = [None if isinstance(callee, str) else self.layers[callee]._gx_name for callee in ends]
        return tuple(name for name in names if name) if None not in names and len(set(names)) == len(names) else ()

    def _gx_input_layers(self, graph: Graph) -> list[InputLayer]:
        return [self.layers[graph.steps[leaf.step].callee] for leaf in tree.flatten(graph.inputs)]

    # --- inspecting the graph -----------------------------------------------------------------------------------------

    def _gx_record_again(self) -> None:
        if self._gx_graph is not None and not self._gx_recorded:
            self._gx_recorded = Recorded(self._gx_graph.record(self.layers, getattr(self, "operands", ())))

    def _gx_values(self, name: str) -> Any:
        if self._gx_graph is None:
            raise no_graph(self, name)
        self._gx_record_again()
        assert self._gx_recorded is not None  # it was created just now
        return map_leaves(self._gx_recorded.__getitem__, getattr(self._gx_graph, f"{name.rstrip('s')}s"))

    @Fallback
    def input(self) -> Any:
        """Return the symbolic inputs of the graph, in their structure."""
        return self._gx_values("input")

    @Fallback
    def output(self) -> Any:
        """Return the symbolic outputs of the graph, in their structure."""
        return self._gx_values("output")

    @Fallback
    def inputs(self) -> list[Any]:
        """Return the symbolic inputs of the graph, as a list."""
        return tree.flatten(self._gx_values("inputs"))

    @Fallback
    def outputs(self) -> list[Any]:
        """Return the symbolic outputs of the graph, as a list."""
        return tree.flatten(self._gx_values("outputs"))


def no_graph(model: Layer, name: str) -> MissingAttributeError:
    """Return the error for an attribute that only a graph of layers has."""
    return MissingAttributeError(
        f"{model._gx_title()} has no {name!r}",
        "it is no graph of layers: what comes in and goes out is known at the call",
        "gx.Model(inputs, outputs); gx.Sequential([gx.Input((8,)), ...])",
    )


def _leaves_in_order(expected: Any, structure: Any) -> list[Any] | None:
    """Return the leaves of a structure in the order of another one; None if the structures differ."""
    if tree.is_leaf(expected):
        return [structure] if tree.is_leaf(structure) else None
    if (
        tree.is_leaf(structure)
        or isinstance(expected, dict) != isinstance(structure, dict)
        or len(expected) != len(structure)
    ):
        return None
    if isinstance(expected, dict) and set(expected) != set(structure):
        return None
    pairs = (
        [(expected[key], structure[key]) for key in expected]
        if isinstance(expected, dict)
        else zip(expected, structure, strict=True)
    )
    found: list[Any] = []
    for one, other in pairs:
        if (part := _leaves_in_order(one, other)) is None:
            return None
        found += part
    return found


def _by_columns(layers: list[InputLayer], inputs: Any) -> str:
    """Return how to divide a table with a column for each input; nothing for what cannot be one."""
    names = [layer._gx_name for layer in layers]
    is_table = tree.is_leaf(inputs) and len(np.shape(inputs)) == 2 and np.shape(inputs)[1] >= len(layers)
    if not is_table or None in names or any(layer.shape != (1,) for layer in layers):
        return ""
    return f"{{name: x[[name]] for name in {names}}} of a table; "


def _without_others(names: Sequence[str | None], inputs: Any) -> str:
    """Return how to leave out the keys of a dict that are no inputs; nothing where there is something else wrong."""
    if not isinstance(inputs, Mapping) or not {*names} < {*inputs}:
        return ""
    return (
        f"{{name: x[name] for name in {list(names)}}}, without {', '.join(repr(k) for k in inputs if k not in names)}; "
    )


def _format_shapes(value: Any) -> str:
    """Return the text of nested shapes, for messages."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_format_shapes(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_format_shapes, value)) + "]"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return f"{value!r:.40}"
