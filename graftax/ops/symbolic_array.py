"""SymbolicArray: what `graftax.Input` gives, and all that layers, ops and operators make of it."""

from __future__ import annotations

from typing import Any, NoReturn

from graftax.backend import registry
from graftax.core.errors import MissingAttributeError
from graftax.ops.checks import check_subscript
from graftax.ops.dispatch import op_function
from graftax.ops.symbolic import Symbolic, record_op
from graftax.ops.table import OPS


def subscript(x: Any, key: Any) -> Any:
    """Return ``x[key]``: what a graph does where a value was subscripted."""
    return x[check_subscript(registry.current().arrays, x.shape, key)]


class SymbolicArray(Symbolic):
    """An array that is not there yet; operators, `graftax.ops` and layers take it, and give others.

    Example:
        >>> import graftax as gx
        >>> x = gx.Input((3,))
        >>> (2 * x + 1)[:, :2].shape
        (None, 2)
    """

    __slots__ = ()

    __array_ufunc__ = None  # NumPy's arrays leave operators to this class

    def __repr__(self) -> str:
        callee = self.origin.callee
        by = callee if isinstance(callee, str) else f"{getattr(callee, 'name', callee)!r}"
        return f"<SymbolicArray {self.spec!r} of {by}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or name not in OPS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        raise MissingAttributeError(
            f"{self!r} has no method {name!r}",
            "it stands for an array in ops, operators and layers, but has few of its methods",
            f"ops.{name}(x, ...)",
        )

    @property
    def size(self) -> int:
        """Return the number of elements, where all sizes are known."""
        return self._call("size")  # type: ignore[no-any-return]

    @property
    def T(self) -> Any:  # noqa: N802 (the name it has everywhere)
        """Return the array with its axes reversed."""
        return self._call("transpose")

    def _call(self, name: str, *more: Any) -> Any:
        return op_function(name)(self, *more)

    def _apply_reversed(self, name: str, other: Any) -> Any:
        return op_function(name)(other, self)

    def reshape(self, *shape: Any) -> Any:
        """Return the array in another shape."""
        return self._call("reshape", shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def astype(self, dtype: Any) -> Any:
        """Return the array in another dtype."""
        return self._call("cast", dtype)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the sum over axes."""
        return self._call("sum", axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the mean over axes."""
        return self._call("mean", axis, keepdims)

    def __getitem__(self, key: Any) -> Any:
        return record_op("subscript", subscript, (self, key), {})

    def __neg__(self) -> Any:
        return self._call("negative")

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._call("abs")

    def __invert__(self) -> Any:
        return self._call("logical_not" if self.spec.dtype == "bool" else "bitwise_not")

    def __add__(self, other: Any) -> Any:
        return self._call("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._apply_reversed("add", other)

    def __sub__(self, other: Any) -> Any:
        return self._call("subtract", other)

    def __rsub__(self, other: Any) -> Any:
        return self._apply_reversed("subtract", other)

    def __mul__(self, other: Any) -> Any:
        return self._call("multiply", other)

    def __rmul__(self, other: Any) -> Any:
        return self._apply_reversed("multiply", other)

    def __truediv__(self, other: Any) -> Any:
        return self._call("divide", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._apply_reversed("divide", other)

    def __floordiv__(self, other: Any) -> Any:
        return self._call("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._apply_reversed("floor_divide", other)

    def __mod__(self, other: Any) -> Any:
        return self._call("remainder", other)

    def __rmod__(self, other: Any) -> Any:
        return self._apply_reversed("remainder", other)

    def __pow__(self, other: Any) -> Any:
        return self._call("power", other)

    def __rpow__(self, other: Any) -> Any:
        return self._apply_reversed("power", other)

    def __matmul__(self, other: Any) -> Any:
        return self._call("matmul", other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._apply_reversed("matmul", other)

    def __and__(self, other: Any) -> Any:
        return self._call("logical_and" if self.spec.dtype == "bool" else "bitwise_and", other)

    def __or__(self, other: Any) -> Any:
        return self._call("logical_or" if self.spec.dtype == "bool" else "bitwise_or", other)

    def __xor__(self, other: Any) -> Any:
        return self._call("logical_xor" if self.spec.dtype == "bool" else "bitwise_xor", other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __eq__(self, other: object) -> Any:
        return self._call("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._call("not_equal", other)

    def __lt__(self, other: Any) -> Any:
        return self._call("less", other)

    def __le__(self, other: Any) -> Any:
        return self._call("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._call("greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._call("greater_equal", other)

    __hash__ = object.__hash__  # by identity, although == compares elements

    def __bool__(self) -> bool:
        self.is_not_there("the truth")

    def __len__(self) -> int:
        if not self.shape or self.shape[0] is None:
            self.is_not_there("the length")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        self.is_not_there("the number")

    def __int__(self) -> int:
        self.is_not_there("the number")

    def __index__(self) -> int:
        self.is_not_there("the number")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self.is_not_there("the value")
