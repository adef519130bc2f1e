"""What the first step builds is trained by it, as if it had been built before; else an error says so."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from tests.training.losses_built_late import Lazy, Learned

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


def _dense():
    return layers.Dense(3, kernel_initializer=gx.initializers.Constant(0.3))


class Base(gx.Model):
    """Has its own layer, and one that something else than its call builds; the latter is in `late`."""

    def __init__(self):
        super().__init__()
        self.first = _dense()
        self.late = []

    def call(self, x):
        return self.first(x)

    def loss_of(self, x):
        """Return the loss as a loop of one's own computes it."""
        return ops.add(self.compute_loss(x, x, self(x)), 0.0)


class InComputeLoss(Base):
    def __init__(self):
        super().__init__()
        self.late = [_dense()]

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return ops.mean((self.late[0](y_pred) - y) ** 2)


class VariableInComputeLoss(Base):
    scale = None

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        if self.scale is None:
            self.scale = gx.Variable(0.5)
        return ops.mean((self.scale * y_pred - y) ** 2)


class Penalty(gx.Module):
    def __init__(self):
        self.net = _dense()

    def __call__(self, value):
        return ops.mean(self.net(value) ** 2)


class InRegularizer(Base):
    def __init__(self):
        super().__init__()
        self.first = layers.Dense(3, kernel_regularizer=Penalty())


class InMetricOfLoss(gx.Module):
    """A loss that is a Module, and no `Loss`."""

    def __init__(self):
        self.net = _dense()

    def __call__(self, y_true, y_pred):
        return ops.mean((self.net(y_pred) - y_true) ** 2, axis=-1)


PLACES = {
    "compute_loss": lambda: (InComputeLoss(), None),
    "a Variable in compute_loss": lambda: (VariableInComputeLoss(), None),
    "regularizer": lambda: (InRegularizer(), "mse"),
    "loss": lambda: (Base(), Learned()),
    "a Variable in a loss": lambda: (Base(), Lazy()),
    "loss that is a Module": lambda: (Base(), InMetricOfLoss()),
}


def _model(place, optimizer=None, **options):
    gx.set_random_seed(0)
    model, loss = PLACES[place]()
    model.compile(optimizer or gx.optimizers.SGD(0.1), loss, **options)
    return model


def _minimize(model, wrap=lambda function: function, with_call=True):
    if with_call:
        model.build_for(X)
    step = wrap(lambda: model.optimizer.minimize(lambda: model.loss_of(X), model))
    step()


def _fit_in_groups(model):
    loss = model.objectives.given_arguments()["loss"]
    model.compile(model.optimizer, loss, steps_per_execution=2, run_eagerly=model._gx_run_eagerly)
    model.fit(X, X, batch_size=4, shuffle=False, verbose=0)


def _tape(model):
    with gx.GradientTape() as tape:
        loss = model.loss_of(X)
    variables = model.trainable_variables
    model.optimizer.apply(tape.gradient(loss, variables), variables)


WAYS = {
    "fit": lambda model: model.fit(X, X, verbose=0),
    "fit in groups": _fit_in_groups,
    "train_on_batch": lambda model: model.train_on_batch(X, X),
    "tape": _tape,
}
MINIMIZE = {"minimize": _minimize, "minimize in jit": lambda model: _minimize(model, gx.jit)}


def _values(model):
    return {path: value.numpy() for path, value in model.named_variables().items() if value.trainable}


def _built_before(place, **options):
    model = _model(place, **options)
    model.evaluate(X, X, verbose=0)
    return model


