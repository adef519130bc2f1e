"""Recurrent: what layers share that carry a state from step to step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.activations import ActivationLike
from graftax.layers.arguments import check_flag, check_last_axis, single_shape, widen
from graftax.layers.masking import as_bool, check_mask, hide
from graftax.layers.policy import DTypePolicy
from graftax.layers.recurrent_weights import RecurrentWeights
from graftax.layers.stateful import Stateful
from graftax.layers.weight_settings import WeightSettings
from graftax.transforms.flow.scan import scan


class Recurrent(Stateful, RecurrentWeights):
    """The base of `LSTM`, `GRU` and `SimpleRNN`, which describe the arguments.

    What the input adds to all steps is one matrix product.
    """

    def __init__(
        self,
        units: int,
        *,
        activation: ActivationLike,
        recurrent_activation: ActivationLike,
        use_bias: bool,
        kernel: WeightSettings,
        recurrent: WeightSettings,
        bias: WeightSettings,
        dropout: float,
        recurrent_dropout: float,
        seed: int | None,
        return_sequences: bool,
        return_state: bool,
        go_backwards: bool,
        stateful: bool,
        name: str | None,
        trainable: bool,
        dtype: str | DTypePolicy | None,
    ) -> None:
        super().__init__(
            units,
            activation=activation,
            recurrent_activation=recurrent_activation,
            use_bias=use_bias,
            kernel=kernel,
            recurrent=recurrent,
            bias=bias,
            dropout=dropout,
            recurrent_dropout=recurrent_dropout,
            seed=seed,
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.return_sequences = check_flag("return_sequences", return_sequences)
        self.return_state = check_flag("return_state", return_state)
        self.go_backwards = check_flag("go_backwards", go_backwards)
        self.stateful = check_flag("stateful", stateful)

    def build(self, input_shape: Shape) -> None:
        batch, _, size = single_shape(input_shape, 3, 3)
        self.make_weights(size)
        self.make_carried([(batch, self.units)] * self.states)

    def call(
        self,
        x: Array,
        initial_state: Array | Sequence[Array] | None = None,
        training: bool | None = None,
        mask: Array | None = None,
    ) -> Any:
        check_last_axis(x, self.kernel.shape[0])
        if x.ndim != 3:
            raise ShapeError(
                f"an input of shape {tuple(x.shape)}", "it is (batch, steps, size)", "x[:, None] for a single step"
            )
        if mask is not None:
            mask = check_mask(mask, tuple(x.shape), axes=2)
            x = hide(x, mask)
        state = self._first_state(initial_state, x)
        if self.go_backwards:
            x, mask = ops.flip(x, 1), None if mask is None else ops.flip(mask, 1)
        heard, kept = self.draw_dropout(x.shape[0], training)
        drive, bias = self.project_inputs(x if heard is None else x * heard[:, None])
        drive = ops.swapaxes(drive, 0, 1)
        kernel = widen(ops.asarray(self.recurrent_kernel))  # read once, not at each step; gradients of steps add up
        bias, dtype = None if bias is None else widen(bias), str(drive.dtype)

        def step(state: tuple[Array, ...], row: tuple[Array, Array | None]) -> tuple[tuple[Array, ...], Array]:
            drive, present = row
            seen = state[0] if kept is None else state[0] * kept
            new = self.step(
                drive, state, seen, ops.cast(kernel, dtype), None if bias is None else ops.cast(bias, dtype)
            )
            if present is not None:
                new = tuple(ops.where(present, b, a) for a, b in zip(state, new, strict=True))
            return new, new[0]

        rows = drive, None if mask is None else ops.swapaxes(mask, 0, 1)[..., None]
        last, outputs = over_time(step, state, rows)
        if self.stateful:
            self.carry(last)
        out = ops.swapaxes(outputs, 0, 1) if self.return_sequences else last[0]
        return (out, *last) if self.return_state else out

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Return the mask of the input for a sequence, in the order of the output; None for a last step."""
        own = mask if self.return_sequences else None
        if own is not None and self.go_backwards:
            own = ops.flip(as_bool(own), 1)
        return (own, *[None] * self.states) if self.return_state and own is not None else own

    def _first_state(self, initial_state: Any, x: Array) -> tuple[Array, ...]:
        shape = (x.shape[0], self.units)
        if initial_state is None and self.stateful:
            return tuple(ops.cast(part, x.dtype) for part in self.carried_state(x.shape[0]))
        if initial_state is None:
            return tuple(ops.zeros(shape, x.dtype) for _ in range(self.states))
        state = tuple(initial_state) if isinstance(initial_state, list | tuple) else (initial_state,)
        if not all(hasattr(part, "shape") for part in state):
            raise ArgumentTypeError(
                f"initial_state={initial_state!r:.60}",
                f"{type(self).__name__} carries {self.states} of shape {shape}, as arrays",
                "what the same layer gave with return_state=True: out, *state = layer(x)",
            )
        if [tuple(part.shape) for part in state] != [shape] * self.states:
            raise ShapeError(
                f"initial_state of shapes {[tuple(part.shape) for part in state]}",
                f"{type(self).__name__} carries {self.states} of shape {shape}: (batch, units)",
                "what the same layer gave with return_state=True: out, *state = layer(x)",
            )
        return tuple(ops.cast(part, x.dtype) for part in state)


def over_time(step: Callable[[Any, Any], Any], state: Any, rows: Any) -> tuple[Any, Array]:
    """Return the last state, and what each step gave, stacked: by a compiled loop, or one in Python."""
    if not rows[0].shape[0]:
        raise ArgumentError("a sequence of 0 steps", "there is nothing to carry a state over", "at least one step")
    if registry.current().has("control_flow"):
        last, outputs = scan(step, state, rows)
        return last, outputs
    drive, present = rows
    listed = []
    for i in range(drive.shape[0]):
        state, out = step(state, (drive[i], None if present is None else present[i]))
        listed.append(out)
    return state, ops.stack(listed)
