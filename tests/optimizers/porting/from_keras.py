"""What docs/optimizers.md says of Keras, line by line, as programs that raise where it is wrong."""

import copy
import pickle

import jax
import numpy as np
import pytest

import graftax as gx
from graftax.optimizers import (
    LAMB,
    SGD,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Ftrl,
    Lion,
    Muon,
    Nadam,
    RMSprop,
    ScheduleFreeAdamW,
    schedules,
)
from tests.optimizers.porting.walks import differs, gradients, here, in_keras, same, start

AWAY = {
    "SGD": [{"learning_rate": 0.05, "momentum": 0.7}, {"learning_rate": 0.05, "momentum": 0.7, "nesterov": True}],
    "Adam": [
        {"learning_rate": 0.05, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-3},
        {"learning_rate": 0.05, "amsgrad": True},
    ],
    "AdamW": [{"learning_rate": 0.05, "weight_decay": 0.1, "beta_1": 0.7}],
    "Adamax": [{"learning_rate": 0.05, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-3}],
    "RMSprop": [{"learning_rate": 0.05, "rho": 0.8, "momentum": 0.5, "centered": True, "epsilon": 1e-3}],
    "Adagrad": [{"learning_rate": 0.5, "epsilon": 1e-3}],
    "Lion": [{"learning_rate": 0.05, "beta_1": 0.8, "beta_2": 0.95}],
}
COMMON = {"weight_decay": 0.1}, {"clipvalue": 0.5}, {"clipnorm": 0.7}, {"global_clipnorm": 0.9}
OURS = {kind.__name__: kind for kind in (SGD, Adam, AdamW, Adamax, RMSprop, Adagrad, Lion)}


def defaults_and_others():
    for name, kind in OURS.items():
        for options in ({}, *AWAY[name], *COMMON):
            same(
                here(lambda kind=kind, options=options: kind(**options)),
                in_keras(lambda keras, name=name, options=options: getattr(keras.optimizers, name)(**options)),
            )


def adadelta():
    same(here(lambda: Adadelta(0.001)), in_keras(lambda keras: keras.optimizers.Adadelta()))
    options = {"learning_rate": 0.5, "rho": 0.8, "epsilon": 1e-4}
    same(here(lambda: Adadelta(**options)), in_keras(lambda keras: keras.optimizers.Adadelta(**options)))


def nadam():
    same(here(lambda: Nadam(momentum_decay=1.0)), in_keras(lambda keras: keras.optimizers.Nadam()))
    options = {"learning_rate": 0.05, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-4}
    same(here(lambda: Nadam(momentum_decay=1.0, **options)), in_keras(lambda keras: keras.optimizers.Nadam(**options)))
    differs(here(lambda: Nadam(0.1)), in_keras(lambda keras: keras.optimizers.Nadam(0.1)))


def lamb():
    options = {"learning_rate": 0.05, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-4}
    for given in ({}, options):
        same(
            here(lambda given=given: LAMB(**given)), in_keras(lambda keras, given=given: keras.optimizers.Lamb(**given))
        )
    with_decay = {"learning_rate": 0.05, "weight_decay": 0.1}
    differs(here(lambda: LAMB(**with_decay)), in_keras(lambda keras: keras.optimizers.Lamb(**with_decay)))


def adafactor():
    same(here(Adafactor), in_keras(lambda keras: keras.optimizers.Adafactor()), rtol=1e-6)
    same(
        here(lambda: Adafactor(0.3, 0.6, 1e-8, 1e-2, 0.7)),
        in_keras(lambda keras: keras.optimizers.Adafactor(0.3, -0.6, 1e-8, 1e-2, 0.7)),
        rtol=1e-6,
    )
    same(
        here(lambda: Adafactor(0.3)),
        in_keras(lambda keras: keras.optimizers.Adafactor(0.3, relative_step=False)),
        rtol=1e-6,
    )
    absolute = here(lambda: Adafactor(0.3, relative_step=False))
    differs(absolute, in_keras(lambda keras: keras.optimizers.Adafactor(0.3, relative_step=False)))


