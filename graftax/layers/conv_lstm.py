"""ConvLSTM2D: a long short-term memory whose products are convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, Initializer, Shape
from graftax.layers import activations
from graftax.layers.activations import Activation, ActivationLike
from graftax.layers.arguments import (
    array_shape,
    check_choice,
    check_flag,
    check_positive,
    for_each_axis,
    single_shape,
    widen,
)
from graftax.layers.kernel_layer import KernelLayer
from graftax.layers.lstm import OnesInForgetGate
from graftax.layers.masking import as_bool, check_mask, expand_mask, hide
from graftax.layers.named_activation import NamedActivation
from graftax.layers.policy import DTypePolicy
from graftax.layers.recurrent import over_time
from graftax.layers.stateful import Stateful
from graftax.layers.weight_settings import WeightSettings
from graftax.variables import initializers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.given_back import apply_activation
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class ConvLSTM2D(Stateful, KernelLayer):
    r"""An `LSTM` over images: the products with its kernels are convolutions.

    .. math::

        i, f, g, o &= \mathrm{split}(x_t * W + h_{t-1} * U + b) \\
        c_t &= \sigma(f) c_{t-1} + \sigma(i) \tanh(g) \qquad h_t = \sigma(o) \tanh(c_t)

    Args:
        filters: Number of output channels.
        kernel_size: Height and width of the windows; one number for both.
        strides: Steps of the window over the input. Defaults to 1.
        padding: ``"valid"`` or ``"same"``, of the convolution of the input; that of the state keeps its size. Defaults
            to ``"valid"``.
        dilation_rate: Distance of the inputs that a window sees. Defaults to 1.
        activation: The function of what is written and of what is given out. Defaults to ``"tanh"``.
        recurrent_activation: The function of the gates. Defaults to ``"sigmoid"``.
        use_bias: Whether there is a bias. Defaults to True.
        kernel_initializer: What ``W``, of shape ``(height, width, in, 4 * filters)``, starts as.
        recurrent_initializer: What ``U``, of shape ``(height, width, filters, 4 * filters)``, starts as.
        bias_initializer: What ``b``, of shape ``(4 * filters,)``, starts as. Defaults to zeros.
        unit_forget_bias: Whether the part of ``b`` that is in charge of keeping starts as 1. Defaults to True.
        kernel_regularizer: Penalty on ``W``. Defaults to None, none.
        recurrent_regularizer: Penalty on ``U``. Defaults to None, none.
        bias_regularizer: Penalty on ``b``. Defaults to None, none.
        kernel_constraint: Projection of ``W`` after each update. Defaults to None, none.
        recurrent_constraint: Projection of ``U`` after each update. Defaults to None, none.
        bias_constraint: Projection of ``b`` after each update. Defaults to None, none.
        return_sequences: Whether the output has all steps, or the last one only. Defaults to False.
        return_state: Whether the state after the last step is returned, too: ``out, h, c``. Defaults to False.
        go_backwards: Whether to go from the last step to the first; outputs come in that order. Defaults to False.
        stateful: Whether a call without ``initial_state`` goes on from the state that the last one ended with, until
            ``reset_state()``; all calls then have batches of one size. No gradient flows from one call to another: pass
            ``initial_state`` for that. `evaluate` gives the state back; `fit` needs ``shuffle=False``. Defaults to
            False.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    A call takes ``initial_state=``, ``[h, c]`` as ``return_state`` gives them, by default zeros.
    Where a mask is False, state and output stay as they were.

    Shape:
        ``(batch, steps, height, width, in) -> (batch, new_height, new_width, filters)``, with ``return_sequences``
        ``(batch, steps, new_height, new_width, filters)``

    Raises:
        ArgumentError: a setting is out of range or a name unknown, or ``bias_initializer`` is an array of which
            ``unit_forget_bias`` would replace a part.
        ShapeError: an input with other axes or channels than the first one, or a state of another shape.

    Example:
        >>> import numpy as np
        >>> ConvLSTM2D(4, 3, padding="same")(np.ones((2, 5, 8, 8, 3), "float32")).shape
        (2, 8, 8, 4)

    Source: Shi et al., arXiv 1506.04214.
    """

    _gx_of_weights = frozenset({"filters", "kernel_size", "unit_forget_bias"})

    compiles_call = True
    recurrent_activation: Activation = NamedActivation()  # type: ignore[assignment]  # takes names, too

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        dilation_rate: int | Sequence[int] = 1,
        activation: ActivationLike = "tanh",
        recurrent_activation: ActivationLike = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: RegularizerLike = None,
        recurrent_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(
            activation=activation,
            use_bias=use_bias,
            kernel=WeightSettings.of(
                initializer=kernel_initializer, regularizer=kernel_regularizer, constraint=kernel_constraint
            ),
            bias=WeightSettings.of(
                initializer=bias_initializer, regularizer=bias_regularizer, constraint=bias_constraint
            ),
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.filters = check_positive("filters", filters)
        self.kernel_size = for_each_axis("kernel_size", kernel_size, 2)
        self.strides = for_each_axis("strides", strides, 2)
        self.padding = check_choice("padding", padding, ("valid", "same"))
        self.dilation_rate = for_each_axis("dilation_rate", dilation_rate, 2)
        self.recurrent_activation = activations.get(recurrent_activation)
        recurrent = WeightSettings.of(
            initializer=recurrent_initializer, regularizer=recurrent_regularizer, constraint=recurrent_constraint
        )
        self.recurrent_initializer = recurrent.initializer
        self.recurrent_regularizer = recurrent.regularizer
        self.recurrent_constraint = recurrent.constraint
        self.unit_forget_bias = check_flag("unit_forget_bias", unit_forget_bias)
        self.first_bias()  # raises now rather than in build
        self.return_sequences = check_flag("return_sequences", return_sequences)
        self.return_state = check_flag("return_state", return_state)
        self.go_backwards = check_flag("go_backwards", go_backwards)
        self.stateful = check_flag("stateful", stateful)

    def build(self, input_shape: Shape) -> None:
        batch, _, *space, channels = single_shape(input_shape, 5, 5)
        self.make_kernel((*self.kernel_size, channels, 4 * self.filters))
        self.recurrent_kernel = self.add_weight(
            (*self.kernel_size, self.filters, 4 * self.filters),
            self.recurrent_initializer,
            name="recurrent_kernel",
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        self.make_bias((4 * self.filters,))
        if self.stateful:
            self.make_carried([(batch, *self._new_space(tuple(space)), self.filters)] * 2)

    def call(self, x: Array, initial_state: Any = None, mask: Array | None = None) -> Any:
        batch, steps, *space, channels = single_shape(array_shape(x), 5, 5)
        if not steps:
            raise ArgumentError("a sequence of 0 steps", "there is nothing to carry a state over", "at least one step")
        if mask is not None:
            mask = check_mask(mask, tuple(x.shape), axes=2)
            x = hide(x, mask)
        flat = ops.reshape(x, (batch * steps, *space, channels))
        drive = ops.conv(flat, self.kernel, self.strides, self.padding, self.dilation_rate)
        if self.bias is not None:
            drive = ops.add(drive, self.bias)
        drive = ops.swapaxes(ops.reshape(drive, (batch, steps, *drive.shape[1:])), 0, 1)
        state = self._first_state(initial_state, (batch, *drive.shape[2:-1], self.filters), x)
        if self.go_backwards:
            drive, mask = ops.flip(drive, 0), None if mask is None else ops.flip(mask, 1)
        kernel = widen(ops.asarray(self.recurrent_kernel))  # read once, not at each step; gradients of steps add up

        def step(state: tuple[Array, ...], row: tuple[Array, Array | None]) -> tuple[tuple[Array, ...], Array]:
            drive, present = row
            total = drive + ops.conv(state[0], ops.cast(kernel, str(drive.dtype)), 1, "same")
            write, keep, new, give = ops.split(total, 4, axis=-1)
            written = self._gate(write) * apply_activation(self.activation, new, new.shape)
            cell = self._gate(keep) * state[1] + written
            after = (self._gate(give) * apply_activation(self.activation, cell, cell.shape), cell)
            if present is not None:
                shown = expand_mask(present, cell.ndim)
                after = (ops.where(shown, after[0], state[0]), ops.where(shown, after[1], state[1]))
            return after, after[0]

        rows = drive, None if mask is None else ops.swapaxes(mask, 0, 1)
        last, outputs = over_time(step, state, rows)
        if self.stateful:
            self.carry(last)
        out = ops.swapaxes(outputs, 0, 1) if self.return_sequences else last[0]
        return (out, *last) if self.return_state else out

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Return that of the input for a sequence, in the order of the output; none for a last step."""
        own = mask if self.return_sequences else None
        if own is not None and self.go_backwards:
            own = ops.flip(as_bool(own), 1)
        return (own, None, None) if self.return_state and own is not None else own

    def first_bias(self) -> Initializer:
        if not (self.use_bias and self.unit_forget_bias):
            return super().first_bias()
        return initializers.get(OnesInForgetGate(self.bias_initializer, self.filters))

    def _gate(self, x: Array) -> Array:
        return apply_activation(self.recurrent_activation, x, x.shape)

    def _new_space(self, space: Shape) -> Shape:
        if self.padding == "same":
            return tuple(-(-n // s) for n, s in zip(space, self.strides, strict=True))
        spans = [(k - 1) * d + 1 for k, d in zip(self.kernel_size, self.dilation_rate, strict=True)]
        return tuple((n - span) // s + 1 for n, span, s in zip(space, spans, self.strides, strict=True))

    def _first_state(self, state: Any, shape: Shape, x: Array) -> tuple[Array, ...]:
        if state is None and self.stateful:
            return tuple(ops.cast(part, x.dtype) for part in self.carried_state(shape[0]))
        if state is None:
            return ops.zeros(shape, x.dtype), ops.zeros(shape, x.dtype)
        parts = state if isinstance(state, list | tuple) else [state]
        shapes = [tuple(getattr(part, "shape", ())) for part in parts]
        if shapes != [shape] * 2:
            raise ShapeError(
                f"initial_state of shapes {shapes!r:.80}",
                f"{type(self).__name__} carries 2 of shape {shape}",
                "what the same layer gave with return_state=True: out, *state = layer(x)",
            )
        return tuple(ops.cast(part, x.dtype) for part in parts)
