"""A run that is resumed: new numbers in constructors of optimizers count, unless the run had changed the old ones."""

import logging
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import LambdaCallback, ModelCheckpoint, ReduceLROnPlateau
from graftax.optimizers import SGD, Adam, Lookahead, LossScale, Prodigy

X = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
Y = X[:, :1].copy()


def run(folder, epochs, optimizer, *others, resume=True, loss="mse", loss_weights=None):
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(1)])
    model.compile(optimizer, loss, loss_weights=loss_weights)
    save = ModelCheckpoint(folder)
    model.fit(
        X, Y, batch_size=8, epochs=epochs, verbose=0, resume=folder if resume else None, callbacks=[*others, save]
    )
    return model


def rate_of(optimizer):
    return float(optimizer.learning_rate)


def variable(value):
    return gx.Variable(value, trainable=False)


NUMBERS = {
    "rate": (lambda: SGD(0.1), lambda: SGD(0.25), rate_of, 0.25),
    "no change": (lambda: SGD(0.1), lambda: SGD(0.1), rate_of, 0.1),
    "rate of the user's Variable": (lambda: SGD(variable(0.1)), lambda: SGD(variable(0.25)), rate_of, 0.25),
    "inner rate": (lambda: Lookahead(SGD(0.1)), lambda: Lookahead(SGD(0.25)), rate_of, 0.25),
    "rate of a rule": (
        lambda: SGD(0.1, rules=[("**/bias", {"optimizer": Adam(0.1)})]),
        lambda: SGD(0.1, rules=[("**/bias", {"optimizer": Adam(0.25)})]),
        lambda optimizer: rate_of(optimizer.others[0]),
        0.25,
    ),
    "momentum in a Variable": (
        lambda: SGD(0.1, momentum=variable(0.5)),
        lambda: SGD(0.1, momentum=variable(0.25)),
        lambda optimizer: float(optimizer.momentum),
        0.25,
    ),
    "loss scale": (
        lambda: Adam(0.1, loss_scale=LossScale(1024.0)),
        lambda: Adam(0.1, loss_scale=LossScale(64.0)),
        lambda optimizer: float(optimizer.loss_scale.scale),
        64.0,
    ),
}


@pytest.mark.parametrize(("first", "second", "read", "expected"), NUMBERS.values(), ids=NUMBERS)
@pytest.mark.broad
@pytest.mark.in_turn(3)
def test_a_new_number_counts(first, second, read, expected, tmp_path):
    run(tmp_path, 1, first())
    optimizer = run(tmp_path, 2, second()).optimizer
    assert read(optimizer) == pytest.approx(expected)
    assert int(optimizer.iterations) == 4  # it was resumed
    assert read(run(tmp_path, 3, second()).optimizer) == pytest.approx(expected)


@pytest.mark.broad
def test_a_new_rate_trains_as_if_set_between_the_epochs(tmp_path):
    run(tmp_path / "a", 1, SGD(0.1, momentum=0.9))
    with_new = run(tmp_path / "a", 2, SGD(0.01, momentum=0.9))

    def lower(epoch, logs):
        if epoch == 0:
            whole.optimizer.learning_rate = 0.01

    gx.set_random_seed(0)
    whole = gx.Sequential([layers.Dense(1)])
    whole.compile(SGD(0.1, momentum=0.9), "mse")
    whole.fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=[LambdaCallback(on_epoch_end=lower)])
    for one, other in zip(with_new.variables, whole.variables, strict=True):
        np.testing.assert_array_equal(one, other)


