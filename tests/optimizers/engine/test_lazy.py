"""Lazy rules without rows: fit, minimize and tapes give whole arrays, with which lazy would do nothing."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError
from graftax.optimizers import SGD, Adam

WORDS = np.array([[1, 2]]), np.array([[3, 4]])
TARGETS = np.ones((1, 1), "float32")
REFUSED = r"Adam\(lazy=True\) got the whole gradient of .*embeddings.*no rows"
MADE = {
    "itself": lambda: Adam(1e-2, lazy=True),
    "a rule": lambda: Adam(1e-2, rules=[("**/embeddings", {"optimizer": Adam(1e-2, lazy=True)})]),
}


class Scores(gx.Model):
    def __init__(self):
        super().__init__()
        self.table, self.rest = layers.Embedding(6, 2), gx.Sequential([layers.Flatten(), layers.Dense(1)])

    def call(self, words):
        return self.rest(self.table(words))


class ByRows(Scores):
    """Takes the gradient of the rows that are looked up, as the message says."""

    def train_step(self, batch):
        words, targets = batch
        vectors = self.table(words)
        with gx.GradientTape() as tape:
            tape.watch(vectors)
            loss = ops.mean((self.rest(vectors) - targets) ** 2)
        by_vector, by_rest = tape.gradient(loss, (vectors, self.rest.trainable_variables))
        rows = gx.IndexedRows(words, by_vector, self.table.embeddings.shape)
        self.optimizer.apply([rows, *by_rest], [self.table.embeddings, *self.rest.trainable_variables])
        return {"loss": loss}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_fit_refuses_what_would_do_nothing(make):
    model = Scores()
    model.compile(make(), "mse")
    model(WORDS[0])
    before = [v.numpy() for v in model.variables]
    with pytest.raises(ArgumentError, match=REFUSED):
        model.fit(WORDS[0], TARGETS, verbose=0)
    for old, variable in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, variable.numpy())


@pytest.mark.broad
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_minimize_and_gradients_of_tapes_are_refused(make):
    model, optimizer = Scores(), make()
    model(WORDS[0])
    with pytest.raises(ArgumentError, match=REFUSED):
        optimizer.minimize(lambda: ops.mean(model(WORDS[0]) ** 2), model.trainable_variables)
    with gx.GradientTape() as tape:
        loss = ops.mean(model(WORDS[0]) ** 2)
    with pytest.raises(ArgumentError, match=REFUSED):
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    assert int(optimizer.iterations) == 0


@pytest.mark.broad
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_the_message_says_moves_the_rows_of_the_batch_alone(make):
    model = ByRows()
    model.compile(make())
    model(WORDS[0])
    model.fit(WORDS[0], TARGETS, verbose=0)
    before = model.table.embeddings.numpy()
    model.fit(WORDS[1], TARGETS, verbose=0)
    moved = np.abs(model.table.embeddings.numpy() - before).max(1) > 0
    assert moved.tolist() == [False, False, False, True, True, False]


def test_beside_rows_a_whole_gradient_moves_all():
    table, bias = gx.Variable(np.ones((3, 2), "float32"), name="t"), gx.Variable([1.0, 1.0], name="b")
    rows = gx.IndexedRows([1], np.ones((1, 2), "float32"), table.shape)
    SGD(0.5, lazy=True).apply([rows, [1.0, 1.0]], [table, bias])
    assert table.numpy().tolist() == [[1, 1], [0.5, 0.5], [1, 1]]
    assert bias.numpy().tolist() == [0.5, 0.5]
