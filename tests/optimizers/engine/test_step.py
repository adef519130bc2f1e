"""What a rule may know of the step: one `Step` for all variables that it is equal for."""

import pytest

import graftax as gx
from graftax import ops
from graftax.optimizers.engine.step import steps_from


@pytest.fixture
def step_for():
    return steps_from(gx.Variable(0.5), ops.asarray(3, "int32"))


def test_the_rate_and_the_count_are_in_the_dtype_of_the_update(step_for):
    step = step_for("float32")
    assert (float(step.learning_rate), float(step.count), int(step.iterations)) == (0.5, 4.0, 3)
    assert (str(step.learning_rate.dtype), str(step.count.dtype)) == ("float32", "float32")


def test_equal_settings_share_a_step_and_what_it_computed_once(step_for):
    calls = []
    for _ in range(2):
        step_for("float32", 0.1).once(calls.append)
    assert calls == [step_for("float32", 0.1)]


def test_other_multipliers_and_decays_have_a_step_of_their_own(step_for):
    multiplier = gx.Variable(2.0)
    steps = [step_for("float32", m, d) for m, d in [(1.0, 0.0), (2.0, 0.0), (multiplier, 0.0), (1.0, 0.1)]]
    assert [float(step.learning_rate) for step in steps] == [0.5, 1.0, 1.0, 0.5]
    assert [float(step.weight_decay) for step in steps] == [0.0, 0.0, 0.0, 0.1]
    assert len({id(step) for step in steps}) == 4