class Halve(gx.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 0:
            self.model.optimizer.learning_rate = float(self.model.optimizer.learning_rate) / 2


@pytest.mark.broad
def test_what_a_callback_changed_goes_on(tmp_path, recwarn):
    run(tmp_path, 1, SGD(0.1), Halve())
    assert rate_of(run(tmp_path, 2, SGD(0.1), Halve()).optimizer) == pytest.approx(0.05)
    assert not recwarn.list


@pytest.mark.broad
def test_if_both_changed_both_are_named(tmp_path):
    run(tmp_path, 1, SGD(0.1), Halve())
    told = (
        r"goes on with optimizer\.learning_rate = 0\.05, which that run had changed from 0\.1, and not with the 0\.3 "
        r"of this program\. Instead, if the new number is to count: optimizer\.learning_rate\.assign\(0\.3\) in"
    )
    with pytest.warns(UserWarning, match=told) as caught:
        model = run(tmp_path, 2, SGD(0.3), Halve())
    assert len(caught) == 1
    assert rate_of(model.optimizer) == pytest.approx(0.05)
    with warnings.catch_warnings():  # what this run was given is remembered, so it is said once
        warnings.simplefilter("error")
        assert rate_of(run(tmp_path, 3, SGD(0.3), Halve()).optimizer) == pytest.approx(0.05)


@pytest.mark.broad
def test_the_line_that_the_warning_names_works(tmp_path):
    run(tmp_path, 1, SGD(0.1), Halve())

    class Set(gx.Callback):
        def on_train_begin(self, logs=None):
            optimizer = self.model.optimizer
            optimizer.learning_rate.assign(0.3)

    with pytest.warns(UserWarning, match="goes on with"):
        model = run(tmp_path, 2, SGD(0.3), Halve(), Set())
    assert rate_of(model.optimizer) == pytest.approx(0.3)


@pytest.mark.broad
def test_a_plateau_and_a_loss_scale_that_grew_are_changes(tmp_path):
    plateau = ReduceLROnPlateau("loss", patience=1, min_delta=100.0, factor=0.5)
    run(tmp_path / "a", 3, SGD(0.1), plateau)
    plateau = ReduceLROnPlateau("loss", patience=1, min_delta=100.0, factor=0.5)
    with pytest.warns(UserWarning, match=r"which that run had changed from 0\.1, and not with the 0\.4"):
        assert rate_of(run(tmp_path / "a", 4, SGD(0.4), plateau).optimizer) < 0.1
    run(tmp_path / "b", 1, SGD(0.1, loss_scale=LossScale(8.0, growth_interval=2)))
    with pytest.warns(UserWarning, match=r"optimizer\.loss_scale\.scale = 16, which that run had changed from 8"):
        run(tmp_path / "b", 2, SGD(0.1, loss_scale=LossScale(4.0, growth_interval=2)))


@pytest.mark.broad
def test_an_estimate_that_training_moved_goes_on_without_a_word(tmp_path, recwarn):
    run(tmp_path, 2, Prodigy(d0=1e-3))
    before = run(tmp_path, 2, Prodigy(d0=1e-3)).optimizer
    assert float(before.d) > 1e-3
    assert float(run(tmp_path, 3, Prodigy(d0=1e-3)).optimizer.d) >= float(before.d)
    assert not recwarn.list


def test_the_same_model_trained_on_keeps_what_a_callback_set(tmp_path, recwarn):
    model = run(tmp_path, 1, SGD(0.1), Halve())
    model.fit(X, Y, batch_size=8, epochs=2, verbose=0, resume=tmp_path, callbacks=[Halve(), ModelCheckpoint(tmp_path)])
    assert rate_of(model.optimizer) == pytest.approx(0.05)
    assert not recwarn.list


def test_sessions_choose_likewise(tmp_path):
    def train(rate, changed=None):
        w, optimizer = gx.Variable([4.0]), SGD(rate)
        save = ModelCheckpoint(tmp_path)
        with gx.training.session([save], resume=tmp_path, w=w, optimizer=optimizer) as session:
            began = rate_of(optimizer)
            session.step(lambda: optimizer.minimize(lambda: gx.ops.sum(w**2), w))
            if changed is not None:
                optimizer.learning_rate = changed
            session.end_epoch()
        return began

    train(0.1)
    assert train(0.25) == pytest.approx(0.25)
    assert train(0.25, changed=0.5) == pytest.approx(0.25)
    with pytest.warns(UserWarning, match=r"optimizer\.learning_rate = 0\.5, which that run had changed from 0\.25"):
        assert train(0.1) == pytest.approx(0.5)


def test_checkpoints_alone_restore_what_is_saved(tmp_path):
    saved, other = SGD(0.1), SGD(0.5)
    path = gx.Checkpoint(optimizer=saved).save(tmp_path / "one")
    gx.Checkpoint(optimizer=other).restore(tmp_path / "one")
    assert rate_of(other) == pytest.approx(0.1), path


# --- a run of which nothing is left ----------------------------------------------------------------------------------

OTHERS = {
    "rate": (lambda: SGD(0.5, momentum=0.9), {}, r"optimizer\.learning_rate = 0\.5, where that run had 0\.1"),
    "setting": (lambda: SGD(0.1, nesterov=True, momentum=0.9), {}, "optimizer = SGD.*nesterov.*had SGD"),
    "loss": (lambda: SGD(0.1, momentum=0.9), {"loss": "mae"}, "loss = MeanAbsoluteError.*had MeanSquaredError"),
    "factor": (lambda: SGD(0.1, momentum=0.9), {"loss_weights": [2.0]}, r"loss_weights = \[2.0\], .*had None"),
}


@pytest.mark.parametrize(("optimizer", "settings", "told"), OTHERS.values(), ids=OTHERS)
@pytest.mark.broad
def test_a_finished_run_of_other_settings_is_told(optimizer, settings, told, tmp_path):
    first = run(tmp_path, 2, SGD(0.1, momentum=0.9))
    with pytest.warns(UserWarning, match=rf"nothing left to do: epoch 2 of 2 is in .*{told}") as caught:
        second = run(tmp_path, 2, optimizer(), **settings)
    assert len(caught) == 1
    np.testing.assert_array_equal(first.variables[0], second.variables[0])


@pytest.mark.broad
def test_a_finished_run_that_is_the_same_is_a_line_of_the_log(tmp_path, caplog, recwarn):
    halve = Halve()
    model = run(tmp_path, 2, SGD(0.1, momentum=0.9), halve)
    with caplog.at_level(logging.INFO, "graftax"):
        run(tmp_path, 2, SGD(0.1, momentum=0.9), Halve())
        model.fit(X, Y, batch_size=8, epochs=2, verbose=0, resume=tmp_path, callbacks=[halve])  # with the rate as it is
    assert caplog.text.count("nothing left to do: epoch 2 of 2") == 2
    assert not recwarn.list


@pytest.mark.broad
def test_a_run_that_goes_on_says_nothing_of_an_end(tmp_path, caplog, recwarn):
    run(tmp_path, 1, SGD(0.1))
    with caplog.at_level(logging.INFO, "graftax"):
        run(tmp_path, 2, SGD(0.1), loss="mae")
    assert "nothing left" not in caplog.text
    assert not recwarn.list
