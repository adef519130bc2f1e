"""Learning rates of optimizers that rules name: in the logs each by itself, lowered together, or refused by name."""

import csv

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import CSVLogger, LearningRateScheduler, ModelCheckpoint, ReduceLROnPlateau
from graftax.core.errors import StateError
from graftax.optimizers import SGD, Lookahead
from graftax.training.display.progress_line import Progressed

pytestmark = pytest.mark.broad

X = np.random.default_rng(0).normal(size=(6, 2)).astype("float32")
Y = X[:, :1]


def model(inner, rate=0.1, around=None):
    gx.set_random_seed(0)
    found = gx.Sequential([layers.Dense(2), layers.Dense(1)])
    optimizer = SGD(rate, rules=[("layers/1/**", {"optimizer": inner})])
    found.compile(optimizer if around is None else around(optimizer), "mse")
    return found


def plateau(**options):
    return ReduceLROnPlateau("loss", mode="max", patience=1, **{"factor": 0.1, "min_delta": 1e9} | options)


def fitted(found, epochs=3, **options):
    return found.fit(X, Y, epochs=epochs, verbose=0, **options).history


def test_the_logs_have_each_rate(tmp_path):
    history = fitted(model(SGD(0.2)), 2, callbacks=[CSVLogger(tmp_path / "log.csv")])
    assert list(history) == ["loss", "learning_rate", "learning_rate/0"]
    assert history["learning_rate/0"] == pytest.approx([0.2, 0.2])
    with (tmp_path / "log.csv").open() as file:
        assert [row["learning_rate/0"][:3] for row in csv.DictReader(file)] == ["0.2", "0.2"]


def test_rules_in_rules_and_optimizers_around_are_looked_into():
    inner = SGD(0.2, rules=[("**/bias", {"optimizer": SGD(0.3)})])
    history = fitted(model(inner, around=Lookahead), 1)
    rates = {name: value[0] for name, value in history.items() if name != "loss"}
    assert rates == pytest.approx({"learning_rate": 0.1, "learning_rate/0": 0.2, "learning_rate/0/0": 0.3})


def test_a_plateau_lowers_each_rate_by_the_same_factor(capsys):
    history = fitted(model(SGD(0.2)), callbacks=[plateau(verbose=1)])
    assert history["learning_rate"] == pytest.approx([0.1, 0.1, 0.01])
    assert history["learning_rate/0"] == pytest.approx([0.2, 0.2, 0.02])
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["epoch 2: learning rate 0.1 -> 0.01", "epoch 2: learning rate/0 0.2 -> 0.02"]


def test_the_lowest_rate_holds_for_each_and_raises_none():
    history = fitted(model(SGD(0.02)), callbacks=[plateau(min_lr=0.05)])
    assert (history["learning_rate"][-1], history["learning_rate/0"][-1]) == pytest.approx((0.05, 0.02))


def test_a_rate_that_optimizers_share_is_lowered_once():
    rate = gx.Variable(np.float32(0.1))
    history = fitted(model(SGD(rate), rate), callbacks=[plateau()])
    assert "learning_rate/0" not in history
    assert history["learning_rate"] == pytest.approx([0.1, 0.1, 0.01])


def test_a_schedule_in_a_rule_is_refused_by_a_plateau():
    inner = SGD(gx.optimizers.schedules.CosineDecay(1.0, 10))
    with pytest.raises(StateError, match="which a rule of SGD names, and whose learning rate is CosineDecay"):
        fitted(model(inner), callbacks=[plateau()])


def test_the_scheduler_refuses_other_rates_before_the_first_step():
    found = model(SGD(0.2))
    with pytest.raises(StateError, match=r"rules name SGD\(learning_rate=0\.2\)[\s\S]*learning_rate_multiplier"):
        fitted(found, callbacks=[LearningRateScheduler(lambda epoch: 0.0)])
    assert int(found.optimizer.iterations) == 0


def weights(found):
    return [variable.numpy() for variable in found.trainable_variables]


def test_ways_that_the_refusal_names_stop_all_weights():
    rate = gx.Variable(np.float32(0.1))

    class Stop(gx.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.model.optimizer.learning_rate = 0.0
            self.model.optimizer.others[0].learning_rate = 0.0

    multiplied = model(SGD(0.2))
    multiplied.compile(SGD(0.1, rules=[("layers/1/**", {"learning_rate_multiplier": 2.0})]), "mse")
    scheduler = LearningRateScheduler(lambda epoch: 0.0)
    for found, callback in ((model(SGD(rate), rate), scheduler), (multiplied, scheduler), (model(SGD(0.2)), Stop())):
        found.build((None, 2))
        before = weights(found)
        fitted(found, 1, callbacks=[callback])
        assert all(map(np.array_equal, before, weights(found)))


def test_a_resumed_run_has_the_same_rates(tmp_path):
    whole = model(SGD(0.2, momentum=0.9))
    history = fitted(whole, 6, callbacks=[plateau()])
    fitted(model(SGD(0.2, momentum=0.9)), 4, callbacks=[plateau(), ModelCheckpoint(tmp_path)])
    resumed = model(SGD(0.2, momentum=0.9))
    again = fitted(resumed, 6, callbacks=[plateau(), ModelCheckpoint(tmp_path)], resume=tmp_path)
    assert again == history
    assert all(map(np.array_equal, weights(whole), weights(resumed)))


def test_the_short_line_shows_all_rates():
    numbers = {"loss": 1.0, "learning_rate": 0.1, "learning_rate/0": 0.2}
    line = Progressed("epoch 1/1", 1, 1, 0.0, None, numbers, is_over=True)
    assert line.line(40).endswith("loss 1  lr 0.1, 0.2")
