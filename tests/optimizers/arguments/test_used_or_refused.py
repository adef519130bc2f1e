"""What is given to an optimizer or a schedule is used or refused: changed later, with others, or in a Variable."""

import math

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError, ShapeError
from graftax.optimizers import (
    LBFGS,
    SAM,
    SGD,
    SOAP,
    Adagrad,
    Adam,
    AdEMAMix,
    Ftrl,
    Lookahead,
    Muon,
    Nadam,
    Prodigy,
    RMSprop,
    ScheduleFreeSGD,
    Shampoo,
    Sophia,
    Yogi,
    schedules,
)


def weight():
    return gx.Variable(np.array([[1.0, 2.0], [3.0, -4.0]], "float32"), name="w")


def moved(optimizer, w=None, steps=3, compiled=False):
    w = weight() if w is None else w

    def step(gradient):
        optimizer.apply([gradient], [w])

    step = gx.jit(step) if compiled else step
    for i in range(steps):
        step(ops.asarray(np.array([[0.5, -1.0], [0.3, 2.0]], "float32") * (i + 1)))
    return w.numpy()


# --- changed when it is too late: it would be used for nothing ---

SLOTS_KNOW = {
    "Adagrad": (lambda: Adagrad(0.1), "initial_accumulator", 5.0),
    "Ftrl": (lambda: Ftrl(0.1), "initial_accumulator", 5.0),
    "Yogi": (lambda: Yogi(0.1), "initial_accumulator", 5.0),
    "RMSprop": (lambda: RMSprop(0.1), "initial_rms", 5.0),
    "Shampoo": (lambda: Shampoo(0.1), "largest", 1),
    "SOAP": (lambda: SOAP(0.1), "largest", 1),
    "ScheduleFreeSGD": (lambda: ScheduleFreeSGD(0.1), "beta_1", 0.5),
    "slot_dtype": (lambda: Adam(0.1), "slot_dtype", "bfloat16"),
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("row", SLOTS_KNOW)
def test_what_slots_are_made_with_changes_before_them_and_not_after(row):
    make, argument, value = SLOTS_KNOW[row]
    optimizer, given = make(), make()
    setattr(optimizer, argument, value)
    setattr(given, argument, value)
    w = weight()
    np.testing.assert_array_equal(moved(optimizer, w), moved(given))
    setattr(optimizer, argument, value)  # the same again changes nothing
    with pytest.raises(ArgumentError, match="slots are there"):
        setattr(optimizer, argument, getattr(make(), argument))
    assert getattr(optimizer, argument) == value


@pytest.mark.broad
def test_the_history_of_lbfgs_keeps_its_size():
    w, lbfgs = weight(), LBFGS(max_iterations=2)
    lbfgs.history_size = 4
    lbfgs.minimize(lambda: ops.sum((w - 1.0) ** 4), [w])
    for size in (2, 8):
        with pytest.raises(ArgumentError, match="history_size"):
            lbfgs.history_size = size
    lbfgs.minimize(lambda: ops.sum((w - 1.0) ** 4), [w])


CONSTRUCTORS_KNOW = {
    "Sophia": (lambda: Sophia(0.1), "seed", 7),
    "Prodigy": (lambda: Prodigy(), "d0", 1e-2),
    "Muon": (lambda: Muon(0.1), "adamw", ("w",)),
    "Lookahead": (lambda: Lookahead(SGD(0.1)), "optimizer", "adam"),
    "SAM": (lambda: SAM(SGD(0.1)), "optimizer", Sophia(0.1)),
}


@pytest.mark.parametrize("row", CONSTRUCTORS_KNOW)
def test_what_only_the_constructor_reads_is_not_changed_later(row):
    make, argument, value = CONSTRUCTORS_KNOW[row]
    optimizer = make()
    before = getattr(optimizer, argument)
    with pytest.raises(ArgumentError, match=argument):
        setattr(optimizer, argument, value)
    assert getattr(optimizer, argument) is before


# --- right alone, wrong together ---


def test_nesterov_without_momentum_is_refused_however_it_comes_about():
    late, dropped = SGD(0.1), SGD(0.1, momentum=0.9, nesterov=True)
    late.nesterov = True
    dropped.momentum = 0.0
    for optimizer in (late, dropped):
        w = weight()
        with pytest.raises(ArgumentError, match="nesterov"):
            optimizer.apply([w.value], [w])
        np.testing.assert_array_equal(w, weight())
    late.momentum = 0.9  # assigned one after the other, both are right
    moved(late)


@pytest.mark.broad
def test_the_two_constants_of_wolfe_are_compared_when_they_are_used():
    w, lbfgs = weight(), LBFGS()
    lbfgs.c1 = 0.95
    with pytest.raises(ArgumentError, match="c1 < c2"):
        lbfgs.minimize(lambda: ops.sum(w * w), [w])
    np.testing.assert_array_equal(w, weight())
    lbfgs.c2 = 0.97
    lbfgs.minimize(lambda: ops.sum(w * w), [w])


TOGETHER = {
    "half a warm-up": (lambda: schedules.CosineDecay(0.1, 9, warmup_target=1.0, warmup_steps=3), "warmup_target", None),
    "a cycle upside down": (lambda: schedules.Cyclic(0.1, 0.2), "low", 0.5),
    "a cycle without a step": (lambda: schedules.OneCycle(0.1, 100), "total_steps", 2),
    "a part without a step": (lambda: schedules.OneCycle(0.1, 100), "rising", 0.005),
    "too many boundaries": (lambda: schedules.PiecewiseConstant([5], [0.1, 0.2]), "boundaries", [5, 6]),
    "boundaries that fall": (lambda: schedules.PiecewiseConstant([5, 6], [0.1, 0.2, 0.3]), "boundaries", [6, 5]),
    "too few rates": (lambda: schedules.PiecewiseConstant([5], [0.1, 0.2]), "values", [0.1]),
    "too many schedules": (lambda: schedules.Join([0.1, 0.2], [5]), "schedules", [0.1, 0.2, 0.3]),
}


@pytest.mark.parametrize("row", TOGETHER)
def test_arguments_of_a_schedule_fit_each_other_when_it_is_asked(row):
    make, argument, value = TOGETHER[row]
    schedule = make()
    setattr(schedule, argument, value)
    with pytest.raises(ArgumentError):
        schedule(3)


def test_parts_of_a_schedule_are_taken_as_they_are_when_it_is_made():
    warm = schedules.LinearWarmup(2, 1.0)
    warm.then = 0.5
    joined = schedules.Join([0.1, 0.2], [5])
    joined.schedules = [0.3, schedules.Constant(0.4)]
    assert [float(warm(9)), *map(float, map(joined, (0, 9)))] == pytest.approx([0.5, 0.3, 0.4])
    for wrong in (lambda step: 0.1, schedules.Constant, "0.1", None, math.nan):
        with pytest.raises(ArgumentError, match="then"):
            warm.then = wrong
        with pytest.raises(ArgumentError, match="schedules"):
            joined.schedules = [0.1, wrong]


def test_a_cosine_with_endless_periods_is_refused():
    with pytest.raises(ArgumentError, match="t_mul"):
        schedules.CosineDecayRestarts(0.1, 9, t_mul=math.inf)


# --- in a Variable ---


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_periods_may_grow_by_a_variable_factor(factor):
    plain = schedules.CosineDecayRestarts(1.0, 4, t_mul=factor, alpha=0.1)
    kept = schedules.CosineDecayRestarts(1.0, 4, t_mul=gx.Variable(factor, trainable=False), alpha=0.1)
    compiled = gx.jit(lambda step: kept(step))
    for step in (0, 3, 4, 7, 12, 30):
        assert float(kept(step)) == pytest.approx(float(plain(step)))
        assert float(compiled(ops.asarray(step))) == pytest.approx(float(plain(step)))


VARIABLE = {
    "AdEMAMix beta_1": lambda hold: AdEMAMix(0.05, beta_1=hold(0.8), warmup_steps=5),
    "AdEMAMix beta_3": lambda hold: AdEMAMix(0.05, beta_3=hold(0.95), warmup_steps=5),
    "Nadam momentum_decay": lambda hold: Nadam(0.05, momentum_decay=hold(0.1)),
    "Shampoo decay": lambda hold: Shampoo(0.05, decay=hold(0.9)),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("row", VARIABLE)
def test_a_number_in_a_variable_is_read_by_compiled_steps(row):
    plain = moved(VARIABLE[row](float))
    held = moved(VARIABLE[row](lambda number: gx.Variable(number, trainable=False)), compiled=True)
    np.testing.assert_allclose(held, plain, rtol=2e-5)


def test_a_variable_that_makes_no_learning_rate_is_refused_at_once():
    for wrong, error in {
        gx.Variable(-0.1): ArgumentError,
        gx.Variable(math.nan): ArgumentError,
        gx.Variable([0.1, 0.2]): ShapeError,
        gx.Variable(True): ArgumentTypeError,
        gx.Variable(1j, trainable=False): ArgumentTypeError,
    }.items():
        with pytest.raises(error, match="learning.rate"):
            SGD(wrong)
        optimizer = SGD(0.1)
        with pytest.raises(error, match="learning.rate"):
            optimizer.learning_rate = wrong
        assert float(optimizer.learning_rate) == pytest.approx(0.1)


@pytest.mark.parametrize("wrong", [np.True_, np.complex64(0.5), np.array([0.1, 0.2])], ids=["flag", "complex", "two"])
def test_an_array_that_makes_no_learning_rate_is_refused_at_once(wrong):
    with pytest.raises(GraftaxError, match="learning.rate"):
        SGD(wrong)


def test_a_variable_in_a_rule_is_in_range_like_a_number():
    for key in ("weight_decay", "l2", "learning_rate_multiplier", "adaptive_clip"):
        for wrong in (gx.Variable(-1.0), gx.Variable(True)):
            with pytest.raises(ArgumentError, match=key):
                SGD(0.1, rules=[("w", {key: wrong})])


@pytest.mark.parametrize(
    "wrong", [1j, schedules.Constant(0.1), lambda step: 0.1, SGD], ids=["1j", "two", "call", "kind"]
)
def test_rules_that_are_no_list_are_refused(wrong):
    with pytest.raises(ArgumentError, match="rules"):
        SGD(0.1, rules=wrong)
    with pytest.raises(ArgumentTypeError, match="adamw"):
        Muon(0.1, adamw=wrong)
