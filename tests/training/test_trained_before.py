"""One optimizer, or one loss with Variables, for several models: what goes on from one to the next is told."""

import copy
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
Y = X[:, :1]


class Centre(gx.losses.Loss):
    """A loss that learns: its Variable is trained with the model."""

    def __init__(self):
        super().__init__()
        self.centre = gx.Variable(0.5)

    def call(self, y_true, y_pred):
        return ops.mean(ops.square(y_true - y_pred + self.centre), axis=-1)


class Constant(Centre):
    """A loss with a Variable that nothing changes."""

    def __init__(self):
        super().__init__()
        self.centre.trainable = False


def made(optimizer="sgd", loss="mse"):
    model = gx.Sequential([layers.Dense(1)])
    model.compile(optimizer, loss)
    return model


def fit(model):
    return model.fit(X, Y, batch_size=4, verbose=0)


OPTIMIZERS = {
    "Adam": lambda: gx.optimizers.Adam(0.1),
    "SGD": lambda: gx.optimizers.SGD(0.1),
    "a schedule": lambda: gx.optimizers.Adam(gx.optimizers.schedules.CosineDecay(0.1, 4)),
    "around another": lambda: gx.optimizers.SAM(gx.optimizers.SGD(0.1)),
    "LBFGS": gx.optimizers.LBFGS,
}
STEPS = {"fit": fit, "train_on_batch": lambda model: model.train_on_batch(X, Y)}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("train", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_for_each_fold(optimizer, train):
    shared = OPTIMIZERS[optimizer]()
    train(made(shared))
    second = made(shared)
    with pytest.warns(UserWarning, match=rf"{type(shared).__name__} of .* has trained another model before") as told:
        train(second)
    assert len(told) == 1
    train(second)  # told once
    for _ in range(2):  # what the message says
        train(made(OPTIMIZERS[optimizer]()))


@pytest.mark.broad
def test_the_copy_that_the_message_speaks_of_begins_anew():
    optimizer = gx.optimizers.Adam(0.1)
    models = [made(copy.deepcopy(optimizer)) for _ in range(3)]
    for model in models:
        fit(model)
        assert int(model.optimizer.iterations) == 2


@pytest.mark.broad
@pytest.mark.parametrize("train", STEPS.values(), ids=STEPS)
def test_a_loss_for_each_fold(train):
    shared = Centre()
    train(made(loss=shared))
    with pytest.warns(UserWarning, match=r"the loss Centre of .* its Variables 'centre' have values"):
        train(made(loss=shared))
    train(made(loss=Centre()))
    loss = Constant()
    for _ in range(2):
        train(made(loss=loss))


def compiled_again(model, optimizer):
    model.compile(optimizer, "mae")
    return model


def on_top(model, optimizer):
    grown = gx.Sequential([*model.layers, layers.Dense(1)])
    grown.compile(optimizer, "mse")
    return grown


def grafted(model, optimizer):
    gx.graft(model, gx.reparam.LoRA(1), where="**/kernel")
    return model


def begun_anew(model, optimizer):
    optimizer.iterations.assign(0)
    return made(optimizer)


def of_another(model, optimizer):
    return made(gx.optimizers.SGD(0.1))


@pytest.mark.broad
@pytest.mark.parametrize("train", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("follow", [compiled_again, on_top, grafted, of_another])
def test_what_belongs_together_is_not_told(follow, train):
    optimizer = gx.optimizers.SGD(0.1)
    model = made(optimizer)
    train(model)
    train(follow(model, optimizer))


def test_iterations_that_were_set_are_not_told():
    optimizer = gx.optimizers.SGD(0.1)
    model = made(optimizer)
    fit(model)
    fit(begun_anew(model, optimizer))


@pytest.mark.broad
@pytest.mark.parametrize("optimizer", ["Adam", "SGD"])
def test_what_was_restored_is_not_told(optimizer, tmp_path):
    shared = OPTIMIZERS[optimizer]()
    first = made(shared)
    fit(first)
    gx.Checkpoint(model=first, optimizer=shared).save(tmp_path / "one")
    second = made(shared)
    second(X)
    gx.Checkpoint(model=second, optimizer=shared).restore(tmp_path / "one")
    fit(second)


@pytest.mark.broad
def test_a_run_that_is_resumed_is_not_told(tmp_path):
    shared = gx.optimizers.Adam(0.1)
    for epochs in (1, 2):
        saves = gx.callbacks.ModelCheckpoint(tmp_path / "run")
        made(shared).fit(X, Y, epochs=epochs, verbose=0, callbacks=[saves], resume=tmp_path / "run")


def test_nothing_is_told_of_models_that_take_turns_after_the_first_time():
    shared = gx.optimizers.SGD(0.1)
    one, other = made(shared), made(shared)
    fit(one)
    with pytest.warns(UserWarning, match="has trained another model before"):
        fit(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (one, other, one):
            fit(model)


@pytest.mark.broad
def test_evaluations_are_not_told():
    shared = gx.optimizers.SGD(0.1)
    fit(made(shared))
    made(shared).evaluate(X, Y, verbose=0)
    made(shared).test_on_batch(X, Y)


@pytest.mark.broad
def test_a_loss_that_is_a_method_of_the_model_is_not_told():
    class Own(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def error(self, y_true, y_pred):
            return ops.mean(ops.square(y_true - y_pred), axis=-1)

    model = Own()
    model.compile("sgd", model.error)
    fit(model)
    fit(model)


def test_a_loss_that_holds_its_own_model_has_trained_no_other():
    class Own(gx.losses.Loss):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def call(self, y_true, y_pred):
            return gx.ops.mean((y_true - y_pred) ** 2, -1)

    x = np.ones((4, 2), "float32")
    model = gx.Sequential([gx.Input((2,)), layers.Dense(1)])
    model.compile("sgd", Own(model))
    for _ in range(3):
        model.fit(x, x[:, :1], verbose=0)
