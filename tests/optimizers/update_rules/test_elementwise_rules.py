"""Rules that treat each element alone: transcriptions in float64 from the papers, other libraries, known numbers."""

import copy
import math

import numpy as np
import pytest

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.optimizers import (
    ADOPT,
    AdaBelief,
    Adadelta,
    Adagrad,
    Adamax,
    Adan,
    AdEMAMix,
    Ftrl,
    Lion,
    Nadam,
    NAdamW,
    RAdam,
    RMSprop,
    Rprop,
    SignSGD,
    Yogi,
)


def average(beta, seen):
    """The moving average of all that was seen, as a sum; it started at zero."""
    return sum((1 - beta) * beta ** (len(seen) - 1 - i) * x for i, x in enumerate(seen))


def corrected(beta, seen):
    return average(beta, seen) / (1 - beta ** len(seen))


def squares(seen):
    return [g * g for g in seen]


# Each is a generator of moves: it gets (w, all gradients so far) and gives the new w. Rate 0.1 everywhere.


def nadam(w, gs, t, psi=0.004, b1=0.9, b2=0.99, eps=1e-2):
    u = [b1 * (1 - 0.5 * 0.96 ** (psi * i)) if psi else b1 for i in range(1, t + 2)]
    ahead = u[t] * average(b1, gs) / (1 - math.prod(u))
    m = ahead + (1 - u[t - 1]) * gs[-1] / (1 - math.prod(u[:t]))
    return w - 0.1 * m / (np.sqrt(corrected(b2, squares(gs))) + eps)


def nadamw(w, gs, t):
    return nadam(w * (1 - 0.1 * 0.2), gs, t, psi=None)


def radam(w, gs, t, b1=0.9, b2=0.9, eps=1e-2, form="torch"):
    m, v = corrected(b1, gs), average(b2, squares(gs))
    last = 2 / (1 - b2) - 1
    rho = last - 2 * t * b2**t / (1 - b2**t)
    if rho <= 5:
        return w - 0.1 * m
    r = math.sqrt((rho - 4) * (rho - 2) * last / ((last - 4) * (last - 2) * rho))
    c = math.sqrt(1 - b2**t)
    return w - 0.1 * r * m * (c / (np.sqrt(v) + eps) if form == "torch" else 1 / (np.sqrt(v) / c + eps))


def adamax(w, gs, t, eps=1e-2, form="keras"):
    seen = [0.99 ** (t - 1 - i) * (np.abs(g) + (eps if form == "torch" else 0)) for i, g in enumerate(gs)]
    return w - 0.1 * corrected(0.9, gs) / (np.max(seen, axis=0) + (eps if form == "keras" else 0))


def adabelief(w, gs, t):
    errors = [(g - average(0.9, gs[: i + 1])) ** 2 + 1e-3 / (1 - 0.99) for i, g in enumerate(gs)]
    return w - 0.1 * corrected(0.9, gs) / (np.sqrt(corrected(0.99, errors)) + 1e-2)


def yogi(w, gs, t, b2=0.9):
    v = np.full_like(w, 1e-2)
    for g in gs:
        v = np.where(v > g * g, v - (1 - b2) * g * g, v + (1 - b2) * g * g)
    m = average(0.9, gs) + 0.9**t * 1e-2
    return w - 0.1 * m / (1 - 0.9**t) / (np.sqrt(v / (1 - b2**t)) + 1e-3)


def adan(w, gs, t, b=(0.02, 0.08, 0.01)):  # the betas of the paper
    d = [gs[i] - gs[max(i - 1, 0)] for i in range(t)]
    m, v = corrected(1 - b[0], gs), corrected(1 - b[1], d)
    n = corrected(1 - b[2], [(g + (1 - b[1]) * x) ** 2 for g, x in zip(gs, d, strict=True)])
    return w - 0.1 / (np.sqrt(n) + 1e-2) * (m + (1 - b[1]) * v)