def ftrl():
    same(here(Ftrl), in_keras(lambda keras: keras.optimizers.Ftrl()))
    theirs = {
        "learning_rate_power": -0.6,
        "initial_accumulator_value": 0.2,
        "l1_regularization_strength": 0.1,
        "l2_regularization_strength": 0.2,
        "l2_shrinkage_regularization_strength": 0.3,
        "beta": 0.4,
    }
    same(
        here(lambda: Ftrl(0.1, -0.6, 0.2, l1_strength=0.1, l2_strength=0.2, l2_shrinkage=0.3, beta=0.4)),
        in_keras(lambda keras: keras.optimizers.Ftrl(0.1, **theirs)),
    )


def muon():
    theirs = {"weight_decay": None, "adam_weight_decay": 0.0}
    same(
        here(Muon, names=("kernel", "bias")),
        in_keras(lambda keras: keras.optimizers.Muon(**theirs), names=("kernel", "bias")),
        rtol=1e-5,
    )


def schedule_free():
    same(here(lambda: ScheduleFreeAdamW(weight_lr_power=0.0)), in_keras(lambda k: k.optimizers.ScheduleFreeAdamW()))
    same(
        here(lambda: ScheduleFreeAdamW(0.05, 5, 0.8, 0.95, 1e-4, weight_lr_power=0.0)),
        in_keras(lambda k: k.optimizers.ScheduleFreeAdamW(0.05, 0.8, 0.95, 1e-4, warmup_steps=5)),
    )


def the_schedules():
    def both(ours, theirs):
        found = in_keras(lambda keras: keras.optimizers.SGD(theirs(keras.optimizers.schedules)))
        same(here(lambda: SGD(ours)), found, rtol=2e-5)  # theirs are computed in float32

    both(schedules.ExponentialDecay(0.1, 7, 0.3), lambda s: s.ExponentialDecay(0.1, 7, 0.3))
    both(schedules.ExponentialDecay(0.1, 7, 0.3, True), lambda s: s.ExponentialDecay(0.1, 7, 0.3, True))
    both(schedules.InverseTimeDecay(0.1, 7, 0.3), lambda s: s.InverseTimeDecay(0.1, 7, 0.3))
    both(schedules.PolynomialDecay(0.1, 9, 0.01, 1.5), lambda s: s.PolynomialDecay(0.1, 9, 0.01, 1.5))
    both(schedules.PolynomialDecay(0.1, 9, 0.01, 1.5, True), lambda s: s.PolynomialDecay(0.1, 9, 0.01, 1.5, True))
    both(schedules.CosineDecay(0.1, 9, 0.1), lambda s: s.CosineDecay(0.1, 9, 0.1))
    both(
        schedules.CosineDecay(0.1, 9, 0.1, 0.2, 5),
        lambda s: s.CosineDecay(0.1, 9, 0.1, warmup_target=0.2, warmup_steps=5),
    )
    both(schedules.CosineDecayRestarts(0.1, 5, 2.0, 0.9), lambda s: s.CosineDecayRestarts(0.1, 5, 2.0, 0.9))
    both(
        schedules.PiecewiseConstant([5, 9], [0.1, 0.2, 0.3]),
        lambda s: s.PiecewiseConstantDecay([5, 9], [0.1, 0.2, 0.3]),
    )


class Halving(gx.Optimizer):
    """The rule of one's own that both libraries get."""

    def create_slots(self, variable):
        return {"m": gx.Slot()}

    def update(self, gradient, value, slots, step):
        m = 0.5 * slots.m + gradient
        return value - step.learning_rate * m, {"m": m}


def keras_halving(keras):
    class Halving(keras.optimizers.Optimizer):
        def build(self, variables):
            super().build(variables)
            self.m = [self.add_variable_from_reference(v, "m") for v in variables]

        def update_step(self, gradient, variable, learning_rate):
            m = self.m[self._get_variable_index(variable)]
            self.assign(m, 0.5 * m + gradient)
            self.assign_sub(variable, learning_rate * m)

    return Halving(0.1)


