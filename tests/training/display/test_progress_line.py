"""The line of an epoch: what is in it, and what gives way where there is little room."""

import pytest

from graftax.training.display.progress_line import Progressed

NUMBERS = {"loss": 0.43211, "accuracy": 0.8123, "val_loss": 0.51234, "val_accuracy": 0.7771, "learning_rate": 1e-3}


def running(done=412, total=500, numbers=NUMBERS):
    return Progressed("epoch  3/30", done, total, 5.0, 0.0123, numbers)


def test_everything_where_there_is_room():
    line = running().line(160)
    assert line.startswith("epoch  3/30  412/500  ━━━━━━━━━━━━━━━━━━━━────  12.3ms/step  0:01 left  loss 0.4321  ")
    assert line.endswith("learning_rate 0.001")


@pytest.mark.parametrize("width", [20, 40, 60, 79, 80, 100, 119, 120])
@pytest.mark.parametrize("is_over", [False, True])
def test_it_fits(width, is_over):
    line = Progressed("epoch  3/30", 412, 500, 5.0, 0.0123, NUMBERS, is_over).line(width)
    assert len(line) <= width
    assert "epoch  3/30" in line


def test_at_80_columns_the_loss_of_training_and_validation_are_there():
    over = Progressed("epoch  3/30", 500, 500, 5.0, 0.0123, NUMBERS, is_over=True)
    assert over.line(79) == "epoch  3/30  12.3ms/step  loss 0.432 (val 0.512)  accuracy 0.812 (val 0.777)"
    few = {"loss": 0.43211, "val_loss": 0.51234}
    line = Progressed("epoch  3/30", 500, 500, 5.0, 0.0123, few, is_over=True).line(79)
    assert line == "epoch  3/30  500/500  12.3ms/step  5.0s  loss 0.4321  val_loss 0.5123"
    assert "━" in running(numbers={"loss": 0.4321, "accuracy": 0.8}).line(79)


@pytest.mark.parametrize(
    ("per_step", "shown"), [(0.00002, "20us"), (0.0002, "200us"), (0.0123, "12.3ms"), (0.25, "250ms"), (2.0, "2.0s")]
)
def test_times(per_step, shown):
    assert f"{shown}/step" in Progressed("a", 1, 2, 0.1, per_step, {}).line(80)


@pytest.mark.parametrize(("left", "shown"), [(5, "0:05"), (65, "1:05"), (3700, "1:01:40")])
def test_time_left(left, shown):
    assert f"  {shown} left" in Progressed("a", 0, left, 0.1, 1.0, {}).line(80)


def test_without_an_end_there_is_no_bar():
    assert (
        Progressed("epoch 1/2", 7, None, 1.0, 0.1, {"loss": 1.0}).line(80) == "epoch 1/2  7 steps  100ms/step  loss 1"
    )


def test_more_steps_than_foreseen_do_no_harm():
    assert "10/5" in Progressed("a", 10, 5, 0.1, 0.1, {}).line(60)