@pytest.mark.in_turn(25, broad=8)
@pytest.mark.parametrize("eager", [False, True], ids=["compiled", "eager"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_the_first_step_is_that_of_a_program_that_was_built_before(place, way, eager):
    before, model = _built_before(place, run_eagerly=eager), _model(place, run_eagerly=eager)
    start = _values(before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WAYS[way](before)
        WAYS[way](model)
    wanted, found = _values(before), _values(model)
    assert list(wanted) == list(found) == list(start)
    assert len(found) > 2
    for path, value in wanted.items():
        assert not np.array_equal(value, start[path]), path
        np.testing.assert_allclose(found[path], value, rtol=1e-5, atol=1e-7, err_msg=path)


@pytest.mark.in_turn(12, broad=5)
@pytest.mark.parametrize("way", MINIMIZE)
@pytest.mark.parametrize("place", PLACES)
def test_minimize_with_a_model_says_what_was_not_built(place, way):
    model = _model(place)
    with pytest.raises(gx.errors.GradientError, match=r"made '.*while a gradient with respect to"):
        MINIMIZE[way](model)
    np.testing.assert_array_equal(model.first.bias.numpy(), 0.0)  # nothing has moved
    before = _built_before(place)
    for one in (model, before):
        MINIMIZE[way](one)
    for path, value in _values(before).items():
        np.testing.assert_allclose(_values(model)[path], value, rtol=1e-5, atol=1e-7)


@pytest.mark.broad
@pytest.mark.parametrize("kind", [gx.optimizers.Sophia, gx.optimizers.LBFGS, lambda: gx.optimizers.SAM(_sgd())])
def test_optimizers_that_look_at_the_loss_themselves_do_as_well(kind):
    with pytest.raises(gx.errors.GradientError, match="made 'late/0/kernel'"):
        _minimize(_model("compute_loss", kind()))
    found = _model("compute_loss", kind())
    found.fit(X, X, verbose=0)
    assert not np.array_equal(found.late[0].bias.numpy(), np.zeros(3))


def _sgd():
    return gx.optimizers.SGD(0.1)


@pytest.mark.broad
def test_a_gradient_with_respect_to_a_module():
    model = InComputeLoss()
    model(X)
    for wrt in (model, [model], {"a": model}):
        model.late = [_dense()]
        with pytest.raises(gx.errors.GradientError, match="made 'late/0/kernel'"):
            gx.value_and_grad(lambda: model.compute_loss(X, X, model(X)), wrt=wrt)()
    chosen = [*model.first.trainable_variables]
    model.late = [_dense()]
    assert len(gx.value_and_grad(lambda: model.compute_loss(X, X, model(X)), wrt=chosen)()[1]) == 2


class OwnStep(InComputeLoss):
    whole = False

    def train_step(self, batch):
        x, y = batch
        given = self if self.whole else self.trainable_variables
        return {"loss": self.optimizer.minimize(lambda: self.compute_loss(x, y, self(x)), given)}


@pytest.mark.broad
@pytest.mark.parametrize("whole", [False, True], ids=["list", "model"])
def test_a_step_of_ones_own_is_traced_again(whole):
    found = []
    for builds in (True, False):
        gx.set_random_seed(0)
        model = OwnStep()
        model.whole = whole
        if builds:
            model.compute_loss(X, X, model(X))
        model.compile(gx.optimizers.SGD(0.1))
        model.fit(X, X, verbose=0)
        found.append(_values(model))
    for path, value in found[0].items():
        np.testing.assert_allclose(found[1][path], value, rtol=1e-5, atol=1e-7)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("place", ["loss", "a Variable in a loss", "compute_loss", "regularizer"])
def test_values_of_a_run_wait_for_what_the_first_step_builds(place, tmp_path):
    def run(epochs, resume):
        model = _model(place)
        hooks = [gx.callbacks.ModelCheckpoint(tmp_path / "run")]
        model.fit(X, X, epochs=epochs, verbose=0, callbacks=hooks, resume=tmp_path / "run" if resume else None)
        return model

    run(2, resume=False)
    resumed = run(4, resume=True)
    whole = _model(place)
    whole.fit(X, X, epochs=4, verbose=0)
    for path, value in _values(whole).items():
        np.testing.assert_allclose(_values(resumed)[path], value, rtol=1e-5, atol=1e-7, err_msg=path)


@pytest.mark.broad
@pytest.mark.parametrize("place", ["loss", "a Variable in a loss"])
def test_an_evaluation_has_the_weights_that_were_loaded(place, tmp_path):
    model = _model(place)
    model.fit(X, X, verbose=0)
    model.save_weights(tmp_path / "w")
    fresh = _model(place)
    fresh.load_weights(tmp_path / "w")
    assert fresh.evaluate(X, X, verbose=0) == model.evaluate(X, X, verbose=0)
    assert list(_values(fresh)) == list(_values(model))


@pytest.mark.broad
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_the_loss_of_an_inner_model_rests_while_the_outer_one_is_trained(decay):
    inner = _model("a Variable in a loss")
    inner.fit(X, X, verbose=0)
    outer = gx.Sequential([gx.Input((3,)), inner, _dense()])
    outer.compile(gx.optimizers.AdamW(0.1, weight_decay=decay), "mse")
    before, kernel = float(inner.compiled_loss.scale), inner.first.kernel.numpy()
    outer.fit(X, X, epochs=3, verbose=0)
    assert float(inner.compiled_loss.scale) == before
    assert not np.array_equal(inner.first.kernel.numpy(), kernel)
    inner.fit(X, X, verbose=0)
    assert float(inner.compiled_loss.scale) != before


@pytest.mark.broad
@pytest.mark.parametrize("place", ["loss", "a Variable in a loss", "loss that is a Module"])
def test_a_model_is_built_by_its_shape_without_a_word_of_its_loss(place):
    model = _model(place)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.build((None, 3))
        assert model.count_params() == 12
        model.fit(X, X, verbose=0)
    assert model.count_params() > 12
