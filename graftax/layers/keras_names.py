"""Names under which Keras's users look for the weights, the input and the output of a layer.

An attribute of one's own of such a name wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graftax.core.descriptors import Fallback
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.later import import_later
from graftax.core.short_traceback import door
from graftax.core.typedefs import ArrayLike
from graftax.layers.building import Buildable
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.layers import symbolic_call
else:
    symbolic_call = import_later("graftax.layers.symbolic_call")


class KerasNames(Buildable):
    """The part of a layer that has its weights by Keras's names: Variables of the roles weight and state.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(2)
        >>> y = layer(np.ones((1, 3), "float32"))
        >>> [v.path for v in layer.weights], [array.shape for array in layer.get_weights()]
        (['kernel', 'bias'], [(3, 2), (2,)])
        >>> layer.set_weights([np.ones((3, 2)), np.zeros(2)])
    """

    @Fallback
    def weights(self) -> list[Variable]:
        """Return weights and state, in definition order; no seeds and no metrics."""
        return [v for v in self.variables if v.role in ("weight", "state")]

    @Fallback
    def trainable_weights(self) -> list[Variable]:
        """Return those of the weights that optimizers may move."""
        return [v for v in self.trainable_variables if v.role in ("weight", "state")]

    @Fallback
    def non_trainable_weights(self) -> list[Variable]:
        """Return the other weights."""
        return [v for v in self.non_trainable_variables if v.role in ("weight", "state")]

    @door
    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """Return the values of `weights`, as NumPy arrays.

        Raises:
            NotBuiltError: the layer is not built.
        """
        self._gx_require_built("get_weights")
        return [v.numpy() for v in _weights(self)]

    @door
    def set_weights(self, weights: Sequence[ArrayLike]) -> None:
        """Assign arrays to `weights`, in their order; all or, where one does not fit, none.

        Raises:
            NotBuiltError: the layer is not built.
            ArgumentTypeError: it is no list of arrays.
            ArgumentError: there are more or fewer arrays than weights.
            ShapeError: an array has another shape than its weight.
            AssignmentError: an array has another dtype than its weight.
        """
        self._gx_require_built("set_weights")
        variables = _weights(self)
        if not isinstance(weights, list | tuple | np.ndarray):
            raise ArgumentTypeError(
                f"set_weights got a {type(weights).__name__}",
                "it is a list of arrays, one for each weight, in their order",
                "layer.set_weights(other.get_weights()), of another layer like it",
            )
        if len(weights) != len(variables):
            raise ArgumentError(
                f"set_weights got {len(weights)} arrays for {len(variables)} weights",
                f"they are {', '.join(v.path for v in variables[:8])}{', ...' if len(variables) > 8 else ''}",
                "layer.set_weights(other.get_weights()), of another layer like it",
            )
        for variable, array in zip(variables, weights, strict=True):
            given: Any = array
            shape = tuple(given.shape) if hasattr(given, "shape") else np.shape(given)
            if shape != variable.shape:
                raise ShapeError(
                    f"set_weights got shape {shape} for {variable.path!r}",
                    f"it has the shape {variable.shape}",
                    "layer.set_weights(other.get_weights()), of another layer like it",
                )
        before = [variable.value for variable in variables]
        try:
            for variable, array in zip(variables, weights, strict=True):
                variable.assign(array)
        except BaseException:
            for variable, value in zip(variables, before, strict=True):
                variable.assign(value)
            raise

    @Fallback
    def input_shape(self) -> Any:
        """Return the shape (or structure of shapes) that it was built for; None before."""
        return self._gx_input_shape

    @Fallback
    def input(self) -> Any:
        """Return what it was called with in a graph of layers: what stands for the first argument.

        Raises:
            MissingAttributeError: it was called on no `graftax.Input`, or on several.
        """
        return symbolic_call.only_call(self, "input").args[0]

    @Fallback
    def output(self) -> Any:
        """Return what stands for its output in the graph of layers in which it was called.

        Raises:
            MissingAttributeError: it was called on no `graftax.Input`, or on several.
        """
        return symbolic_call.results_of(symbolic_call.only_call(self, "output"))


def _weights(layer: Buildable) -> list[Variable]:
    return [v for v in layer.variables if v.role in ("weight", "state")]