def slots_of_ones_own():
    same(here(lambda: Halving(0.1)), in_keras(keras_halving))


def stateless():
    def pure():
        with jax.enable_x64(True):
            variables = {n: gx.Variable(v, dtype="float64", name=n) for n, v in start().items()}
            optimizer = AdamW(0.05, global_clipnorm=1.0)
            state, values = optimizer.pure_state(variables), {n: v.value for n, v in variables.items()}
            for g in gradients():
                values, state = optimizer.pure_update(g, state, values)
            return {n: np.asarray(v) for n, v in values.items()}

    same(pure(), in_keras(lambda keras: keras.optimizers.AdamW(0.05, global_clipnorm=1.0)))


def excluded():
    def theirs(keras):
        made = keras.optimizers.AdamW(0.05, weight_decay=0.3)
        made.exclude_from_weight_decay(var_names=["bias"])
        return made

    same(here(lambda: AdamW(0.05, weight_decay=0.3, rules=[("**/bias", {"weight_decay": 0.0})])), in_keras(theirs))


def accumulated():
    for options in ({}, {"global_clipnorm": 0.5, "weight_decay": 0.1}):
        same(
            here(lambda options=options: Adam(0.05, accumulation_steps=4, **options)),
            in_keras(lambda k, options=options: k.optimizers.Adam(0.05, gradient_accumulation_steps=4, **options)),
        )


def averages():
    def ours():
        with jax.enable_x64(True):
            variables = {n: gx.Variable(v, dtype="float64", name=n) for n, v in start().items()}
            optimizer = SGD(0.05, ema_momentum=0.8)
            for g in gradients():
                optimizer.apply(g, variables)
            with optimizer.averaged():
                inside = {n: v.numpy() for n, v in variables.items()}
            optimizer.assign_averages()
            same(inside, {n: v.numpy() for n, v in variables.items()})
            return inside

    same(ours(), in_keras(lambda k: k.optimizers.SGD(0.05, use_ema=True, ema_momentum=0.8), finalize=True))


def clips_together():
    for options in ({"clipnorm": 0.7}, {"clipvalue": 0.5}, {"global_clipnorm": 0.9}):
        same(
            here(lambda options=options: SGD(0.1, **options)),
            in_keras(lambda keras, options=options: keras.optimizers.SGD(0.1, **options)),
        )
    here(lambda: SGD(0.1, clipnorm=0.7, clipvalue=0.5, global_clipnorm=0.9))
    keras = pytest.importorskip("keras")
    with pytest.raises(ValueError, match="clipnorm"):
        keras.optimizers.SGD(0.1, clipnorm=0.7, clipvalue=0.5)


def loss_scale():
    scaled = [{name: 1024 * value for name, value in g.items()} for g in gradients()]
    same(
        here(lambda: SGD(0.1, momentum=0.5, loss_scale=1024.0), scaled),
        in_keras(lambda keras: keras.optimizers.SGD(0.1, momentum=0.5, loss_scale_factor=1024.0), scaled),
    )


KERAS_3 = {
    '`build(variables)` with `add_variable_from_reference(v, "m")`': slots_of_ones_own,
    "`update_step(gradient, variable, learning_rate)` with `self.assign(...)`": slots_of_ones_own,
    "`stateless_apply(...)`": stateless,
    '`exclude_from_weight_decay(var_names=["bias"])`': excluded,
    "`gradient_accumulation_steps=4`": accumulated,
    "`use_ema=True, ema_momentum=0.99`, `finalize_variable_values`": averages,
    "`clipnorm` or `clipvalue` or `global_clipnorm`": clips_together,
    "`loss_scale_factor=1024.0`": loss_scale,
    "`SGD`, `Adam`, `AdamW`, `Adamax`, `RMSprop`, `Adagrad`, `Lion`": defaults_and_others,
    "`Adadelta()`": adadelta,
    "`Nadam()`": nadam,
    "`Lamb()`": lamb,
    "`Adafactor()`": adafactor,
    "`Ftrl(initial_accumulator_value=, l1_regularization_strength=, ...)`": ftrl,
    "`Muon(weight_decay=None, adam_weight_decay=0.0)`": muon,
    "`ScheduleFreeAdamW()`": schedule_free,
    "`schedules.CosineDecay` and the others, `PiecewiseConstantDecay`": the_schedules,
}


