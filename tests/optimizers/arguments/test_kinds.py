"""What every argument of every optimizer and schedule refuses, when it is made and when it is assigned later."""

import copy
import inspect
import math
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import optimizers
from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError
from graftax.optimizers import LBFGS, SAM, SGD, Adam, AdamW, Lookahead, LossScale, Muon, Optax, schedules
from graftax.optimizers.arguments.foreign_names import names_of
from graftax.optimizers.arguments.kinds import kinds_of

REQUIRED = {
    "Lookahead": lambda **k: Lookahead(SGD(0.1), **k),
    "SAM": lambda **k: SAM(SGD(0.1), **k),
    "CrossShard": lambda **k: optimizers.CrossShard(SGD(0.1), **k),
    "Constant": lambda **k: schedules.Constant(**({"value": 0.1} | k)),
    "ConstantWarmup": lambda **k: schedules.ConstantWarmup(**({"warmup_steps": 3, "then": 0.1, "value": 0.01} | k)),
    "CosineDecay": lambda **k: schedules.CosineDecay(**({"initial_learning_rate": 0.1, "decay_steps": 9} | k)),
    "CosineDecayRestarts": lambda **k: schedules.CosineDecayRestarts(
        **({"initial_learning_rate": 0.1, "first_decay_steps": 9} | k)
    ),
    "Cyclic": lambda **k: schedules.Cyclic(**({"low": 0.1, "high": 0.2} | k)),
    "ExponentialDecay": lambda **k: schedules.ExponentialDecay(
        **({"initial_learning_rate": 0.1, "decay_steps": 9, "decay_rate": 0.5} | k)
    ),
    "ExponentialWarmup": lambda **k: schedules.ExponentialWarmup(
        **({"warmup_steps": 3, "then": 0.1, "start": 0.01} | k)
    ),
    "InverseSquareRoot": lambda **k: schedules.InverseSquareRoot(**({"peak": 0.1, "warmup_steps": 9} | k)),
    "InverseTimeDecay": lambda **k: schedules.InverseTimeDecay(
        **({"initial_learning_rate": 0.1, "decay_steps": 9, "decay_rate": 0.5} | k)
    ),
    "Join": lambda **k: schedules.Join(**({"schedules": [0.1, 0.2], "boundaries": [5]} | k)),
    "LinearWarmup": lambda **k: schedules.LinearWarmup(**({"warmup_steps": 3, "then": 0.1} | k)),
    "OneCycle": lambda **k: schedules.OneCycle(**({"peak": 0.1, "total_steps": 100} | k)),
    "PiecewiseConstant": lambda **k: schedules.PiecewiseConstant(**({"boundaries": [5], "values": [0.1, 0.2]} | k)),
    "PolynomialDecay": lambda **k: schedules.PolynomialDecay(**({"initial_learning_rate": 0.1, "decay_steps": 9} | k)),
    "WarmupStableDecay": lambda **k: schedules.WarmupStableDecay(
        **({"peak": 0.1, "warmup_steps": 3, "stable_steps": 4, "decay_steps": 5} | k)
    ),
}
NO_RULES = {"Slot", "Minimizer", "Optimizer", "Schedule", "Optax"}  # declarations, bases, and what has its own tests
CLASSES = {
    name: kind
    for where in (optimizers, schedules)
    for name in where.__all__
    if isinstance(kind := getattr(where, name), type) and name not in NO_RULES
}
OTHERWISE = {"learning_rate", "rules", "loss_scale", "name", "adamw", "optimizer", "initial"}
"""Arguments that say themselves what they take; each has a row in `OF_THEIR_OWN` below."""


def made(name, **arguments):
    return REQUIRED.get(name, CLASSES[name])(**arguments)


def wrong_values(kind):
    """What the declaration of an argument has to refuse."""
    if not kind.number:
        return [value for value in ("nonsense", 7, -1, object()) if not kind.fits(value)]
    wrong = [math.nan, True, False, "0.5", [0.5], np.zeros(2), None, -1e9, -math.inf, 1j, np.True_, np.complex64(0.5)]
    wrong += [gx.Variable([0.5, 0.5]), gx.Variable(True), gx.Variable(1j, trainable=False), gx.Variable(math.nan)]
    for value in (-1, 0, 0.5, 1, 1.0, 2.5, math.inf, -0.5):
        fits = kind.fits(value) and (type(value) is int or not kind.whole)
        wrong += [] if fits else [value]
    return [value for value in wrong if not (value is None and kind.optional) and not _fits(kind, value)]