def ademamix(w, gs, t, warm=0, alpha=5.0, b3=0.999):
    slow = np.zeros_like(w)
    for i, g in enumerate(gs, 1):
        a, b = alpha, b3
        if warm:
            r = min(i / warm, 1)
            a, half = alpha * r, (1 - r) / math.log(0.9) + r / math.log(b3)
            b = math.exp(1 / half)
        slow = b * slow + (1 - b) * g
    return w - 0.1 * (corrected(0.9, gs) + a * slow) / (np.sqrt(corrected(0.99, squares(gs))) + 1e-2)


def adopt(w, gs, t, clip=True):
    m, v = np.zeros_like(w), gs[0] ** 2
    for i, g in enumerate(gs[1:], 1):
        x = g / np.maximum(np.sqrt(v), 1e-2)
        m = 0.9 * m + 0.1 * (np.clip(x, -(i**0.25), i**0.25) if clip else x)
        v = 0.99 * v + 0.01 * g * g
    return w - 0.1 * m


def rmsprop(w, gs, t, form="keras", centered=False, momentum=0.0, start=0.0):
    total = np.zeros_like(w)
    for i in range(1, t + 1):
        v = average(0.9, squares(gs[:i])) + 0.9**i * start - (average(0.9, gs[:i]) ** 2 if centered else 0)
        x = gs[i - 1] / (np.sqrt(v + 1e-2) if form == "keras" else np.sqrt(v) + 1e-2)
        total = momentum * total + 0.1 * x
    return w - total


def adagrad(w, gs, t, form="keras"):
    a = 0.1 + sum(squares(gs))
    return w - 0.1 * gs[-1] / (np.sqrt(a + 1e-2) if form == "keras" else np.sqrt(a) + 1e-2)


def adadelta(w, gs, t):
    steps = []
    for i, g in enumerate(gs, 1):
        last = average(0.9, squares(steps)) if steps else 0.0
        steps.append(g * np.sqrt((last + 1e-3) / (average(0.9, squares(gs[:i])) + 1e-3)))
    return w - 0.1 * steps[-1]


def lion(w, gs, t):
    before = average(0.99, gs[:-1]) if t > 1 else 0.0
    return w - 0.1 * np.sign(0.9 * before + 0.1 * gs[-1])


def signum(w, gs, t, momentum=0.9):
    return w - 0.1 * np.sign(average(momentum, gs))


def rprop(w, gs, t):
    size, before = np.full_like(w, 0.1), np.zeros_like(w)
    for g in gs:
        for i in np.ndindex(w.shape):
            if g[i] * before[i] > 0:
                size[i] = min(size[i] * 1.2, 0.2)
            elif g[i] * before[i] < 0:
                size[i] = max(size[i] * 0.5, 0.02)
        before = np.where(g * before < 0, 0, g)
    return w - size * np.sign(before)


