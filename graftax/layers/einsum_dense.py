"""EinsumDense: a sum of products with a kernel, written as an equation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.activations import ActivationLike
from graftax.layers.arguments import array_shape, check_positive, single_shape
from graftax.layers.kernel_layer import KernelLayer
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables import initializers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike

_EQUATION = re.compile(r"(\.\.\.)?([A-Za-z]+),([A-Za-z]+)->(\.\.\.)?([A-Za-z]+)")


class EinsumDense(KernelLayer):
    """A sum of products of the input and a kernel over any axes, plus a bias, through an activation.

    Args:
        equation: Axes of the input, of the kernel and of the output, as for `graftax.ops.einsum`: ``"abc,cd->abd"``.
            The first two may begin with ``...`` for any axes in front.
        output_shape: The sizes of the last axes of the output, without the batch; None for a size that the input says.
        activation: A name or function of `graftax.activations`. Defaults to None, none.
        bias_axes: The axes of the output along which the bias has numbers of its own, such as ``"d"``. Defaults to
            None: there is no bias.
        kernel_initializer: What the kernel, of the sizes of its axes, starts as.
        bias_initializer: What the bias starts as. Defaults to zeros.
        kernel_regularizer: Penalty on the kernel. Defaults to None, none.
        bias_regularizer: Penalty on the bias. Defaults to None, none.
        kernel_constraint: Projection of the kernel after each update. Defaults to None, none.
        bias_constraint: Projection of the bias after each update. Defaults to None, none.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        as the equation says

    Raises:
        ArgumentError: the equation cannot be read, an axis has no size, or the bias has axes that the output has not.
        ShapeError: an input has other axes than the equation, or other sizes than the first one.

    Example:
        >>> import numpy as np
        >>> layer = EinsumDense("abc,cde->abde", output_shape=(None, 4, 8), bias_axes="de")
        >>> layer(np.ones((2, 5, 3), "float32")).shape, layer.kernel.shape, layer.bias.shape
        ((2, 5, 4, 8), (3, 4, 8), (4, 8))
    """

    _gx_of_weights = frozenset({"output_shape"})
    _gx_of_constructor = frozenset({"bias_axes", "equation"})

    supports_masking = False
    compiles_call = True

    def __init__(
        self,
        equation: str,
        output_shape: int | Sequence[int | None],
        activation: ActivationLike = None,
        bias_axes: str | None = None,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        found = _EQUATION.fullmatch(equation.replace(" ", "")) if isinstance(equation, str) else None
        if (
            found is None
            or bool(found[1]) != bool(found[4])
            or any(len(set(part)) < len(part) for part in found.group(2, 3, 5))
        ):
            raise ArgumentError(
                f"equation={equation!r:.60}",
                "it has the axes of the input, of the kernel and of the output, each axis one letter and none twice",
                'equation="abc,cd->abd", or "...c,cd->...d"',
            )
        self.any_front = bool(found[1])
        self.axes = found.group(2, 3, 5)
        given, kernel, result = self.axes
        if missing := (set(result) - set(given) - set(kernel)) | (set(kernel) - set(given) - set(result)):
            raise ArgumentError(
                f"equation={equation!r}",
                f"nothing says how large the axis {min(missing)!r} is",
                "each axis of the output in the input or the kernel, each of the kernel in the input or the output",
            )
        named = bias_axes if isinstance(bias_axes, str) else ""
        if not isinstance(bias_axes, str | None) or not set(named) <= set(result) or len(set(named)) < len(named):
            raise ArgumentError(
                f"bias_axes={bias_axes!r:.60}, equation={equation!r}",
                f"the bias is added to the output, which has the axes {result}, each of them once",
                f'bias_axes="{result[-1]}"',
            )
        bias = WeightSettings.of(initializer=bias_initializer, regularizer=bias_regularizer, constraint=bias_constraint)
        if not bias_axes:
            bias.check_unused(f"bias_axes={bias_axes!r}", f'bias_axes="{result[-1]}"', "bias", initializers.Zeros)
        super().__init__(
            activation=activation,
            use_bias=bool(bias_axes),
            kernel=WeightSettings.of(
                initializer=kernel_initializer, regularizer=kernel_regularizer, constraint=kernel_constraint
            ),
            bias=bias,
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.equation = equation.replace(" ", "")
        sizes: tuple[Any, ...] = tuple(output_shape) if isinstance(output_shape, list | tuple) else (output_shape,)
        self.output_shape = tuple(n if n is None else check_positive("output_shape", n) for n in sizes)
        if len(sizes) > len(result):
            raise ArgumentError(
                f"output_shape={output_shape!r}",
                f"the output has the axes {result}",
                "one size for each of the last axes",
            )
        self.bias_axes = bias_axes or ""

    def build(self, input_shape: Shape) -> None:
        sizes = self._sizes(single_shape(input_shape, least=1))
        told = self._told()
        for axis, size in told.items():
            if sizes.setdefault(axis, size) != size:
                raise ShapeError(
                    f"an input of shape {tuple(input_shape)}, output_shape={self.output_shape}",
                    f"the axis {axis!r} has {sizes[axis]} in the one and {size} in the other",
                    "None in output_shape for a size that the input says",
                )
        if missing := [axis for axis in self.axes[1] + self.bias_axes if axis not in sizes]:
            raise ArgumentError(
                f"output_shape={self.output_shape} for {self.equation!r}",
                f"it does not say how large the axis {missing[0]!r} is",
                "a size for each axis of the output that the input has not",
            )
        self.sizes = {axis: sizes[axis] for axis in (*self.axes[1], *self.bias_axes, *told)}
        first = min((self.axes[2].index(axis) for axis in self.bias_axes), default=0)
        bias = tuple(sizes[axis] if axis in self.bias_axes else 1 for axis in self.axes[2][first:])
        self.make_weights(tuple(sizes[axis] for axis in self.axes[1]), bias)

    def call(self, x: Array) -> Array:
        for axis, size in self._sizes(array_shape(x)).items():
            if size != self.sizes.get(axis, size):
                made = axis in self.axes[1] + self.bias_axes
                raise ShapeError(
                    f"an input of shape {tuple(x.shape)}, whose axis {axis!r} is {size}",
                    f"the weights were made for {self.sizes[axis]}, at the first call"
                    if made
                    else f"output_shape={self.output_shape} says {self.sizes[axis]}",
                    f"an input with {self.sizes[axis]} there, or a new layer for the other size",
                )
        return self.finish(ops.einsum(self.equation, x, self.kernel))

    def _told(self) -> dict[str, int]:
        """Return the sizes that ``output_shape`` says."""
        last = zip(reversed(self.axes[2]), reversed(self.output_shape), strict=False)
        return {axis: size for axis, size in last if size is not None}

    def _sizes(self, shape: Shape) -> dict[str, int]:
        """Return the size of each axis of the input."""
        names = self.axes[0]
        if len(shape) < len(names) or (len(shape) > len(names) and not self.any_front):
            raise ShapeError(
                f"an input of shape {tuple(shape)}",
                f"the equation {self.equation!r} has the axes {'... and ' if self.any_front else ''}{names} for it",
                "an equation with as many axes as the input",
            )
        return dict(zip(names, shape[len(shape) - len(names) :], strict=True))