# --- Keras 2 and TensorFlow: what stands on the right, as it is used -----------------------------------------------


class Ported(gx.Optimizer):
    """All that the table names."""

    elementwise = True

    def __init__(self, learning_rate=0.5, beta=0.9, **options):
        super().__init__(learning_rate, **options)
        self.beta = beta
        self.asked = []

    def create_slots(self, variable):
        return {"m": gx.Slot(initializer="ones")}

    def update(self, gradient, value, slots, step):
        root = step.once(lambda step: step.iterations + 0.0 * step.learning_rate)
        self.asked.append(float(root))
        m = self.beta * slots.m + gradient
        return value - step.learning_rate * m, {"m": m}


def ported():
    w, v = gx.Variable([1.0]), gx.Variable([1.0])
    optimizer = Ported(beta=gx.Variable(0.5, trainable=False))
    optimizer.build([w, v])
    assert optimizer.slot(w, "m").numpy().tolist() == [1.0]
    optimizer.apply([[1.0], [1.0]], [w, v])
    assert w.numpy().tolist() == [1 - 0.5 * 1.5]
    assert optimizer.asked == [0.0, 0.0]


def sparse():
    table = gx.Variable(np.ones((4, 2)))
    Ported(lazy=True).apply([gx.IndexedRows([1], np.ones((1, 2), "float32"), (4, 2))], [table])
    assert np.flatnonzero((table.numpy() != 1).any(1)).tolist() == [1]


def once():
    calls = []

    class Once(Ported):
        def update(self, gradient, value, slots, step):
            step.once(self.prepare)
            return super().update(gradient, value, slots, step)

        def prepare(self, step):
            calls.append(1)

    Once().apply([[1.0], [1.0]], [gx.Variable([1.0]), gx.Variable([1.0])])
    assert len(calls) == 1


def no_config():
    optimizer = Adam(0.5, beta_1=0.8)
    for again in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert repr(again) == repr(optimizer) == "Adam(learning_rate=0.5, beta_1=0.8)"


def decay():
    w = gx.Variable([0.0])
    optimizer = SGD(schedules.InverseTimeDecay(0.1, 1, 0.5))
    for _ in range(3):
        optimizer.apply([[1.0]], [w])
    np.testing.assert_allclose(w.numpy(), [-sum(0.1 / (1 + 0.5 * t) for t in range(3))], rtol=1e-6)


def dynamic():
    w = gx.Variable([1.0])
    optimizer = SGD(0.5, loss_scale="dynamic")
    optimizer.apply([[np.inf]], [w])
    assert w.numpy().tolist() == [1.0]
    assert float(optimizer.loss_scale.scale) == 2.0**14


KERAS_2 = {
    '`_set_hyper("beta", 0.9)`, `self._get_hyper("beta", dtype)`': ported,
    '`_create_slots(var_list)` with `add_slot(var, "m", "ones")`': ported,
    '`get_slot(var, "m")`': ported,
    "`_resource_apply_dense(grad, var, apply_state)`": ported,
    "`_resource_apply_sparse(grad, var, indices)`": sparse,
    "`_prepare_local`, `apply_state`": once,
    "`self.iterations`, `_decayed_lr(dtype)`": ported,
    "`get_config`": no_config,
    "`lr=`, `decay=0.5`": decay,
    '`LossScaleOptimizer(opt, "dynamic")`': dynamic,
}
