"""With steps_per_epoch, every kind of data goes on where the epoch before ended, also in a run that is resumed."""

import contextlib

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import LambdaCallback, ModelCheckpoint

X = np.arange(7, dtype="float32")[:, None]
BATCHES = [(X[i : i + 1], X[i : i + 1]) for i in range(7)]
ORDERS = {n: np.random.default_rng(n).permutation(7) for n in range(1, 20)}


class Killed(BaseException):
    """What a machine does not say."""


class Loader:
    """Begins anew, in one order."""

    def __iter__(self):
        return iter(BATCHES)


class Anew:
    """Begins anew, in an order of each pass that it can tell between passes."""

    def __init__(self):
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        return iter([BATCHES[i] for i in ORDERS[self.passes]])

    def get_state(self):
        return self.passes

    def set_state(self, state):
        self.passes = state


class Placed:
    """Begins anew, in an order of each pass; it can tell where it is at any place."""

    def __init__(self):
        self.passes, self.at, self.resumes = 0, 0, False

    def __iter__(self):
        if not self.resumes:
            self.passes, self.at = self.passes + 1, 0
        self.resumes = False
        while self.at < 7:
            self.at += 1
            yield BATCHES[ORDERS[self.passes][self.at - 1]]

    def state_dict(self):
        return {"passes": self.passes, "at": self.at}

    def load_state_dict(self, state):
        self.passes, self.at, self.resumes = state["passes"], state["at"], True


class Streams:
    """Begins anew; its iterators can tell where they are."""

    def __iter__(self):
        return Stream()


class Stream:
    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 7:
            raise StopIteration
        self.at += 1
        return BATCHES[self.at - 1]

    def get_state(self):
        return self.at

    def set_state(self, state):
        self.at = state


KINDS = {
    "a list": lambda: list(BATCHES),
    "a list ahead": lambda: gx.data.prefetch(list(BATCHES)),
    "a loader": Loader,
    "columns": lambda: gx.data.columns([{"a": x, "b": y} for x, y in BATCHES], x="a", y="b"),
    "other orders": Anew,
    "other orders ahead": lambda: gx.data.prefetch(Anew()),
    "tells its place": Placed,
    "iterators tell their place": Streams,
}


class See(gx.Sequential):
    """Notes what it is trained on, or evaluated on."""

    def __init__(self):
        super().__init__([gx.Input((1,)), layers.Dense(1, kernel_initializer="ones")])
        self.compile(gx.optimizers.SGD(0.0), "mse", run_eagerly=True)
        object.__setattr__(self, "seen", [])
        object.__setattr__(self, "checked", [])

    def train_step(self, batch):
        with contextlib.suppress(TypeError):  # of a traced batch: a run that is resumed traces the step before
            self.seen.append(int(np.asarray(batch[0])[0, 0]))
        return super().train_step(batch)

    def test_step(self, batch):
        self.checked.append(int(np.asarray(batch[0])[0, 0]))
        return super().test_step(batch)


def order_of(kind, steps):
    if "order" in kind or kind == "tells its place":
        return [int(i) for n in range(1, 12) for i in ORDERS[n]][:steps]
    return [i % 7 for i in range(steps)]


@pytest.mark.parametrize("steps", [1, 5, 7, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_epochs_go_on_in_the_data(kind, steps):
    model = See()
    history = model.fit(KINDS[kind](), steps_per_epoch=steps, epochs=3, verbose=0)
    assert model.seen == order_of(kind, 3 * steps)
    assert len(history.epoch) == 3


def test_a_loader_of_torch_goes_on():
    torch = pytest.importorskip("torch")
    model, data = See(), torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(X))
    model.fit(torch.utils.data.DataLoader(data, batch_size=1), steps_per_epoch=5, epochs=3, verbose=0)
    assert model.seen == order_of("a loader", 15)


def test_without_a_number_of_steps_an_epoch_is_a_pass():
    model = See()
    model.fit(list(BATCHES), epochs=2, verbose=0)
    assert model.seen == [*range(7)] * 2


@pytest.mark.parametrize("kind", ["a list", "a loader", "a list ahead"])
def test_each_validation_begins_anew(kind):
    model, data = See(), KINDS[kind]()
    model.fit(data, steps_per_epoch=2, epochs=3, validation_data=data, validation_steps=3, verbose=0)
    model.evaluate(data, steps=2, verbose=0)
    assert model.seen == [0, 1, 2, 3, 4, 5]
    assert model.checked == [0, 1, 2] * 3 + [0, 1]
    assert model.predict(data, steps=2, verbose=0).ravel().tolist() == [0, 1]


def test_what_has_no_batch_at_all_does_not_go_round_for_ever():
    with pytest.raises(gx.errors.DataError, match="yielded no batch"):
        See().fit(gx.data.prefetch([]), steps_per_epoch=5, verbose=0)


def run(folder, kind, kill_at=None, hook="on_train_batch_end"):
    model = See()

    def kill(*args, **kwargs):
        if int(model.optimizer.iterations) == kill_at:
            raise Killed

    save = ModelCheckpoint(folder, every=1)
    kills = LambdaCallback(**{hook: kill})
    try:
        model.fit(KINDS[kind](), steps_per_epoch=5, epochs=4, verbose=0, resume=folder, callbacks=[save, kills])
    except Killed:
        assert kill_at is not None
    return model.seen


QUICK = [("a list", 8, "on_train_batch_end"), ("other orders", 7, "on_train_batch_end")]
WHERE = [(at, "on_train_batch_end") for at in (3, 6, 7, 8, 12, 14)] + [
    (10, "on_epoch_begin"), (5, "on_epoch_end"), (10, "on_train_batch_begin")
]  # fmt: skip
PLACES = [
    pytest.param(kind, *where, marks=() if (kind, *where) in QUICK else pytest.mark.broad)
    for kind in KINDS
    for where in WHERE
]


@pytest.mark.parametrize(("kind", "kill_at", "hook"), PLACES)
def test_a_resumed_run_goes_on_there(tmp_path, kind, kill_at, hook):
    whole = order_of(kind, 20)  # what was seen is an attribute of the model, and so it is in the checkpoints
    for found in (run(tmp_path, kind, kill_at, hook), run(tmp_path, kind, kill_at + 3)):
        assert found == whole[: len(found)]
    assert run(tmp_path, kind) == whole
