"""Optimizers in rules of optimizers in rules: what reaches the last one, how often each one goes, what is refused."""

import copy
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError, StateError
from graftax.optimizers import SGD, Adam, AdamW, Muon, ScheduleFreeSGD, Sophia


def chain(third, first=None, second=None, **options):
    """Two optimizers around one, each with a rule for all, which may set more."""
    middle = SGD(0.1, rules=[("**", {**(second or {}), "optimizer": third})])
    return SGD(0.1, rules=[("**", {**(first or {}), "optimizer": middle})], **options)


def values(variables):
    return [v.numpy().tolist() for v in variables]


def two():
    return [gx.Variable([1.0, -2.0], name="a"), gx.Variable([3.0], name="b")]


ONES = [[1.0, 1.0], [1.0]]

# what rules of the first and of the second set, and an SGD(0.5) that does the same at once
REACHES = {
    "multipliers": ({"learning_rate_multiplier": 0.5}, {"learning_rate_multiplier": 0.25}, lambda: SGD(0.5 * 0.125)),
    "decay of the first": ({"weight_decay": 0.5}, {}, lambda: SGD(0.5, weight_decay=0.5)),
    "the first wins": ({"weight_decay": 0.5}, {"weight_decay": 0.25}, lambda: SGD(0.5, weight_decay=0.5)),
    "each its own": ({"l2": 0.5}, {"weight_decay": 0.25}, lambda: SGD(0.5, l2=0.5, weight_decay=0.25)),
    "limit of the first": ({"adaptive_clip": 0.1}, {}, lambda: SGD(0.5, adaptive_clip=0.1)),
    "frozen by the first": ({"frozen": True}, {}, lambda: SGD(0.5, rules=[("**", {"frozen": True})])),
    "frozen by the second": ({}, {"frozen": True}, lambda: SGD(0.5, rules=[("**", {"frozen": True})])),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", REACHES)
def test_what_rules_set_reaches_the_third(name, compiled):
    first, second, alone = REACHES[name]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all is frozen
        for optimizer in (chain(SGD(0.5), first, second), alone()):
            variables = two()

            def step(optimizer=optimizer, variables=variables):
                optimizer.apply(ONES, variables)

            run = gx.jit(step) if compiled else step
            for _ in range(2):
                run()
            row = optimizer.explain(variables).rows[0]
            found.append((values(variables), row.learning_rate, row.weight_decay, row.l2, row.frozen))
    for mine, its in zip(*[one[0] for one in found], strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-6)
    assert found[0][1:] == pytest.approx(found[1][1:]) if not found[0][-1] else found[1][-1]


def test_what_the_options_of_the_first_say_does_not_reach_the_others():
    variables = two()
    chain(SGD(0.5), weight_decay=0.5).apply(ONES, variables)
    assert values(variables) == [[0.5, -2.5], [2.5]]


def test_an_optimizer_that_two_name_makes_one_update():
    shared = Adam(lambda step: 0.5 / (step + 1.0))
    middle = SGD(0.1, clipvalue=0.5, rules=[("b", {"optimizer": shared})])
    outer = SGD(0.1, rules=[("a", {"optimizer": shared}), ("b", {"optimizer": middle})])
    alone, variables, its = Adam(lambda step: 0.5 / (step + 1.0)), two(), two()
    for _ in range(3):
        outer.apply(ONES, variables)
        alone.apply([[1.0, 1.0], [0.5]], its)
    assert [int(one.iterations) for one in (outer, middle, shared)] == [3, 3, 3]
    np.testing.assert_allclose(variables[0].numpy(), its[0].numpy(), rtol=1e-6)
    np.testing.assert_allclose(variables[1].numpy(), its[1].numpy(), rtol=1e-6)


@pytest.mark.parametrize("make", [lambda: SGD(0.5), lambda: SGD(0.5, rules=[("a", {"l2": 0.0})])])
def test_an_optimizer_in_rules_of_two_takes_from_each_what_that_says(make):
    inner, (a, b) = make(), two()
    slow = SGD(rules=[("**", {"optimizer": inner, "learning_rate_multiplier": 0.5, "weight_decay": 1.0})])
    fast = SGD(rules=[("**", {"optimizer": inner})])
    for optimizer, multiplier, decay in ((slow, 0.5, 1.0), (fast, 1.0, 0.0), (inner, 1.0, 0.0)) * 2:
        before = a.numpy()
        optimizer.apply(ONES, [a, b])
        np.testing.assert_allclose(a.numpy(), before - 0.5 * multiplier * (1 + decay * before), rtol=1e-6)


def test_sums_of_gradients_leave_slots_of_the_third_alone_where_there_is_none():
    found = []
    for levels in (1, 2, 3):
        adam, variables = Adam(0.1), two()
        options = {"accumulation_steps": 2}
        if levels == 1:
            adam = outer = Adam(0.1, **options)
        else:
            outer = SGD(rules=[("**", {"optimizer": adam})], **options) if levels == 2 else chain(adam, **options)
        for _ in range(2):
            outer.apply(ONES, variables)
        for _ in range(2):
            outer.apply(ONES[:1], variables[:1])
        found.append((values(variables), values(adam.slot(v, "momentum") for v in variables)))
    assert found[0] == found[1] == found[2]


def test_a_third_that_needs_the_loss_is_refused_by_minimize():
    variables = two()
    with pytest.raises(ArgumentError, match="whose rules name Sophia"):
        chain(Sophia(0.1)).minimize(lambda: gx.ops.sum(variables[0] ** 2), variables[:1])


def test_a_third_that_accumulates_later_is_refused():
    third, variables = SGD(0.1), two()
    outer = chain(third)
    third.accumulation_steps = 2
    with pytest.raises(ArgumentError, match="as optimizer"):
        outer.apply(ONES, variables)
    assert values(variables) == values(two())


def test_averages_of_a_third_are_evaluated():
    gx.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")
    model = gx.Sequential([layers.Dense(2)])
    outer = chain(ScheduleFreeSGD(0.1))
    with pytest.raises(StateError) as error:
        outer.averaged().__enter__()
    assert error.value.reason == "nothing has been updated yet"
    model.compile(outer, "mse")
    model.fit(x, x, validation_data=(x, x), epochs=2, verbose=0, callbacks=[gx.callbacks.SwapAverages()])


def test_a_copy_of_three_warns_of_slots_that_it_has_not():
    variables, outer = two(), chain(SGD(0.1, momentum=0.5))
    outer.apply(ONES, variables)
    copied = copy.deepcopy(outer)
    with pytest.warns(UserWarning, match="makes fresh slots"):
        copied.apply(ONES, two())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copied.apply(ONES, two())


def test_a_matrix_of_muon_in_a_rule_is_what_its_rules_say():
    matrix = np.eye(2, dtype="float32") * [3.0, 0.1]
    found = []
    for make in (lambda: chain(Muon(0.1, adamw=("a",))), lambda: AdamW(0.1, weight_decay=0.0)):
        v = gx.Variable(np.ones((2, 2)), name="a")
        outer = make()
        outer.apply([matrix], [v])
        found.append(v.numpy())
    np.testing.assert_allclose(*found, rtol=1e-5)
