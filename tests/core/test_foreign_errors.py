"""What JAX and NumPy say is told in our words, with the line; what is not known passes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax.core import foreign_errors
from graftax.core.errors import ArgumentTypeError, CompileError, GraftaxError, ShapeError, TracerLeakError


def caught(function):
    with pytest.raises(Exception) as info:  # noqa: PT011 - of any kind
        function()
    return info.value


def assigned(x):
    x[0] = 1.0


KEPT = []


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (lambda: jnp.ones((2, 3)) + jnp.ones((2, 4)), ShapeError, "axis -1 has size 3 and 4"),
        (lambda: jax.jit(lambda x: x + jnp.ones(4))(jnp.ones((2, 3))), ShapeError, "axis -1 has size 3 and 4"),
        (lambda: np.ones((2, 3)) + np.ones((5, 1, 3)) + np.ones(4), ShapeError, "axis -1 has size 3 and 4"),
        (lambda: jnp.ones((2, 3)) @ jnp.ones((4, 5)), ShapeError, "inner sizes are 3 against 4"),
        (lambda: jnp.ones((2, 3))[:, 0, 0], ShapeError, "3 places into an array of 2 axes"),
        (lambda: jax.jit(lambda x: x[0, 0])(jnp.ones(3)), ShapeError, "2 places into an array of 1 axis"),
        (lambda: np.ones((2, 3))[0, 0, 0], ShapeError, "x[:, :], or an axis more"),
        (lambda: assigned(jnp.ones(3)), ArgumentTypeError, "arrays never change"),
        (lambda: jax.jit(lambda x: 1 if x > 0 else 0)(1.0), CompileError, "graftax.cond"),
        (lambda: jax.jit(lambda x: float(x))(1.0), CompileError, "return the array"),
        (lambda: jax.jit(lambda n: list(range(n)))(3), CompileError, "graftax.scan"),
        (lambda: jax.jit(lambda n: jnp.zeros(n))(3), CompileError, "x.shape"),
        (lambda: jax.jit(lambda x: np.sin(x))(1.0), CompileError, "ops.*"),
        (lambda: jax.jit(lambda x: x[x > 0])(jnp.ones(3)), CompileError, "ops.where"),
        (lambda: jax.jit(jnp.unique)(jnp.ones(3)), CompileError, "size=n"),
        (lambda: (jax.jit(lambda x: KEPT.append(x * 2))(1.0), KEPT[0] + 1), TracerLeakError, "test_foreign_errors.py:"),
    ],
)
def test_known_errors(function, kind, words):
    told = foreign_errors.explain(caught(function), "here")
    assert type(told) is kind
    assert words in str(told)
    assert "test_foreign_errors.py:" in str(told)
    assert told.context == ["here"]
    assert told.reason
    assert told.instead


def test_others_get_notes_and_ours_their_context():
    mine = caught(lambda: {}["x"])
    assert foreign_errors.explain(mine, "here") is None
    assert [note.split(":")[0] for note in mine.__notes__] == ["  at", "  where"]
    foreign_errors.explain(mine, "further out")
    assert mine.__notes__[2:] == ["  where: further out"]
    ours = GraftaxError("this")
    assert foreign_errors.explain(ours, "here") is None
    assert ours.context == ["here"]


@pytest.mark.parametrize("function", [jnp.sum, jnp.tanh, jax.jit(lambda x: x)], ids=["sum", "tanh", "jit"])
def test_a_variable_in_a_function_of_jax(function):
    with pytest.raises((gx.errors.StaleReadError, TypeError), match="Variable"):
        function(gx.Variable([1.0], name="w"))
