"""LSTM: a memory that gates write to, keep and read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, Initializer, Shape, unwrap
from graftax.layers.activations import ActivationLike
from graftax.layers.arguments import check_flag
from graftax.layers.policy import DTypePolicy
from graftax.layers.recurrent import Recurrent
from graftax.layers.recurrent_cell import RecurrentCell
from graftax.layers.recurrent_weights import RecurrentWeights
from graftax.layers.weight_settings import WeightSettings
from graftax.variables.base_initializer import BaseInitializer
from graftax.variables.constraints import ConstraintLike
from graftax.variables.given_back import apply_activation
from graftax.variables.initializers import Constant, InitializerLike
from graftax.variables.regularizers import RegularizerLike


class LSTMStep(RecurrentWeights):
    """One step of a long short-term memory, which `LSTM` and `LSTMCell` share."""

    _gx_of_weights = frozenset({"unit_forget_bias"})

    gates = 4
    states = 2
    unit_forget_bias: bool

    def set_forget_bias(self, unit_forget_bias: bool) -> None:
        """Note whether the part of the bias that is in charge of keeping starts as 1."""
        self.unit_forget_bias = check_flag("unit_forget_bias", unit_forget_bias)
        if self.use_bias and self.unit_forget_bias:
            OnesInForgetGate(self.bias_initializer, self.units)  # raises now rather than in build

    def first_bias(self) -> InitializerLike:
        if not self.unit_forget_bias:
            return self.bias_initializer
        return OnesInForgetGate(self.bias_initializer, self.units)

    def step(
        self, drive: Array, state: Sequence[Array], seen: Array, kernel: Array, bias: Array | None
    ) -> tuple[Array, ...]:
        write, keep, new, give = ops.split(drive + ops.matmul(seen, kernel), 4, axis=-1)
        cell = self.gate(keep) * state[1] + self.gate(write) * apply_activation(self.activation, new, new.shape)
        return self.gate(give) * apply_activation(self.activation, cell, cell.shape), cell


class LSTM(LSTMStep, Recurrent):
    r"""Carries a cell and an output over the steps; gates decide what is written, what is kept and what is output.

    .. math::

        i, f, g, o &= \mathrm{split}(x_t W + h_{t-1} U + b) \\
        c_t &= \sigma(f) c_{t-1} + \sigma(i) \tanh(g) \qquad h_t = \sigma(o) \tanh(c_t)

    Args:
        units: Size of the output and of the state.
        activation: The function of what is written and of what is given out. Defaults to ``"tanh"``.
        recurrent_activation: The function of the gates. Defaults to ``"sigmoid"``.
        use_bias: Whether there is a bias. Defaults to True.
        kernel_initializer: What ``W``, of shape ``(in, 4 * units)``, starts as. Defaults to ``"glorot_uniform"``.
        recurrent_initializer: What ``U``, of shape ``(units, 4 * units)``, starts as. Defaults to ``"orthogonal"``.
        bias_initializer: What ``b``, of shape ``(4 * units,)``, starts as. Defaults to ``"zeros"``.
        unit_forget_bias: Whether the part of ``b`` that is in charge of keeping starts as 1 in any case. Defaults to
            True.
        kernel_regularizer: Penalty on ``W``. Defaults to None.
        recurrent_regularizer: Penalty on ``U``. Defaults to None.
        bias_regularizer: Penalty on ``b``. Defaults to None.
        kernel_constraint: Projection of ``W`` after each update. Defaults to None.
        recurrent_constraint: Projection of ``U`` after each update. Defaults to None.
        bias_constraint: Projection of ``b`` after each update. Defaults to None.
        dropout: The share of inputs dropped in training, the same ones at all steps. Defaults to 0.0.
        recurrent_dropout: The share of outputs dropped on their way to the next step, the same ones at all steps.
            Defaults to 0.0.
        seed: Fixes the draws of both. Defaults to the global seed and the layer's path.
        return_sequences: Whether the output has all steps, or the last one only. Defaults to False.
        return_state: Whether the state after the last step is returned, too: ``out, h, c``. Defaults to False.
        go_backwards: Whether to go from the last step to the first; outputs come in that order. Defaults to False.
        stateful: Whether a call without ``initial_state`` goes on from the state that the last one ended with, until
            ``reset_state()``; all calls then have batches of one size. No gradient flows from one call to another: pass
            ``initial_state`` for that. `evaluate` gives the state back; `fit` needs ``shuffle=False``. Defaults to
            False.
        name: As for `Layer`. Defaults to None.
        trainable: As for `Layer`. Defaults to True.
        dtype: As for `Layer`. Defaults to None.

    A call takes ``initial_state=``, ``[h, c]`` as ``return_state`` gives them, by default zeros.
    Where a mask is False, state and output stay as they were.

    Shape:
        ``(batch, steps, in) -> (batch, units)``, with ``return_sequences`` ``(batch, steps, units)``

    Raises:
        ArgumentError: ``units`` is not above 0, a rate is not in [0, 1], a name is unknown, or ``bias_initializer`` is
            an array of which ``unit_forget_bias`` would replace a part.
        ShapeError: an input without steps or with another last axis than the first one, or a state of another shape.

    Example:
        >>> import numpy as np
        >>> x = np.ones((2, 5, 3), "float32")
        >>> layer = LSTM(4, return_sequences=True, return_state=True)
        >>> out, h, c = layer(x)
        >>> out.shape, c.shape, layer(x, initial_state=[h, c])[0].shape
        ((2, 5, 4), (2, 4), (2, 5, 4))

    Source: Hochreiter and Schmidhuber 1997, Neural Computation 9; the bias of 1: Jozefowicz et al. 2015, ICML.
    """

    def __init__(
        self,
        units: int,
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
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(
            units,
            activation=activation,
            recurrent_activation=recurrent_activation,
            use_bias=use_bias,
            kernel=WeightSettings.of(
                initializer=kernel_initializer, regularizer=kernel_regularizer, constraint=kernel_constraint
            ),
            recurrent=WeightSettings.of(
                initializer=recurrent_initializer, regularizer=recurrent_regularizer, constraint=recurrent_constraint
            ),
            bias=WeightSettings.of(
                initializer=bias_initializer, regularizer=bias_regularizer, constraint=bias_constraint
            ),
            dropout=dropout,
            recurrent_dropout=recurrent_dropout,
            seed=seed,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.set_forget_bias(unit_forget_bias)


class LSTMCell(LSTMStep, RecurrentCell):
    """One step of an `LSTM`, for `RNN` and for loops of one's own.

    Args: as for `LSTM`, without those of the way through the steps. A call alone drops anew; `RNN` drops the
    same at all steps of a sequence.

    A call takes an input and the state ``[h, c]``, by default zeros, and gives ``h`` and the next state.

    Shape:
        ``(batch, in), [(batch, units)] * 2 -> (batch, units), [(batch, units)] * 2``

    Raises:
        ArgumentError: as for `LSTM`.
        ShapeError: an input with another last axis than the first one, or a state of another shape.

    Example:
        >>> import numpy as np
        >>> cell = LSTMCell(4)
        >>> out, (h, c) = cell(np.ones((2, 3), "float32"))
        >>> out.shape, c.shape
        ((2, 4), (2, 4))

    Source: Hochreiter and Schmidhuber 1997, Neural Computation 9.
    """

    def __init__(
        self,
        units: int,
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
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(
            units,
            activation=activation,
            recurrent_activation=recurrent_activation,
            use_bias=use_bias,
            kernel=WeightSettings.of(
                initializer=kernel_initializer, regularizer=kernel_regularizer, constraint=kernel_constraint
            ),
            recurrent=WeightSettings.of(
                initializer=recurrent_initializer, regularizer=recurrent_regularizer, constraint=recurrent_constraint
            ),
            bias=WeightSettings.of(
                initializer=bias_initializer, regularizer=bias_regularizer, constraint=bias_constraint
            ),
            dropout=dropout,
            recurrent_dropout=recurrent_dropout,
            seed=seed,
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.set_forget_bias(unit_forget_bias)


class OnesInForgetGate(BaseInitializer):
    """Another initializer, with ones in the part that is in charge of keeping.

    Raises:
        ArgumentError: it is an array, of which a part would be lost.
    """

    def __init__(self, initializer: Initializer, units: int) -> None:
        if isinstance(initializer, Constant) and np.shape(unwrap(initializer.value)):
            raise ArgumentError(
                f"bias_initializer={initializer!r}",
                "a part of the array would be replaced: what is in charge of keeping starts as 1",
                "unit_forget_bias=False, and the array as it is to be",
            )
        self.given, self.units = initializer, units
        self.seed: int | None = getattr(initializer, "seed", None)

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        start, units = self.given(key, shape, dtype), self.units
        return ops.concatenate([start[:units], ops.ones((units,), dtype), start[2 * units :]])
