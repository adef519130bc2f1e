"""RecurrentWeights: the weights, and one step, of layers and cells that carry a state from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from graftax import ops
from graftax.core.typedefs import Array, Shape
from graftax.core.undefined import undefined_error
from graftax.layers import activations
from graftax.layers.activations import Activation, ActivationLike
from graftax.layers.arguments import check_flag, check_positive, check_range
from graftax.layers.dense import linear
from graftax.layers.layer import Layer
from graftax.layers.named_activation import NamedActivation
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables import initializers, random
from graftax.variables.given_back import apply_activation
from graftax.variables.initializers import InitializerLike
from graftax.variables.keys import checked_seed
from graftax.variables.variable import Variable


class RecurrentWeights(Layer):
    """The base of `Recurrent` and `RecurrentCell`: a subclass gives the shape of its bias and one step.

    Args:
        units: Size of the output and of the state.
        activation: The function of what is new.
        recurrent_activation: The function of the gates; used where there are more than one.
        use_bias: Whether there is a bias.
        kernel: The settings of the kernel.
        recurrent: The settings of the recurrent kernel.
        bias: The settings of the bias.
        dropout: The share of inputs dropped in training.
        recurrent_dropout: The share of outputs dropped on their way to the next step.
        seed: Fixes the draws of both.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.
    """

    _gx_of_weights = frozenset({"units", "use_bias"})

    compiles_call = True
    activation: Activation = NamedActivation()  # type: ignore[assignment]  # takes names, too
    recurrent_activation: Activation = NamedActivation()  # type: ignore[assignment]  # takes names, too
    gates: ClassVar[int]
    states: ClassVar[int] = 1
    bias: Variable | None

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
        name: str | None,
        trainable: bool,
        dtype: str | DTypePolicy | None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.units = check_positive("units", units)
        self.activation = activations.get(activation)
        if self.gates > 1:
            self.recurrent_activation = activations.get(recurrent_activation)
        self.use_bias = check_flag("use_bias", use_bias)
        if not self.use_bias:
            bias.check_unused("use_bias=False", "use_bias=True", "bias", initializers.Zeros)
        self.kernel_initializer = kernel.initializer
        self.kernel_regularizer = kernel.regularizer
        self.kernel_constraint = kernel.constraint
        self.recurrent_initializer = recurrent.initializer
        self.recurrent_regularizer = recurrent.regularizer
        self.recurrent_constraint = recurrent.constraint
        self.bias_initializer = bias.initializer
        self.bias_regularizer = bias.regularizer
        self.bias_constraint = bias.constraint
        self.dropout = check_range("dropout", dropout, 0, 1)
        self.recurrent_dropout = check_range("recurrent_dropout", recurrent_dropout, 0, 1)
        self.seed = None if seed is None else checked_seed(seed)
        self.seed_generator = random.SeedGenerator(seed) if dropout or recurrent_dropout else None

    # --- for subclasses ---------------------------------------------------------------------------------------------

    def step(
        self, drive: Array, state: Sequence[Array], seen: Array, kernel: Array, bias: Array | None
    ) -> tuple[Array, ...]:
        """Return the next state, its output first; ``drive`` is what the input adds, ``seen`` the output before."""
        raise undefined_error(self, "step(drive, state, seen, kernel, bias)")

    def gate(self, x: Array) -> Array:
        """Return the recurrent activation of an array, for one gate or several."""
        return apply_activation(self.recurrent_activation, x, x.shape)

    def bias_shape(self) -> Shape:
        """Return the shape of the bias."""
        return (self.gates * self.units,)

    def first_bias(self) -> InitializerLike:
        """Return what the bias starts as."""
        return self.bias_initializer

    def project_inputs(self, x: Array) -> tuple[Array, Array | None]:
        """Return what inputs add, ``(..., in) -> (..., gates * units)``, and the bias that is left for the step.

        Both come from one read of the bias, since one that is an expression may draw at each.
        """
        out = linear(x, self.kernel)
        return out if self.bias is None else ops.add(out, self.bias), None

    # --- shared -----------------------------------------------------------------------------------------------------

    def make_weights(self, size: int) -> None:
        """Make the weights for inputs of a size."""
        width = self.gates * self.units
        self.kernel = self.add_weight(
            (size, width),
            self.kernel_initializer,
            name="kernel",
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.recurrent_kernel = self.add_weight(
            (self.units, width),
            self.recurrent_initializer,
            name="recurrent_kernel",
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                self.bias_shape(),
                initializers.get(self.first_bias()),
                name="bias",
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        if self.seed_generator is not None:
            self.seed_generator.build()

    def draw_dropout(self, batch: int, training: bool | None) -> tuple[Array | None, Array | None]:
        """Return what inputs and outputs of a whole sequence are multiplied by; None for nothing."""
        return (
            self._dropout_mask(self.dropout, (batch, self.kernel.shape[0]), training),
            self._dropout_mask(self.recurrent_dropout, (batch, self.units), training),
        )

    def _dropout_mask(self, rate: float, shape: Shape, training: bool | None) -> Array | None:
        if not training or rate == 0 or self.seed_generator is None:
            return None
        if rate == 1:
            return ops.zeros(shape, self._gx_dtypes.compute_dtype)
        keep = random.bernoulli(shape, 1 - rate, seed=self.seed_generator)
        return ops.divide(ops.cast(keep, self._gx_dtypes.compute_dtype), 1 - rate)