RULES = {
    "nadam": (Nadam(0.1, 0.9, 0.99, 1e-2), nadam),
    "nadam keras": (Nadam(0.1, 0.9, 0.99, 1e-2, momentum_decay=1.0), lambda *a: nadam(*a, psi=1.0)),
    "nadamw": (NAdamW(0.1, 0.2, 0.9, 0.99, 1e-2), nadamw),
    "radam": (RAdam(0.1, beta_2=0.9, epsilon=1e-2), radam),
    "radam optax": (
        RAdam(0.1, beta_2=0.9, epsilon=1e-2, epsilon_form="optax"),
        lambda *a: radam(*a, form="optax"),
    ),
    "adamax": (Adamax(0.1, 0.9, 0.99, 1e-2), adamax),
    "adamax torch": (Adamax(0.1, 0.9, 0.99, 1e-2, "torch"), lambda *a: adamax(*a, form="torch")),
    "adabelief": (AdaBelief(0.1, 0.9, 0.99, 1e-2, 1e-3), adabelief),
    "yogi": (Yogi(0.1, 0.9, 0.9, initial_accumulator=1e-2), yogi),
    "adan": (Adan(0.1, epsilon=1e-2), adan),
    "ademamix": (AdEMAMix(0.1, 0.9, 0.99, 0.999, epsilon=1e-2), ademamix),
    "ademamix warm": (
        AdEMAMix(0.1, 0.9, 0.99, 0.999, warmup_steps=4, epsilon=1e-2),
        lambda *a: ademamix(*a, warm=4),
    ),
    "adopt": (ADOPT(0.1, beta_2=0.99, epsilon=1e-2), adopt),
    "adopt unclipped": (ADOPT(0.1, 0.9, 0.99, 1e-2, clipping=False), lambda *a: adopt(*a, clip=False)),
    "rmsprop": (RMSprop(0.1, epsilon=1e-2), rmsprop),
    "rmsprop torch": (RMSprop(0.1, epsilon=1e-2, epsilon_form="torch"), lambda *a: rmsprop(*a, form="torch")),
    "rmsprop centered": (RMSprop(0.1, epsilon=1e-2, centered=True), lambda *a: rmsprop(*a, centered=True)),
    "rmsprop v1": (
        RMSprop(0.1, momentum=0.5, epsilon=1e-2, initial_rms=1.0),
        lambda *a: rmsprop(*a, momentum=0.5, start=1.0),
    ),
    "adagrad": (Adagrad(0.1, epsilon=1e-2), adagrad),
    "adagrad torch": (Adagrad(0.1, epsilon=1e-2, epsilon_form="torch"), lambda *a: adagrad(*a, form="torch")),
    "adadelta": (Adadelta(0.1, 0.9, 1e-3), adadelta),
    "lion": (Lion(0.1), lion),
    "signum": (SignSGD(0.1, 0.9), signum),
    "sign sgd": (SignSGD(0.1), lambda *a: signum(*a, momentum=0.0)),
    "rprop": (Rprop(0.1, limits=(0.2, 2.0)), rprop),
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_against_a_transcription(three_steps, walk, name, seed):
    optimizer, formula = RULES[name]
    start, gradients = walk(seed, steps=8)
    expected = start
    for t in range(1, len(gradients) + 1):
        expected = formula(expected, gradients[:t], t)
    with registry.use("numpy"):
        ours = three_steps(copy.deepcopy(optimizer), start, gradients)
    np.testing.assert_allclose(ours, expected, rtol=5e-4, atol=5e-5)


@pytest.mark.broad
def test_ftrl_minimises_its_own_sum(three_steps, walk):
    """The weights are the minimum of the linearised losses, proximal terms and penalties (equation 1 of the paper)."""
    start, gradients = walk(5, steps=5, shape=(4,))
    rate, l1, l2, beta = 0.3, 0.5, 0.2, 0.4
    w, a, z = start.copy(), np.full(4, 0.1), np.zeros(4)
    for g in gradients:
        sigma = (np.sqrt(a + g * g) - np.sqrt(a)) / rate
        z, a = z + g - sigma * w, a + g * g
        grid = np.linspace(-60, 60, 2_400_001)
        curve = 0.5 * ((np.sqrt(a) + beta) / rate + 2 * l2)
        w = np.array([grid[np.argmin(z[i] * grid + curve[i] * grid**2 + l1 * np.abs(grid))] for i in range(4)])
    with registry.use("numpy"):
        ours = three_steps(Ftrl(rate, l1_strength=l1, l2_strength=l2, beta=beta), start, gradients)
    np.testing.assert_allclose(ours, w, atol=2e-3)


# After the three steps of `conftest.py`, as seen in the other libraries.
NUMBERS = {
    "rmsprop": (RMSprop(0.1, epsilon=1e-2), [0.69199, -2.14413, 0.18292]),
    "rmsprop torch": (RMSprop(0.1, epsilon=1e-2, epsilon_form="torch"), [0.48577, -2.11875, 0.09276]),
    "rmsprop momentum": (RMSprop(0.1, momentum=0.5, epsilon=1e-2), [0.51415, -2.05874, 0.03814]),
    "rmsprop momentum torch": (
        RMSprop(0.1, momentum=0.5, epsilon=1e-2, epsilon_form="torch"),
        [0.16859, -1.97820, -0.09714],
    ),
    "rmsprop centered": (RMSprop(0.1, centered=True, epsilon=1e-2), [0.68293, -2.14607, 0.17275]),
    "rmsprop centered torch": (
        RMSprop(0.1, centered=True, epsilon=1e-2, epsilon_form="torch"),
        [0.45454, -2.11371, 0.06827],
    ),
    "rmsprop v1": (RMSprop(0.1, epsilon=1e-2, initial_rms=1.0), [0.9566, -2.0360, 0.4511]),
    "adagrad": (Adagrad(0.1, epsilon=1e-2), [0.90567, -2.04407, 0.40342]),
    "adagrad torch": (Adagrad(0.1, epsilon=1e-2, epsilon_form="torch"), [0.90512, -2.04368, 0.40323]),
    "adadelta": (Adadelta(1.0, 0.9, 1e-6), [0.99258, -2.00323, 0.49500]),
    "adamax": (Adamax(0.1, epsilon=1e-2), [0.80106, -1.91421, 0.31837]),
    "nadam keras": (Nadam(0.1, epsilon=1e-8, momentum_decay=1.0), [0.78393, -2.02478, 0.33948]),
    "nadam torch": (Nadam(0.1, epsilon=1e-8), [0.78419, -2.03272, 0.33884]),
    "nadam optax": (Nadam(0.1, epsilon=1e-8, momentum_decay=None), [0.67381, -1.95733, 0.24620]),
    "lion": (Lion(0.1), [0.7, -2.1, 0.4]),
    "ftrl": (Ftrl(0.1), [-0.0506958, -0.3539013, 0.0383552]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_op22_reference_numbers(three_steps, name):
    optimizer, expected = NUMBERS[name]
    with registry.use("numpy"):
        np.testing.assert_allclose(three_steps(optimizer), expected, atol=6e-5 if name == "rmsprop v1" else 7e-6)


@pytest.mark.parametrize(
    ("name", "ours", "options"),
    [
        ("RMSprop", lambda: RMSprop(0.1, 0.9, 0.5, 1e-2, True), {"momentum": 0.5, "epsilon": 1e-2, "centered": True}),
        ("Adagrad", lambda: Adagrad(0.1), {}),
        ("Adadelta", lambda: Adadelta(0.1, epsilon=1e-7), {}),
        ("Adamax", lambda: Adamax(0.1), {}),
        ("Nadam", lambda: Nadam(0.1, momentum_decay=1.0), {}),
        ("Lion", lambda: Lion(0.1), {}),
        (
            "Ftrl",
            lambda: Ftrl(0.1, -0.6, 0.2, 0.1, 0.2, 0.3, 0.4),
            {
                "learning_rate_power": -0.6,
                "initial_accumulator_value": 0.2,
                "l1_regularization_strength": 0.1,
                "l2_regularization_strength": 0.2,
                "l2_shrinkage_regularization_strength": 0.3,
                "beta": 0.4,
            },
        ),
    ],
)
def test_against_keras(three_steps, walk, against_keras, name, ours, options):
    start, gradients = walk(11)
    theirs = against_keras(name, start, gradients, learning_rate=0.1, **options)
    np.testing.assert_allclose(three_steps(ours(), start, gradients), theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "ours", "options"),
    [
        (
            "RMSprop",
            lambda: RMSprop(0.1, 0.9, 0.5, 1e-2, True, epsilon_form="torch"),
            {"alpha": 0.9, "momentum": 0.5, "eps": 1e-2, "centered": True},
        ),
        ("Adagrad", lambda: Adagrad(0.1, 0.3, 1e-2, "torch"), {"initial_accumulator_value": 0.3, "eps": 1e-2}),
        ("Adadelta", lambda: Adadelta(0.1, 0.9, 1e-6), {}),
        ("Adamax", lambda: Adamax(0.1, epsilon=1e-2, epsilon_form="torch"), {"eps": 1e-2}),
        ("NAdam", lambda: Nadam(0.1, epsilon=1e-8), {}),
        ("RAdam", lambda: RAdam(0.1, 0.9, 0.9), {"betas": (0.9, 0.9)}),
        ("Rprop", lambda: Rprop(0.1, limits=(0.5, 3.0)), {"step_sizes": (0.05, 0.3)}),
    ],
)
def test_against_torch(three_steps, walk, against_torch, name, ours, options):
    start, gradients = walk(12, steps=10)
    theirs = against_torch(name, start, gradients, lr=0.1, **options)
    np.testing.assert_allclose(three_steps(ours(), start, gradients), theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda: RMSprop(0.1, epsilon=1e-2), lambda o: o.rmsprop(0.1, eps=1e-2)),
        (lambda: Adagrad(0.1, epsilon=1e-2), lambda o: o.adagrad(0.1, eps=1e-2)),
        (lambda: Adadelta(0.1, 0.9, 1e-6), lambda o: o.adadelta(0.1)),
        (lambda: Nadam(0.1, epsilon=1e-8, momentum_decay=None), lambda o: o.nadam(0.1)),
        (lambda: NAdamW(0.1, 0.2, epsilon=1e-8), lambda o: o.nadamw(0.1, weight_decay=0.2)),
        (
            lambda: RAdam(0.1, 0.9, 0.9, 1e-2, epsilon_form="optax"),
            lambda o: o.radam(0.1, b2=0.9, eps=1e-2),
        ),
        (lambda: AdaBelief(0.1, epsilon=1e-3, epsilon_root=1e-3), lambda o: o.adabelief(0.1, eps=1e-3, eps_root=1e-3)),
        (lambda: Yogi(0.1), lambda o: o.yogi(0.1)),
        (lambda: Adan(0.1, beta_2=0.5), lambda o: o.adan(0.1, b2=0.5)),  # where its 1 - b2 is the b2 of the paper
        (lambda: AdEMAMix(0.1), lambda o: o.contrib.ademamix(0.1)),
        (lambda: ADOPT(0.1), lambda o: o.contrib.adopt(0.1)),
        (lambda: Lion(0.1), lambda o: o.lion(0.1, weight_decay=0.0)),
        (lambda: SignSGD(0.1), lambda o: o.sign_sgd(0.1)),
    ],
)
def test_against_optax(three_steps, walk, against_optax, ours, theirs):
    start, gradients = walk(13)
    expected = against_optax(theirs, start, gradients)
    np.testing.assert_allclose(three_steps(ours(), start, gradients), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Nadam(0.1, momentum_decay=0.0), "momentum_decay=0.0"),
        (lambda: NAdamW(0.1, beta_1=1.0), "beta_1=1.0"),
        (lambda: RAdam(0.1, beta_2=0.5), "beta_2=0.5"),
        (lambda: RAdam(0.1, epsilon_form="keras"), "epsilon_form='keras'"),
        (lambda: Adamax(0.1, epsilon_form="optax"), "epsilon_form='optax'"),
        (lambda: AdaBelief(0.1, beta_2=1.5), "beta_2=1.5"),
        (lambda: Yogi(0.1, initial_accumulator=-1.0), "initial_accumulator=-1.0"),
        (lambda: Adan(0.1, beta_3=1.0), "beta_3=1.0"),
        (lambda: AdEMAMix(0.1, beta_3=0.0), "beta_3=0.0"),
        (lambda: ADOPT(0.1, beta_1=-0.1), "beta_1=-0.1"),
        (lambda: RMSprop(0.1, initial_rms=-1.0), "initial_rms=-1.0"),
        (lambda: Adagrad(0.1, initial_accumulator=-1.0), "initial_accumulator=-1.0"),
        (lambda: Adadelta(0.1, rho=1.0), "rho=1.0"),
        (lambda: Ftrl(0.1, 0.5), "learning_rate_power=0.5"),
        (lambda: Lion(0.1, beta_1=1.0), "beta_1=1.0"),
        (lambda: Rprop(0.1, shrink=1.5), "shrink=1.5"),
        (lambda: SignSGD(0.1, momentum=1.0), "momentum=1.0"),
    ],
)
def test_arguments_that_cannot_be(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()
