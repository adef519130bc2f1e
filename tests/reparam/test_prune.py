"""prune: by magnitude, of each weight and of all together, eager and compiled; and the schedule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax.backend import registry
from graftax.core.errors import ArgumentError, SelectorError
from graftax.reparam.mask import Mask
from graftax.reparam.prune import PruningSchedule, prune

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 5)).astype("float32")


def model():
    with gx.variable_creator_scope(Mask()):
        made = gx.Sequential([gx.layers.Dense(4), gx.layers.Dense(3)])
        made(X)
    made.layers[1].kernel.base.assign(10 * made.layers[1].kernel.base.value)
    return made


def kernels(model):
    return [layer.kernel for layer in model.layers]


def smallest(value, count):
    """Which these are, by sorting."""
    return np.isin(np.arange(value.size), np.argsort(np.abs(value), axis=None)[:count])


@settings(deadline=None, max_examples=20)
@given(st.floats(0, 1))
def test_of_each_weight_the_smallest(fraction):
    with registry.use("numpy"):
        net = model()
        prune(net, fraction)
        for w in kernels(net):
            expected = smallest(w.base.numpy(), round(np.float32(fraction) * w.size))
            np.testing.assert_array_equal(w.numpy().ravel() == 0, expected)


@pytest.mark.broad
@pytest.mark.parametrize("compiled", [False, True])
def test_of_all_together(compiled):
    net = model()
    run = gx.jit(lambda f: prune(net, f, globally=True)) if compiled else lambda f: prune(net, f, globally=True)
    assert float(run(0.5)) == 0.5
    a, b = kernels(net)
    both = np.concatenate([a.base.numpy().ravel(), b.base.numpy().ravel()])
    expected = smallest(both, 16)
    np.testing.assert_array_equal(np.concatenate([a.numpy().ravel(), b.numpy().ravel()]) == 0, expected)
    assert (a.numpy() == 0).mean() > (b.numpy() == 0).mean()


@pytest.mark.broad
def test_equal_weights_are_pruned_to_the_very_number():
    net = model()
    w = kernels(net)[0]
    w.base.assign(np.ones((5, 4), "float32"))
    prune(net, 0.25, where="layers/0/kernel")
    assert (w.numpy() == 0).sum() == 5


@pytest.mark.broad
def test_what_is_pruned_stays_so():
    net = model()
    w = kernels(net)[0]
    prune(net, 0.5, where="layers/0/**")
    before = w.mask.numpy()
    w.base.assign(np.where(before, w.base.numpy(), 100))  # as if momentum had moved it
    assert float(prune(net, 0.75, where="layers/0/**")) == 0.75
    assert not (w.mask.numpy() & ~before).any()
    assert float(prune(net, 0.0, where="layers/0/**")) == 0.75
    w.mask.assign(np.ones((5, 4), bool))
    assert float(prune(net, 0.0)) == 0.0


@pytest.mark.broad
def test_a_fraction_that_is_a_variable_in_a_compiled_step():
    net, optimizer, schedule = model(), gx.optimizers.Adam(0.01), PruningSchedule(0.75, steps=4, begin=1)

    @gx.jit
    def step():
        masked = prune(net, schedule(optimizer.iterations))
        gradients = gx.grad(lambda: gx.ops.sum(net(X, training=True) ** 2), wrt=net)()
        optimizer.apply(gradients, net)
        return masked

    masked = [float(step()) for _ in range(6)]
    np.testing.assert_allclose(masked, [float(schedule(t)) for t in range(6)], atol=0.04)
    assert step.trace_count == 1
    assert masked[-1] == 0.75
    assert sum((w.numpy() == 0).sum() for w in kernels(net)) == 24


def test_the_schedule_is_that_of_the_paper():
    schedule = PruningSchedule(0.9, steps=100, begin=10, initial=0.2)
    for step in (0, 10, 35, 60, 110, 1000):
        done = min(max(step - 10, 0) / 100, 1)
        assert float(schedule(step)) == pytest.approx(0.9 + (0.2 - 0.9) * (1 - done) ** 3, abs=1e-6)
    assert repr(schedule) == "PruningSchedule(0.9, steps=100, begin=10, initial=0.2)"


@pytest.mark.parametrize("bad", [-0.1, 1.5, float("nan")])
def test_a_fraction_lies_between_0_and_1(bad):
    with pytest.raises(ArgumentError, match="fraction="):
        prune(model(), bad)


def test_a_selector_must_match_a_masked_weight():
    with pytest.raises(SelectorError, match=r"prune: where .*bias.* matches none of 2"):
        prune(model(), 0.5, where="**/bias")
    with pytest.raises(SelectorError, match="matches none"):
        prune(gx.layers.Dense(2), 0.5)


@pytest.mark.parametrize(("final", "options"), [(0.5, {"initial": 0.6}), (1.5, {}), (0.5, {"steps": 0})])
def test_bad_schedules(final, options):
    with pytest.raises(ArgumentError):
        PruningSchedule(final, **{"steps": 10, **options})
