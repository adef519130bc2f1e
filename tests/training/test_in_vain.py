"""Arguments of `fit` with which nothing would happen, or not what is asked for, are refused or warned of."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, DataError, ShapeError

X = np.ones((8, 3), "float32")
Y = X[:, :1]


def _model(loss="mse"):
    model = gx.Sequential([gx.Input((3,)), gx.layers.Dense(1)])
    model.compile("sgd", loss)
    return model


@pytest.mark.broad
def test_no_epoch_at_all():
    with pytest.warns(UserWarning, match="no epoch is run(.|\n)*initial_epoch=3, epochs=6"):
        history = _model().fit(X, Y, initial_epoch=3, epochs=3, verbose=0)
    assert history.history == {}


@pytest.mark.broad
def test_a_validation_behind_the_last_epoch():
    with pytest.warns(UserWarning, match="no validation after epoch 5, which is not run"):
        _model().fit(X, Y, epochs=2, validation_data=(X, Y), validation_freq=[1, 5], verbose=0)


def test_one_callback_twice():
    stop = gx.callbacks.EarlyStopping("loss")
    with pytest.raises(ArgumentError, match=r"holds EarlyStopping at \[0, 2\], the same object"):
        _model().fit(X, Y, callbacks=[stop, gx.callbacks.TerminateOnNaN(), stop], verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("call", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
def test_a_loss_without_a_reduction_is_named(call):
    model, options = _model(gx.losses.Huber(reduction="none")), {"verbose": 0} if call in ("fit", "evaluate") else {}
    with pytest.raises(
        ShapeError, match=r"Huber\(reduction='none'\) gave \[8\] numbers(.|\n)*compile\(loss=Huber\(\)\)"
    ):
        getattr(model, call)(X, Y, **options)


@pytest.mark.broad
def test_a_step_of_ones_own_may_reduce_by_itself():
    class Own(gx.Sequential):
        def train_step(self, batch):
            x, y = batch
            step = lambda: gx.ops.mean(self.compute_loss(x, y, self(x, training=True)))  # noqa: E731
            return {"loss": self.optimizer.minimize(step, self.trainable_variables)}

    model = Own([gx.Input((3,)), gx.layers.Dense(1)])
    model.compile("sgd", gx.losses.Huber(reduction="none"))
    assert len(model.fit(X, Y, verbose=0).history["loss"]) == 1


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"a": Y, "b": Y, "c": Y}, r"no output is called 'c'(.|\n)*y=\{'a': \.\.\., 'b': \.\.\.\}"),
        ({"a": Y, "bb": Y}, r"no output is called 'bb'(.|\n)*y=\{'a': \.\.\."),
    ],
    ids=["too many", "misspelt"],
)
def test_the_target_that_no_output_has_is_named(targets, message):
    x = gx.Input((3,))
    model = gx.Model(x, {"a": gx.layers.Dense(1)(x), "b": gx.layers.Dense(1)(x)})
    model.compile("sgd", "mse")
    with pytest.raises(DataError, match=message):
        model.fit(X, targets, verbose=0)
