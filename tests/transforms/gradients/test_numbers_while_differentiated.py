"""Python numbers and NumPy arrays of what is differentiated: what the messages say works."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import CompileError

W = [1.0, 2.0]


def chosen(number):
    """One weight or the other, as a number of the first one says."""
    w = gx.Variable(W)
    return w, lambda: w[1] * 3 if number(w[0]) > 0 else w[0]


WAYS = {
    "grad": lambda w, f: gx.grad(f, wrt=w)(),
    "jacobian": lambda w, f: gx.jacobian(f, wrt=w)(),
    "jvp": lambda w, f: gx.jvp(lambda w: f(), (w,), (ops.ones(2),)),
    "compiled": lambda w, f: gx.jit(gx.grad(f, wrt=w))(),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", [float, lambda x: x.tolist()], ids=["float", "tolist"])
def test_a_number_is_refused_as_of_what_is_differentiated(number, way):
    w, f = chosen(number)
    with pytest.raises(CompileError, match="while a function is differentiated") as caught:
        WAYS[way](w, f)
    assert "mapped" not in str(caught.value)
    for part in ("if x > 0:", "ops.stop_gradient(x).item()", "graftax.GradientTape", "ops.where"):
        assert part in caught.value.instead


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("way", ["grad", "jvp"])
def test_a_numpy_array_is_refused_so_too(way):
    w, f = chosen(lambda x: np.asarray(x))
    with pytest.raises(CompileError, match="while a function is differentiated") as caught:
        WAYS[way](w, f)
    assert "np.asarray(ops.stop_gradient(x))" in caught.value.instead


@pytest.mark.in_turn(4, 1)
@pytest.mark.parametrize(
    "number",
    [
        lambda x: x,
        lambda x: ops.stop_gradient(x).item(),
        lambda x: np.asarray(ops.stop_gradient(x)),
        lambda x: ops.stop_gradient(x),
    ],
    ids=["truth", "item", "array", "stopped"],
)
def test_what_the_messages_say_works(number):
    w, f = chosen(number)
    np.testing.assert_array_equal(gx.grad(f, wrt=w)(), [0, 3])


@pytest.mark.broad
def test_a_tape_takes_python_numbers():
    w, f = chosen(float)
    with gx.GradientTape() as tape:
        value = f()
    np.testing.assert_array_equal(tape.gradient(value, w), [0, 3])


@pytest.mark.broad
@pytest.mark.parametrize("way", ["compiled", "mapped"])
def test_what_is_compiled_or_mapped_is_told_as_such(way):
    with pytest.raises(CompileError, match="while a function is compiled or mapped"):
        gx.jit(float)(2.0) if way == "compiled" else gx.vectorized_map(lambda x: x * float(x), ops.ones(3))
