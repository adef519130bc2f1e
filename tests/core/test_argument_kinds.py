"""Arguments of constructors are of the kind that their annotations say: nothing else is taken, nor fails far away."""

import math

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics, optimizers, reparam
from graftax.core.errors import ArgumentTypeError
from graftax.optimizers import schedules

WRONG = [
    (lambda: layers.Dense(4, use_bias="no"), "use_bias='no'", "use_bias=True"),
    (lambda: layers.Dense(4, trainable="no"), "trainable='no'", "trainable=True"),
    (lambda: layers.Dense(4, None, 7), "use_bias=7", "use_bias=True"),
    (lambda: layers.Dense(4, dtype=16), "dtype=16", "dtype=None"),
    (lambda: layers.LSTM(4, return_sequences="yes"), "return_sequences='yes'", "return_sequences=False"),
    (lambda: layers.LSTM(4, seed=1.5), "seed=1.5", "seed=None"),
    (lambda: layers.BatchNormalization(axis="last"), "axis='last'", "axis=-1"),
    (lambda: layers.LayerNormalization(axis=1.5), "axis=1.5", "axis=-1"),
    (lambda: layers.Dropout(0.5, noise_shape=3), "noise_shape=3", "noise_shape=None"),
    (lambda: layers.Dropout("0.5"), "rate='0.5'", ""),
    (lambda: losses.Huber("x"), "delta='x'", "delta=1.0"),
    (lambda: losses.BinaryCrossentropy(from_logits="auto"), "from_logits='auto'", "from_logits=False"),
    (lambda: losses.BinaryCrossentropy(label_smoothing="0.1"), "label_smoothing='0.1'", "label_smoothing=0.0"),
    (lambda: gx.initializers.RandomNormal(stddev="x"), "stddev='x'", "stddev=0.05"),
    (lambda: gx.initializers.RandomNormal(stddev=math.nan), "stddev=nan", "stddev=0.05"),
    (lambda: optimizers.Adam(epsilon="x"), "epsilon='x'", "epsilon=1e-07"),
    (lambda: optimizers.Adam(beta_1="x"), "beta_1='x'", "beta_1=0.9"),
    (lambda: optimizers.Adam(amsgrad="x"), "amsgrad='x'", "amsgrad=False"),
    (lambda: optimizers.Muon(adamw="**/embeddings"), "adamw='**/embeddings'", "adamw=()"),
    (lambda: optimizers.Muon(steps=2.5), "steps=2.5", "steps=5"),
    (lambda: optimizers.SGD(0.1, rules=7), "rules=7", "rules=()"),
    (lambda: schedules.CosineDecay("x", 100), "initial_learning_rate='x'", "initial_learning_rate=0.5"),
    (lambda: schedules.ExponentialDecay(0.1, 100, 0.5, staircase="x"), "staircase='x'", "staircase=False"),
    (lambda: reparam.LoRA(2, stabilized=3), "stabilized=3", "stabilized=False"),
    (lambda: reparam.PruningSchedule(0.5, 100, begin=1.5), "begin=1.5", "begin=0"),
]


@pytest.mark.parametrize(("make", "what", "instead"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_a4_values_of_another_kind_are_refused(make, what, instead):
    with pytest.raises((ArgumentTypeError, ValueError)) as caught:
        make()
    assert what.partition("=")[0] in caught.value.received
    assert instead.partition("=")[0] in caught.value.instead


@pytest.mark.parametrize("flag", [True, False, 0, 1, np.True_])
def test_flags_are_bools_or_zero_and_one(flag):
    assert layers.Dense(4, use_bias=flag).use_bias == bool(flag)


def test_numbers_of_numpy_and_variables_are_numbers():
    assert optimizers.Adam(np.float32(0.1), beta_1=gx.Variable(0.9)).beta_1.shape == ()
    assert gx.initializers.RandomNormal(stddev=np.float64(0.5)).stddev == 0.5
    assert layers.LayerNormalization(axis=[1, 2]).axis is not None


def test_classes_of_ones_own_take_what_they_like():
    class Mine(gx.Layer):
        def __init__(self, flag: bool = False):
            super().__init__()
            self.flag = flag

    assert Mine(flag="anything").flag == "anything"


def test_an_error_that_knows_better_comes_first():
    with pytest.raises(gx.errors.ArgumentError, match="units=2.5"):
        layers.Dense(2.5)


def built():
    layer = layers.Dense(2)
    layer.build((None, 3))
    return layer


def scope(creator):
    with gx.variable_creator_scope(creator):
        pass


SENSELESS = [
    lambda: setattr(built(), "trainable", "no"),
    lambda: setattr(built(), "trainable", None),
    lambda: setattr(built().kernel, "trainable", "no"),
    lambda: gx.Variable(1.0, trainable="no"),
    lambda: gx.Variable(1.0, name=3),
    lambda: built().add_weight((1,), trainable="no"),
    lambda: gx.Model(name=3),
    lambda: gx.explain("x", "**"),
    lambda: gx.explain(built().kernel, "**"),
    lambda: gx.graft("x", reparam.WeightNorm()),
    lambda: gx.ungraft("x"),
    lambda: gx.graft(built(), "lora"),
    lambda: gx.graft(built(), reparam.LoRA),
    lambda: gx.graft(built(), reparam.WeightNorm),
    lambda: gx.graft(built(), reparam.WeightNorm(), tolerance="x"),
    lambda: scope("lora"),
    lambda: scope(reparam.LoRA),
]


@pytest.mark.parametrize("act", SENSELESS)
def test_a1_what_makes_no_sense_around_selectors_is_refused(act):
    with pytest.raises(gx.errors.GraftaxError) as caught:
        act()
    assert caught.value.reason
    assert caught.value.instead


def test_flags_of_numpy_freeze():
    layer = built()
    layer.trainable = np.False_
    assert layer.trainable_variables == []
    layer.trainable = True
    assert len(layer.trainable_variables) == 2


def test_a_warning_of_a_constructor_names_the_line_of_the_user():
    class Net(gx.Layer):
        def __init__(self):
            super().__init__()
            self.blocks = {layers.Dense(2)}

    with pytest.warns(UserWarning, match="is a set") as caught:
        Net()
    assert caught[0].filename == __file__


@pytest.mark.parametrize("value", [[0.1], (0.1,), [0.1, 0.5], 0.25, "high"])
@pytest.mark.parametrize("kind", [metrics.BinaryAccuracy])
def test_a_keyword_that_was_meant_is_offered_with_a_value_that_it_takes(kind, value):
    with pytest.raises(ArgumentTypeError) as caught:
        kind(thresholds=value)
    instead = caught.value.instead
    if value == "high":
        assert instead.startswith("threshold=0.5, since ")
    elif instead.startswith("one "):
        made = eval(f"[{instead.partition(': ')[2]}]", vars(metrics))
        assert [one.threshold for one in made] == list(value)
    else:
        made = eval(f"kind({instead})", {"kind": kind})
        assert made.threshold == np.ravel(value)[0]


@pytest.mark.parametrize("value", [(0.1,), (0.1, 0.5), 0.25])
@pytest.mark.parametrize("kind", [metrics.Precision, metrics.Recall])
def test_a_keyword_that_was_meant_is_offered_with_several_values(kind, value):
    with pytest.raises(ArgumentTypeError) as caught:
        kind(thresholds=value)
    made = eval(f"kind({caught.value.instead})", {"kind": kind})
    assert made.threshold == value
