"""Indices that follow from shapes alone are looked at while a step is traced: also in fit, where nothing is checked."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import IndexRangeError

WRONG = r"= 4 is not in \[0, 4\)"


def positions(x):
    return ops.arange(x.shape[1])


def shifted(x):
    return ops.cast(ops.broadcast_to(positions(x)[None] * 2 - positions(x), x.shape[:2]), "int32")


class Positions(gx.Model):
    def __init__(self, count, compiled):
        super().__init__()
        self.table = layers.Embedding(4, 2)
        self.count = count
        self.look = gx.jit(self.looked_up) if compiled else self.looked_up

    def looked_up(self, x):
        return self.table(self.count(x))

    def call(self, x):
        return x + self.look(x)


def model(count=positions, compiled=False, **options):
    made = Positions(count, compiled)
    made.compile(gx.optimizers.SGD(0.1), "mse", **options)
    made(np.zeros((1, 4, 2), "float32"))
    return made


@pytest.mark.in_turn(18, broad=11)
@pytest.mark.parametrize("count", [positions, shifted])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("run", ["fit", "evaluate", "train_on_batch", "test_on_batch", "several steps"])
def test_positions_beyond_the_table_raise_before_the_step(run, compiled, count):
    made = model(count, compiled, **({"steps_per_execution": 2} if run == "several steps" else {}))
    before = made.table.embeddings.numpy()
    quiet = {} if run.endswith("batch") else {"verbose": 0}
    quiet |= {"batch_size": 1} if run == "several steps" else {}
    x = np.ones((4, 6, 2), "float32")
    with pytest.raises(IndexRangeError, match=WRONG):
        getattr(made, "fit" if run == "several steps" else run)(x, x, **quiet)
    np.testing.assert_array_equal(made.table.embeddings.numpy(), before)
    getattr(made, "fit" if run == "several steps" else run)(x[:, :4], x[:, :4], **quiet)


def test_any_compiled_function_sees_them():
    table = gx.Variable(np.zeros((4, 2), "float32"))
    with pytest.raises(IndexRangeError, match=WRONG):
        gx.jit(lambda x: gx.grad(lambda: ops.sum(ops.take(table, positions(x), axis=0)), wrt=table)())(np.ones((1, 5)))
    with pytest.raises(IndexRangeError, match="4"):
        gx.jit(lambda x: table[positions(x)])(np.ones((1, 5)))


@pytest.mark.broad
def test_a_branch_that_does_not_run_may_hold_them():
    table = gx.Variable(np.zeros((4, 2), "float32"))

    @gx.jit
    def look(wide, x):
        return gx.cond(wide, lambda: ops.sum(ops.take(table, positions(x), axis=0)), lambda: ops.zeros(()))

    assert float(look(False, np.ones((1, 5)))) == 0
