"""What can train a model: optimizers, and those that look at the loss more than once."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops, optimizers
from graftax.core.errors import ArgumentError, ArgumentTypeError, GradientError
from graftax.optimizers.minimizer import Minimizer

X = np.sin(np.arange(64, dtype="float32")).reshape(32, 2)
Y = np.tanh(X[:, :1] - X[:, 1:])
MINIMIZERS = {
    "adam": lambda: optimizers.Adam(0.03),
    "sam": lambda: optimizers.SAM(optimizers.Adam(0.03)),
    "lookahead": lambda: optimizers.Lookahead(optimizers.Adam(0.03)),
    "sophia": lambda: optimizers.Sophia(0.03),
    "lbfgs": lambda: optimizers.LBFGS(max_iterations=3),
}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", MINIMIZERS)
def test_fit_takes_it_and_shows_the_numbers_of_before_the_step(kind):
    model = gx.Sequential([layers.Dense(4, activation="tanh"), layers.BatchNormalization(), layers.Dense(1)])
    minimizer = MINIMIZERS[kind]()
    assert isinstance(minimizer, Minimizer)
    model.compile(minimizer, loss="mse", metrics=["mae"])
    model.build_for(X)
    first = float(np.mean((np.asarray(model(X, training=True)) - Y) ** 2))
    history = model.fit(X, Y, batch_size=32, epochs=6, verbose=0).history
    assert history["loss"][0] == pytest.approx(first, rel=1e-4)
    assert history["loss"][-1] < history["loss"][0]
    assert history["mae"][-1] < history["mae"][0]
    assert model._gx_compiled_step("train_step").trace_count == 1
    if kind == "sophia":
        assert minimizer.slot(model.layers[0].kernel, "hessian").numpy().any()


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", MINIMIZERS)
def test_something_besides_the_loss_comes_back(kind):
    w = gx.Variable([1.0, -2.0])
    loss, aux = MINIMIZERS[kind]().minimize(lambda: (ops.sum(w * w), {"seen": w * 1.0}), [w], has_aux=True)
    assert float(loss) == 5.0 or kind == "lbfgs"
    assert aux["seen"].tolist() == [1.0, -2.0]
    assert float(ops.sum(w * w)) < 5.0


@pytest.mark.parametrize("kind", MINIMIZERS)
def test_what_is_no_loss_function_or_no_pair_is_said(kind):
    w = gx.Variable([1.0])
    with pytest.raises(ArgumentTypeError, match="as its loss"):
        MINIMIZERS[kind]().minimize(3.0, [w])
    with pytest.raises(ArgumentError, match="has_aux=True"):
        MINIMIZERS[kind]().minimize(lambda: ops.sum(w), [w], has_aux=True)
    assert w.numpy().tolist() == [1.0]


def test_a_class_of_ones_own_trains_a_model():
    class HalfWay(gx.Module):
        """Without a gradient: every weight is halved."""

        def minimize(self, loss_fn, variables, has_aux=False):
            found = loss_fn()
            for variable in variables:
                variable.assign(variable * 0.5)
            return found

    model = gx.Sequential([layers.Dense(1, kernel_initializer="ones")])
    model.compile(HalfWay(), loss="mse")
    model.fit(X, Y, batch_size=16, verbose=0)
    assert model.layers[0].kernel.numpy().ravel().tolist() == [0.25, 0.25]


def test_what_another_one_cannot_wrap():
    with pytest.raises(ArgumentError, match="SAM got Sophia"):
        optimizers.SAM(optimizers.Sophia())
    with pytest.raises(ArgumentTypeError, match="SAM got float"):
        optimizers.SAM(0.1)


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        (optimizers.Adam, "optimizer=Adam(...)"),
        (3, "optimizer=graftax.optimizers.Adam(1e-3)"),
        (gx.Module(), "optimizer=graftax.optimizers.Adam(1e-3)"),
    ],
)
def test_compile_refuses_the_rest(given, instead):
    with pytest.raises(ArgumentTypeError) as error:
        gx.Sequential([layers.Dense(1)]).compile(given, loss="mse")
    assert error.value.instead == instead


@pytest.mark.parametrize(
    ("options", "instead"),
    [
        ({"lr": 0.1}, "learning_rate=0.1"),
        ({"betas": (0.9, 0.99)}, "beta_1=0.9, beta_2=0.99"),
        ({"weigth_decay": 0.1}, "weight_decay=0.1"),
        ({"xyz": 1}, "leave it out"),
    ],
)
def test_an_option_that_there_is_not_names_the_optimizer_and_what_was_meant(options, instead):
    with pytest.raises(TypeError, match="Adam got .*") as error:
        optimizers.Adam(**options)
    assert error.value.instead == instead
    assert "beta_1, beta_2" in error.value.reason
    assert "global_clipnorm" in error.value.reason


@pytest.mark.parametrize("kind", ["adam", "lbfgs"])
def test_an_error_names_the_loss_function(kind):
    def my_loss():
        return ops.sum(gx.Variable([1.0]).value)

    with pytest.raises(GradientError, match="my_loss"):
        MINIMIZERS[kind]().minimize(my_loss, [gx.Variable([1.0], trainable=False)])


@pytest.mark.broad
def test_what_minimize_returns_is_asked_for():
    class Returns(gx.Module):
        def __init__(self, pick):
            super().__init__()
            self.pick = pick

        def minimize(self, loss_fn, variables, has_aux=False):
            return self.pick(loss_fn())

    picks = {
        "one array": lambda found: found[0],
        "NoneType": lambda found: None,
        "a loss and NoneType": lambda found: (found[0], None),
        "3 things": lambda found: (*found, 0),
    }
    for got, pick in picks.items():
        model = gx.Sequential([layers.Dense(1)])
        model.compile(Returns(pick), loss="mse")
        with pytest.raises(ArgumentError, match=f"Returns.minimize.* returned {got}") as error:
            model.train_step((X, Y))
        assert error.value.instead.startswith("return loss, aux")


def test_minimize_without_has_aux_is_refused_by_compile():
    class Old(gx.Module):
        def minimize(self, loss_fn, variables):
            return loss_fn()

    with pytest.raises(ArgumentTypeError, match=r"Old\(...\), whose minimize takes \(loss_fn, variables\)") as error:
        gx.Sequential([layers.Dense(1)]).compile(Old(), loss="mse")
    assert error.value.instead == "def minimize(self, loss_fn, variables, has_aux=False):"
