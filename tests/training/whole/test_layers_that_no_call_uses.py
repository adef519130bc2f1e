"""Whole models with a part that is built by itself and that the call of the model does not use, such as a teacher."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError

X = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")


class Distiller(gx.Model):
    """Its teacher serves the loss alone."""

    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
        teacher.trainable = False

    def call(self, x):
        return self.student(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return gx.losses.MeanSquaredError()(self.teacher(x, training=False), y_pred)


class Bare(gx.Model):
    """A network without a list of layers."""

    def __init__(self):
        super().__init__()
        self.first, self.rest = layers.Dense(4), [layers.Dense(2)]

    def call(self, x):
        return self.rest[0](self.first(x))


class Fixed(layers.Layer):
    """Its shape is known without that of an input."""

    def build(self, input_shape=None):
        self.weight = self.add_weight((3, 2), name="weight")

    def call(self, x):
        return x @ self.weight


def in_a_row():
    return gx.Sequential([layers.Dense(5, activation="relu"), layers.BatchNormalization(), layers.Dense(2)])


def nested():
    return gx.Sequential([in_a_row(), Bare()])


def built(teacher):
    teacher.build((None, 3))


def called(teacher):
    teacher(X)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("how", [built, called])
@pytest.mark.parametrize("make", [in_a_row, Bare, nested])
def test_it_is_built_again(tmp_path, make, how):
    teacher = make()
    how(teacher)
    model = Distiller(gx.Sequential([layers.Dense(2)]), teacher)
    model(X)
    model.compile("sgd")
    model.save(tmp_path / "whole")
    again = gx.load_model(tmp_path / "whole", custom=[Distiller, *([] if make is in_a_row else [Bare])])
    np.testing.assert_array_equal(again.teacher(X), teacher(X))
    assert [v.path for v in again.trainable_variables] == ["student/layers/0/kernel", "student/layers/0/bias"]
    assert again.evaluate(X, verbose=0) == model.evaluate(X, verbose=0)


def test_one_of_no_known_shape_is_named(tmp_path):
    teacher = Fixed()
    teacher.build(None)
    model = Distiller(gx.Sequential([layers.Dense(2)]), teacher)
    model(X)
    with pytest.raises(ArgumentError, match="'teacher'.* has no weights") as caught:
        model.save(tmp_path / "whole")
    assert "gx.Input" in caught.value.instead
    assert not (tmp_path / "whole").exists()
