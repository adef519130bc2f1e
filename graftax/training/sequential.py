"""Sequential: a model whose layers run one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, overload

from graftax.core import user_line
from graftax.core.errors import ArgumentError, ArgumentTypeError, IndexRangeError, StateError
from graftax.core.short_traceback import door
from graftax.core.user_functions import check_takes
from graftax.layers.building import is_built
from graftax.layers.input_layer import Declared, InputLayer, symbolic_input
from graftax.layers.inputs import inputs_in
from graftax.layers.layer import Layer
from graftax.layers.lookup import Lookup
from graftax.layers.policy import DTypePolicy
from graftax.layers.table_columns import KnowsColumns
from graftax.ops.symbolic import Symbolic
from graftax.training.model import Model
from graftax.training.wired import no_graph
from graftax.variables import masks
from graftax.variables.graph.adoption import Adopting
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import own_nodes
from graftax.variables.graph.reserved import OF_SEQUENTIAL, Words


class Chain(list[Any]):
    """The symbolic input, and the symbolic outputs of all layers. A copy of the model creates its own."""

    def __reduce__(self) -> tuple[type[Chain], tuple[()]]:
        return Chain, ()


class Sequential(Model):
    """A model whose layers run one after the other, each with the output of the layer before.

    If the first element is a `graftax.Input`, the weights are created at once. ``model[i]`` is a layer; ``model[i:j]``
    is a model of some of the layers, with shared weights.

    Args:
        layers: Layers, or functions of one array; the first element may be a `graftax.Input`. Defaults to none.
        name: Its name. Defaults to None: derived from the class.
        trainable: Whether its Variables may be trained. Defaults to True.
        dtype: A dtype policy or its name; the layers keep their own. Defaults to None: the global policy.

    Shape:
        From the input shape of the first layer to the output shape of the last one.

    Raises:
        ArgumentTypeError: an element of the list is not callable.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = Sequential([gx.layers.Dense(4, activation="relu"), gx.layers.Dense(1)])
        >>> model(np.ones((2, 3), "float32")).shape
        (2, 1)
        >>> [v.path for v in model.variables]
        ['layers/0/kernel', 'layers/0/bias', 'layers/1/kernel', 'layers/1/bias']
    """

    _gx_words: ClassVar[Words] = OF_SEQUENTIAL
    supports_masking = True  # each layer handles masks itself
    _gx_hands_on_masks = True
    _gx_in_a_row = True
    compiles_call = True  # if the calls of all layers can be compiled
    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_chain"})
    _gx_declared: Declared | None = None  # the expected input
    _gx_chain: Chain | None = None

    def __init__(
        self,
        layers: Iterable[Callable[[Any], Any]] = (),
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        self.layers: list[Any] = []
        if isinstance(layers, Symbolic):
            raise ArgumentTypeError(
                "Sequential got values that are not there yet",
                "it takes one list of layers",
                "gx.Model(inputs, outputs)",
            )
        if isinstance(layers, Mapping):
            raise ArgumentTypeError(
                f"Sequential got layers by name: {', '.join(map(repr, layers))}",
                "it takes one list of layers, and a layer has its name itself, as Dense(10, name=...)",
                "gx.Sequential([*by_name.values()])",
            )
        if not isinstance(layers, Iterable) or isinstance(name, Layer):
            raise ArgumentTypeError(
                f"Sequential got {layers!r} as layers",
                "it takes one list of layers",
                "gx.Sequential([gx.layers.Dense(10), ...])",
            )
        for layer in layers:
            self.add(layer)
        super().__init__(name=name, trainable=trainable, dtype=dtype)

    @door
    def add(self, layer: Callable[[Any], Any]) -> None:
        """Append a layer. If the model starts with a `graftax.Input`, the weights of the layer are created at once."""
        if isinstance(layer, Symbolic) and layer.origin.is_input:
            declared: Any = layer.origin.callee
            self._gx_begin(declared)
            return
        if isinstance(layer, InputLayer) and not self.layers and self._gx_declared is None:
            self._gx_begin(layer)
            return
        if not callable(layer) or isinstance(layer, type):
            raise ArgumentTypeError(
                f"Sequential got {layer!r}",
                "a layer is an object that can be called on an array",
                f"{layer.__name__}(...)" if isinstance(layer, type) else "gx.layers.Dense(10)",
            )
        text = self.layers[-1] if self.layers else None
        if isinstance(text, Lookup) and text.kinds == "U" and not text.invert:
            raise ArgumentTypeError(
                f"Sequential got {type(text).__name__} as layers[{len(self.layers) - 1}], which takes text, "
                f"before {layer!r:.60}",
                "models compute with numbers, so that no text would ever reach it",
                "the model without it, called on what it gives: model(layer(texts))",
            )
        check_takes("Sequential", f"layers[{len(self.layers)}]", layer, ["x"], "gx.layers.Lambda(lambda x: f(x, y))")
        if isinstance(layer, Module) and _is_below(layer, self):
            raise ArgumentError(
                f"{layer.name!r} ({type(layer).__name__}) holds {self.name!r}, to which it is added",
                "each would call the other, without an end",
                "another model in one of them",
            )
        before, self.layers = self.layers, [*self.layers, layer]
        try:
            self._gx_extend()
        except BaseException:
            self.layers = before
            raise

    @door
    def pop(self) -> Callable[[Any], Any]:
        """Remove the last layer, and return it.

        Raises:
            StateError: the model has no layers.
        """
        if not self.layers:
            raise StateError(
                f"pop() of {self.name!r}, which has no layers", "there is no layer to remove", "add(layer) first"
            )
        last: Callable[[Any], Any] = self.layers[-1]
        self.layers = self.layers[:-1]
        self._gx_chain = None
        return last

    def __len__(self) -> int:
        return len(self.layers)

    def __bool__(self) -> bool:
        return True  # a model without layers is valid, too

    def __iter__(self) -> Iterator[Callable[[Any], Any]]:
        return iter(self.layers)

    @overload
    def __getitem__(self, place: int) -> Callable[[Any], Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequential: ...
    def __getitem__(self, place: int | slice) -> Callable[[Any], Any] | Sequential:
        if isinstance(place, slice):
            return Sequential(self.layers[place])
        if not hasattr(place, "__index__") or not -len(self.layers) <= place < len(self.layers):
            raise IndexRangeError(
                f"model[{place!r}] of {self.name!r}", f"it has {len(self.layers)} layers", "model[-1] for the last one"
            )
        layer: Callable[[Any], Any] = self.layers[place]
        return layer

    # --- symbolic values before the first call ------------------------------------------------------------------------

    def _gx_begin(self, layer: InputLayer) -> None:
        if self.layers or self._gx_declared is not None:
            raise ArgumentError(
                f"Sequential got the input {layer.name!r} behind {len(self.layers)} layers",
                "an Input comes first, and only once",
                "gx.Sequential([gx.Input((8,)), ...])",
            )
        self._gx_declared = layer.declared
        self._gx_chain = Chain([symbolic_input(layer)])

    def _gx_extend(self) -> None:
        """Call the new layers on the symbolic output so far."""
        if self._gx_declared is None:
            return
        if not self._gx_chain:
            shape, dtype, name = self._gx_declared
            self._gx_chain = Chain([symbolic_input(InputLayer(shape[1:], dtype, shape[0], name))])
        for layer in self.layers[len(self._gx_chain) - 1 :]:
            self._gx_chain.append(layer(self._gx_chain[-1]))
        if self.layers and not is_built(self):
            self._gx_input_shape = self._gx_declared.shape
            self._gx_mark_built()

    def _gx_record_again(self) -> None:
        if not self._gx_chain:
            self._gx_extend()

    def _gx_values(self, name: str) -> Any:
        if self._gx_declared is None:
            raise no_graph(self, name)
        self._gx_extend()
        assert self._gx_chain is not None  # it was created just now
        return self._gx_chain[0 if name.startswith("input") else -1]

    def _gx_takers(self) -> list[KnowsColumns]:
        first = self.layers[:1] if type(self).call is Sequential.call else ()
        return [layer for layer in first if isinstance(layer, KnowsColumns)]

    def call(self, x: Any) -> Any:
        """Pass ``x`` through all layers."""
        if self._gx_declared is not None:
            x = self._gx_declared.check_array(x)
        given = x
        for i, layer in enumerate(self.layers):
            if x is given and not isinstance(layer, Layer):
                x = inputs_in(self.compute_dtype, (x,), {})[0][0]
            before, x = x, layer(x)
            if not isinstance(layer, Layer) and masks.mask_of(before) is not None and masks.mask_of(x) is None:
                self._gx_warn_of_mask(i, layer)
            if x is None:
                raise ArgumentTypeError(
                    f"layers/{i} ({getattr(type(layer), '__name__', layer)}) returned None",
                    "its output is what the next layer, or the loss, computes with",
                    "return the output at the end of its call",
                )
        return x

    @property
    def _gx_call_dtype(self) -> str | None:
        """Return None, unless a subclass says what is called: the layers cast what they get, each to what it needs."""
        return None if type(self).call is Sequential.call else super()._gx_call_dtype

    def _gx_warn_of_mask(self, i: int, function: Callable[..., Any]) -> None:
        if not self._gx_warned:
            object.__setattr__(self, "_gx_warned", True)
            user_line.warn(
                f"the mask of the input of layers/{i} ({type(function).__name__}) is dropped: functions hand none on. "
                "Write layers.Activation(function), or a Layer with supports_masking = True, where each position is "
                "computed on its own."
            )


def _is_below(root: Adopting, module: Adopting) -> bool:
    """Tell whether a Module is at or below another one, without creating state, whose seeds depend on the root."""
    seen: set[int] = set()
    stack: list[Adopting] = [root]
    while stack:
        node = stack.pop()
        if node is module:
            return True
        if id(node) not in seen:
            seen.add(id(node))
            stack += [below for _, below in own_nodes(node) if isinstance(below, Adopting)]
    return False
