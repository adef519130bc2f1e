"""Checks of native arrays: what code above the backend reads from them, and how they are made and changed."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from graftax.backend.namespace_names import NAMES
from graftax.backend.testing.check import Kit, raises, rows
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from graftax.core.typedefs import VariableLike

DTYPES = "bool int8 int16 int32 uint8 uint16 uint32 float16 bfloat16 float32 complex64".split()
X = np.array([[1.0, -2.0, 3.5], [0.25, 5.0, -6.0]], "float32")


class _Standin(VariableLike):
    """Stands for an array on either side of an operator, and notes that it was asked."""

    __array_ufunc__ = None

    @property
    def value(self) -> Any:
        raise AssertionError("the array did the operation itself; it has to return NotImplemented for a VariableLike")

    def asked(self, other: object) -> str:
        return "asked"

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = asked
    __lt__ = __le__ = __gt__ = __ge__ = asked


def _check_attributes(kit: Kit) -> None:
    x = kit.array(X)
    assert tuple(x.shape) == (2, 3)
    assert all(type(n) is int for n in x.shape), "sizes in shape are no integers of Python"
    assert x.ndim == 2
    assert x.size == 6, "size is the number of elements, a property"
    assert len(x) == 2
    assert kit.backend.arrays.is_array(x)
    assert kit.backend.arrays.is_concrete(x)
    assert not kit.backend.arrays.is_array(1.0)
    assert not kit.backend.arrays.is_array([1.0])
    assert not kit.backend.arrays.is_weak(x)
    with raises(TypeError):
        len(kit.array(1.0))


def _check_dtypes(kit: Kit) -> None:
    for name in DTYPES:
        x = kit.array([0, 1], name)
        dtype = x.dtype
        assert str(dtype) == dtype.name == name, f"str(dtype) and dtype.name of {name}"
        assert dtype == name, f"dtype == {name!r}"
        assert hash(dtype) == hash(kit.array([1], name).dtype), f"hash of the dtype {name}"
        assert dtype.itemsize == kit.host(x).dtype.itemsize, f"itemsize of {name}"
        assert dtype.kind == kit.host(x).dtype.kind, f"kind of {name}"
        assert kit.backend.arrays.canonical_dtype(name) == name
    for wide, narrow in (("int64", "int32"), ("float64", "float32"), (float, "float32"), (bool, "bool")):
        canonical = kit.backend.arrays.canonical_dtype(wide)
        assert canonical == narrow, f"canonical_dtype({wide!r}) is {canonical}"
    with raises(DTypeError):
        kit.backend.arrays.canonical_dtype("float31")


def _check_conversion(kit: Kit) -> None:
    for value, dtype in (
        (1, "int32"), (1.0, "float32"), (True, "bool"), (1j, "complex64"), ([1, 2], "int32"), ([], "float32"),
        (np.float64(1), "float32"), (np.int64(1), "int32"), (np.arange(3, dtype="uint64"), "uint32"),
        (np.ones(2, "float16"), "float16"), (np.ones((2, 0), "int8"), "int8"), ([[True], [False]], "bool"),
    ):  # fmt: skip
        kit.close(kit.array(value), np.asarray(value).astype(dtype), f"asarray({value!r})")
    kit.close(kit.array([kit.array(1.0), 2.0]), np.array([1, 2], "float32"), "a list with a native array")
    kit.close(kit.array(kit.array(X), "int32"), X.astype("int32"), "another dtype")


def _check_refusals(kit: Kit) -> None:
    with raises(ArgumentTypeError):
        kit.array("text")
    with raises(ShapeError):
        kit.array([[1, 2], [3]])
    with raises(ArgumentError):
        kit.array(300, "uint8")
    with raises(ArgumentTypeError):
        kit.array(np.ma.masked_array([1.0, 2.0], [True, False]))


def _check_memory(kit: Kit) -> None:
    raw = np.zeros(4 * 20_000 + 64, "uint8")
    start = -raw.ctypes.data % 64  # where a library would gladly take the memory as it is
    source = raw[start : start + 4 * 20_000].view("float32")
    x, same = kit.array(source), kit.array(source, "float32")
    source[:] = 7
    assert not kit.host(x).any(), "what the caller wrote after the conversion is seen"
    assert not kit.host(same).any(), "what the caller wrote after the conversion is seen"
    y = kit.array(X)
    found = kit.host(y)
    if found.flags.writeable:
        found[0, 0] = 99
    kit.close(y, X, "an array after its values on the host were written to")


def _check_adoption(kit: Kit) -> None:
    raw = np.arange(4 * 3 + 64, dtype="uint8")
    start = -raw.ctypes.data % 64
    aligned, other = raw[start : start + 8].view("float32"), np.array([[True, False]])
    made = kit.backend.arrays.adopt([aligned, other, np.zeros((0, 2), "int32")])
    assert [kit.backend.arrays.is_array(x) for x in made] == [True] * 3
    for x, source in zip(made, (aligned, other, np.zeros((0, 2), "int32")), strict=True):
        assert str(x.dtype) == source.dtype.name
        kit.close(x, source, "an array that took over the memory of one of NumPy")


def _check_weak_references(kit: Kit) -> None:
    x = kit.array(X)
    alive = weakref.ref(x)
    assert alive() is x
    del x
    assert alive() is None, "something keeps an array alive that nobody uses"


def _check_operators(kit: Kit) -> None:
    x, y = kit.array(X), kit.array(X + 7)
    for what, found, expected in (
        ("x + y", x + y, X + (X + 7)), ("x - 1", x - 1, X - 1), ("2 - x", 2 - x, 2 - X), ("x * y", x * y, X * (X + 7)),
        ("x / y", x / y, X / (X + 7)), ("1 / y", 1 / y, 1 / (X + 7)), ("-x", -x, -X), ("abs(x)", abs(x), np.abs(X)),
        ("x ** 2", x**2, X**2), ("x @ x.T", x @ y.T, X @ (X + 7).T), ("x > 0", x > 0, X > 0),
        ("x <= y", x <= y, X <= X + 7),
        ("x == x", x == x, X == X), ("x != y", x != y, X != X + 7), ("~", ~(x > 0), ~(X > 0)),
        ("&", (x > 0) & (y > 7), (X > 0) & (X > 0)), ("|", (x > 0) | (x < 0), X != 0),
    ):  # fmt: skip
        kit.close(found, expected, what)
    integers = kit.array([7, -7])
    kit.close(integers // 2, np.array([3, -4], "int32"), "floor division")
    kit.close(integers % 3, np.array([1, 2], "int32"), "the remainder has the sign of the divisor")
    kit.close(
        kit.array([1, 2], "float16") * 2.5, np.array([2.5, 5], "float16"), "a Python number has no dtype of its own"
    )
    kit.close(kit.array([1, 2], "int8") + 1, np.array([2, 3], "int8"), "a Python number has no dtype of its own")


def _check_dtypes_that_meet(kit: Kit) -> None:
    for one, other, wanted in (
        ("int8", "int32", "int32"), ("uint8", "int8", "int16"), ("uint32", "int32", "int32"), ("bool", "int8", "int8"),
        ("int32", "float16", "float16"), ("float16", "bfloat16", "float32"), ("bfloat16", "float32", "float32"),
        ("int32", "bfloat16", "bfloat16"), ("float32", "complex64", "complex64"), ("bool", "float16", "float16"),
    ):  # fmt: skip
        for left, right in ((one, other), (other, one)):
            found = kit.backend.arrays.numpy.add(kit.array([1], left), kit.array([1], right)).dtype
            assert found == wanted, f"{left} + {right} is {found}, not {wanted}"


def _check_variables_go_first(kit: Kit) -> None:
    x, standin = kit.array(X), _Standin()
    for what, found in (
        ("+", x + standin), ("-", x - standin), ("*", x * standin), ("/", x / standin), ("//", x // standin),
        ("%", x % standin), ("**", x**standin), ("@", x @ standin), ("<", x < standin), (">=", x >= standin),
    ):  # fmt: skip
        assert found == "asked", f"array {what} VariableLike"


def _check_indexing(kit: Kit) -> None:
    x = kit.array(X)
    for what, found, expected in (
        ("x[0]", x[0], X[0]), ("x[-1, 1]", x[-1, 1], X[-1, 1]), ("x[:, ::2]", x[:, ::2], X[:, ::2]),
        ("x[::-1]", x[::-1], X[::-1]), ("x[..., None]", x[..., None], X[..., None]),
        ("x[:, 1:1]", x[:, 1:1], X[:, 1:1]),
        ("an array", x[kit.array([1, 0, 1])], X[[1, 0, 1]]), ("reshape", x.reshape(3, 2), X.reshape(3, 2)),
        ("reshape((3, 2))", x.reshape((3, 2)), X.reshape(3, 2)), ("astype", x.astype("int32"), X.astype("int32")),
        ("x.T", x.T, X.T),
    ):  # fmt: skip
        kit.close(found, expected, what)
    for row, expected in zip(x, X, strict=True):
        kit.close(row, expected, "iteration")


def _check_python_numbers(kit: Kit) -> None:
    assert float(kit.array(1.5)) == 1.5
    assert int(kit.array(3)) == 3
    assert bool(kit.array(True)) is True
    assert complex(kit.array(1j)) == 1j
    assert [1, 2, 3][kit.array(1)] == 2, "an integer array of shape () is an index of a list"
    assert kit.array(X).tolist() == X.tolist()
    assert kit.array(2.5).item() == 2.5
    for vector in (lambda: float(kit.array([1.0, 2.0])), lambda: int(kit.array([1, 2]))):
        with raises(TypeError):
            vector()
    with raises(ValueError, TypeError):
        bool(kit.array([True, False]))
    np.testing.assert_array_equal(np.asarray(kit.array(X)), X)


def _check_results_have_at_most_32_bits(kit: Kit) -> None:
    numpy = kit.backend.arrays.numpy
    for what, found in (
        ("arange", numpy.arange(3)), ("sum of integers", numpy.sum(kit.array([1, 2]))),
        ("linspace", numpy.linspace(0.0, 1.0, 3)),
        ("argmax", numpy.argmax(kit.array(X))), ("mean", numpy.mean(kit.array([1, 2]))), ("eye", numpy.eye(2)),
        ("asarray", numpy.asarray(2.5)), ("divide", numpy.divide(kit.array(1), kit.array(2))),
    ):  # fmt: skip
        assert kit.backend.arrays.is_array(found), f"{what} gives no native array"
        assert found.dtype.itemsize <= 4, f"{what} gives {found.dtype}"


def _check_namespace(kit: Kit) -> None:
    absent = []
    for name in NAMES:
        space: Any = kit.backend.arrays.numpy
        for part in name.split("."):
            space = getattr(space, part, None)
        if not callable(space):
            absent.append(name)
    assert not absent, f"numpy has no {', '.join(absent)}"


def _check_updates(kit: Kit) -> None:
    arrays, x = kit.backend.arrays, kit.array(X)
    changed = X.copy()
    changed[1] = 9
    kit.close(arrays.set_at(x, 1, kit.array(9.0)), changed, "set_at")
    kit.close(arrays.set_at(x, 1, kit.array([9.0, 9.0, 9.0])), changed, "set_at with a row")
    changed = X.copy()
    np.add.at(changed, [1, 0, 1], np.ones((3, 3), "float32"))
    kit.close(
        arrays.scatter_add(x, kit.array([1, 0, 1]), kit.array(np.ones((3, 3), "float32"))), changed, "scatter_add"
    )
    kit.close(arrays.slice(x, kit.array([0, 1]), (2, 2)), X[:, 1:], "slice")
    changed = X.copy()
    changed[1:, :2] = 0
    kit.close(
        arrays.slice_update(x, kit.array([1, 0]), kit.array(np.zeros((1, 2), "float32"))), changed, "slice_update"
    )
    kit.close(x, X, "the array that the changes were made from")


def _check_packing(kit: Kit) -> None:
    arrays = kit.backend.arrays
    parts = [X, X[0], np.array(4.0, "float32"), X[:, :0]]
    row = arrays.join([kit.array(part) for part in parts])
    kit.close(row, np.concatenate([part.ravel() for part in parts]), "join")
    for found, part in zip(arrays.split(row, [part.shape for part in parts]), parts, strict=True):
        kit.close(found, part, "split")


def _check_calls(kit: Kit) -> None:
    arrays, x = kit.backend.arrays, kit.array(X)
    with arrays.eager():
        kit.close(x + 1, X + 1, "in eager()")
    fused = arrays.fuse(lambda x, axis: arrays.numpy.sum(x, axis=axis), ("axis",))
    kit.close(fused(x, axis=0), X.sum(0), "fused")
    kit.close(fused(x, axis=1), X.sum(1), "fused with another static argument")
    kit.close(arrays.stop_gradient(x), X, "stop_gradient")
    assert arrays.constant_value(x) is None or np.array_equal(arrays.constant_value(x), X), (
        "constant_value gives another value"
    )


def _check_devices(kit: Kit) -> None:
    devices = kit.backend.devices
    names = devices.list()
    assert names
    assert all(":" in name for name in names), f"names such as cpu:0, not {names}"
    for name in names:
        kit.close(devices.put(kit.array(X), name), X, f"put on {name}")
        assert devices.find(name) == name, f"find({name!r}) is {devices.find(name)!r}"
        kit.close(devices.move(devices.move(kit.array(X), name), None), X, f"moved to {name} and back")
        with devices.scope(name):
            kit.close(kit.array(X) + 1, X + 1, f"computed on {name}")
    with devices.scope(None):
        kit.close(kit.array(X) + 1, X + 1, "computed on the default device")
    with raises(ArgumentError):
        devices.put(kit.array(X), "abacus:0")
    with raises(ArgumentError):
        devices.find("abacus:0")
    kit.close(devices.wait([kit.array(X)])[0], X, "wait")


CHECKS = [
    *rows(
        "arrays",
        attributes=_check_attributes,
        dtypes=_check_dtypes,
        conversion=_check_conversion,
        refusals=_check_refusals,
        memory=_check_memory,
        adoption=_check_adoption,
        weak_references=_check_weak_references,
        operators=_check_operators,
        dtypes_that_meet=_check_dtypes_that_meet,
        variables_go_first=_check_variables_go_first,
        indexing=_check_indexing,
        Python_numbers=_check_python_numbers,
        at_most_32_bits=_check_results_have_at_most_32_bits,
        namespace=_check_namespace,
        updates=_check_updates,
        packing=_check_packing,
        calls=_check_calls,
    ),
    *rows("devices", devices=_check_devices),
]
