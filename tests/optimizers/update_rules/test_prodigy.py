"""Prodigy: a transcription in float64, optax, and what is special about it."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError
from graftax.optimizers import Prodigy, schedules

RNG = np.random.default_rng(0)
START = [RNG.normal(size=(3, 2)), RNG.normal(size=2)]
CURVATURE = [RNG.uniform(0.1, 3, size=w.shape) for w in START]
OPTIONS = {
    "plain": {"d0": 1e-3},  # with 1e-6 the first steps are as small as the rounding of the weights in float32
    "all": {"d0": 1e-2, "beta_3": 0.9, "d_coef": 2.0, "growth_rate": 1.5, "use_bias_correction": True, "epsilon": 1e-2},
    "safe": {"safeguard_warmup": True, "weight_decay": 0.1, "d0": 1e-3, "growth_rate": 2.0},
}


def rate_at(k):
    return min(1.0, (k + 1) / 5)


def paper(steps, beta_1=0.9, beta_2=0.999, beta_3=None, epsilon=1e-8, d0=1e-6, d_coef=1.0, growth_rate=np.inf,
          safeguard_warmup=False, use_bias_correction=False, weight_decay=0.0):  # fmt: skip
    """Down a bowl, in float64; the estimate after each step."""
    ws = [w.copy() for w in START]
    m, v, s = ([np.zeros_like(w) for w in ws] for _ in range(3))
    d, most, r, found = d0, d0, 0.0, []
    beta_3 = np.sqrt(beta_2) if beta_3 is None else beta_3
    for k in range(steps):
        gamma = rate_at(k)
        if use_bias_correction:
            gamma *= np.sqrt(1 - beta_2 ** (k + 1)) / (1 - beta_1 ** (k + 1))
        gs = [c * w for c, w in zip(CURVATURE, ws, strict=True)]
        r = beta_3 * r + gamma * d**2 * sum(np.vdot(g, w0 - w) for g, w0, w in zip(gs, START, ws, strict=True))
        s = [beta_3 * x + (1 if safeguard_warmup else gamma) * d**2 * g for x, g in zip(s, gs, strict=True)]
        m = [beta_1 * x + (1 - beta_1) * d * g for x, g in zip(m, gs, strict=True)]
        v = [beta_2 * x + (1 - beta_2) * d**2 * g**2 for x, g in zip(v, gs, strict=True)]
        hat = d_coef * r / sum(np.abs(x).sum() for x in s)
        most = max(most, hat)
        after = min(most, growth_rate * (max(d, hat) if d == d0 else d))
        ws = [
            w - gamma * d * (a / (np.sqrt(b) + after * epsilon) + weight_decay * w)
            for w, a, b in zip(ws, m, v, strict=True)
        ]
        d = after
        found.append(d)
    return ws, found


def bowl():
    ws = [gx.Variable(w.astype("float32")) for w in START]
    curvature = [c.astype("float32") for c in CURVATURE]
    return ws, lambda: [c * w.value for c, w in zip(curvature, ws, strict=True)]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", OPTIONS)
def test_as_the_paper_says(name):
    ws, gradients = bowl()
    prodigy = Prodigy(schedules.LinearWarmup(4, 1.0, 0.2), **OPTIONS[name])
    step = gx.jit(lambda: prodigy.apply(gradients(), ws))
    found = []
    for _ in range(8):
        step()
        found.append(float(prodigy.d))
    expected, estimates = paper(8, **OPTIONS[name])
    np.testing.assert_allclose(found, estimates, rtol=1e-3)
    assert found[-1] > 3 * found[0]
    for w, e in zip(ws, expected, strict=True):
        np.testing.assert_allclose(w.numpy(), e, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_as_optax_which_always_corrects():
    optax = pytest.importorskip("optax")
    ws, gradients = bowl()
    prodigy = Prodigy(use_bias_correction=True, weight_decay=0.1, d0=1e-4)
    theirs = optax.contrib.prodigy(weight_decay=0.1, estim_lr0=1e-4)
    params = [w.numpy() for w in ws]
    state = theirs.init(params)
    for _ in range(8):
        prodigy.apply(gradients(), ws)
        updates, state = theirs.update(
            [c.astype("float32") * w for c, w in zip(CURVATURE, params, strict=True)], state, params
        )
        params = optax.apply_updates(params, updates)
    np.testing.assert_allclose(float(prodigy.d), float(state.estim_lr), rtol=1e-5)
    for w, theirs in zip(ws, params, strict=True):
        np.testing.assert_allclose(w.numpy(), theirs, rtol=1e-5, atol=1e-6)


def test_gradients_of_zero_leave_the_estimate_and_the_weights():
    w, prodigy = gx.Variable([1.0, -2.0]), Prodigy()
    prodigy.apply([[0.0, 0.0]], [w])
    assert w.numpy().tolist() == [1.0, -2.0]
    assert [float(prodigy.d), float(prodigy.numerator)] == [np.float32(1e-6), 0.0]


def test_it_sets_out_from_what_the_first_update_meets_and_what_comes_later_from_its_own():
    first, later, prodigy = gx.Variable([0.0]), gx.Variable([7.0]), Prodigy(d0=0.1)
    prodigy.build([first])
    first.assign([5.0])
    prodigy.apply([[1.0]], [first])
    prodigy.apply([[1.0], [1.0]], [first, later])
    assert [prodigy.slot(v, "start").numpy().tolist() for v in (first, later)] == [[5.0], [7.0]]


@pytest.mark.parametrize("wrong", [{"d0": 0.0}, {"d_coef": -1.0}, {"growth_rate": 0.9}, {"beta_3": 1.0}])
def test_wrong_arguments(wrong):
    with pytest.raises(ArgumentError):
        Prodigy(**wrong)
