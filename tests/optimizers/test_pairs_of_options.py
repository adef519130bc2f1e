"""Two options of an optimizer at once, every pair of them, compared with a transcription in NumPy."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import graftax as gx

pytestmark = pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up, and scaled by hand or not at all

RATE, BETA_1, BETA_2, EPSILON = 0.1, 0.9, 0.99, 1e-3
STEPS = 4
OPTIONS: dict[str, dict[str, Any]] = {
    "weight_decay": {"weight_decay": 0.3},
    "l2": {"l2": 0.2},
    "clipvalue": {"clipvalue": 0.7},
    "clipnorm": {"clipnorm": 1.1},
    "global_clipnorm": {"global_clipnorm": 1.3},
    "adaptive_clip": {"adaptive_clip": 0.2},
    "accumulation_steps": {"accumulation_steps": 2},
    "ema_momentum": {"ema_momentum": 0.6},
    "loss_scale": {"loss_scale": 8.0},
    "schedule": {"learning_rate": gx.optimizers.schedules.InverseTimeDecay(RATE, 1, 0.5)},
    "multiplier": {"rules": [("bias", {"learning_rate_multiplier": 0.5})]},
    "no decay": {"rules": [("bias", {"weight_decay": 0.0, "l2": 0.0, "adaptive_clip": float("inf")})]},
    "frozen": {"rules": [("bias", {"frozen": True})]},
}
PAIRS = list(combinations(OPTIONS, 2))


def together(pair: tuple[str, ...]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name in pair:
        rules = [*given.get("rules", ()), *OPTIONS[name].get("rules", ())]
        given |= OPTIONS[name]
        if rules:
            given["rules"] = rules
    return given


def data() -> tuple[dict[str, np.ndarray], list[dict[str, np.ndarray]]]:
    random = np.random.default_rng(3)
    shapes = {"kernel": (3, 2), "bias": (2,)}
    values = {name: random.normal(size=shape) for name, shape in shapes.items()}
    return values, [{name: random.normal(size=shape) for name, shape in shapes.items()} for _ in range(STEPS)]


def clipped(gradients: dict[str, np.ndarray], values: dict[str, np.ndarray], o: dict[str, Any], on: set[str]) -> Any:
    found = dict(gradients)
    if "clipvalue" in o:
        found = {k: np.clip(g, -o["clipvalue"], o["clipvalue"]) for k, g in found.items()}
    if "clipnorm" in o:
        found = {k: g * min(1, o["clipnorm"] / np.linalg.norm(g)) for k, g in found.items()}
    if "global_clipnorm" in o:
        norm = np.sqrt(sum(np.sum(g * g) for g in found.values()))
        found = {k: g * min(1, o["global_clipnorm"] / norm) for k, g in found.items()}
    if "adaptive_clip" in o:
        for k, g in found.items():
            if k == "bias" and "no decay" in on:
                continue
            axis = 0 if g.ndim > 1 else None
            norms = np.sqrt(np.sum(g * g, axis=axis, keepdims=True))
            most = o["adaptive_clip"] * np.maximum(np.sqrt(np.sum(values[k] ** 2, axis=axis, keepdims=True)), 1e-3)
            found[k] = np.where(norms > most, g * most / norms, g)
    return found


def transcribed(pair: tuple[str, ...]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Adam with the options, as the documentation of `Optimizer` says; the values, and the averages."""
    on, o = set(pair), together(pair)
    values, batches = data()
    averages = dict(values)
    first = {k: np.zeros_like(v) for k, v in values.items()}
    second = {k: np.zeros_like(v) for k, v in values.items()}
    every = o.get("accumulation_steps", 1)
    for step in range(STEPS // every):
        part = batches[step * every : (step + 1) * every]
        gradients = {k: sum(b[k] for b in part) / every for k in values if not (k == "bias" and "frozen" in on)}
        gradients = clipped(gradients, values, o, on)
        for k, gradient in gradients.items():
            exempt = k == "bias" and "no decay" in on
            rate = RATE / (1 + 0.5 * step) if "schedule" in on else RATE
            rate *= 0.5 if k == "bias" and "multiplier" in on else 1
            gradient = gradient + (0 if exempt else o.get("l2", 0.0)) * values[k]
            value = values[k] * (1 - rate * (0 if exempt else o.get("weight_decay", 0.0)))
            first[k] = BETA_1 * first[k] + (1 - BETA_1) * gradient
            second[k] = BETA_2 * second[k] + (1 - BETA_2) * gradient**2
            unbiased = first[k] / (1 - BETA_1 ** (step + 1)), second[k] / (1 - BETA_2 ** (step + 1))
            values = {**values, k: value - rate * unbiased[0] / (np.sqrt(unbiased[1]) + EPSILON)}
        keep = o.get("ema_momentum", 0.0) if step else 0.0
        averages = {k: keep * averages[k] + (1 - keep) * values[k] for k in values}
    return values, averages


def measured(pair: tuple[str, ...], run: Callable[[Any], Any]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    start, batches = data()
    variables = {k: gx.Variable(v.astype("float32"), name=k) for k, v in start.items()}
    options = {"learning_rate": RATE} | together(pair)
    adam = gx.optimizers.Adam(beta_1=BETA_1, beta_2=BETA_2, epsilon=EPSILON, epsilon_form="torch", **options)
    scale = options.get("loss_scale", 1.0)
    step = run(lambda given: adam.apply(list(given.values()), list(variables.values())))
    for batch in batches:
        step({k: (g * scale).astype("float32") for k, g in batch.items()})
    values = {k: v.numpy() for k, v in variables.items()}
    if "ema_momentum" not in pair:
        return values, {}
    with adam.averaged():
        return values, {k: v.numpy() for k, v in variables.items()}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("pair", [*PAIRS, tuple(OPTIONS)], ids=" and ".join)
def test_two_options_do_what_both_say(pair: tuple[str, ...]) -> None:
    values, averages = measured(pair, gx.jit if len(pair) > 2 else lambda f: f)
    expected, expected_averages = transcribed(pair)
    for k in values:
        np.testing.assert_allclose(values[k], expected[k], rtol=2e-5, atol=2e-6, err_msg=k)
    for k in averages:
        np.testing.assert_allclose(averages[k], expected_averages[k], rtol=2e-5, atol=2e-6, err_msg=f"average of {k}")


@pytest.mark.in_turn(4, 1)
@pytest.mark.parametrize("pair", PAIRS[::20], ids=" and ".join)
def test_two_options_do_the_same_compiled(pair: tuple[str, ...]) -> None:
    values, _ = measured(pair, gx.jit)
    expected, _ = transcribed(pair)
    for k in values:
        np.testing.assert_allclose(values[k], expected[k], rtol=2e-5, atol=2e-6, err_msg=k)
