import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.optimizers import SGD
from graftax.optimizers.schedules import (
    Constant,
    ConstantWarmup,
    CosineDecay,
    CosineDecayRestarts,
    Cyclic,
    ExponentialDecay,
    ExponentialWarmup,
    InverseSquareRoot,
    InverseTimeDecay,
    Join,
    LinearWarmup,
    OneCycle,
    PiecewiseConstant,
    PolynomialDecay,
    Schedule,
    WarmupStableDecay,
)

STEPS = (0, 1, 4, 5, 6, 10, 11, 12, 20, 25)

# Reference numbers at STEPS, seen in Keras 3.
NUMBERS = {
    "exponential": (
        ExponentialDecay(1.0, 10, 0.5),
        [1, 0.93303, 0.75786, 0.70711, 0.65975, 0.5, 0.46652, 0.43528, 0.25, 0.17678],
    ),
    "staircase": (ExponentialDecay(1.0, 10, 0.5, staircase=True), [1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]),
    "polynomial": (PolynomialDecay(1.0, 10, 0.1, power=2), [1, 0.829, 0.424, 0.325, 0.244, *[0.1] * 5]),
    "cycle": (PolynomialDecay(1.0, 10, 0.1, cycle=True), [1, 0.91, 0.64, 0.55, 0.46, 0.1, 0.505, 0.46, 0.1, 0.25]),
    "inverse": (
        InverseTimeDecay(1.0, 10, 0.5),
        [1, 0.95238, 0.83333, 0.8, 0.76923, 0.66667, 0.64516, 0.625, 0.5, 0.44444],
    ),
    "cosine": (CosineDecay(1.0, 10, alpha=0.1), [1, 0.97798, 0.68906, 0.55, 0.41094, *[0.1] * 5]),
    "warm cosine": (
        CosineDecay(0.0, 10, alpha=0.1, warmup_target=1.0, warmup_steps=4),
        [0, 0.25, 1, 0.97798, 0.91406, 0.41094, 0.2855, 0.18594, 0.1, 0.1],
    ),
    "restarts": (
        CosineDecayRestarts(1.0, 4, t_mul=2, m_mul=0.5),
        [1, 0.85355, 0.5, 0.48097, 0.42678, 0.07322, 0.01903, 0.25, 0.125, 0.02107],
    ),
    "piecewise": (PiecewiseConstant([5, 10], [1.0, 0.5, 0.1]), [1, 1, 1, 1, 0.5, 0.5, 0.1, 0.1, 0.1, 0.1]),
    "constant": (Constant(0.3), [0.3] * 10),
    "warm-up": (LinearWarmup(4, 1.0, start=0.2), [0.2, 0.4, *[1] * 8]),
    "warm-up, then": (
        LinearWarmup(4, CosineDecay(1.0, 10, alpha=0.1)),
        [0, 0.25, 1, 0.97798, 0.91406, 0.41094, 0.2855, 0.18594, 0.1, 0.1],
    ),
    "join": (
        Join([LinearWarmup(4, 1.0), ExponentialDecay(1.0, 10, 0.5), 0.01], [5, 12]),
        [0, 0.25, 1, 1, 0.93303, 0.70711, 0.65975, 0.01, 0.01, 0.01],
    ),
    "constant, then": (
        ConstantWarmup(5, ExponentialDecay(1.0, 5, 0.5), 0.3),
        [0.3] * 3 + [1] + [2 ** (-k / 5) for k in (1, 5, 6, 7, 15, 20)],
    ),
    "exponential, then": (ExponentialWarmup(4, 1.0, 0.0625), [0.0625, 0.125, *[1] * 8]),
    "inverse root": (InverseSquareRoot(1.0, 5), [0.2, 0.4, *[(5 / (s + 1)) ** 0.5 for s in STEPS[2:]]]),
    "stable": (WarmupStableDecay(1.0, 5, 5, 10, end=0.2), [0, 0.2, 0.8, 1, 1, 1, 0.92, 0.84, 0.2, 0.2]),
    "stable, root": (
        WarmupStableDecay(1.0, 5, 5, 10, shape="root"),
        [0, 0.2, 0.8, 1, 1, 1, 1 - 0.1**0.5, 1 - 0.2**0.5, 0, 0],
    ),
    "stable, cosine": (
        WarmupStableDecay(1.0, 5, 5, 10, shape="cosine"),
        [0, 0.2, 0.8, 1, 1, 1, *[0.5 + 0.5 * math.cos(math.pi * d) for d in (0.1, 0.2)], 0, 0],
    ),
    "cyclic": (Cyclic(0.1, 1.1, 5, 10, cycle_factor=0.5), [0.1, 0.3, 0.9, 1.1, 1, 0.6, 0.5, 0.4, 0.6, 0.35]),
    "one cycle": (
        OneCycle(1.0, 21, 6 / 21, 10.0, 10.0, "linear"),
        [0.1, 0.28, 0.82, 1, 0.934, 0.67, 0.604, 0.538, 0.01, 0.01],
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_reference_numbers(name):
    schedule, expected = NUMBERS[name]
    np.testing.assert_allclose([float(schedule(step)) for step in STEPS], expected, atol=6e-6)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_numpy_backend_agrees_and_the_rate_is_a_float32_scalar(name):
    schedule, _ = NUMBERS[name]
    with registry.use("numpy"):
        host = [schedule(np.int32(step)) for step in STEPS]
    for step, rate in zip(STEPS, host, strict=True):
        assert rate.shape == ()
        assert str(rate.dtype) == str(schedule(step).dtype) == "float32"
        np.testing.assert_allclose(schedule(step), rate, rtol=2e-6, atol=1e-7)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", NUMBERS)
def test_compiled_as_eager_in_one_trace(name):
    schedule, _ = NUMBERS[name]
    compiled = gx.jit(schedule)
    found = [float(compiled(np.int32(step))) for step in STEPS]
    np.testing.assert_allclose(found, [float(schedule(step)) for step in STEPS], rtol=2e-6, atol=1e-7)
    assert compiled.trace_count == 1


@pytest.mark.parametrize(
    ("name", "keras_name", "arguments"),
    [
        (ExponentialDecay, "ExponentialDecay", (0.3, 7, 0.8, True)),
        (InverseTimeDecay, "InverseTimeDecay", (0.3, 7, 0.8, True)),
        (PolynomialDecay, "PolynomialDecay", (0.3, 7, 0.01, 1.7, True)),
        (CosineDecay, "CosineDecay", (0.1, 11, 0.2)),
        (CosineDecayRestarts, "CosineDecayRestarts", (0.3, 5, 1.0, 0.9, 0.1)),
        (CosineDecayRestarts, "CosineDecayRestarts", (0.3, 5, 1.5, 0.9, 0.1)),
        (PiecewiseConstant, "PiecewiseConstantDecay", ([3, 9], [1.0, 0.3, 0.2])),
    ],
)
def test_against_keras(against_keras, name, keras_name, arguments):
    import keras

    theirs = getattr(keras.optimizers.schedules, keras_name)(*arguments)
    ours = name(*arguments)
    for step in range(40):
        np.testing.assert_allclose(float(ours(step)), float(theirs(step)), rtol=1e-5, atol=1e-6, err_msg=str(step))


@pytest.mark.parametrize(
    ("name", "ours", "options"),
    [
        ("OneCycleLR", OneCycle(0.5, 30), {"max_lr": 0.5, "total_steps": 30}),
        (
            "OneCycleLR",
            OneCycle(0.5, 30, 0.4, 10.0, 100.0, "linear"),
            {
                "max_lr": 0.5,
                "total_steps": 30,
                "pct_start": 0.4,
                "div_factor": 10.0,
                "final_div_factor": 100.0,
                "anneal_strategy": "linear",
            },
        ),
        ("CyclicLR", Cyclic(0.1, 0.9, 4), {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 4}),
        (
            "CyclicLR",
            Cyclic(0.1, 0.9, 4, 7, cycle_factor=0.5),
            {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 4, "step_size_down": 7, "mode": "triangular2"},
        ),
        (
            "CyclicLR",
            Cyclic(0.1, 0.9, 4, step_factor=0.9),
            {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 4, "mode": "exp_range", "gamma": 0.9},
        ),
    ],
)
def test_against_torch(name, ours, options):
    torch = pytest.importorskip("torch")
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1, momentum=0.9)
    theirs = getattr(torch.optim.lr_scheduler, name)(optimizer, **options)
    with registry.use("numpy"):
        for step in range(30):
            np.testing.assert_allclose(float(ours(step)), theirs.get_last_lr()[0], rtol=1e-4, atol=1e-6)
            optimizer.step()
            if step < 29:
                theirs.step()


def test_warm_cosine_against_keras(against_keras):
    import keras

    options = {"alpha": 0.2, "warmup_target": 0.4, "warmup_steps": 3}
    theirs, ours = keras.optimizers.schedules.CosineDecay(0.1, 11, **options), CosineDecay(0.1, 11, **options)
    for step in range(20):
        np.testing.assert_allclose(float(ours(step)), float(theirs(step)), rtol=1e-5, err_msg=str(step))


def restarting(step, initial, first, t_mul, m_mul, alpha):
    """Period after period, as one would by hand."""
    length, height, start = first, 1.0, 0
    while step >= start + length:
        start, length, height = start + length, length * t_mul, height * m_mul
    cosine = 0.5 * (1 + math.cos(math.pi * (step - start) / length))
    return initial * ((1 - alpha) * height * cosine + alpha)


@given(
    step=st.integers(0, 5000),
    first=st.integers(1, 60),
    t_mul=st.sampled_from([1, 2, 3]),
    m_mul=st.sampled_from([1.0, 0.7]),
    alpha=st.sampled_from([0.0, 0.1]),
)
def test_restarts_happen_at_the_very_step(step, first, t_mul, m_mul, alpha):
    found = float(CosineDecayRestarts(0.5, first, t_mul, m_mul, alpha)(step))
    np.testing.assert_allclose(found, restarting(step, 0.5, first, t_mul, m_mul, alpha), rtol=1e-3, atol=1e-4)


def test_every_restart_of_many():
    # where the logarithm of a period number is not exact in float32
    schedule, start = CosineDecayRestarts(1.0, 1, t_mul=3.0), 0
    for i in range(14):
        assert float(schedule(start)) == 1.0, i
        start += 3**i


def test_a_user_schedule_and_a_change_of_its_attributes():
    class InverseRoot(Schedule):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale

        def rate(self, step):
            return self.scale / ops.sqrt(step + 1)

    schedule = InverseRoot(1.0)
    w = gx.Variable([0.0])
    optimizer = SGD(schedule)
    step = gx.jit(lambda: optimizer.apply([[1.0]], [w]))
    step()
    step()
    np.testing.assert_allclose(w.numpy(), [-1 - 0.5**0.5], rtol=1e-6)
    assert step.trace_count == 1
    schedule.scale = 0.0
    step()
    np.testing.assert_allclose(w.numpy(), [-1 - 0.5**0.5], rtol=1e-6)
    assert step.trace_count == 2, "a plain number is a part of the trace"


def test_a_schedule_inside_a_schedule_is_watched_too():
    inner = Constant(1.0)
    schedule = Join([LinearWarmup(2, inner), 5.0], [100])
    compiled = gx.jit(schedule)
    assert float(compiled(50)) == 1.0
    inner.value = 2.0
    assert float(compiled(50)) == 2.0


def test_repr_shows_the_arguments():
    assert repr(CosineDecay(1.0, 10, alpha=0.1)) == "CosineDecay(initial_learning_rate=1.0, decay_steps=10, alpha=0.1)"
    schedule = Join([LinearWarmup(4, 1.0), 0.01], [5])
    assert repr(schedule).startswith("Join(schedules=[LinearWarmup(warmup_steps=4, then=Constant(value=1.0))")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExponentialDecay(1.0, 0, 0.5), "decay_steps=0"),
        (lambda: PiecewiseConstant([5], [1.0]), "1 values"),
        (lambda: PiecewiseConstant([5, 5], [1.0, 2.0, 3.0]), "ascend"),
        (lambda: Join([1.0, 2.0], []), "2 schedules"),
        (lambda: CosineDecay(1.0, 10, warmup_steps=5), "warmup_target=None"),
        (lambda: CosineDecay(1.0, 10, warmup_target=5.0), "warmup_steps=0"),
        (lambda: CosineDecayRestarts(1.0, 10, t_mul=0.5), "t_mul=0.5"),
        (lambda: LinearWarmup(0, 1.0), "warmup_steps=0"),
        (lambda: ConstantWarmup(0, 1.0, 0.1), "warmup_steps=0"),
        (lambda: ExponentialWarmup(4, 1.0, 0.0), "start=0"),
        (lambda: ExponentialWarmup(4, 0.0, 0.1), "none leads there"),
        (lambda: ExponentialWarmup(4, LinearWarmup(5, 1.0), 0.1), "none leads there"),
        (lambda: InverseSquareRoot(1.0, 0), "warmup_steps=0"),
        (lambda: WarmupStableDecay(1.0, 4, 4, 4, shape="steep"), "shape='steep'"),
        (lambda: OneCycle(1.0, 2), "total_steps=2"),
        (lambda: OneCycle(1.0, 20, shape="cos"), "shape='cos'"),
        (lambda: Cyclic(0.0, 1.0, 0), "steps_up=0"),
    ],
)
def test_arguments_that_cannot_be(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_schedule_without_a_rate_names_it():
    with pytest.raises(NotImplementedError, match="must define rate"):
        Schedule()(1)
