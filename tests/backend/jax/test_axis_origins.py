"""Which results have the first axes of an array: a table of operations, where all sizes are equal on purpose."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax.backend import registry
from graftax.backend.axis_origins import AxisQuestion
from graftax.backend.jax.axis_origins import axis_origins

X = np.ones((4, 4, 4), "float32")
ONES = np.ones((4, 4), "float32")
KERNEL = np.ones((3, 4, 4), "float32")


def convolve(x, kernel):
    return jax.lax.conv_general_dilated(x, kernel, (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"))


def scan_steps(x):
    return jax.lax.scan(lambda c, row: (c + row, c * row), jnp.zeros((4, 4)), jnp.swapaxes(x, 0, 1))


def other_steps(x):
    return jnp.swapaxes(jax.lax.scan(lambda c, row: (c, row + x[:, 0]), 0, jnp.ones((4, 4, 4)))[1], 0, 1)


def flat(x):
    return jnp.reshape(x, (16, 4)) @ ONES


HAS = {
    "itself": lambda x: x,
    "product": lambda x: x * 2 + 1,
    "broadcast": lambda x: jnp.ones(4) - x,
    "features": lambda x: x @ ONES,
    "features from the left": lambda x: jnp.einsum("fg,bsg->bsf", ONES, x),
    "feature": lambda x: x[..., 0],
    "sum of features": lambda x: jnp.sum(x, -1),
    "largest feature": lambda x: jnp.argmax(x, -1),
    "stack": lambda x: jnp.stack([x, x], -1),
    "stack in the middle": lambda x: jnp.stack([x, x], 1)[:, 1],
    "joined": lambda x: jnp.concatenate([np.ones((4, 4, 1)), x], -1),
    "split": lambda x: jnp.split(x, 2, -1)[1],
    "reshape of features": lambda x: x.reshape(4, 4, 2, 2),
    "flat and back": lambda x: flat(x).reshape(4, 4, 4),
    "heads": lambda x: jnp.swapaxes(x.reshape(4, 4, 2, 2), 1, 2).swapaxes(1, 2).reshape(4, 4, 4),
    "there and back": lambda x: jnp.transpose(jnp.transpose(x, (2, 0, 1)), (1, 2, 0)),
    "new axis": lambda x: x[:, :, None],
    "axis gone": lambda x: jnp.squeeze(x[:, :, None], 2),
    "sort": lambda x: jnp.sort(x, -1),
    "sum so far": lambda x: jnp.cumsum(x, 1),
    "chosen": lambda x: jnp.where(x > 0, x, 0),
    "convolution": lambda x: convolve(x, KERNEL),
    "rows by place": lambda x: jnp.take_along_axis(x, jnp.zeros((4, 4, 1), int), -1),
    "table": lambda x: jnp.ones((9, 4))[x[..., 0].astype(int)],
    "branch": lambda x: jax.lax.cond(True, jnp.sin, jnp.cos, x),
    "compiled": lambda x: jax.jit(jnp.tanh)(x),
    "again in the gradient": lambda x: jax.checkpoint(jnp.tanh)(x),
    "own derivative": lambda x: jax.nn.relu(x),
    "outputs of a scan": lambda x: jnp.swapaxes(scan_steps(x)[1], 0, 1),
    "while": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y * 2, x),
    "attention": lambda x: jnp.einsum("bqk,bkf->bqf", jax.nn.softmax(jnp.einsum("bqf,bkf->bqk", x, X)), X),
    "rows": lambda x: jax.vmap(lambda row: row @ ONES)(x),
    "written into": lambda x: x.at[:, 0].set(0.0),
    "updated": lambda x: jax.lax.dynamic_update_slice(x, jnp.zeros((4, 1, 4)), (0, 1, 0)),
}
HAS_NOT = {
    "other": lambda x: jnp.ones((4, 4, 4)),
    "first step": lambda x: x[:, 0],
    "first step by number": lambda x: x[:, jnp.argmax(jnp.ones(4))],
    "first row": lambda x: x[0],
    "sum of steps": lambda x: jnp.sum(x, 1),
    "mean with an axis": lambda x: jnp.mean(x, 1, keepdims=True) * np.ones((1, 4, 1)),
    "product over steps": lambda x: jnp.einsum("bsf,sg->bfg", x, ONES),
    "features first": lambda x: jnp.swapaxes(x, 1, 2),
    "time first": lambda x: jnp.swapaxes(x, 0, 1),
    "repeated": lambda x: jnp.repeat(x[:, :1], 4, axis=1),
    "broadcast vector": lambda x: jnp.broadcast_to(x[:, :1], (4, 4, 4)),
    "stack of vectors": lambda x: jnp.stack([x[:, 0]] * 4, 1),
    "steps by number": lambda x: x[:, jnp.zeros(4, int)],
    "steps as features": lambda x: x.reshape(4, 16)[:, :4],
    "cut up": lambda x: x.reshape(4, 2, 8).reshape(4, 8, 2)[:, :4],
    "last state": lambda x: scan_steps(x)[0],
    "steps of another scan": other_steps,
    "values of attention": lambda x: jnp.einsum("bqk,bkf->bqf", jax.nn.softmax(X), x),
    "features by features": lambda x: jnp.einsum("bsf,bsg->bfg", x, x),
    "filters": lambda x: convolve(X, x),
    "written from": lambda x: jnp.zeros((4, 4, 4)).at[:, 0].set(x[:, 0]),
}


def origins(function, ends=lambda x: []):
    return axis_origins(lambda given: AxisQuestion([(given[0], 2)], ends(given[0]), [function(given[0])]), [X])


@pytest.mark.parametrize("name", HAS)
def test_axes_that_go_on(name):
    assert origins(HAS[name])[0] is not None


@pytest.mark.parametrize("name", HAS_NOT)
def test_axes_that_end(name):
    assert origins(HAS_NOT[name]) == [None]


def test_the_first_operation_is_named_with_its_line():
    def compute(x):
        y = x * 3
        return jnp.tanh(y) - 1

    registry.current()  # which says what belongs to libraries
    (found,) = origins(compute)
    assert found is not None
    assert (found.mark, found.op) == (0, "mul")
    assert found.place is not None
    assert found.place[0] == __file__


def test_a_mark_counts_from_there_on():
    def ask(given):
        (x,) = given
        middle = x + 1
        return AxisQuestion([(x, 2), (middle, 1)], [], [middle - 1, x - 1, X])

    assert [one and one.mark for one in axis_origins(ask, [X])] == [1, 0, None]
