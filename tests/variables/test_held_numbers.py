"""What the dtype of a Variable, or of an array, cannot hold is refused; inf and nan of the user stay."""

import numpy as np
import pytest

import graftax as gx
from graftax import initializers, ops
from graftax.core.errors import ArgumentError

LARGE = np.array([1.0, 1e5], "float32")


def made(initializer, dtype="float16", shape=(2, 2)):
    return gx.Variable(shape=shape, dtype=dtype, initializer=initializer)


REFUSED = {
    "number": lambda: gx.Variable(1e5, dtype="float16"),
    "list": lambda: gx.Variable([1.0, 1e5], dtype="float16"),
    "array of NumPy": lambda: gx.Variable(LARGE, dtype="float16"),
    "array": lambda: gx.Variable(ops.asarray(LARGE), dtype="float16"),
    "fraction": lambda: gx.Variable([1.5], dtype="int32"),
    "double": lambda: gx.Variable(1e39),
    "assign": lambda: gx.Variable(0.0, dtype="float16").assign(1e5),
    "assign_add": lambda: gx.Variable(0.0, dtype="float16").assign_add(1e5),
    "Constant": lambda: made(initializers.Constant(1e5)),
    "Constant of an array": lambda: made(initializers.Constant(ops.asarray(LARGE)), shape=(2,)),
    "RandomNormal": lambda: made(initializers.RandomNormal(stddev=2e4)),
    "TruncatedNormal": lambda: made(initializers.TruncatedNormal(mean=1e5)),
    "RandomUniform": lambda: made(initializers.RandomUniform(0.0, 1e5)),
    "VarianceScaling": lambda: made(initializers.VarianceScaling(1e10)),
    "Orthogonal": lambda: made(initializers.Orthogonal(1e5)),
    "Identity": lambda: made(initializers.Identity(1e5)),
    "full": lambda: ops.full((2,), 1e5, "float16"),
    "full_like": lambda: ops.full_like(np.zeros(2, "float16"), 1e5),
    "asarray": lambda: ops.asarray(1e5, "float16"),
    "arange": lambda: ops.arange(0.0, 1e6, 1e5, dtype="float16"),
    "linspace": lambda: ops.linspace(0, 1e5, 3, dtype="float16"),
    "logspace": lambda: ops.logspace(0, 6, 3, dtype="float16"),
    "geomspace": lambda: ops.geomspace(1.0, 1e6, 3, dtype="float16"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    with pytest.raises(ArgumentError, match=r"why: .*\n  instead: "):
        REFUSED[what]()


def test_what_the_message_says():
    with pytest.raises(
        ArgumentError, match=r"Variable\(\) of dtype float16, and 100000.0 among its numbers(.|\n)*up to 6.55e\+04"
    ):
        gx.Variable(ops.asarray(LARGE), dtype="float16")
    with pytest.raises(ArgumentError, match=r"Identity\(gain=100000.0\) for a variable of dtype float16"):
        made(initializers.Identity(1e5))


def test_what_fits_and_what_the_user_wrote():
    written = [np.inf, -np.inf, np.nan, 65504.0]
    np.testing.assert_array_equal(gx.Variable(written, dtype="float16"), np.asarray(written, "float16"))
    np.testing.assert_array_equal(gx.Variable(ops.asarray(written), dtype="float16"), np.asarray(written, "float16"))
    assert made(initializers.Constant(float("inf"))).numpy().max() == np.inf
    assert made(initializers.RandomUniform(-6e4, 6e4)).dtype == "float16"
    assert made(initializers.Constant(1e5), "bfloat16").numpy().max() > 9e4
    assert gx.Variable(np.array([3.0]), dtype="int32", trainable=False).numpy().tolist() == [3]
    assert np.isinf(ops.cast(LARGE, "float16")).any()
    assert np.isinf(ops.full((1,), float("inf"), "float16")).all()
