"""RNN: any cell, carried over the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax import ops
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import array_shape, check_flag, single_shape
from graftax.layers.layer import Layer
from graftax.layers.masking import as_bool, check_mask, expand_mask, hide
from graftax.layers.policy import DTypePolicy
from graftax.layers.recurrent import over_time
from graftax.layers.recurrent_cell import (
    StackedRNNCells,
    check_cell,
    check_next_states,
    dropout_of,
    first_states,
    output_of,
)
from graftax.layers.stateful import Stateful


class RNN(Stateful):
    """Carries the state of a cell over the steps of a sequence.

    A cell is a layer with a ``state_size``: a size, a shape, or a list of these, one for each part of the state. Its
    ``call(x, states)`` takes one step of the input and a list of states, and returns an output and the next states.

    Args:
        cell: The cell; a list of cells stands for `StackedRNNCells`.
        return_sequences: Whether the output has all steps, or the last one only. Defaults to False.
        return_state: Whether the states after the last step are returned, too: ``out, *states``. Defaults to False.
        go_backwards: Whether to go from the last step to the first; outputs come in that order. Defaults to False.
        stateful: Whether a call without ``initial_state`` goes on from the state that the last one ended with, until
            ``reset_state()``; all calls then have batches of one size. No gradient flows from one call to another: pass
            ``initial_state`` for that. `evaluate` gives the state back; `fit` needs ``shuffle=False``. Defaults to
            False.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the cell keeps its own.

    A call takes ``initial_state=``, the states as ``return_state`` gives them, by default zeros.
    Where a mask is False, state and output stay as they were. Before the first step that is not masked, the output is
    what ``cell.output_of(states)`` says of the states that the call begins with, as `LSTMCell`, `GRUCell` and
    `SimpleRNNCell` do; zeros for a cell without that method, or with a ``call`` of its own.

    A cell may take integers, as one that looks up their vectors. It computes its weights anew at each step: one with
    `reparam.VariationalNormal` draws, and one with `reparam.SpectralNorm` moves its vectors, at each step of training,
    where `LSTM`, `GRU` and `SimpleRNN` do so once for each call.

    Shape:
        ``(batch, steps, ...) -> (batch, units)``, with ``return_sequences`` ``(batch, steps, units)``

    Raises:
        ArgumentTypeError: the cell has no ``state_size``, or gives other states than that says.
        ShapeError: an input without steps, or a state of another shape.

    Example:
        >>> import numpy as np, graftax as gx
        >>> class Sum(gx.Layer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.state_size = 3
        ...
        ...     def call(self, x, states):
        ...         total = states[0] + x
        ...         return total, [total]
        >>> RNN(Sum(), return_sequences=True)(np.ones((1, 4, 3), "float32"))[0, :, 0].tolist()
        [1.0, 2.0, 3.0, 4.0]
    """

    compiles_call = True

    def __init__(
        self,
        cell: Layer | Sequence[Layer],
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.cell: Any = StackedRNNCells(cell) if isinstance(cell, list | tuple) else check_cell(cell)
        self.return_sequences = check_flag("return_sequences", return_sequences)
        self.return_state = check_flag("return_state", return_state)
        self.go_backwards = check_flag("go_backwards", go_backwards)
        self.stateful = check_flag("stateful", stateful)

    def build(self, input_shape: Shape) -> None:
        batch, _, *size = single_shape(input_shape, least=3)
        batch = 1 if batch is None and not self.stateful else batch  # weights have the same shapes for any
        states = first_states(self.cell, batch, self._gx_dtypes.compute_dtype)
        self._build_cell((batch, *size), states)
        self.make_carried([tuple(part.shape) for part in tree.flatten(states)])

    def _build_cell(self, shape: Shape, states: Any) -> None:
        """Build the cell for steps as the first call has them; without one for fractions, else for integers."""
        called = self._gx_first_call[0].dtype if self._gx_first_call else None
        if called is not None and not is_floating(called):
            self.cell.build_for(ops.zeros(shape, called), states)
            return
        try:
            self.cell.build_for(ops.zeros(shape, self._gx_dtypes.compute_dtype), states)
        except DTypeError:
            if called is not None:
                raise
            self.cell.build_for(ops.zeros(shape, "int32"), states)

    def call(self, x: Array, initial_state: Any = None, mask: Array | None = None, training: bool | None = None) -> Any:
        shape = single_shape(array_shape(x), least=3)
        if not shape[1]:
            raise ArgumentError("a sequence of 0 steps", "there is nothing to carry a state over", "at least one step")
        if mask is not None:
            mask = check_mask(mask, shape, axes=2)
            x = hide(x, mask)
        states = self._first_states(initial_state, x)
        if self.go_backwards:
            x, mask = ops.flip(x, 1), None if mask is None else ops.flip(mask, 1)
        rows = ops.swapaxes(x, 0, 1), None if mask is None else ops.swapaxes(mask, 0, 1)
        title, factors = self.cell._gx_title(), dropout_of(self.cell, x.shape[0], training)

        def step(carry: tuple[Any, Any], row: tuple[Array, Array | None]) -> tuple[tuple[Any, Any], Array]:
            states, before = carry
            x, present = row
            out, new = self.cell(x, states) if factors is None else self.cell(x, states, dropout_factors=factors)
            new = check_next_states(new, states, title)
            if present is not None:
                new = tree.map_structure(lambda a, b: ops.where(expand_mask(present, a.ndim), a, b), new, states)
                out = ops.where(expand_mask(present, out.ndim), out, before)
            return (new, None if present is None else out), out

        before = None if mask is None else self._first_output(x[:, 0], states)
        (last, _), outputs = over_time(step, (states, before), rows)
        if self.stateful:
            self.carry(tree.flatten(last))
        out = ops.swapaxes(outputs, 0, 1) if self.return_sequences else outputs[-1]
        return (out, *last) if self.return_state else out

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Return that of the input for a sequence, in the order of the output; none for a last step."""
        own = mask if self.return_sequences else None
        if own is not None and self.go_backwards:
            own = ops.flip(as_bool(own), 1)
        if own is None or not self.return_state:
            return own
        parts = self.cell.state_size
        return (own, *[None] * (len(parts) if isinstance(parts, list) else 1))

    def _first_output(self, x: Array, states: object) -> Array:
        """Return the output for steps that a mask hides at the start: that of the states, or zeros."""
        out, _ = self.cell.build_for(x, states)
        known = output_of(self.cell, states)
        if known is None:
            return ops.zeros(tuple(out.shape), str(out.dtype))
        if tuple(known.shape) != tuple(out.shape):
            raise ShapeError(
                f"{self.cell._gx_title()}.output_of gave {tuple(known.shape)}",
                f"its call gives an output of shape {tuple(out.shape)}",
                "return None where the states do not say the output",
            )
        return ops.cast(known, str(out.dtype))

    def _first_states(self, states: object, x: Array) -> Any:
        dtype = str(x.dtype) if is_floating(x.dtype) else self._gx_dtypes.compute_dtype
        zeros = first_states(self.cell, x.shape[0], dtype)
        if states is None:
            carried = self.carried_state(x.shape[0]) if self.stateful else tree.flatten(zeros)
            return tree.rebuild(zeros, iter([ops.cast(part, dtype) for part in carried]))
        wanted = [tuple(part.shape) for part in tree.flatten(zeros)]
        parts = tree.flatten(list(states) if isinstance(states, list | tuple) else [states])
        have = [tuple(getattr(part, "shape", ())) for part in parts]
        if have != wanted:
            raise ShapeError(
                f"initial_state of shapes {have}",
                f"the cell carries {wanted}",
                "what the same layer gave with return_state=True: out, *states = layer(x)",
            )
        return tree.rebuild(zeros, iter([ops.cast(part, dtype) for part in parts]))
