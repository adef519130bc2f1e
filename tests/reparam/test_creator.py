"""Settings of creators: checked when they are made and whenever one is assigned, and used as they are then."""

import math

import numpy as np
import pytest

import graftax as gx
from graftax import reparam
from graftax.core.errors import ArgumentError, GraftaxError

X = np.ones((2, 3), "float32")

CREATORS = {
    "LowRank": lambda: reparam.LowRank(rank=2),
    "LoRA": lambda: reparam.LoRA(rank=2),
    "DoRA": lambda: reparam.DoRA(rank=2),
    "FakeQuant": lambda: reparam.FakeQuant(),
    "Int8": lambda: reparam.Int8(),
    "Int4": lambda: reparam.Int4(),
    "Positive": lambda: reparam.Positive(),
    "Orthogonal": lambda: reparam.Orthogonal(),
    "SpectralNorm": lambda: reparam.SpectralNorm(),
    "VariationalNormal": lambda: reparam.VariationalNormal(),
    "HyperNetwork": lambda: reparam.HyperNetwork(gx.layers.Dense(4)),
    "PruningSchedule": lambda: reparam.PruningSchedule(0.5, steps=10),
    "Shared": lambda: reparam.Shared(gx.Variable(X)),
}
WRONG = {
    "nan": math.nan,
    "infinite": math.inf,
    "a word": "nonsense",
    "a list": [2],
    "an array": np.ones(2),
    "a function": lambda step: 2,
    "a schedule": gx.optimizers.schedules.Constant(2.0),
    "complex": 2j,
    "a Variable": gx.Variable(2.0),
}


@pytest.mark.parametrize("name", CREATORS)
@pytest.mark.parametrize("wrong", WRONG)
def test_every_setting_refuses_what_it_cannot_be_and_stays(name, wrong):
    creator = CREATORS[name]()
    for setting in type(creator).checks:
        if (setting, wrong) in {("source", "a Variable"), ("module", "a schedule"), ("name", "a word")}:
            continue
        before = getattr(creator, setting)
        with pytest.raises(GraftaxError, match=setting):
            setattr(creator, setting, WRONG[wrong])
        assert getattr(creator, setting) is before


@pytest.mark.parametrize("name", CREATORS)
def test_every_argument_is_checked(name):
    creator = CREATORS[name]()
    assert set(vars(creator)) == set(type(creator).checks)


def test_numbers_are_no_flags_and_flags_no_numbers():
    for name, make in CREATORS.items():
        creator = make()
        for setting in type(creator).checks:
            wrong = 2 if isinstance(getattr(creator, setting), bool) else True
            with pytest.raises(GraftaxError, match=setting):
                setattr(creator, setting, wrong)
            assert getattr(creator, setting) is not wrong, name


def test_what_follows_from_a_setting_follows_when_it_changes():
    lora, fake = reparam.LoRA(rank=2), reparam.FakeQuant(bits=8)
    lora.rank = 8  # alpha was not given, so it is the rank
    fake.bits = 4
    assert lora.scale == 1.0
    assert repr(lora) == repr(reparam.LoRA(rank=8))
    assert fake.tolerance == reparam.FakeQuant(bits=4).tolerance


def test_a_pruning_schedule_that_falls_is_refused_however_it_comes_about():
    schedule = reparam.PruningSchedule(0.5, steps=10)
    schedule.initial = 0.75
    with pytest.raises(ArgumentError, match="final"):
        schedule(3)
    schedule.final = 0.9
    assert 0.75 < float(schedule(3)) < 0.9


def test_a_fraction_is_no_flag():
    layer = gx.layers.Dense(2)
    layer.build((None, 3))
    gx.graft(layer, reparam.Mask(), where="kernel")
    for wrong in (True, np.True_):
        with pytest.raises(ArgumentError, match="fraction"):
            reparam.prune(layer, wrong)
    assert bool(layer.kernel.mask.numpy().all())


@pytest.mark.broad
def test_the_weight_of_a_distance_may_change_as_a_variable_without_being_trained():
    held = gx.Variable(0.0, trainable=False)
    with gx.variable_creator_scope(reparam.VariationalNormal(kl_weight=held), where="**/kernel"):
        model = gx.Sequential([gx.layers.Dense(2), gx.layers.Dense(2)])
        model(X)
    assert not any(variable is held for variable in model.trainable_variables)
    compiled = gx.jit(lambda: gx.ops.sum(gx.ops.stack([layer.kernel.penalty() for layer in model.layers])))
    assert float(compiled()) == 0.0
    held.assign(2.0)
    kl = 2 * sum(float(layer.kernel.penalty()) / 2 for layer in model.layers)
    assert float(compiled()) == pytest.approx(kl)
    assert kl > 1.0
    for wrong in (gx.Variable(1.0), gx.Variable([1.0], trainable=False), gx.Variable(1, trainable=False)):
        with pytest.raises(ArgumentError, match="kl_weight"):
            reparam.VariationalNormal(kl_weight=wrong)
