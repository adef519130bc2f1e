"""What the methods of losses, metrics, regularizers and constraints name is followed, as for the model's own."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X, Y = np.ones((8, 3), "float32"), np.zeros((8, 1), "float32")
factor = 1.0


def scaled(value):
    return factor * value


class Scaled(gx.losses.Loss):
    def call(self, y_true, y_pred):
        return scaled(ops.mean(y_pred, axis=-1))


class Counted(gx.metrics.Mean):
    def update(self, y_true, y_pred, sample_weight=None):
        super().update(scaled(y_pred))


class Penalty(gx.regularizers.BaseRegularizer):
    def __call__(self, value):
        return scaled(ops.sum(value))


class Scales(gx.constraints.BaseConstraint):
    def __call__(self, value):
        return scaled(value)


class Steps(gx.optimizers.SGD):
    def update(self, variable, gradient, slots, step):
        return super().update(variable, scaled(gradient), slots, step)


@gx.custom_gradient
def reversed_gradient(x):
    return x, lambda upstream: scaled(-upstream)


@gx.remat
def recomputed(x):
    return scaled(x)


gradient_of = gx.grad(lambda x: scaled(ops.sum(x**2)))


def dense(**settings):
    return gx.Sequential([layers.Dense(1, kernel_initializer="ones", **settings)])


class Own(gx.Model):
    def __init__(self, function):
        super().__init__()
        self.dense = layers.Dense(1, kernel_initializer="ones")
        self.function = lambda x: function(x)

    def call(self, x):
        return self.function(self.dense(x))


class Change(gx.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        global factor
        factor = 10.0**epoch


MODELS = {
    "loss": lambda: (dense(), Scaled(), [], "sgd"),
    "metric": lambda: (dense(), "mse", [Counted(name="counted")], "sgd"),
    "regularizer": lambda: (dense(kernel_regularizer=Penalty()), "mse", [], "sgd"),
    "constraint": lambda: (dense(kernel_constraint=Scales()), "mse", [], "sgd"),
    "optimizer": lambda: (dense(), "mse", [], Steps(1e-4)),
    "custom gradient": lambda: (Own(lambda x: reversed_gradient(x)), "mse", [], gx.optimizers.SGD(1e-4)),
    "recomputed": lambda: (Own(lambda x: recomputed(x)), "mse", [], gx.optimizers.SGD(1e-4)),
    "gradient": lambda: (Own(lambda x: gradient_of(x)), "mse", [], gx.optimizers.SGD(1e-4)),
}


@pytest.mark.in_turn(4, broad=2)
@pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
def test_a_number_in_the_file_that_changes_counts(made):
    global factor
    histories = []
    for eagerly in (True, False):
        factor = 1.0
        model, loss, metrics, optimizer = made()
        model.compile(optimizer, loss, metrics=metrics, run_eagerly=eagerly)
        histories.append(model.fit(X, Y, batch_size=4, epochs=3, verbose=0, callbacks=[Change()]).history)
    for name, numbers in histories[0].items():
        np.testing.assert_allclose(histories[1][name], numbers, rtol=1e-5, err_msg=name)
