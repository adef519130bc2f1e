"""All operators for everything that stands for an array, through its one property ``value``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ShapeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, VariableLike
from graftax.core.undefined import undefined_error
from graftax.ops.checks import check_subscript
from graftax.variables import numpy_functions
from graftax.variables.array_names import missing_attribute_error
from graftax.variables.state.storage import frames

if TYPE_CHECKING:
    import numpy as np


class Arithmetic(VariableLike):
    """Operators, indexing, conversion to NumPy and to Python numbers."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **settings: Any) -> Any:
        """Return what a function of NumPy computes, such as ``np.square(variable)`` or ``np.ones(3) * variable``."""
        return numpy_functions.compute(ufunc, method, inputs, settings)

    if not TYPE_CHECKING:  # a checker should see which attributes there are

        def __getattr__(self, name: str) -> Any:
            error = None if name.startswith("_") else missing_attribute_error(type(self).__name__, name)
            if error is not None and not hasattr(type(self), name):
                raise error
            return object.__getattribute__(self, name)  # raises, what a property raised included

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the value."""
        return tuple(self.value.shape)

    @property
    def dtype(self) -> str:
        """Return the dtype of the value by name."""
        return str(self.value.dtype)

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return the number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def T(self) -> Array:  # noqa: N802 (the name it has everywhere)
        """Return the value with its axes reversed."""
        return ops.transpose(self)

    @property
    def mT(self) -> Array:  # noqa: N802
        """Return the value with its last two axes exchanged: each matrix transposed."""
        return ops.swapaxes(self, -1, -2)

    @property
    def nbytes(self) -> int:
        """Return how many bytes the value takes."""
        return self.size * int(self.value.dtype.itemsize)

    @door
    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the value on the host as a read-only NumPy array, which stays as it is when the value changes."""
        value = self._gx_leave()
        array = registry.current().arrays.to_numpy(value).view()
        array.flags.writeable = False
        return array

    def _gx_leave(self) -> Any:
        """Return the value for Python or NumPy, from which no gradient comes back, which a tape tells."""
        value = self.value
        if (frame := frames.top) is not None:
            frame.note_conversion(value, getattr(self, "_gx_path", type(self).__name__))
        return value

    @abstractmethod
    def assign(self, value: ArrayLike) -> Self:
        """Give it a new value of the same shape and dtype, and return it."""
        raise undefined_error(self, "assign")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __getitem__(self, key: object) -> Array:
        return self.value[check_subscript(registry.current().arrays, self.shape, key)]

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Array]:
        return iter(self.value)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError(
                f"the truth of {self!r:.80}",
                f"if, and, or and not decide by one value, and shape {self.shape} has {self.size}",
                "ops.any(w > 0) or ops.all(w > 0); w is not None, to ask whether there is one",
            )
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self._gx_leave())

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __index__(self) -> int:
        return self.value.__index__()

    def __neg__(self) -> Array:
        return ops.negative(self)

    def __pos__(self) -> Array:
        return self.value

    def __abs__(self) -> Array:
        return ops.abs(self)

    def __invert__(self) -> Array:
        return ops.logical_not(self) if self.dtype == "bool" else ops.bitwise_not(self)

    def __add__(self, other: ArrayLike) -> Array:
        return ops.add(self, other)

    def __radd__(self, other: ArrayLike) -> Array:
        return ops.add(other, self)

    def __sub__(self, other: ArrayLike) -> Array:
        return ops.subtract(self, other)

    def __rsub__(self, other: ArrayLike) -> Array:
        return ops.subtract(other, self)

    def __mul__(self, other: ArrayLike) -> Array:
        return ops.multiply(self, other)

    def __rmul__(self, other: ArrayLike) -> Array:
        return ops.multiply(other, self)

    def __truediv__(self, other: ArrayLike) -> Array:
        return ops.divide(self, other)

    def __rtruediv__(self, other: ArrayLike) -> Array:
        return ops.divide(other, self)

    def __floordiv__(self, other: ArrayLike) -> Array:
        return ops.floor_divide(self, other)

    def __rfloordiv__(self, other: ArrayLike) -> Array:
        return ops.floor_divide(other, self)

    def __mod__(self, other: ArrayLike) -> Array:
        return ops.remainder(self, other)

    def __rmod__(self, other: ArrayLike) -> Array:
        return ops.remainder(other, self)

    def __pow__(self, other: ArrayLike) -> Array:
        return ops.power(self, other)

    def __rpow__(self, other: ArrayLike) -> Array:
        return ops.power(other, self)

    def __matmul__(self, other: ArrayLike) -> Array:
        return ops.matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        return ops.matmul(other, self)

    def __and__(self, other: ArrayLike) -> Array:
        return ops.logical_and(self, other) if self.dtype == "bool" else ops.bitwise_and(self, other)

    def __or__(self, other: ArrayLike) -> Array:
        return ops.logical_or(self, other) if self.dtype == "bool" else ops.bitwise_or(self, other)

    def __xor__(self, other: ArrayLike) -> Array:
        return ops.logical_xor(self, other) if self.dtype == "bool" else ops.bitwise_xor(self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    # in place, as in NumPy: `v += 1` assigns, and `v` stays what it is

    def _in_place(self, operation: Callable[[Any, Any], Array], other: ArrayLike) -> Self:
        return self.assign(operation(self, other))

    def __iadd__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.add, other)

    def __isub__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.subtract, other)

    def __imul__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.multiply, other)

    def __itruediv__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.divide, other)

    def __ifloordiv__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.floor_divide, other)

    def __imod__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.remainder, other)

    def __ipow__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.power, other)

    def __imatmul__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.matmul, other)

    def __iand__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.logical_and if self.dtype == "bool" else ops.bitwise_and, other)

    def __ior__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.logical_or if self.dtype == "bool" else ops.bitwise_or, other)

    def __ixor__(self, other: ArrayLike) -> Self:
        return self._in_place(ops.logical_xor if self.dtype == "bool" else ops.bitwise_xor, other)

    def __eq__(self, other: object) -> Any:
        return ops.equal(self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Any:
        return ops.not_equal(self, other)  # type: ignore[arg-type]

    def __lt__(self, other: ArrayLike) -> Array:
        return ops.less(self, other)

    def __le__(self, other: ArrayLike) -> Array:
        return ops.less_equal(self, other)

    def __gt__(self, other: ArrayLike) -> Array:
        return ops.greater(self, other)

    def __ge__(self, other: ArrayLike) -> Array:
        return ops.greater_equal(self, other)

    __hash__ = object.__hash__  # by identity, although == compares elements: a Variable can be a key
