"""A step that a loss scale leaves out leaves moving statistics as they were."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import StateError

pytestmark = pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up, and scaled by hand or not at all

X = np.linspace(-1, 1, 8, dtype="float32").reshape(4, 2)
OVERFLOWS = np.sign(X) * np.float32(np.inf)


def trained(optimizer: Any, batches: list[Any], how: str, stops: Any = None) -> gx.Model:
    model = gx.Sequential([layers.Dense(3), layers.BatchNormalization(momentum=0.5), layers.Dense(1)])
    gx.set_random_seed(0)
    model(X)

    def step(x: Any) -> Any:
        return optimizer.minimize(lambda: ops.mean(model(x, training=True) ** 2), model)

    step = gx.jit(step) if how == "compiled" else step
    for x in batches:
        step(x)
    return model


def statistics(model: gx.Model) -> list[list[float]]:
    return [v.numpy().tolist() for v in model.variables if v.role == "state"]


WRAPPED = {
    "plain": lambda inside: inside,
    "lookahead": lambda inside: gx.optimizers.Lookahead(inside),
    "sam": lambda inside: gx.optimizers.SAM(inside),
}


CASES = [
    pytest.param(wrapped, how, marks=() if (wrapped, how) == ("plain", "compiled") else pytest.mark.slow)
    for wrapped in WRAPPED
    for how in ("eager", "compiled")
]


@pytest.mark.broad
@pytest.mark.parametrize(("wrapped", "how"), CASES)
def test_statistics_that_became_nan_are_put_back(wrapped: str, how: str) -> None:
    def optimizer() -> Any:
        return WRAPPED[wrapped](gx.optimizers.SGD(0.1, loss_scale="dynamic"))

    good = trained(optimizer(), [X, X], how)
    with np.errstate(all="ignore"):
        found = trained(optimizer(), [X, OVERFLOWS, X], how)
    for one, other in zip(good.variables, found.variables, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)


@pytest.mark.broad
def test_without_a_loss_scale_they_show_what_happened() -> None:
    found = trained(gx.optimizers.SGD(0.1), [OVERFLOWS], "compiled")
    assert np.isnan(statistics(found)).any()


def test_finite_statistics_of_a_skipped_step_and_streams_go_on() -> None:
    seen, noise = gx.Variable(0.0, trainable=False, role="state"), gx.random.SeedGenerator(0)
    w = gx.Variable(1.0)
    optimizer = gx.optimizers.SGD(0.1, loss_scale=4.0)
    before = noise.variables[0].numpy().tolist()

    def loss() -> Any:
        seen.assign_add(1.0)
        gx.random.normal((), seed=noise)
        return w * np.float32(np.inf)

    optimizer.minimize(loss, [w])
    assert (float(w), float(seen), int(optimizer.iterations)) == (1.0, 1.0, 0)
    assert noise.variables[0].numpy().tolist() != before


def test_an_error_in_the_loss_leaves_everything() -> None:
    seen, w = gx.Variable(0.0, trainable=False), gx.Variable(1.0)

    def loss() -> Any:
        seen.assign_add(1.0)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        gx.optimizers.SGD(0.1, loss_scale=4.0).minimize(loss, [w])
    assert float(seen) == 0.0


@pytest.mark.slow
def test_fit_goes_on_after_a_batch_that_overflows() -> None:
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(3), layers.BatchNormalization(), layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1, loss_scale="dynamic"), "mse")
    rows = np.concatenate([X, OVERFLOWS, X])
    model.fit(rows, np.zeros((12, 1), "float32"), batch_size=4, shuffle=False, verbose=0)
    assert all(np.isfinite(v.numpy()).all() for v in model.variables)
    assert int(model.optimizer.iterations) == 2


def test_an_update_is_made_of_as_many_good_small_batches_as_are_asked_for():
    w = gx.Variable([0.0, 0.0])
    optimizer = gx.optimizers.SGD(1.0, accumulation_steps=2, loss_scale=gx.optimizers.LossScale(4.0, 100))
    seen = []
    for gradient in ([1.0, 2.0], [np.inf, 0.0], [np.nan, 1.0], [3.0, 4.0], [5.0, 0.0], [7.0, 0.0]):
        scale = float(optimizer.loss_scale.scale)
        optimizer.apply([np.float32(gradient) * np.float32(scale)], [w])
        seen.append((w.numpy().tolist(), int(optimizer.gathered), int(optimizer.iterations)))
    first, second = [-2.0, -3.0], [-8.0, -3.0]  # the means of the first and the fourth, of the fifth and the sixth
    assert seen == [([0.0, 0.0], 1, 0)] * 3 + [(first, 0, 1), (first, 1, 1), (second, 0, 2)]
    assert float(optimizer.loss_scale.scale) == 1.0


def test_a_factor_below_1_does_not_grow_where_a_step_overflows() -> None:
    w = gx.Variable([1.0])
    optimizer = gx.optimizers.SGD(0.1, loss_scale=gx.optimizers.LossScale(0.25))
    optimizer.apply([[np.inf]], [w])
    assert float(optimizer.loss_scale.scale) == 0.25


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loss_that_is_scaled_before_minimize_scales_it_is_refused(compiled):
    w = gx.Variable([1.0, 2.0])
    optimizer = gx.optimizers.SGD(0.1, loss_scale=1024.0)

    def step():
        optimizer.minimize(lambda: optimizer.scale_loss(gx.ops.sum(w * w)), w)

    with pytest.raises(StateError, match=r"(?s)scale_loss in the function.*the factor would count twice"):
        (gx.jit(step) if compiled else step)()
    assert w.numpy().tolist() == [1.0, 2.0]
    with gx.GradientTape() as tape:
        loss = optimizer.scale_loss(gx.ops.sum(w * w))
    optimizer.apply(tape.gradient(loss, [w]), [w])
    np.testing.assert_allclose(w.numpy(), [0.8, 1.6], rtol=1e-6)
