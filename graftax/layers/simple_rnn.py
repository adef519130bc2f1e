"""SimpleRNN: the output of each step is fed back."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.typedefs import Array
from graftax.layers.activations import ActivationLike
from graftax.layers.policy import DTypePolicy
from graftax.layers.recurrent import Recurrent
from graftax.layers.recurrent_cell import RecurrentCell
from graftax.layers.recurrent_weights import RecurrentWeights
from graftax.layers.weight_settings import WeightSettings
from graftax.variables.constraints import ConstraintLike
from graftax.variables.given_back import apply_activation
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class SimpleRNNStep(RecurrentWeights):
    """One step, which `SimpleRNN` and `SimpleRNNCell` share."""

    gates = 1

    def step(
        self, drive: Array, state: Sequence[Array], seen: Array, kernel: Array, bias: Array | None
    ) -> tuple[Array, ...]:
        return (apply_activation(self.activation, drive + ops.matmul(seen, kernel), drive.shape),)


class SimpleRNN(SimpleRNNStep, Recurrent):
    r"""Feeds the output of each step back into the next.

    .. math:: h_t = \tanh(x_t W + h_{t-1} U + b)

    Args:
        units: Size of the output and of the state.
        activation: The function of each step.
        use_bias: Whether there is a bias.
        kernel_initializer: What ``W``, of shape ``(in, units)``, starts as.
        recurrent_initializer: What ``U``, of shape ``(units, units)``, starts as.
        bias_initializer: What ``b``, of shape ``(units,)``, starts as.
        kernel_regularizer: Penalty on ``W``.
        recurrent_regularizer: Penalty on ``U``.
        bias_regularizer: Penalty on ``b``.
        kernel_constraint: Projection of ``W`` after each update.
        recurrent_constraint: Projection of ``U`` after each update.
        bias_constraint: Projection of ``b`` after each update.
        dropout: The share of inputs dropped in training, the same ones at all steps.
        recurrent_dropout: The share of outputs dropped on their way to the next step, the same ones at all steps.
        seed: Fixes the draws of both. Defaults to one derived from the global seed and the layer's path.
        return_sequences: Whether the output has all steps, or the last one only.
        return_state: Whether the state after the last step is returned, too: ``out, h``.
        go_backwards: Whether to go from the last step to the first; outputs come in that order.
        stateful: Whether a call without ``initial_state`` goes on from the state that the last one ended with, until
            ``reset_state()``; all calls then have batches of one size. No gradient flows from one call to another: pass
            ``initial_state`` for that. `evaluate` gives the state back; `fit` needs ``shuffle=False``. Defaults to
            False.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    A call takes ``initial_state=``, ``h`` as ``return_state`` gives it, by default zeros.
    Where a mask is False, state and output stay as they were.

    Shape:
        ``(batch, steps, in) -> (batch, units)``, with ``return_sequences`` ``(batch, steps, units)``

    Raises:
        ArgumentError: ``units`` is not above 0, a rate is not in [0, 1], or a name is unknown.
        ShapeError: an input without steps or with another last axis than the first one, or a state of another shape.

    Example:
        >>> import numpy as np
        >>> x = np.ones((2, 5, 3), "float32")
        >>> SimpleRNN(4)(x).shape, SimpleRNN(4, return_sequences=True)(x).shape
        ((2, 4), (2, 5, 4))

    Source: Elman 1990, Finding Structure in Time, Cognitive Science 14.
    """

    def __init__(
        self,
        units: int,
        activation: ActivationLike = "tanh",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
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
            recurrent_activation=None,
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


class SimpleRNNCell(SimpleRNNStep, RecurrentCell):
    """One step of a `SimpleRNN`, for `RNN` and for loops of one's own.

    Args: as for `SimpleRNN`, without those of the way through the steps. A call alone drops anew; `RNN` drops the
    same at all steps of a sequence.

    A call takes an input and the state ``[h]``, by default zeros, and gives ``h`` and the next state.

    Shape:
        ``(batch, in), [(batch, units)] -> (batch, units), [(batch, units)]``

    Raises:
        ArgumentError: as for `SimpleRNN`.
        ShapeError: an input with another last axis than the first one, or a state of another shape.

    Example:
        >>> import numpy as np
        >>> cell = SimpleRNNCell(4)
        >>> out, (h,) = cell(np.ones((2, 3), "float32"))
        >>> out.shape, h.shape
        ((2, 4), (2, 4))

    Source: Elman 1990, Finding Structure in Time, Cognitive Science 14.
    """

    def __init__(
        self,
        units: int,
        activation: ActivationLike = "tanh",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
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
            recurrent_activation=None,
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