def _fits(kind, value):
    return isinstance(value, float) and not math.isnan(value) and not kind.whole and kind.fits(value)


ARGUMENTS = [(name, argument) for name, kind in CLASSES.items() for argument in names_of(kind)]


def test_every_argument_of_every_optimizer_and_schedule_says_what_it_takes():
    silent = [
        (name, argument)
        for name, argument in ARGUMENTS
        if argument not in kinds_of(CLASSES[name]) and argument not in OTHERWISE
    ]
    assert not silent


@pytest.mark.in_turn(24, broad=13)
@pytest.mark.parametrize("name", CLASSES)
def test_audit_what_makes_no_sense_is_refused_when_made_and_when_assigned(name):
    kinds = kinds_of(CLASSES[name])
    object_ = made(name)
    for argument in names_of(CLASSES[name]):
        if argument not in kinds:
            continue
        for wrong in wrong_values(kinds[argument]):
            with pytest.raises((ArgumentError, ArgumentTypeError), match=argument) as caught:
                made(name, **{argument: wrong})
            assert caught.value.instead.startswith(argument) or argument in caught.value.instead
            before = getattr(object_, argument, None)
            if hasattr(object_, argument):
                with pytest.raises((ArgumentError, ArgumentTypeError), match=argument):
                    setattr(object_, argument, wrong)
                assert getattr(object_, argument) is before


@pytest.mark.parametrize("name", CLASSES)
def test_audit_defaults_and_remedies_are_accepted(name):
    kinds = kinds_of(CLASSES[name])
    made(name)
    for argument, parameter in inspect.signature(CLASSES[name]).parameters.items():
        if argument in kinds:
            kinds[argument].check(name, argument, eval(kinds[argument].instead.split(", or None")[0]))
            if parameter.default is not parameter.empty:
                assert kinds[argument].check(name, argument, parameter.default) == parameter.default


