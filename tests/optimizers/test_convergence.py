"""Every rule finds the minimum of a bent valley, of an ill-conditioned bowl, and learns digits."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.optimizers import (
    ADOPT,
    LBFGS,
    SGD,
    SOAP,
    AdaBelief,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    Adan,
    AdEMAMix,
    Ftrl,
    Lion,
    Lookahead,
    Nadam,
    NAdamW,
    Prodigy,
    RAdam,
    RMSprop,
    Rprop,
    ScheduleFreeAdamW,
    ScheduleFreeSGD,
    Shampoo,
    SignSGD,
    Sophia,
    Yogi,
    schedules,
)

pytestmark = pytest.mark.slow


def falling(rate):
    return schedules.PolynomialDecay(rate, 600, rate / 100)


def constant(rate):
    """What `falling` starts with: for rules that are to need no schedule."""
    return getattr(rate, "initial_learning_rate", rate)


# For the valley, the bowl and the digits.
RULES = {
    "sgd": (lambda rate: SGD(rate, 0.9), 1e-3, 5e-3, 0.05),
    "adam": (Adam, 0.1, 0.1, 0.02),
    "nadam": (Nadam, 0.1, 0.1, 0.02),
    "nadamw": (lambda rate: NAdamW(rate, 1e-4), 0.1, 0.1, 0.02),
    "radam": (lambda rate: RAdam(rate, clipnorm=0.1), 0.1, 0.1, 0.02),
    "adamax": (Adamax, 0.3, 0.1, 0.05),
    "adabelief": (AdaBelief, 0.1, 0.1, 0.02),
    "yogi": (Yogi, 0.1, 0.1, 0.02),
    "adan": (Adan, 0.1, 0.1, 0.02),
    "ademamix": (lambda rate: AdEMAMix(rate, beta_3=0.99, alpha=1.0), 0.05, 0.05, 0.01),
    "adopt": (lambda rate: ADOPT(rate, beta_2=0.99), 0.2, 0.1, 0.02),
    "rmsprop": (RMSprop, 0.05, 0.05, 0.01),
    "adagrad": (Adagrad, 2.0, 0.5, 0.1),
    "adadelta": (lambda rate: Adadelta(rate, epsilon=1e-3), 2.0, 2.0, 1.0),
    "ftrl": (Ftrl, 0.5, 0.5, 0.1),
    "lion": (Lion, 0.05, 0.05, 0.005),
    "rprop": (lambda _: Rprop(0.01), 0.0, 0.0, 0.0),
    "shampoo": (lambda rate: Shampoo(rate, decay=0.95), 0.1, 0.1, 0.02),
    "soap": (SOAP, 0.1, 0.1, 0.02),
    "sophia": (lambda rate: Sophia(rate, 0.9, 0.9, gamma=0.5, update_every=2), 0.3, 0.5, 0.01),
    "lookahead": (lambda rate: Lookahead(Adam(rate)), 0.2, 0.2, 0.02),
    "schedule free sgd": (lambda rate: ScheduleFreeSGD(constant(rate), 20), 0.01, 0.05, 0.5),
    "schedule free adamw": (lambda rate: ScheduleFreeAdamW(constant(rate), 20), 0.3, 0.1, 0.02),
    "prodigy": (Prodigy, 1.0, 1.0, 1.0),
    "lbfgs": (lambda _: LBFGS(max_iterations=1), 0.0, 0.0, 0.0),
    "sign sgd": (lambda rate: SignSGD(rate, 0.5), 0.02, 0.05, 0.005),
}

every_rule = pytest.mark.parametrize("name", RULES)


def run(optimizer, start, loss, steps=600):
    w = gx.Variable(np.asarray(start, "float32"))
    step = gx.jit(lambda: optimizer.minimize(lambda: loss(w.value), [w]))
    first = float(step())
    for _ in range(steps):
        step()
    return float(loss(w.value)) / first


@every_rule
def test_rosenbrock(name):
    rule, rate, _, _ = RULES[name]
    fall = run(rule(falling(rate)), [-1.0, 1.5], lambda w: ops.sum((1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2))
    assert fall < (0.15 if name == "adagrad" else 0.07), fall  # whose rate falls by itself, too


@every_rule
def test_an_ill_conditioned_bowl(name):
    rule, _, rate, _ = RULES[name]
    curvature = np.logspace(-1, 2, 8).astype("float32")
    fall = run(rule(falling(rate)), np.ones(8), lambda w: 0.5 * ops.sum(curvature * w * w))
    assert fall < 1e-3, fall


@every_rule
def test_digits(name):
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = datasets.load_digits(return_X_y=True)
    x, y = (x / 16).astype("float32"), y.astype("int32")
    gx.set_random_seed(0)
    hidden = [] if name == "ftrl" else [gx.layers.Dense(32, activation="relu")]  # which forgets a random start
    model = gx.Sequential([*hidden, gx.layers.Dense(10)])
    model(x[:1])
    loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)
    rule, _, _, rate = RULES[name]
    optimizer = rule(rate)
    step = gx.jit(lambda: optimizer.minimize(lambda: loss(y[:1400], model(x[:1400])), model))
    for _ in range(100):
        step()
    right = np.mean(np.argmax(np.asarray(model(x[1400:])), axis=1) == y[1400:])
    assert right > 0.85, right
