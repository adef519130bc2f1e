"""Stateful: layers that go on, in the next call, from the state that the last one ended with."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.errors import ShapeError, StateError
from graftax.core.typedefs import Array, Shape
from graftax.layers.layer import Layer
from graftax.variables.variable import Variable


class Stateful(Layer):
    """The base of recurrent layers, which may keep their state from call to call, in Variables."""

    stateful: bool = False

    def make_carried(self, shapes: Sequence[Shape]) -> None:
        """Make a Variable for each part of the state, if the layer keeps it."""
        if self.stateful:
            self.carried: list[Variable] = [
                self.add_weight(shape, "zeros", name=f"state_{i}", trainable=False, role="state")
                for i, shape in enumerate(shapes)
            ]

    def carried_state(self, batch: int) -> list[Array]:
        """Return the state that the last call ended with.

        Raises:
            ShapeError: it is that of another number of sequences.
        """
        rows = self.carried[0].shape[0]
        if rows != batch:
            raise ShapeError(
                f"a batch of {batch} sequences",
                f"with stateful=True the state of {rows} sequences goes on, those of the first call",
                f"batches of {rows}, or a layer with stateful=False",
            )
        return [ops.asarray(part.value) for part in self.carried]

    def carry(self, state: Sequence[Array]) -> None:
        """Keep a state for the next call, to which no gradient flows back."""
        for part, value in zip(self.carried, state, strict=True):
            part.assign(ops.stop_gradient(ops.cast(value, part.dtype)))

    def reset_state(self) -> None:
        """Start from zeros again.

        Raises:
            StateError: the layer keeps no state.
        """
        if not self.stateful:
            raise StateError(
                f"reset_state of {self._gx_title()}",
                "it starts from zeros at each call",
                f"{type(self).__name__}(..., stateful=True)",
            )
        if self.built:
            for part in self.carried:
                part.assign(ops.zeros(part.shape, part.dtype))
