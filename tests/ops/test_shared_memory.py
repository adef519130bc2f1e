"""What is changed in an array of NumPy after it was handed over changes nothing: A9.

JAX reads the memory of NumPy when it gets to it, which may be after the line that wrote there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.registry import use
from graftax.backend.testing.op_cases import INPUTS
from graftax.ops.table import OPS
from tests.conformance.lanes import crossed

SIDE = 1500


def at(offset: int) -> np.ndarray[Any, Any]:
    """Zeros whose memory begins so many bytes behind a multiple of 64, which decides whether JAX copies."""
    raw = np.zeros(SIDE * SIDE * 4 + 128, "uint8")
    start = -raw.ctypes.data % 64 + offset
    return raw[start : start + SIDE * SIDE * 4].view("float32").reshape(SIDE, SIDE)


def _kept(method: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def run(a: Any) -> Any:
        w = gx.Variable(np.zeros((SIDE, SIDE), "float32"))
        method(w, a)
        return w.value

    return run


def _assigned_by_a_program(w: Any, a: Any) -> None:
    gx.jit(lambda x: (w.assign(x), None)[1])(a)


WAYS: dict[str, Callable[[Any], Any]] = {
    "asarray": ops.asarray,
    "op": lambda a: ops.exp(a) - 1.0,
    "reshape": lambda a: ops.reshape(a, (-1,)),
    "list": lambda a: ops.asarray([ops.ones((SIDE, SIDE)) * 0, a]),
    "Variable": lambda a: gx.Variable(a).value,
    "initializer": lambda a: gx.Variable(shape=a.shape, initializer=gx.initializers.Constant(a)).value,
    "assign": _kept(lambda w, a: w.assign(a)),
    "assign_add": _kept(lambda w, a: w.assign_add(a)),
    "w[...] =": _kept(lambda w, a: w.__setitem__(..., a)),
    "jit": gx.jit(lambda x: x * 2),
    "jit, the argument itself": gx.jit(lambda x: x),
    "jit, an assignment": _kept(_assigned_by_a_program),
    "jit, a constant": lambda a: gx.jit(lambda: ops.asarray(a))(),
    "vectorized_map": lambda a: gx.vectorized_map(lambda x: x * 2, a),
    "grad": lambda a: gx.grad(lambda x: ops.sum(x * x))(a),
    "layer": lambda a: gx.layers.Activation("relu")(a),
}


@pytest.mark.in_turn(8)
@pytest.mark.parametrize(("way", "offset"), crossed([*WAYS], [0, 4]))
def test_a9_a_change_in_place_comes_too_late(way: str, offset: int) -> None:
    WAYS[way](at(offset))  # compiled
    for _ in range(3):
        given = at(offset)
        result = WAYS[way](given)
        given[...] = 7
        assert not np.asarray(result).any()


@pytest.mark.parametrize("way", [w for w in WAYS if not w.startswith(("jit", "grad", "vec"))])
def test_a9_a_change_in_place_comes_too_late_with_numpy(way: str) -> None:
    with use("numpy"):
        given = at(0)
        result = WAYS[way](given)
        given[...] = 7
        assert not np.asarray(result).any()


def _arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, (list, tuple)):
        return [one for item in value for one in _arrays(item)]
    return [value] if isinstance(value, np.ndarray) else []


@pytest.mark.parametrize("name", OPS)
def test_a9_no_op_gives_a_view_of_what_it_got(name: str) -> None:
    with use("numpy"):
        for args, options in INPUTS[name]:
            given = _arrays(args)
            for one in _arrays(getattr(ops, name)(*args, **options)):
                if name == "to_numpy":
                    assert not one.flags.writeable  # a look at the array itself
                else:
                    assert not any(np.shares_memory(one, other) for other in given)


@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_a9_what_is_read_from_a_variable_cannot_be_written_to(backend: str) -> None:
    with use(backend):
        w = gx.Variable(np.zeros(3, "float32"))
        for made in (w.numpy(), np.asarray(w), ops.to_numpy(w), ops.convert_to_numpy(w.value)):
            with pytest.raises(ValueError, match="read-only"):
                made[0] = 1
        value = w.value
        with pytest.raises((TypeError, ValueError)):
            value[0] = 1
        w.assign_add(1.0)
        seen = w.numpy()
        w.assign_add(1.0)
        assert seen.tolist() == [1, 1, 1]
        assert w.numpy().tolist() == [2, 2, 2]
        copied = np.array(w)
        copied[0] = 9
        assert w.numpy().tolist() == [2, 2, 2]


@pytest.mark.broad
def test_a9_a_buffer_that_is_filled_anew_for_each_batch_trains_on_each() -> None:
    """As data loaders do that keep one buffer."""
    seen = gx.Variable(np.zeros((), "float32"), trainable=False)

    @gx.jit
    def step(x: Any) -> Any:
        seen.assign_add(ops.mean(ops.matmul(x, x)) * 0 + x[0, 0])

    buffer = at(0)
    for i in range(8):
        buffer[...] = i
        step(buffer)
    buffer[...] = 100
    assert float(seen) == sum(range(8))
