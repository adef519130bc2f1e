"""Which model rules of an optimizer are about: explanations, errors, several models, later layers, checkpoints."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import layers, optimizers
from graftax.core.errors import ArgumentError, SelectorError
from tests.training.transferred import (
    FROZEN,
    MSE,
    OPTIMIZERS,
    OWNERS,
    RULES,
    Net,
    X,
    Y,
    expect_same,
    older_model,
    older_model_in_other_order,
    weights,
)

ONES = np.ones((4, 4), "float32")


def train(model, optimizer, steps=2):
    model.compile(optimizer, "mse")
    for _ in range(steps):
        model.train_on_batch(X, Y)


def rows(optimizer, model):
    return [row.cells() for row in optimizer.explain(model).rows]


@pytest.mark.in_turn(12, broad=5)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("owner", OWNERS)
def test_the_explanation_is_about_the_model_that_it_is_given(owner, name):
    model, lives = owner(Net)
    optimizer = OPTIMIZERS[name]()
    before = rows(optimizer, model)
    assert before == rows(OPTIMIZERS[name](), weights(Net))
    train(model, optimizer)
    assert rows(optimizer, model) == before
    del lives


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("owner", [weights, older_model, older_model_in_other_order])
def test_a_restored_optimizer_goes_on(tmp_path, owner, name):
    def begin():
        found = owner(Net)
        return found if isinstance(found, tuple) else (found, None)

    (model, lives), optimizer = begin(), OPTIMIZERS[name]()
    train(model, optimizer, 3)
    gx.Checkpoint(model=model, optimizer=optimizer).save(tmp_path / "c")
    (other, live), another = begin(), OPTIMIZERS[name]()
    gx.Checkpoint(model=other, optimizer=another).restore(tmp_path / "c")
    for one, its in ((model, optimizer), (other, another)):
        train(one, its, 3)
    expect_same(gx.state(model), gx.state(other))
    expect_same(gx.state(optimizer), gx.state(another))
    del lives, live


@pytest.mark.broad
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))])
def test_copies_go_on(copied):
    model, lives = older_model(Net)
    optimizer = optimizers.Muon(0.1, adamw=("layers/0/layers/0/**",), rules=RULES)
    train(model, optimizer)
    other, another = copied((model, optimizer))
    for one, its in ((model, optimizer), (other, another)):
        train(one, its)
    expect_same(gx.state(model), gx.state(other))
    del lives


# --- weights with two paths -------------------------------------------------------------------------------------------


def tied():
    gx.set_random_seed(1)
    shared = layers.Dense(4)
    model = Net(gx.Sequential([shared, layers.Dense(4)]), shared)
    model(X)
    return model


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("way", ["fit", "minimize", "apply"])
@pytest.mark.parametrize("where", ["layers/0/layers/0/**", "layers/1/**"])
def test_a_weight_with_two_paths_is_selected_by_each(where, way):
    found = []
    for rule in (where, ["layers/0/layers/0/**", "layers/1/**"]):
        model, optimizer = tied(), optimizers.SGD(0.1, rules=[(rule, {"learning_rate_multiplier": 0.5})])
        if way == "fit":
            train(model, optimizer)
        elif way == "minimize":
            optimizer.minimize(lambda model=model: MSE(Y, model(X)), model)
        else:
            optimizer.apply({path: np.ones(v.shape, "float32") for path, v in model.named_variables().items()}, model)
        found.append(gx.state(model))
        assert [row.learning_rate for row in optimizer.explain(model).rows] == pytest.approx([0.05, 0.05, 0.1, 0.1])
    expect_same(*found)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("rule", ["layer/1/**", "layers/2/kernel"])
@pytest.mark.parametrize("way", ["fit", "minimize", "apply", "build", "explain"])
def test_a_rule_that_selects_nothing_of_this_model_is_told_its_names(rule, way):
    model, older = older_model(Net)
    assert rule == "layer/1/**" or older.layers[2].kernel.path == rule
    before = gx.state(model)
    optimizer = optimizers.SGD(0.1, rules=[(rule, FROZEN)])
    acts = {
        "fit": lambda: train(model, optimizer),
        "minimize": lambda: optimizer.minimize(lambda: MSE(Y, model(X)), model),
        "apply": lambda: optimizer.apply(gx.grad(lambda: MSE(Y, model(X)), wrt=model)(), model),
        "build": lambda: optimizer.build(model),
        "explain": lambda: optimizer.explain(model),
    }
    with pytest.raises(SelectorError, match=r"by paths from Net 'net'.* matches none of") as error:
        acts[way]()
    assert "layers/1/kernel" in error.value.instead
    expect_same(before, gx.state(model))


def test_each_model_is_asked_for_each_rule():
    model, older = older_model(Net)
    optimizer = optimizers.SGD(0.1, rules=[("layers/0/layers/0/**", FROZEN)])
    optimizer.build(model)
    with pytest.raises(SelectorError, match="by paths from Sequential"):
        optimizer.build(older)
    optimizer.build(model)


def test_a_list_has_the_own_paths_of_its_variables():
    model, older = older_model(Net)
    optimizer = optimizers.SGD(0.1, rules=[("layers/1/kernel", FROZEN)])
    assert older.layers[1].kernel is model.layers[0].layers[1].kernel
    frozen = [bool(row.frozen) for row in optimizer.explain(model.trainable_variables).rows]
    assert frozen == [False, False, True, False, True, False]


@pytest.mark.broad
def test_rules_and_freeze_agree():
    for where in (
        "layers/1/**",
        "layers/0/layers/0/kernel",
        "**/kernel",
        gx.select("layers/0/**") & ~gx.select("**/bias"),
    ):
        model, lives = older_model(Net)
        optimizer = optimizers.SGD(0.1, rules=[(where, FROZEN)])
        by_rule = [row.path for row in optimizer.explain(model).rows if row.frozen]
        assert by_rule == model.freeze(where)
        del lives


# --- several models ---------------------------------------------------------------------------------------------------


@pytest.mark.broad
@pytest.mark.parametrize("compiled", [False, True])
def test_an_optimizer_of_two_models_sees_the_paths_of_each(compiled):
    """One weight is ``layers/1/kernel`` of the older model, which the rule freezes, and another one of the newer."""
    model, older = older_model(Net)
    shared, head = older.layers[1].kernel, model.layers[1].kernel
    optimizer = optimizers.SGD(0.1, rules=[("layers/1/kernel", FROZEN)])

    def step(which):
        return optimizer.minimize(lambda: gx.ops.sum(which(X) ** 2), which)

    run = gx.jit(step) if compiled else step
    for _ in range(2):
        for which, still, moves in ((older, shared, None), (model, head, shared)):
            before = [None if v is None else v.numpy() for v in (still, moves)]
            run(which)
            assert np.array_equal(still.numpy(), before[0])
            assert moves is None or not np.array_equal(moves.numpy(), before[1])
    if compiled:
        assert run.trace_count == 2


@pytest.mark.broad
def test_a_compiled_step_with_a_list_follows_the_model_that_was_trained_last():
    model, older = older_model(Net)
    shared = older.layers[1].kernel
    optimizer = optimizers.SGD(0.1, rules=[("layers/1/kernel", FROZEN)])
    step = gx.jit(lambda: optimizer.apply([ONES], [shared]))

    def moves():
        before = shared.numpy()
        step()
        return not np.array_equal(before, shared.numpy())

    assert not moves()
    optimizer.explain(model)  # a question changes nothing
    assert not moves()
    assert step.trace_count == 1
    optimizer.build(model)
    assert moves()
    assert step.trace_count == 2


def test_a_compiled_part_of_a_step_is_traced_for_the_model_around_it():
    optimizer = optimizers.SGD(0.1, rules=[("layers/1/kernel", FROZEN)])
    update = gx.jit(lambda: optimizer.apply([ONES], [kernel]))

    class Parted(Net):
        def train_step(self, batch):
            update()
            return {"loss": gx.ops.zeros(())}

    model, older = older_model(Parted)
    kernel = older.layers[1].kernel
    before = kernel.numpy()
    update()  # by its own path
    assert np.array_equal(before, kernel.numpy())
    model.compile(optimizer, run_eagerly=True)
    model.train_on_batch(X, Y)
    assert np.array_equal(before - np.float32(0.1), kernel.numpy())


@pytest.mark.broad
def test_a_muon_matrix_that_another_model_gave_to_adamw_is_a_matrix_again():
    model, older = older_model(Net)
    muon = optimizers.Muon(0.1, adamw=("layers/1/kernel",))
    muon.build(older)
    kernel = older.layers[1].kernel
    muon.apply([ONES], [kernel])
    muon.build(model)
    expected = optimizers.Muon(0.1)
    expected.build([kernel])
    expected.slot(kernel, "momentum").assign(muon.slot(kernel, "momentum").value)
    start = kernel.numpy()
    muon.apply([ONES], [kernel])
    moved = kernel.numpy()
    kernel.assign(start)
    expected.apply([ONES], [kernel])
    np.testing.assert_allclose(moved, kernel.numpy(), rtol=1e-5)


def test_rules_of_three_optimizers_multiply():
    w = gx.Variable([1.0])
    third = optimizers.SGD(1.0)
    second = optimizers.SGD(1.0, rules=[("**", {"optimizer": third, "learning_rate_multiplier": 0.5})])
    first = optimizers.SGD(1.0, rules=[("**", {"optimizer": second, "learning_rate_multiplier": 0.5})])
    first.apply([[1.0]], [w])
    assert w.numpy().tolist() == [0.75]
    assert first.explain([w]).rows[0].learning_rate == 0.25


# --- later layers, and parts of a model -------------------------------------------------------------------------------


@pytest.mark.broad
def test_a_layer_that_is_built_later_is_seen():
    model, older = older_model(Net)
    optimizer = optimizers.SGD(0.1, rules=[("**/kernel", FROZEN)])
    train(model, optimizer)
    model.layers.append(layers.Dense(4))
    model.train_on_batch(X, Y)  # builds it
    kernel, bias = (one.numpy() for one in model.layers[2].variables)
    model.train_on_batch(X, Y)
    assert np.array_equal(kernel, model.layers[2].kernel.numpy())
    assert not np.array_equal(bias, model.layers[2].bias.numpy())
    del older


@pytest.mark.broad
def test_what_an_optimizer_is_given_is_where_paths_begin():
    model, older = older_model(Net)
    optimizer = optimizers.SGD(0.1, rules=[("kernel", FROZEN)])
    head = model.layers[1]
    before = head.kernel.numpy(), head.bias.numpy()
    optimizer.minimize(lambda: MSE(Y, model(X)), head)
    assert np.array_equal(before[0], head.kernel.numpy())
    assert not np.array_equal(before[1], head.bias.numpy())
    del older


# --- pure updates -----------------------------------------------------------------------------------------------------


def test_paths_of_pure_updates_that_stand_for_two_variables():
    model, older = older_model_in_other_order(Net)
    optimizer = optimizers.SGD(0.1)
    by_model = {path: v.value for path, v in model.named_variables().items()}
    by_own = {v.path: v.value for v in model.variables}
    state = optimizer.pure_state(model)
    assert optimizer.pure_update(by_model, state, by_model)[0].keys() == by_model.keys()
    one = gx.Sequential([older[0].layers[1], older[0].layers[0]])  # layers/0 is layers/1 of the older one
    one(X)
    swapped = {path: v.value for path, v in one.named_variables().items()}
    optimizer = optimizers.SGD(0.1)
    state = optimizer.pure_state(one)
    with pytest.raises(ArgumentError, match=r"got a value for 'layers/0/kernel'.*") as error:
        optimizer.pure_update(swapped, state, swapped)
    assert "a list" in error.value.instead
    optimizer = optimizers.SGD(0.1)
    state = optimizer.pure_state(one.trainable_variables)
    values = {v.path: v.value for v in one.trainable_variables}
    assert optimizer.pure_update(values, state, values)[0].keys() == swapped.keys()
    assert by_own.keys() != by_model.keys()


def test_paths_of_pure_updates_without_a_model():
    model, older = older_model(Net)
    optimizer = optimizers.SGD(0.1)
    values = {v.path: v.value for v in model.variables}
    state = optimizer.pure_state(model.trainable_variables)
    with pytest.raises(ArgumentError, match="the path of two variables"):
        optimizer.pure_update(values, state, values)
    del older
