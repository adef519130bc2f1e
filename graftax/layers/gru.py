"""GRU: a state that gates blend with what is new."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.typedefs import Array, Shape
from graftax.layers.activations import ActivationLike
from graftax.layers.arguments import check_flag
from graftax.layers.dense import linear
from graftax.layers.policy import DTypePolicy
from graftax.layers.recurrent import Recurrent
from graftax.layers.recurrent_cell import RecurrentCell
from graftax.layers.recurrent_weights import RecurrentWeights
from graftax.layers.weight_settings import WeightSettings
from graftax.variables.constraints import ConstraintLike
from graftax.variables.given_back import apply_activation
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class GRUStep(RecurrentWeights):
    """One step of a gated recurrent unit, which `GRU` and `GRUCell` share."""

    gates = 3
    reset_after: bool

    def bias_shape(self) -> Shape:
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def project_inputs(self, x: Array) -> tuple[Array, Array | None]:
        if not self.reset_after or self.bias is None:
            return super().project_inputs(x)
        bias = ops.asarray(self.bias)
        return ops.add(linear(x, self.kernel), bias[0]), bias[1]

    def step(
        self, drive: Array, state: Sequence[Array], seen: Array, kernel: Array, bias: Array | None
    ) -> tuple[Array, ...]:
        units = self.units
        if self.reset_after:
            inner = ops.matmul(seen, kernel)
            if bias is not None:
                inner = ops.add(inner, bias)
        else:
            inner = ops.matmul(seen, kernel[:, : 2 * units])
        gates = self.gate(drive[:, : 2 * units] + inner[:, : 2 * units])
        keep, reset = gates[:, :units], gates[:, units:]
        part = reset * inner[:, 2 * units :] if self.reset_after else ops.matmul(reset * seen, kernel[:, 2 * units :])
        total = drive[:, 2 * units :] + part
        new = apply_activation(self.activation, total, total.shape)
        return (keep * state[0] + (1 - keep) * new,)


class GRU(GRUStep, Recurrent):
    r"""Carries one state over the steps; gates decide how much of it stays and how much of it the new part sees.

    .. math::

        z, r &= \sigma(x_t W_{zr} + h_{t-1} U_{zr} + b_{zr}) \\
        g &= \tanh(x_t W_g + b_g + r (h_{t-1} U_g + b'_g)) \qquad h_t = z h_{t-1} + (1 - z) g

    Without ``reset_after``, :math:`r` scales the state before the product with :math:`U_g`, and there is one bias.

    Args:
        units: Size of the output and of the state.
        activation: The function of the new part. Defaults to ``"tanh"``.
        recurrent_activation: The function of the gates. Defaults to ``"sigmoid"``.
        use_bias: Whether there is a bias. Defaults to True.
        kernel_initializer: What ``W``, of shape ``(in, 3 * units)``, starts as. Defaults to ``"glorot_uniform"``.
        recurrent_initializer: What ``U``, of shape ``(units, 3 * units)``, starts as. Defaults to ``"orthogonal"``.
        bias_initializer: What ``b``, of shape ``(2, 3 * units)`` for input and state or ``(3 * units,)``, starts as.
            Defaults to ``"zeros"``.
        reset_after: Whether ``r`` is applied after the product with ``U``, as in Keras 3 and PyTorch. Defaults to True.
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
        return_state: Whether the state after the last step is returned, too: ``out, h``. Defaults to False.
        go_backwards: Whether to go from the last step to the first; outputs come in that order. Defaults to False.
        stateful: Whether a call without ``initial_state`` goes on from the state that the last one ended with, until
            ``reset_state()``; all calls then have batches of one size. No gradient flows from one call to another: pass
            ``initial_state`` for that. `evaluate` gives the state back; `fit` needs ``shuffle=False``. Defaults to
            False.
        name: As for `Layer`. Defaults to None.
        trainable: As for `Layer`. Defaults to True.
        dtype: As for `Layer`. Defaults to None.

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
        >>> GRU(4)(x).shape, GRU(4, return_sequences=True)(x).shape
        ((2, 4), (2, 5, 4))

    Source: Cho et al., arXiv 1406.1078.
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
        reset_after: bool = True,
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
        self.reset_after = check_flag("reset_after", reset_after)


class GRUCell(GRUStep, RecurrentCell):
    """One step of a `GRU`, for `RNN` and for loops of one's own.

    Args: as for `GRU`, without those of the way through the steps. A call alone drops anew; `RNN` drops the
    same at all steps of a sequence.

    A call takes an input and the state ``[h]``, by default zeros, and gives ``h`` and the next state.

    Shape:
        ``(batch, in), [(batch, units)] -> (batch, units), [(batch, units)]``

    Raises:
        ArgumentError: as for `GRU`.
        ShapeError: an input with another last axis than the first one, or a state of another shape.

    Example:
        >>> import numpy as np
        >>> cell = GRUCell(4)
        >>> out, (h,) = cell(np.ones((2, 3), "float32"))
        >>> out.shape, h.shape
        ((2, 4), (2, 4))

    Source: Cho et al., arXiv 1406.1078.
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
        reset_after: bool = True,
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
        self.reset_after = check_flag("reset_after", reset_after)
