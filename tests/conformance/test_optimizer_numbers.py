"""What all optimizers do with numbers at the edge: nothing at all, zeros, very large and small ones, 16 and 64 bits."""

from collections.abc import Iterator

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.optimizers import SGD, schedules
from tests.conformance.lanes import crossed
from tests.conformance.optimizer_rows import ROWS

pytestmark = [pytest.mark.optimized, pytest.mark.filterwarnings("ignore:LossScale")]  # gradients are made up
SHAPES = [(0,), (0, 3), (3, 0), (2, 0, 3), (), (1,), (1, 1), (3, 2), (2, 2, 3)]
OPTIONS = {
    "weight_decay": {"weight_decay": 0.1},
    "l2": {"l2": 0.1},
    "clipvalue": {"clipvalue": 1.0},
    "clipnorm": {"clipnorm": 1.0},
    "global_clipnorm": {"global_clipnorm": 1.0},
    "adaptive_clip": {"adaptive_clip": 0.01},
    "accumulation_steps": {"accumulation_steps": 2},
    "ema_momentum": {"ema_momentum": 0.9},
    "loss_scale": {"loss_scale": 1024.0},
}
SCHEDULES = [
    schedules.Constant(0.1),
    schedules.ConstantWarmup(3, 0.1, 0.01),
    schedules.CosineDecay(0.1, 10, 0.1, 0.2, 5),
    schedules.CosineDecayRestarts(0.1, 3, 1.7, 0.9, 0.1),
    schedules.CosineDecayRestarts(0.1, 3, 1.0, 0.9, 0.1),
    schedules.Cyclic(0.1, 0.3, 3, 7, 0.9, 0.99),
    schedules.ExponentialDecay(0.1, 7, 0.3),
    schedules.ExponentialDecay(0.1, 7, 0.3, True),
    schedules.ExponentialWarmup(5, 0.1, 0.01),
    schedules.InverseSquareRoot(0.1, 7),
    schedules.InverseTimeDecay(0.1, 7, 0.3),
    schedules.Join([0.1, schedules.CosineDecay(0.1, 10)], [7]),
    schedules.LinearWarmup(5, schedules.CosineDecay(0.1, 10), 0.01),
    schedules.OneCycle(0.1, 100),
    schedules.OneCycle(0.1, 100, shape="linear"),
    schedules.PiecewiseConstant([3, 5], [0.1, 0.2, 0.3]),
    schedules.PolynomialDecay(0.1, 10, 0.01, 1.5),
    schedules.PolynomialDecay(0.1, 10, 0.01, 1.5, True),
    schedules.WarmupStableDecay(0.1, 3, 4, 5, 0.01, "root"),
    schedules.WarmupStableDecay(0.1, 3, 4, 5, 0.01, "cosine"),
]


def moved(optimizer, scale, dtype="float32", shapes=SHAPES, steps=3):
    rng = np.random.default_rng(0)
    variables = [gx.Variable(rng.normal(size=s), dtype=dtype, name=f"w{i}") for i, s in enumerate(shapes)]
    for _ in range(steps):
        optimizer.apply([(rng.normal(size=s) * scale).astype("float32") for s in shapes], variables)
    return variables


def not_finite(variables):
    return [v.path for v in variables if not np.isfinite(v.numpy().astype("float64")).all()]


@pytest.mark.in_turn(12, broad=7)
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(
    ("scale", "dtype"),
    [
        (1.0, "float32"),
        pytest.param(0.0, "float32", marks=pytest.mark.slow),
        pytest.param(1e-30, "float32", marks=pytest.mark.slow),
        pytest.param(1e15, "float32", marks=pytest.mark.slow),
        pytest.param(1.0, "bfloat16", marks=pytest.mark.slow),
        pytest.param(0.0, "float16", marks=pytest.mark.slow),
    ],
)
def test_o4_state_stays_finite(name, scale, dtype):
    optimizer = ROWS[name].make()
    assert not not_finite([*moved(optimizer, scale, dtype), *optimizer.variables])


@pytest.mark.in_turn(2, 1)
@pytest.mark.parametrize("name", ROWS)
def test_o4_nothing_but_variables_without_elements(name):
    optimizer = ROWS[name].make(weight_decay=0.1)
    assert not not_finite([*moved(optimizer, 1.0, shapes=SHAPES[:4]), *optimizer.variables])
    assert int(optimizer.iterations) == 3


@pytest.mark.broad
@pytest.mark.parametrize(("option", "scale"), crossed([*OPTIONS], [1.0, 0.0, 1e-30, 1e15, 1e25]))
def test_o4_options_around_a_rule(option, scale):
    optimizer = SGD(0.1, momentum=0.5, **OPTIONS[option])
    assert not not_finite([*moved(optimizer, scale), *optimizer.variables])
    assert not not_finite(moved(SGD(0.1, **OPTIONS[option]), scale, shapes=SHAPES[:4]))


@pytest.mark.parametrize("option", ["clipnorm", "global_clipnorm"])
def test_o4_a_norm_whose_square_overflows_is_clipped_as_any_other(option):
    w = gx.Variable([0.0, 0.0])
    SGD(1.0, **{option: 1.0}).apply([[3e30, 4e30]], [w])
    np.testing.assert_allclose(w.numpy(), [-0.6, -0.8], rtol=1e-6)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_o4_schedules_are_finite_and_not_negative_at_every_step(schedule):
    rates = np.asarray(
        jax.vmap(schedule)(np.asarray([0, 1, 2, 3, 5, 7, 10, 99, 100, 10**4, 10**6, 2**31 - 2], "int32"))
    )
    assert np.isfinite(rates).all()
    assert (rates >= 0).all()


