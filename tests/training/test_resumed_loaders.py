"""Loaders that say where they are, in all forms: wherever a run ends, no batch is lost or comes twice."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import LambdaCallback, ModelCheckpoint

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(40, 3)).astype("float32")
Y = X.sum(1, keepdims=True)


class Killed(BaseException):
    pass


class Draws:
    """Random batches for ever, in an order that it can tell; it is its own iterator."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __iter__(self):
        return self

    def __next__(self):
        rows = self.rng.integers(0, 40, 8)
        return X[rows], Y[rows]


class Stream(Draws):
    def state_dict(self):
        return {"rng": self.rng.bit_generator.state}

    def load_state_dict(self, state):
        self.rng.bit_generator.state = state["rng"]


class Endless(Draws):
    def get_state(self):
        return self.rng.bit_generator.state

    def set_state(self, state):
        self.rng.bit_generator.state = state


class Anew:
    """Another order in each pass, which it can tell between passes."""

    def __init__(self):
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        order = np.random.default_rng(self.passes).permutation(40)
        return iter([(X[rows], Y[rows]) for rows in np.split(order, 5)])

    def get_state(self):
        return self.passes

    def set_state(self, state):
        self.passes = state


def generator():
    yield from iter(Draws())


class Passes:
    """Another order in each pass; a state of the middle of a pass goes on there, one of its end gives nothing once."""

    def __init__(self):
        self.rng, self.position, self.order, self.resumes = np.random.default_rng(0), 0, None, False

    def __iter__(self):
        if not self.resumes:
            self.order, self.position = self.rng.permutation(40), 0
        self.resumes = False
        while self.position < 40:
            rows = self.order[self.position : self.position + 8]
            self.position += 8
            yield X[rows], Y[rows]

    def state_dict(self):
        order = None if self.order is None else self.order.copy()
        return {"rng": self.rng.bit_generator.state, "position": self.position, "order": order}

    def load_state_dict(self, state):
        self.rng.bit_generator.state = state["rng"]
        self.position, self.order, self.resumes = state["position"], state["order"], True


class Sized(Passes):
    def __len__(self):
        return 5


class Stays:
    """The same pass again and again; where it was told to begin at the end, it gives nothing until it is told again."""

    def __init__(self):
        self.begins, self.done = 0, 0

    def __iter__(self):
        for number in range(self.begins, 5):
            self.done = number + 1
            yield X[8 * number : 8 * number + 8], Y[8 * number : 8 * number + 8]
        if self.begins < 5:
            self.begins = 0

    def state_dict(self):
        return {"begins": self.done}

    def load_state_dict(self, state):
        self.begins = state["begins"]


def run(folder, make, kill_at=None, hook="on_train_batch_end", every=3):
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(4, activation="tanh"), layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), "mse")

    def kill(*args, **kwargs):
        if int(model.optimizer.iterations) == kill_at:
            raise Killed

    data = make()
    steps = 5 if iter(data) is data else None
    model.fit(
        data, epochs=3, steps_per_epoch=steps, verbose=0, resume=folder,
        callbacks=[ModelCheckpoint(folder, every=every), LambdaCallback(**{hook: kill})],
    )  # fmt: skip
    return [v.numpy() for v in model.variables]


MAKERS = {"stream": Stream, "endless": Endless, "generator": generator, "anew": Anew, "passes": Passes, "sized": Sized}
WHERE = [(7, "on_train_batch_end"), (10, "on_train_batch_end"), (10, "on_train_batch_begin"), (10, "on_epoch_begin")]


@pytest.mark.broad
@pytest.mark.in_turn(5)
@pytest.mark.parametrize("kind", [*MAKERS, "stays"])
@pytest.mark.parametrize(("kill_at", "hook"), WHERE)
def test_the_numbers_are_those_of_the_unbroken_run(tmp_path, kind, kill_at, hook):
    make = MAKERS.get(kind, Stays)
    whole = run(tmp_path / "whole", make)
    with pytest.raises(Killed):
        run(tmp_path / "run", make, kill_at, hook)
    for one, other in zip(whole, run(tmp_path / "run", make), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.broad
@pytest.mark.parametrize("kind", ["stream", "passes"])
def test_checkpoints_at_the_end_of_epochs(tmp_path, kind):
    whole = run(tmp_path / "whole", MAKERS[kind], every="epoch")

    def train(epochs):
        gx.set_random_seed(0)
        model = gx.Sequential([layers.Dense(4, activation="tanh"), layers.Dense(1)])
        model.compile(gx.optimizers.SGD(0.1), "mse")
        model.fit(
            MAKERS[kind](), epochs=epochs, steps_per_epoch=5 if kind == "stream" else None, verbose=0,
            resume=tmp_path / "run", callbacks=[ModelCheckpoint(tmp_path / "run")],
        )  # fmt: skip
        return [v.numpy() for v in model.variables]

    train(2)
    for one, other in zip(whole, train(3), strict=True):
        np.testing.assert_array_equal(one, other)
