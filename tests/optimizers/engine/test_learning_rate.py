"""The learning rate: OP3, OP17, OP18, and that a new number needs no new trace."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.optimizers import SGD, schedules


def stepper(optimizer):
    w = gx.Variable([0.0])
    return w, gx.jit(lambda: optimizer.apply([[1.0]], [w]))


def test_op3_number_schedule_or_any_callable():
    for rate in (0.5, schedules.Constant(0.5), lambda step: 0.5 / (step + 1), np.float64(0.5)):
        w = gx.Variable([1.0])
        optimizer = SGD(rate)
        assert float(optimizer.learning_rate) == 0.5
        optimizer.apply([[1.0]], [w])
        assert w.numpy().tolist() == [0.5]


def test_op3_the_callable_gets_the_number_of_updates_so_far():
    seen = []
    w = gx.Variable([1.0])
    optimizer = SGD(lambda step: seen.append(int(step)) or 0.1)
    for _ in range(3):
        optimizer.apply([[1.0]], [w])
    assert seen == [0, 1, 2]


def test_op17_an_integer_is_a_number():
    w = gx.Variable([1.0])
    optimizer = SGD(1)
    optimizer.apply([[0.25]], [w])
    assert w.numpy().tolist() == [0.75]
    assert optimizer.learning_rate.dtype == "float32"
    optimizer.learning_rate = 2
    assert float(optimizer.learning_rate) == 2.0


def test_op18_a_number_while_a_schedule_is_in_place():
    optimizer = SGD(schedules.Constant(0.5))
    with pytest.raises(TypeError, match="would be ignored") as caught:
        optimizer.learning_rate = 0.1
    assert isinstance(caught.value, ArgumentTypeError)
    assert "schedules.Constant(0.1)" in str(caught.value)
    assert float(optimizer.learning_rate) == 0.5
    optimizer.learning_rate = schedules.Constant(0.1)
    np.testing.assert_allclose(optimizer.learning_rate, 0.1)


def test_a_new_number_is_honoured_without_a_new_trace():
    optimizer = SGD(1.0)
    w, step = stepper(optimizer)
    for rate in (1.0, 0.5, 0.25):
        optimizer.learning_rate = rate
        step()
    assert w.numpy().tolist() == [-1.75]
    assert step.trace_count == 1


def test_a_number_may_be_set_inside_a_compiled_function():
    optimizer = SGD(1.0)
    w = gx.Variable([0.0])

    @gx.jit
    def step(rate):
        optimizer.learning_rate = rate
        optimizer.apply([[1.0]], [w])

    step(0.5)
    step(0.25)
    assert w.numpy().tolist() == [-0.75]
    assert float(optimizer.learning_rate) == 0.25
    assert step.trace_count == 1


def test_a_schedule_in_place_of_a_number_is_honoured():
    optimizer = SGD(1.0)
    w, step = stepper(optimizer)
    step()
    optimizer.learning_rate = schedules.PiecewiseConstant([1], [0.5, 0.25])
    step()
    step()
    assert w.numpy().tolist() == [-1.75]
    assert [v.path for v in optimizer.variables] == ["iterations"]


def test_two_optimizers_may_share_a_variable():
    rate = gx.Variable(0.5, trainable=False, role="hyper")
    first, second = SGD(rate), SGD(rate)
    second.learning_rate = 0.25
    assert first.learning_rate is rate
    assert float(first.learning_rate) == 0.25


def test_the_variable_may_be_assigned():
    optimizer = SGD(1.0)
    optimizer.learning_rate.assign(0.5)
    assert float(optimizer.learning_rate) == 0.5
    assert optimizer.learning_rate.path == "learning_rate"
    assert optimizer.learning_rate.role == "hyper"


@pytest.mark.parametrize("rate", [lambda step: np.ones(2, "float32"), gx.Variable([0.1, 0.2])])
def test_a_rate_is_one_number(rate):
    with pytest.raises(ShapeError, match=r"shape \(2,\)"):
        SGD(rate).apply([[1.0]], [gx.Variable([1.0])])


def test_schedules_see_updates_not_calls_of_other_things():
    optimizer = SGD(schedules.PiecewiseConstant([0], [1.0, 0.5]))
    w = gx.Variable([0.0])
    optimizer.build([w])
    optimizer.explain([w])
    optimizer.apply([[1.0]], [w])
    assert w.numpy().tolist() == [-1.0]


def test_a_number_of_numpy_is_asked_for_its_sign_too():
    with pytest.raises(ArgumentError, match="learning_rate=-0.1"):
        SGD(np.float32(-0.1))
    assert repr(SGD(np.float32(0.1))) == "SGD(learning_rate=0.1)"


def test_a_rate_of_a_compiled_function_names_a_variable():
    """Found by an outsider: the error spoke of NumPy."""
    w = gx.Variable([1.0, 2.0])

    def stepped(rate):
        gx.optimizers.SGD(rate).minimize(lambda: gx.ops.sum(w**2), [w])
        return gx.ops.sum(w)

    for run in (gx.jit(stepped), gx.grad(stepped), lambda rate: gx.vectorized_map(stepped, gx.ops.stack([rate, rate]))):
        with pytest.raises(gx.errors.CompileError, match="as learning_rate") as caught:
            run(gx.ops.asarray(0.1))
        assert "graftax.Variable(0.1, trainable=False)" in caught.value.instead
        assert "pure_update" in caught.value.instead


def test_a_rate_may_be_set_in_compiled_code():
    w, sgd = gx.Variable([1.0, 2.0]), gx.optimizers.SGD(0.5)

    @gx.jit
    def stepped(rate):
        sgd.learning_rate = rate
        sgd.minimize(lambda: gx.ops.sum(w**2), [w])

    stepped(np.float32(0.25))
    assert w.numpy().tolist() == [0.5, 1.0]
    assert float(sgd.learning_rate) == 0.25
