"""Input and InputLayer: where a graph of layers begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.core.dtypes import is_complex, is_floating
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, Shape
from graftax.layers import shapes, symbolic_call
from graftax.layers.arguments import check_positive
from graftax.layers.layer import Layer
from graftax.ops.symbolic import Origin, Sizes, Spec


class InputLayer(Layer):
    """Stands for one input of a graph of layers; a call returns the array that it gets, if that fits.

    Args:
        shape: The shape of one sample, None for sizes that may be any.
        dtype: The dtype of the input. Defaults to None, the global policy's compute dtype.
        batch_size: The number of samples. Defaults to None, any.
        name: As for `Layer`. Defaults to None.

    Shape:
        ``(batch, *shape) -> (batch, *shape)``

    Raises:
        ArgumentTypeError: the shape is none.

    Example:
        >>> import numpy as np
        >>> InputLayer((2,))(np.float32([[1, 2]])).tolist()
        [[1.0, 2.0]]
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self,
        shape: Sequence[int | None],
        dtype: str | None = None,
        batch_size: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        check_one_shape(shape, dtype)
        found = shapes.check_shapes("Input", shape)
        if not shapes.is_shape(found):
            raise ArgumentError(
                f"Input got {shape!r:.60}", "an input is one array", "[graftax.Input((8,)), graftax.Input((8,))]"
            )
        self.shape: Sizes = tuple(found)
        self.batch_size = None if batch_size is None else check_positive("batch_size", batch_size)
        self.input_dtype = registry.current().arrays.canonical_dtype(dtype or self.compute_dtype)
        self.declared = Declared((self.batch_size, *self.shape), self.input_dtype, name)
        self._gx_input_shape = self.declared.shape
        self._gx_mark_built()

    def call(self, x: Array) -> Array:
        fitting: Array = self.check_array(x)
        return fitting

    def check_array(self, x: Any) -> Any:
        """Return an array as the graph takes it: in the dtype of the input.

        Raises:
            ShapeError: it has another shape.
            DTypeError: it holds fractions or complex numbers where integers are to come.
        """
        return self.declared.check_array(x)


def check_one_shape(shape: object, dtype: object) -> None:
    """Raise for a shape that is none of a sample, with the line to write.

    Args:
        shape: What was given for it.
        dtype: What was given for the dtype: the second size, where a shape was written without its parentheses.

    Raises:
        ArgumentTypeError: it is no tuple of sizes.
        ArgumentError: a size is below 0.
    """
    if isinstance(shape, list | tuple | dict):
        if any(isinstance(size, int) and size < 0 for size in shape):
            free = tuple(None if isinstance(size, int) and size < 0 else size for size in shape)
            raise ArgumentError(
                f"Input got {shape!r:.60}", "a size is not below 0; None stands for any size", f"gx.Input({free!r})"
            )
        return
    sizes = [size for size in (shape, dtype) if isinstance(size, int) and not isinstance(size, bool)]
    meant = (None, *sizes) if shape is None else tuple(sizes)
    raise ArgumentTypeError(
        f"Input got {shape!r:.60}",
        "the shape of a sample is a tuple of sizes, with None for any size",
        f"gx.Input({meant if sizes else (8,)!r})",
    )


class Declared(NamedTuple):
    """What is known of an input before there is one.

    Args:
        shape: Its shape, the batch included; None for sizes that may be any.
        dtype: The name of its dtype.
        name: What it is called; None for nothing.
    """

    shape: Sizes
    dtype: str
    name: str | None

    def check_array(self, x: Any) -> Any:
        """Return an array in that dtype, if it is of that shape.

        Raises:
            ShapeError: it has another shape.
            DTypeError: it holds fractions or complex numbers where integers are to come.
        """
        have: Shape = tuple(ops.shape(x))
        what = "an input" if self.name is None else f"the input {self.name!r}"
        if len(have) != len(self.shape) or any(n not in (None, m) for n, m in zip(self.shape, have, strict=True)):
            instead = f"graftax.Input({have[1:]}), if such arrays are meant" if have else "a batch of samples"
            if len(have) == 1 and len(self.shape) == 2 and self.shape[1] == 1:
                instead = f'x.reshape(-1, 1), or df[["a"]] of a table in place of df["a"]; {instead}'
            raise ShapeError(
                f"{what} got an array of shape {have}",
                f"it was declared with {self.shape}, where None is any size",
                instead,
            )
        dtype = str(x.dtype) if hasattr(x, "dtype") else str(ops.asarray(x).dtype)
        if dtype == self.dtype or (is_floating(dtype) and is_floating(self.dtype)):
            return x  # layers cast fractions to what they compute in
        if _rank(dtype) > _rank(self.dtype) or not _has_room(self.dtype, dtype):
            raise DTypeError(
                f"{what} got {dtype}",
                f"it was declared as {self.dtype}, and would lose what that has not",
                f'graftax.Input(..., dtype="{dtype}"), or ops.cast(x, "{self.dtype}") before the call',
            )
        return ops.cast(x, self.dtype)


def _rank(dtype: str) -> int:
    """Return how much numbers of a dtype may hold: truth, integers, fractions, two of these."""
    if is_complex(dtype):
        return 3
    return 2 if is_floating(dtype) else int(dtype != "bool")


def _has_room(declared: str, dtype: str) -> bool:
    """Tell whether integers fit one another: those of int32 hold all that are meant, and larger ones are refused."""
    if _rank(declared) != 1 or _rank(dtype) != 1 or declared in ("int32", "int64"):
        return True
    return bool(np.can_cast(dtype, declared))


@door
def Input(  # noqa: N802 (what it makes stands for an object, and the name is known)
    shape: Sequence[int | None],
    dtype: str | None = None,
    batch_size: int | None = None,
    name: str | None = None,
) -> Any:
    """Return a symbolic array; calls of layers, ops and operators on it make a graph of layers.

    Args:
        shape: The shape of one sample, without the batch; None for sizes that may be any.
        dtype: Its dtype. Defaults to None, the global policy's compute dtype.
        batch_size: The number of samples. Defaults to None, any.
        name: What the input is called, in dicts of inputs, too. Defaults to None.

    Returns:
        A value with ``shape``, ``dtype``, operators and subscripts.

    Raises:
        ArgumentTypeError: the shape is none.

    Example:
        >>> import numpy as np, graftax as gx
        >>> x = gx.Input((4,))
        >>> y = gx.layers.Dense(2)(x) + 1
        >>> model = gx.Model(x, y)
        >>> model(np.ones((3, 4), "float32")).shape
        (3, 2)
    """
    layer = InputLayer(shape, dtype, batch_size, name)
    return symbolic_input(layer)


def symbolic_input(layer: InputLayer) -> Any:
    """Return the array that is not there yet of which a layer tells shape and dtype."""
    origin = Origin(layer, (), {}, Spec(layer.declared.shape, layer.input_dtype), is_input=True)
    symbolic_call.note(origin)
    return symbolic_call.results_of(origin)
