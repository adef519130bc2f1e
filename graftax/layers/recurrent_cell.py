"""RecurrentCell: one step of a recurrent layer as a layer; StackedRNNCells: several, one on the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax import ops
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import check_last_axis, single_shape
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.layers.recurrent_weights import RecurrentWeights


class RecurrentCell(RecurrentWeights):
    """The base of `LSTMCell`, `GRUCell` and `SimpleRNNCell`, which describe the arguments."""

    @property
    def state_size(self) -> int | list[int]:
        """Return the size of the state, or a list of the sizes of its parts."""
        return self.units if self.states == 1 else [self.units] * self.states

    @property
    def output_size(self) -> int:
        """Return the size of the output."""
        return self.units

    def build(self, input_shape: Shape) -> None:
        self.make_weights(single_shape(input_shape, 2, 2)[-1])

    def call(
        self,
        x: Array,
        states: Any = None,
        training: bool | None = None,
        dropout_factors: tuple[Array | None, Array | None] | None = None,
    ) -> tuple[Array, list[Array]]:
        check_last_axis(x, self.kernel.shape[0])
        single_shape(x.shape, 2, 2)
        state = self._state_of(states, x)
        heard, kept = self.draw_dropout(x.shape[0], training) if dropout_factors is None else dropout_factors
        drive, bias = self.project_inputs(x if heard is None else x * heard)
        seen = state[0] if kept is None else state[0] * kept
        new = self.step(drive, state, seen, ops.asarray(self.recurrent_kernel), bias)
        return new[0], list(new)

    def output_of(self, states: Any) -> Array | None:
        """Return the output that came with these states; None if a subclass has another ``call``."""
        found: Array = states[0]
        return found if type(self).call is RecurrentCell.call else None

    def _state_of(self, initial_state: Any, x: Array) -> tuple[Array, ...]:
        shape = (x.shape[0], self.units)
        if initial_state is None:
            return tuple(ops.zeros(shape, x.dtype) for _ in range(self.states))
        state = tuple(initial_state) if isinstance(initial_state, list | tuple) else (initial_state,)
        shapes = [tuple(getattr(part, "shape", ())) for part in state]
        if shapes != [shape] * self.states:
            raise ShapeError(
                f"states of shapes {shapes}",
                f"{type(self).__name__} carries {self.states} of shape {shape}: (batch, units)",
                "what the cell gave before: out, states = cell(x, states)",
            )
        return tuple(ops.cast(part, x.dtype) for part in state)


class StackedRNNCells(Layer):
    """Several cells as one, each with the output of the one before as its input.

    Args:
        cells: The cells, the one next to the input first.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the cells keep their own.

    A call takes an input and a list of the states of the cells, by default zeros, and gives the output of the last one
    and the next states.

    Shape:
        ``(batch, in), states -> (batch, units), states``

    Raises:
        ArgumentTypeError: there are no cells, or one has no ``state_size``.

    Example:
        >>> import numpy as np, graftax as gx
        >>> cells = StackedRNNCells([gx.layers.LSTMCell(4), gx.layers.GRUCell(3)])
        >>> gx.layers.RNN(cells)(np.ones((2, 5, 6), "float32")).shape
        (2, 3)
    """

    compiles_call = True

    def __init__(
        self,
        cells: Sequence[Layer],
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        if not isinstance(cells, list | tuple) or not cells:
            raise ArgumentTypeError(f"cells={cells!r:.60}", "it is a list of cells", "[LSTMCell(8), LSTMCell(8)]")
        self.cells = [check_cell(cell) for cell in cells]

    @property
    def state_size(self) -> list[Any]:
        """Return for each cell a list of the sizes of the parts of its state."""
        sizes = [cell.state_size for cell in self.cells]
        return [size if isinstance(size, list) else [size] for size in sizes]

    @property
    def output_size(self) -> Any:
        """Return the size of the output of the last cell."""
        return getattr(self.cells[-1], "output_size", None)

    def draw_dropout(self, batch: int, training: bool | None) -> list[Any]:
        """Return what each cell multiplies by throughout a sequence; None for cells that draw nothing."""
        return [dropout_of(cell, batch, training) for cell in self.cells]

    def output_of(self, states: Any) -> Array | None:
        """Return the output that came with these states; None if the last cell, or a subclass, does not say it."""
        return output_of(self.cells[-1], states[-1]) if type(self).call is StackedRNNCells.call else None

    def call(self, x: Array, states: Any = None, dropout_factors: list[Any] | None = None) -> tuple[Array, list[Any]]:
        factors = [None] * len(self.cells) if dropout_factors is None else dropout_factors  # else each draws anew
        given = first_states(self, x.shape[0], x.dtype) if states is None else states
        if not isinstance(given, list | tuple) or len(given) != len(self.cells):
            raise ArgumentTypeError(
                f"states={given!r:.60}",
                f"it is a list of the states of {len(self.cells)} cells",
                "what the layer gave before: out, states = cells(x, states)",
            )
        new = []
        for cell, state, own in zip(self.cells, given, factors, strict=True):
            x, after = cell(x, state) if own is None else cell(x, state, dropout_factors=own)
            new.append(after)
        return x, new


def check_cell(cell: object) -> Any:
    """Return the cell, if it is a layer that says how large its state is.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if isinstance(cell, Layer) and getattr(cell, "state_size", None) is not None:
        return cell
    raise ArgumentTypeError(
        f"{cell!r:.60} as a cell",
        "a cell is a Layer with a state_size, whose call(x, states) returns an output and the next states",
        "LSTMCell(8), or a class with self.state_size = 8 in its __init__",
    )


def dropout_of(cell: Any, batch: int, training: bool | None) -> Any:
    """Return what a cell multiplies by throughout a sequence, drawn once; None for one that draws nothing."""
    draw = getattr(cell, "draw_dropout", None)
    return None if draw is None or not training else draw(batch, training)


def output_of(cell: Any, states: Any) -> Array | None:
    """Return the output that a cell gave together with these states; None for one that does not say it."""
    find = getattr(cell, "output_of", None)
    found: Array | None = None if find is None else find(states)
    return found


def first_states(cell: Any, batch: int, dtype: str) -> Any:
    """Return zeros in the structure that a cell's ``state_size`` has."""

    def make(size: Any) -> Any:
        if isinstance(size, list):
            return [make(part) for part in size]
        sizes = size if isinstance(size, tuple) else (size,)  # a tuple is a shape, as of an image
        return ops.zeros((batch, *sizes), dtype)

    states = make(cell.state_size)
    return states if isinstance(states, list) else [states]


def check_next_states(new: object, old: object, title: str) -> Any:
    """Return the next states, if they have the structure and the shapes of those before.

    Raises:
        ArgumentTypeError: the structure is another one.
        ShapeError: a shape is another one.
    """
    made, had = tree.flatten(new), tree.flatten(old)
    if len(made) != len(had):
        raise ArgumentTypeError(
            f"{title} gave {len(made)} states",
            f"its state_size says {len(had)}",
            "return out, [state, ...] as state_size has them",
        )
    for a, b in zip(made, had, strict=True):
        if tuple(a.shape) != tuple(b.shape):
            raise ShapeError(
                f"{title} gave a state of shape {tuple(a.shape)}",
                f"its state_size says {tuple(b.shape)}",
                "a next state of the shape of the one before",
            )
    return tree.rebuild(old, iter([ops.cast(a, b.dtype) for a, b in zip(made, had, strict=True)]))
