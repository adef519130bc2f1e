"""A run that is resumed within an epoch, with another batch_size, steps_per_epoch or shuffle: each row comes once."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.callbacks import LambdaCallback, ModelCheckpoint
from graftax.core.errors import DataError
from graftax.training.sources.array_source import ArraySource
from graftax.training.sources.indexed_source import IndexedSource

ROWS = 64
X = np.arange(ROWS, dtype="float32")[:, None]


class Killed(BaseException):
    """What a machine does not say."""


class Counts(gx.Model):
    """Counts how often it was trained on each row."""

    def __init__(self, steps_per_execution=1):
        super().__init__()
        self.dense = layers.Dense(1)
        self.times = gx.Variable(np.zeros(ROWS, "float32"), trainable=False, role="counter")
        self(X[:1])
        self.compile(gx.optimizers.SGD(1e-6), steps_per_execution=steps_per_execution)

    def call(self, x):
        return self.dense(x)

    def train_step(self, batch):
        x, y = batch
        self.times.assign_add(ops.sum(ops.one_hot(ops.cast(x[:, 0], "int32"), ROWS), axis=0))
        return {"loss": self.optimizer.minimize(lambda: ops.mean((self(x) - y) ** 2), self.trainable_variables)}


class Samples:
    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        return X[i], X[i]


class PyDataset:
    """Yields batches by index, in an order that fit draws, as one of Keras."""

    def __len__(self):
        return ROWS // 4

    def __getitem__(self, i):
        return X[4 * i : 4 * i + 4], X[4 * i : 4 * i + 4]


class Loader:
    """Tells its place as a number of samples, as the one of torchdata."""

    def __init__(self, size):
        self.size, self.at, self.resumes = size, 0, False

    def __len__(self):
        return -(-ROWS // self.size)

    def __iter__(self):
        self.at, self.resumes = self.at if self.resumes else 0, False
        while self.at < ROWS:
            rows = slice(self.at, self.at + self.size)
            self.at += self.size
            yield X[rows], X[rows]

    def state_dict(self):
        return {"at": min(self.at, ROWS)}

    def load_state_dict(self, state):
        self.at, self.resumes = state["at"], True


def batches(size):
    return [(X[i : i + size], X[i : i + size]) for i in range(0, ROWS, size)]


def train(folder, *data, kill_at=None, hook="on_train_batch_end", every=1, steps_per_execution=1, **options):
    """Return how often each row was trained on, by the number of times, and the number of steps in each epoch."""
    gx.set_random_seed(0)
    model, ends = Counts(steps_per_execution), []

    def kill(number, logs):
        if kill_at is not None and int(model.optimizer.iterations) >= kill_at:
            raise Killed

    hooks = [
        LambdaCallback(on_epoch_end=lambda epoch, logs: ends.append(int(model.optimizer.iterations))),
        LambdaCallback(**{hook: kill}),
    ]
    try:
        model.fit(*data, verbose=0, resume=folder, callbacks=[ModelCheckpoint(folder, every=every), *hooks], **options)
    except Killed:
        assert kill_at is not None
    how, many = np.unique(model.times.numpy(), return_counts=True)
    return dict(zip(how.astype(int).tolist(), many.tolist(), strict=True)), ends


KINDS = {"arrays": (X, X), "samples": (Samples(),)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("size", "ends"),
    [(16, [4, 8]), (8, [4, 9]), (32, [4, 8]), pytest.param(24, [4, 8], marks=pytest.mark.broad)],
)
def test_another_batch_size_goes_on_behind_the_rows_that_were_trained(tmp_path, kind, size, ends):
    data = KINDS[kind]
    assert train(tmp_path, *data, batch_size=16, epochs=2, kill_at=7)[0] == {1: 16, 2: 48}
    assert train(tmp_path, *data, batch_size=size, epochs=2) == ({2: ROWS}, ends[1:])
    assert train(tmp_path, *data, batch_size=20, epochs=3)[0] == {3: ROWS}


@pytest.mark.broad
@pytest.mark.parametrize("kind", KINDS)
def test_several_steps_at_once(tmp_path, kind):
    train(tmp_path, *KINDS[kind], batch_size=16, epochs=2, kill_at=6, steps_per_execution=2)
    assert train(tmp_path, *KINDS[kind], batch_size=5, epochs=3, steps_per_execution=2)[0] == {3: ROWS}


CHANGES = {
    "the same": ({"steps_per_epoch": 2}, {"steps_per_epoch": 2}, {2: 64}),
    "smaller batches": ({"steps_per_epoch": 2}, {"steps_per_epoch": 2, "batch_size": 8}, {1: 8, 2: 56}),
    "all": ({"steps_per_epoch": 2}, {}, {2: 64}),  # the fourth epoch is the rest of the second pass
    "fewer": ({"steps_per_epoch": 3}, {"steps_per_epoch": 2}, {2: 32, 3: 32}),
    "a number": ({}, {"steps_per_epoch": 2}, {2: 16, 3: 48}),  # the second epoch has taken three, and ends
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_another_number_of_steps_goes_on_behind_the_rows_that_were_trained(tmp_path, kind, change):
    first, second, expected = CHANGES[change]
    train(tmp_path, *KINDS[kind], epochs=4, kill_at=7, **{"batch_size": 16, **first})
    assert train(tmp_path, *KINDS[kind], epochs=4, **{"batch_size": 16, **second})[0] == expected


@pytest.mark.broad
def test_a_pass_that_is_open_between_epochs_goes_on(tmp_path):
    train(tmp_path, X, X, batch_size=16, steps_per_epoch=2, epochs=1, every="epoch")
    assert train(tmp_path, X, X, batch_size=8, epochs=1 + 2)[0] == {2: ROWS}  # four batches of 8, then a whole pass


@pytest.mark.parametrize("data", [*KINDS.values(), (PyDataset(),)], ids=[*KINDS, "batches by index"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_another_order_of_the_rest_is_refused(tmp_path, data, shuffle):
    options = {} if isinstance(data[0], PyDataset) else {"batch_size": 4}
    train(tmp_path, *data, epochs=2, kill_at=18, shuffle=shuffle, **options)
    with pytest.raises(DataError, match=f"resumed with shuffle={not shuffle}") as caught:
        train(tmp_path, *data, epochs=2, shuffle=not shuffle, **options)
    assert f"fit(..., shuffle={shuffle}, epochs=2), which ends the pass" in str(caught.value)
    assert train(tmp_path, *data, epochs=2, shuffle=shuffle, **options)[0] == {2: ROWS}
    assert train(tmp_path, *data, epochs=3, shuffle=not shuffle, **options)[0] == {3: ROWS}


def test_a_pass_that_has_no_end_with_an_epoch_can_be_ended(tmp_path):
    train(tmp_path, X, X, batch_size=16, steps_per_epoch=3, epochs=2, kill_at=6)
    with pytest.raises(DataError, match=r"epochs=2\) without steps_per_epoch, which ends the pass"):
        train(tmp_path, X, X, batch_size=16, steps_per_epoch=3, epochs=2, shuffle=False)
    assert train(tmp_path, X, X, batch_size=16, epochs=2)[0] == {2: ROWS}
    assert train(tmp_path, X, X, batch_size=16, epochs=3, shuffle=False)[0] == {3: ROWS}


def test_nothing_changes_where_it_is_refused(tmp_path):
    train(tmp_path, X, X, batch_size=16, epochs=2, kill_at=7)
    gx.set_random_seed(7)
    model = Counts()
    before = model.get_weights()
    with pytest.raises(DataError, match="rows would be left out"):
        model.fit(X, X, batch_size=16, epochs=2, verbose=0, resume=tmp_path, shuffle=False)
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert int(model.optimizer.iterations) == 0


@pytest.mark.parametrize("rows", [list, gx.distribution.LocalRows, gx.distribution.GlobalRows])
def test_a_list_of_batches_of_another_size_is_refused(tmp_path, rows):
    train(tmp_path, rows(batches(16)), epochs=2, kill_at=7)
    with pytest.raises(DataError, match="the sizes of its batches are not those"):
        train(tmp_path, rows(batches(8)), epochs=2)
    assert train(tmp_path, rows(batches(16)), epochs=2)[0] == {2: ROWS}
    assert train(tmp_path, rows(batches(8)), epochs=3)[0] == {3: ROWS}


@pytest.mark.parametrize(("kill_at", "size", "ends"), [(7, 16, [8, 12]), (7, 8, [9, 17]), (7, 32, [8, 10])])
@pytest.mark.parametrize("hook", ["on_train_batch_end", "on_epoch_end"])
def test_a_loader_that_tells_its_place_goes_on_there_with_batches_of_other_sizes(tmp_path, kill_at, size, ends, hook):
    train(tmp_path, Loader(16), epochs=2, kill_at=kill_at, hook=hook)
    left = ends[1] - ends[0]
    assert train(tmp_path, Loader(size), epochs=3) == (
        {3: ROWS},
        ends if hook == "on_train_batch_end" else [8, 8 + left],
    )


LISTS = {
    "the same": ({"steps_per_epoch": 2}, {"steps_per_epoch": 2}, {2: 64}),
    "all": ({"steps_per_epoch": 2}, {}, {2: 64}),
    "fewer": ({"steps_per_epoch": 3}, {"steps_per_epoch": 2}, {2: 32, 3: 32}),
    "a number": ({}, {"steps_per_epoch": 2}, {2: 16, 3: 48}),
}


@pytest.mark.parametrize("change", LISTS)
def test_another_number_of_batches_of_a_list(tmp_path, change):
    first, second, expected = LISTS[change]
    train(tmp_path, batches(16), epochs=4, kill_at=7, **first)
    assert train(tmp_path, batches(16), epochs=4, **second)[0] == expected


@pytest.mark.parametrize(("steps", "ends"), [(2, [4, 8]), (4, [8, 12]), (6, [8, 12])])
def test_a_pass_of_a_list_that_an_epoch_ended_or_not(tmp_path, steps, ends):
    train(tmp_path, batches(16), epochs=1, steps_per_epoch=steps, every="epoch")
    assert train(tmp_path, batches(16), epochs=3)[1] == ends


@pytest.mark.parametrize(
    "make", [lambda: ArraySource(X, None, None, 16, True), lambda: IndexedSource(Samples(), 16, True)]
)
def test_checkpoints_of_earlier_versions_count_batches(make):
    state = make().get_state(3, 1)
    del state["at"], state["shuffle"]
    old, new = make(), make()
    old.set_state(state)
    for one, other in zip(old.epoch(1, 3), new.epoch(1, 3), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