def equations(jaxpr) -> Iterator:
    for equation in jaxpr.eqns:
        yield equation
        for inside in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inside = getattr(inside, "jaxpr", inside)
            if hasattr(inside, "eqns"):
                yield from equations(inside)


def narrow(optimizer):
    """Operations on 32 bits in an update of float64 variables, and numbers of the optimizer that have 32 bits."""
    rng = np.random.default_rng(0)
    variables = [
        gx.Variable(rng.normal(size=s), dtype="float64", name=f"w{i}") for i, s in enumerate([(3, 2), (2,), ()])
    ]
    state, values = optimizer.pure_state(variables), {v.path: v.value for v in variables}
    gradients = {path: np.asarray(rng.normal(size=value.shape)) for path, value in values.items()}
    jaxpr = jax.make_jaxpr(optimizer.pure_update)(gradients, state, values).jaxpr
    found = {
        str(e.primitive)
        for e in equations(jaxpr)
        for v in (*e.invars, *e.outvars)
        if str(getattr(v.aval, "dtype", "")) in ("float32", "float16", "bfloat16")
    }
    return found, [path for path, value in state.items() if str(value.dtype) == "float32"]


@pytest.mark.in_turn(3, 1)
@pytest.mark.parametrize("name", ROWS)
def test_o5_nothing_of_an_update_of_64_bits_is_computed_in_32(name):
    with jax.enable_x64(True):
        assert narrow(ROWS[name].make()) == (set(), [])


@pytest.mark.parametrize("option", sorted(set(OPTIONS) - {"loss_scale"}))  # whose scale is a power of 2 by itself
def test_o5_nor_of_the_options_around_it(option):
    with jax.enable_x64(True):
        assert narrow(SGD(0.1, **OPTIONS[option])) == (set(), [])


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_o5_nor_of_schedules(schedule):
    with jax.enable_x64(True):
        assert narrow(SGD(schedule)) == (set(), [])


@pytest.mark.broad
def test_o5_the_rate_of_64_bits():
    with jax.enable_x64(True):
        w = gx.Variable([1.0], dtype="float64")
        sgd = SGD(0.1)
        sgd.apply([[1.0]], [w])
        assert w.numpy().tolist() == [0.9]
        sgd.learning_rate = 0.7
        assert float(sgd.learning_rate) == 0.7
        narrow_weight = gx.Variable([1.0], dtype="float32")
        sgd.apply([np.ones(1, "float32")], [narrow_weight])
        assert narrow_weight.numpy().tolist() == [np.float32(1) - np.float32(0.7)]


@pytest.mark.broad
def test_o5_a_schedule_is_computed_in_the_dtype_of_the_variable():
    with jax.enable_x64(True):
        schedule = schedules.ExponentialDecay(0.1, 7, 0.3)
        w, narrow_weight = gx.Variable([0.0], dtype="float64"), gx.Variable([0.0], dtype="float32")
        sgd = SGD(schedule)
        for _ in range(4):
            sgd.apply([np.ones(1), np.ones(1, "float32")], [w, narrow_weight])
        np.testing.assert_allclose(w.numpy(), -sum(0.1 * 0.3 ** (i / 7) for i in range(4)), rtol=1e-15)
        assert narrow_weight.dtype == "float32"
        assert str(schedule(ops.asarray(3.0, "float32")).dtype) == "float32"
        assert str(schedule(3).dtype) == "float64"
    assert str(schedules.ExponentialDecay(0.1, 7, 0.3)(3).dtype) == "float32"


@pytest.mark.broad
def test_numbers_of_64_bits_agree_with_a_transcription():
    """Adam, with everything around it, in NumPy's float64, over 50 steps."""
    rng = np.random.default_rng(3)
    start, gradients = rng.normal(size=(3, 2)), rng.normal(size=(50, 3, 2))
    w, m, v, average = start.copy(), np.zeros((3, 2)), np.zeros((3, 2)), None
    for t, g in enumerate(gradients, 1):
        rate = 0.07 * 0.93 ** ((t - 1) / 11)
        g = np.clip(g, -1.3, 1.3)
        g = g * min(1, 1.1 / np.linalg.norm(g)) + 0.03 * w
        w = w - rate * 0.013 * w
        m, v = 0.87 * m + (1 - 0.87) * g, 0.991 * v + (1 - 0.991) * g * g
        w = w - rate * (m / (1 - 0.87**t)) / (np.sqrt(v / (1 - 0.991**t)) + 1e-5)
        average = w if average is None else 0.9 * average + 0.1 * w
    with jax.enable_x64(True):
        ours = gx.Variable(start, dtype="float64")
        options = {"weight_decay": 0.013, "l2": 0.03, "clipvalue": 1.3, "global_clipnorm": 1.1, "ema_momentum": 0.9}
        rate = schedules.ExponentialDecay(0.07, 11, 0.93)
        adam = gx.optimizers.Adam(rate, 0.87, 0.991, 1e-5, epsilon_form="torch", **options)
        step = gx.jit(lambda g: adam.apply([g], [ours]))
        for g in gradients:
            step(g)
        np.testing.assert_allclose(ours.numpy(), w, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(adam.slot(ours, "moving_average").numpy(), average, rtol=1e-13, atol=1e-14)