OF_THEIR_OWN = {
    "a negative rate": lambda: SGD(-0.1),
    "a negative rate as an array": lambda: SGD(np.asarray(-0.1)),
    "a rate of NumPy": lambda: SGD(np.float32(-0.1)),
    "an infinite rate": lambda: SGD(math.inf),
    "a rate that is none": lambda: SGD(math.nan),
    "a bool for a rate": lambda: SGD(True),
    "a word for a rate": lambda: SGD("fast"),
    "a rate for each": lambda: SGD([0.1, 0.2]),
    "a class for a rate": lambda: SGD(schedules.CosineDecay),
    "rules that are a dict": lambda: SGD(0.1, rules={"**/bias": {"l2": 0.1}}),
    "a rule that sets nothing": lambda: SGD(0.1, rules=[("**/bias", {})]),
    "a rule with a negative decay": lambda: SGD(0.1, rules=[("**", {"weight_decay": -0.1})]),
    "a rule with a negative l2": lambda: SGD(0.1, rules=[("**", {"l2": -0.1})]),
    "a rule that climbs": lambda: SGD(0.1, rules=[("**", {"learning_rate_multiplier": -1.0})]),
    "a rule with a bool": lambda: SGD(0.1, rules=[("**", {"weight_decay": True})]),
    "a rule with nan": lambda: SGD(0.1, rules=[("**", {"l2": math.nan})]),
    "a rule with a limit of zero": lambda: SGD(0.1, rules=[("**", {"adaptive_clip": 0.0})]),
    "a rule with a number for frozen": lambda: SGD(0.1, rules=[("**", {"frozen": 1})]),
    "a loss scale of zero": lambda: SGD(0.1, loss_scale=0.0),
    "an infinite loss scale": lambda: LossScale(math.inf),
    "a bool for a loss scale": lambda: SGD(0.1, loss_scale=True),
    "a word for a loss scale": lambda: SGD(0.1, loss_scale="static"),
    "a bool for the initial scale": lambda: LossScale(True),
    "a name that is none": lambda: SGD(0.1, name="a b"),
    "no optimizer": lambda: Lookahead("sgd"),
    "no optimizer to look around": lambda: SAM("sgd"),
    "a selector in place of selectors": lambda: Muon(adamw="embeddings"),
    "a word after the warm-up": lambda: schedules.LinearWarmup(3, "cosine"),
    "a function after the warm-up": lambda: schedules.ConstantWarmup(3, lambda step: 0.1, 0.01),
    "boundaries that fall": lambda: schedules.PiecewiseConstant([5, 3], [0.1, 0.2, 0.3]),
    "boundaries that are equal": lambda: schedules.PiecewiseConstant([5, 5], [0.1, 0.2, 0.3]),
    "too few values": lambda: schedules.PiecewiseConstant([5], [0.1]),
    "too many values": lambda: schedules.PiecewiseConstant([5], [0.1, 0.2, 0.3]),
    "a boundary before the start": lambda: schedules.PiecewiseConstant([-1], [0.1, 0.2]),
    "a boundary that is a word": lambda: schedules.PiecewiseConstant(["5"], [0.1, 0.2]),
    "a negative value": lambda: schedules.PiecewiseConstant([5], [0.1, -0.2]),
    "a value that is a bool": lambda: schedules.PiecewiseConstant([5], [0.1, True]),
    "a schedule that is never seen": lambda: schedules.Join([0.1, 0.2], [0]),
    "too few schedules": lambda: schedules.Join([0.1], [3]),
    "a schedule that is a word": lambda: schedules.Join([0.1, "x"], [3]),
    "half of a warm-up": lambda: schedules.CosineDecay(0.1, 10, warmup_steps=3),
    "the other half of it": lambda: schedules.CosineDecay(0.1, 10, warmup_target=0.3),
    "a cycle upside down": lambda: schedules.Cyclic(0.2, 0.1),
    "a cycle without a step up": lambda: schedules.OneCycle(0.1, 3, rising=0.1),
    "c1 above c2": lambda: LBFGS(c1=0.5, c2=0.1),
    "nesterov alone": lambda: SGD(0.1, nesterov=True),
    "accumulation in a rule": lambda: SGD(0.1, rules=[("**", {"optimizer": SGD(0.1, accumulation_steps=2)})]),
    "no transformation": lambda: Optax("adam"),
    "limits the wrong way round": lambda: optimizers.Rprop(limits=(2.0, 3.0)),
}


@pytest.mark.parametrize("mistake", OF_THEIR_OWN)
def test_audit_mistakes_of_their_own(mistake):
    with pytest.raises(GraftaxError) as caught:
        OF_THEIR_OWN[mistake]()
    assert caught.value.reason
    assert caught.value.instead


def test_numbers_of_numpy_are_kept_as_written():
    adam = Adam(np.float32(0.1), np.float32(0.9), np.float64(0.99), np.asarray(1e-3), weight_decay=gx.ops.asarray(0.01))
    assert (adam.beta_1, adam.beta_2, adam.epsilon) == (0.9, 0.99, 1e-3)
    assert type(adam.weight_decay) is float
    assert schedules.CosineDecay(np.float32(0.1), np.int64(10)).decay_steps == 10


def test_a_variable_is_checked_by_what_it_holds():
    with pytest.raises(ArgumentError, match="momentum"):
        SGD(0.1, momentum=gx.Variable(1.5, trainable=False))
    with pytest.raises(ArgumentError, match="momentum"):
        SGD(0.1, momentum=gx.Variable([0.5, 0.5], trainable=False))
    assert SGD(0.1, momentum=gx.Variable(0.5, trainable=False)).momentum.value == 0.5


def test_copies_and_pickles_pass_the_checks():
    for name in CLASSES:
        one = made(name)
        assert repr(copy.deepcopy(one)) == repr(one)
        assert repr(pickle.loads(pickle.dumps(one))) == repr(one)


@pytest.mark.broad
def test_a_schedule_with_a_shape_is_a_rate():
    """`OneCycle` and `WarmupStableDecay` have an attribute of that name, and are no arrays."""
    for schedule in (schedules.OneCycle(0.5, 10), schedules.WarmupStableDecay(0.5, 2, 2, 2, shape="cosine")):
        w = gx.Variable([1.0])
        optimizer = AdamW(schedule)
        optimizer.apply([[1.0]], [w])
        assert float(optimizer.learning_rate) == float(schedule(1))
