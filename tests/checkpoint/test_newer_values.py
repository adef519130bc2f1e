"""A value that waits replaces one of the program: told of if the program has gone on since the restore."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.ones((4, 3), "float32")


class Remembering(gx.Model):
    def __init__(self, lazily=False):
        super().__init__()
        self.dense = layers.Dense(2)
        self.fisher = None
        self.lazily = lazily
        self.late = None

    def call(self, x):
        if self.lazily and self.late is None:
            self.late = gx.Variable(np.full(2, 0.5, "float32"))
        return self.dense(x) + (self.late if self.lazily else 0.0)

    def remember(self, value):
        self.fisher = [gx.Variable(np.full(3, value, "float32"), trainable=False)]


def train(model):
    gx.optimizers.SGD(0.1).minimize(lambda: gx.ops.sum(model(X) ** 2), model)


def assign(model):
    model.dense.bias.assign([1.0, 2.0])


def nothing(model):
    pass


def warned(function, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*args)
    return [str(one.message) for one in found if "the value that waited" in str(one.message)]


@pytest.fixture
def saved(tmp_path):
    model = Remembering()
    model(X)
    model.remember(1.0)
    gx.Checkpoint(model=model).save(tmp_path / "c")
    return tmp_path / "c"


def restored(saved, **how):
    model = Remembering()
    model(X)
    gx.Checkpoint(model=model).restore(saved, **how)
    return model


@pytest.mark.parametrize("go_on", [train, assign])
def test_a_newer_value_that_is_replaced_is_told_of(saved, go_on):
    model = restored(saved)
    go_on(model)
    (told,) = warned(model.remember, 7.0)
    assert "'model/fisher/0'" in told
    assert repr(str(saved)) in told
    assert "model.fisher[0].assign(value)" in told
    assert "let the restore skip 'model/fisher/0'" in told
    assert model.fisher[0].numpy().tolist() == [1.0] * 3
    assert not warned(model.remember, 8.0)
    assert model.fisher[0].numpy().tolist() == [8.0] * 3


def test_the_lines_that_it_names_work(saved):
    model = restored(saved, skip="model/fisher/0")
    train(model)
    assert not warned(model.remember, 7.0)
    assert model.fisher[0].numpy().tolist() == [7.0] * 3
    early = Remembering()
    early(X)
    early.remember(0.0)
    gx.Checkpoint(model=early).restore(saved)
    assert early.fisher[0].numpy().tolist() == [1.0] * 3


@pytest.mark.parametrize(("go_on", "value"), [(nothing, 7.0), (train, 0.0), (train, 1.0)])
def test_no_word_where_nothing_has_gone_on_or_nothing_is_lost(saved, go_on, value):
    model = restored(saved)
    go_on(model)
    assert not warned(model.remember, value)
    assert model.fisher[0].numpy().tolist() == [1.0] * 3


class Explicit(gx.Layer):
    def build(self, shape):
        self.kernel = gx.Variable(np.full((shape[-1], 2), 0.5, "float32"))

    def call(self, x):
        return x @ self.kernel


def test_no_word_for_layers_that_are_built_after_a_step(tmp_path):
    def make():
        return [layers.Dense(3), Explicit()]

    first, second = make()
    second(first(X))
    second.kernel.assign_add(np.float32(1.0))
    gx.Checkpoint(layers=gx.Sequential([first, second])).save(tmp_path / "c")
    first, second = make()
    first(X)
    gx.Checkpoint(layers=gx.Sequential([first, second])).restore(tmp_path / "c")
    first.kernel.assign_add(np.float32(1.0))
    assert not warned(second, X)
    assert second.kernel.numpy().tolist() == [[1.5, 1.5]] * 3


def test_no_word_for_what_a_call_makes(tmp_path):
    model = Remembering(lazily=True)
    model(X)
    model.late.assign([3.0, 4.0])
    gx.Checkpoint(model=model).save(tmp_path / "c")
    again = Remembering(lazily=True)
    again.dense(X)
    gx.Checkpoint(model=again).restore(tmp_path / "c")
    assign(again)
    assert not warned(again, X)
    assert again.late.numpy().tolist() == [3.0, 4.0]
