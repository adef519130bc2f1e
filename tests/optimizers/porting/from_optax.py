"""What docs/optimizers.md says of optax, line by line, as programs that raise where it is wrong."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax.optimizers import SGD, Adam, AdamW, Optax, Prodigy, ScheduleFreeAdamW, schedules
from tests.optimizers.porting.walks import differs, gradients, here, in_optax, same, start


def any_tx():
    optax = pytest.importorskip("optax")
    same(here(lambda: Optax(optax.adamw(0.05))), in_optax(lambda o: o.adamw(0.05)), rtol=1e-12)


def three_functions():
    same(here(lambda: SGD(0.1, 0.9)), in_optax(lambda o: o.sgd(0.1, 0.9)))


def chained():
    same(
        here(lambda: AdamW(0.05, 0.1, epsilon=1e-8, epsilon_form="torch", global_clipnorm=1.0)),
        in_optax(lambda o: o.chain(o.clip_by_global_norm(1.0), o.adamw(0.05, weight_decay=0.1))),
    )


def clips():
    same(here(lambda: SGD(0.1, clipvalue=0.5)), in_optax(lambda o: o.chain(o.clip(0.5), o.sgd(0.1))))
    same(
        here(lambda: SGD(0.1, adaptive_clip=0.01), names=("kernel", "bias")),
        in_optax(lambda o: o.chain(o.adaptive_grad_clip(0.01), o.sgd(0.1)), names=("kernel", "bias")),
    )


def many_steps():
    same(
        here(lambda: Adam(0.05, epsilon=1e-8, epsilon_form="torch", accumulation_steps=4)),
        in_optax(lambda o: o.MultiSteps(o.adam(0.05), 4)),
        rtol=2e-6,  # of the mean that it keeps
    )


def masks_and_labels():
    same(
        here(lambda: SGD(0.1, rules=[("bias", {"frozen": True})])),
        in_optax(
            lambda o: o.multi_transform(
                {"on": o.sgd(0.1), "off": o.set_to_zero()}, {"kernel": "on", "bias": "off", "scale": "on"}
            )
        ),
    )
    same(
        here(lambda: SGD(0.1, rules=[("bias", {"optimizer": Adam(0.05, epsilon=1e-8, epsilon_form="torch")})])),
        in_optax(
            lambda o: o.multi_transform(
                {"sgd": o.sgd(0.1), "adam": o.adam(0.05)}, {"kernel": "sgd", "bias": "adam", "scale": "sgd"}
            )
        ),
    )


def averages():
    with jax.enable_x64(True):
        variables = {n: gx.Variable(v, dtype="float64", name=n) for n, v in start().items()}
        optimizer = SGD(0.05, ema_momentum=0.8)
        expected = None
        for g in gradients():
            optimizer.apply(g, variables)
            now = {n: v.numpy() for n, v in variables.items()}
            expected = now if expected is None else {n: 0.8 * expected[n] + 0.2 * now[n] for n in now}
        with optimizer.averaged():
            same({n: v.numpy() for n, v in variables.items()}, expected)


def prodigy():
    same(
        here(lambda: Prodigy(d0=1e-6, use_bias_correction=True)),
        in_optax(lambda o: o.contrib.prodigy(estim_lr0=1e-6)),
        rtol=1e-6,
    )


def schedule_free():
    """The same without a warm-up; with one, the step warms up together with the weights."""
    options = {"epsilon": 1e-8}
    same(
        here(lambda: ScheduleFreeAdamW(0.05, **options)),
        in_optax(lambda o: o.contrib.schedule_free_adamw(0.05)),
        rtol=1e-6,
    )
    differs(here(lambda: ScheduleFreeAdamW(0.05, 5)), in_optax(lambda o: o.contrib.schedule_free_adamw(0.05, 5)))


def finite():
    broken = gradients()
    for place in (3, 7):
        broken[place] = {name: value * np.nan for name, value in broken[place].items()}
    same(
        here(lambda: Adam(0.05, epsilon=1e-8, epsilon_form="torch", loss_scale=1.0), broken),
        in_optax(lambda o: o.apply_if_finite(o.adam(0.05), 5), broken),
    )


def injected():
    with jax.enable_x64(True):
        w, rate = gx.Variable([1.0], dtype="float64"), gx.Variable(0.5, dtype="float64", trainable=False)
        optimizer = SGD(rate)
        step = gx.jit(lambda: optimizer.apply([[1.0]], [w]))
        step()
        rate.assign(0.25)
        step()
        assert w.numpy().tolist() == [0.25]
        assert step.trace_count == 1


def warm_cosine():
    ours = schedules.CosineDecay(0.0, 900, warmup_target=0.1, warmup_steps=100)
    optax = pytest.importorskip("optax")
    theirs = optax.warmup_cosine_decay_schedule(0, 0.1, 100, 1000)
    with jax.enable_x64(True):
        for step in (0, 1, 50, 99, 100, 101, 500, 999, 1000, 1500):
            np.testing.assert_allclose(float(ours(step)), float(theirs(step)), rtol=1e-7, atol=1e-12)


def the_others():
    g = gx.optimizers
    for ours, theirs in (
        (lambda: g.Adadelta(0.1, 0.9, 1e-6), lambda o: o.adadelta(0.1)),
        (lambda: g.Nadam(0.1, epsilon=1e-8, momentum_decay=None), lambda o: o.nadam(0.1)),
        (lambda: g.LAMB(0.1, epsilon=1e-6, weight_decay=0.2), lambda o: o.lamb(0.1, weight_decay=0.2)),
        (lambda: g.Lion(0.1, weight_decay=0.2), lambda o: o.lion(0.1, weight_decay=0.2)),
        (lambda: g.RMSprop(0.1, epsilon=1e-8), lambda o: o.rmsprop(0.1)),
        (lambda: g.Adagrad(0.1, epsilon=1e-7), lambda o: o.adagrad(0.1)),
        (lambda: g.Yogi(0.1), lambda o: o.yogi(0.1)),
        (lambda: g.AdaBelief(0.1), lambda o: o.adabelief(0.1)),
        (lambda: g.AdEMAMix(0.1), lambda o: o.contrib.ademamix(0.1)),
        (lambda: g.ADOPT(0.1), lambda o: o.contrib.adopt(0.1)),
        (lambda: g.SignSGD(0.1), lambda o: o.sign_sgd(0.1)),
    ):
        same(here(ours), in_optax(theirs), rtol=1e-7)


OPTAX = {
    "any `tx`": any_tx,
    "`init(params)`, `update(grads, state, params)`, `apply_updates`": three_functions,
    "`chain(clip_by_global_norm(1.0), adamw(lr, weight_decay=wd))`": chained,
    "`adaptive_grad_clip(0.01)`, `clip`, `clip_by_block_rms`": clips,
    "`MultiSteps(tx, 4)`": many_steps,
    "`masked`, `multi_transform(..., labels)`": masks_and_labels,
    "`ema(0.999)`, `params_ema`": averages,
    "`contrib.prodigy(estim_lr0=1e-6)`": prodigy,
    "`contrib.schedule_free_adamw(lr, w)`, `schedule_free_eval_params`": schedule_free,
    "`apply_if_finite(tx, n)`": finite,
    "`inject_hyperparams`": injected,
    "`warmup_cosine_decay_schedule(0, peak, 100, 1000)`": warm_cosine,
    "`adadelta`, `nadam`, `lamb`, `lion`, `rmsprop`, `adagrad`, `yogi`, `adabelief`, `ademamix`, `adopt`": the_others,
}
