"""The learning rate in the logs, and the callbacks that set it."""

import pytest

import graftax as gx
from graftax.callbacks import LambdaCallback, LearningRateScheduler, ReduceLROnPlateau
from graftax.core.errors import ArgumentError, StateError
from tests.training.lines import X, Y, line


def rates(values, rate=1.0, **options):
    """The rate of each epoch, as a plateau of these numbers makes it."""
    numbers = iter(values)
    tell = LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(val_loss=next(numbers)))
    model = line(rate)
    callbacks = [tell, ReduceLROnPlateau("val_loss", **options)]
    return model.fit(X * 0, Y, epochs=len(values), verbose=0, callbacks=callbacks).history["learning_rate"]


def test_the_rate_of_a_schedule_is_in_the_logs():
    model = line()
    model.compile(gx.optimizers.SGD(gx.optimizers.schedules.InverseTimeDecay(1.0, 1, 1.0)), "mse")
    history = model.fit(X * 0, Y, epochs=2, batch_size=5, verbose=0).history
    assert history["learning_rate"] == pytest.approx([1 / 2, 1 / 3])


def test_other_optimizers_have_no_rate_there():
    class Halve(gx.Module):
        def minimize(self, loss_fn, variables, has_aux=False):
            return loss_fn()

    model = line()
    model.compile(Halve(), "mse")
    assert list(model.fit(X, Y, verbose=0).history) == ["loss"]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([1, 1, 1, 1], {"factor": 0.5, "patience": 2}, [1, 1, 1, 0.5]),
        ([1, 1, 1, 1, 1], {"factor": 0.5, "patience": 1, "cooldown": 2}, [1, 1, 0.5, 0.5, 0.25]),
        ([1, 2, 3, 4], {"factor": 0.5, "patience": 1, "min_lr": 0.4}, [1, 1, 0.5, 0.4]),
        ([1, 0.99995, 0.9, 0.8], {"factor": 0.5, "patience": 1}, [1, 1, 0.5, 0.5]),
        ([1, 2, 3], {"factor": 0.5, "patience": 1, "mode": "max"}, [1, 1, 1]),
    ],
)
def test_plateaus(values, options, expected):
    assert rates(values, **options) == pytest.approx(expected)


def test_a_rate_that_is_the_lowest_in_float32_is_left_as_it_is(capsys):
    options = {"factor": 0.5, "patience": 1, "min_lr": 0.1, "verbose": 1}
    assert rates([1, 2, 3, 4], 0.1, **options) == pytest.approx([0.1] * 4)  # 0.1 in float32 is above 0.1
    assert capsys.readouterr().out == ""


def test_plateau_refuses_what_cannot_work():
    with pytest.raises(ArgumentError, match="factor"):
        ReduceLROnPlateau(factor=1.0)
    model = line()
    model.compile(gx.optimizers.SGD(gx.optimizers.schedules.CosineDecay(1.0, 10)), "mse")
    with pytest.raises(StateError, match="CosineDecay"):
        model.fit(X, Y, epochs=2, verbose=0, callbacks=[ReduceLROnPlateau("loss")])
    with pytest.raises(StateError, match="schedule"):
        model.fit(X, Y, epochs=2, verbose=0, callbacks=[LearningRateScheduler(lambda epoch: 0.1)])


def test_its_state_goes_on():
    one, other = ReduceLROnPlateau("loss"), ReduceLROnPlateau("loss")
    one.best, one.wait, one.cooldown_counter = 0.25, 3, 1
    other.set_state(one.get_state())
    assert (other.best, other.wait, other.cooldown_counter) == (0.25, 3, 1)


@pytest.mark.parametrize("schedule", [lambda epoch: 0.5**epoch, lambda epoch, rate: rate if epoch == 0 else rate / 2])
def test_scheduler(schedule):
    history = line(1.0).fit(X * 0, Y, epochs=3, verbose=0, callbacks=[LearningRateScheduler(schedule)]).history
    assert history["learning_rate"] == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("wrong", [None, "0.1", float("nan")])
def test_scheduler_wants_a_number(wrong):
    with pytest.raises(ArgumentError, match="epoch 0"):
        line().fit(X, Y, verbose=0, callbacks=[LearningRateScheduler(lambda epoch: wrong)])


def test_scheduler_prints(capsys):
    line().fit(X, Y, verbose=0, callbacks=[LearningRateScheduler(lambda epoch: 0.25, verbose=1)])
    assert capsys.readouterr().out == "epoch 1: learning rate 0.25\n"
