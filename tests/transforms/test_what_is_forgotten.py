"""What was traced for a model goes with it: a search over many models needs no more memory than one of them."""

import gc
from itertools import pairwise

import numpy as np
import pytest

import graftax as gx

X = np.ones((8, 3), "float32")


def own_loop():
    layer, optimizer = gx.layers.Dense(2), gx.optimizers.Adam()

    @gx.jit
    def step(x):
        with gx.GradientTape() as tape:
            loss = gx.ops.mean(layer(x) ** 2)
        variables = layer.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    step(X)


def fitted():
    model = gx.Sequential([gx.layers.Dense(2, activation="relu"), gx.layers.Dropout(0.1), gx.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(X, X[:, :1], verbose=0)
    model.predict(X, verbose=0)


def scanned():
    cell = gx.layers.Dense(3)
    cell.build((3,))
    gx.jit(lambda x: gx.scan(lambda carry, row: (cell(carry[None])[0] + row, carry), x[0], x))(X)


@pytest.mark.broad
@pytest.mark.parametrize("program", [own_loop, fitted, scanned])
def test_models_that_are_gone_leave_nothing_behind(program):
    def objects():
        program()
        gc.collect()
        return len(gc.get_objects())

    counts = [objects() for _ in range(5)]
    # JAX notes a few dozen shapes, up to a limit of its own; pieces of programs would be more than a thousand each time
    assert min(after - before for before, after in pairwise(counts)) < 400
