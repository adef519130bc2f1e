"""OP1, OP2, OP3, OP13, OP14, OP21, and the base class under random settings."""

import copy
import pickle
import tempfile
from contextlib import nullcontext as nothing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentTypeError, CheckpointError, StateError
from graftax.optimizers import SGD, SM3, Adam, AdamW, Lion, RMSprop, SignSGD

pytestmark = pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up, and scaled by hand or not at all


class Net(gx.Module):
    def __init__(self):
        super().__init__()
        self.kernel = gx.Variable([[1.0, 2.0], [3.0, 4.0]])
        self.bias = gx.Variable([0.5, -0.5])


def ones(net):
    return [np.ones(v.shape, "float32") for v in net.variables]


def same(left, right, rtol=0.0):
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=rtol, atol=rtol)


# --- hyperparameters --------------------------------------------------------------------------------------------------


def test_op1_hyperparameters_are_attributes_that_can_be_set_and_that_copies_have():
    optimizer = RMSprop(0.1, momentum=0.5)
    optimizer.momentum, optimizer.learning_rate, optimizer.weight_decay = 0.25, 0.5, 0.125
    assert repr(optimizer) == "RMSprop(learning_rate=0.5, momentum=0.25, weight_decay=0.125)"
    for copied in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert repr(copied) == repr(optimizer)
        (left, right), grad = (Net(), Net()), ones(Net())
        copied.apply(grad, left.variables)
        copy.deepcopy(optimizer).apply(grad, right.variables)
        same(left.variables, right.variables)


def test_op2_a_number_is_a_number_and_a_variable_stays_one():
    optimizer = SGD(0.1, momentum=gx.Variable(0.5, trainable=False))
    net = Net()
    optimizer.build(net)
    assert {"learning_rate", "momentum", "iterations"} < set(optimizer.named_variables())
    assert type(SGD(0.1, momentum=0.5).momentum) is float


@pytest.mark.slow
def test_op3_any_hyperparameter_may_be_a_variable_which_is_honoured_without_a_new_trace():
    names = (
        "beta_1",
        "weight_decay",
        "l2",
        "clipvalue",
        "clipnorm",
        "global_clipnorm",
        "adaptive_clip",
        "ema_momentum",
    )
    first = (0.9, 0.1, 0.1, 2.0, 3.0, 3.0, 1.0, 0.5)
    later = (0.5, 0.2, 0.3, 0.5, 0.75, 1.0, 0.1, 0.25)
    held = {name: gx.Variable(value, trainable=False) for name, value in zip(names, first, strict=True)}
    optimizer, plain = AdamW(0.1, **held), AdamW(0.1, **dict(zip(names, first, strict=True)))
    net, other = Net(), Net()
    step = gx.jit(lambda: optimizer.apply(ones(net), net.variables))
    for values in (first, later):
        for name, value in zip(names, values, strict=True):
            held[name].assign(value)
            setattr(plain, name, value)
        step()
        plain.apply(ones(other), other.variables)
    same(net.variables, other.variables, 1e-6)
    averages = [[o.slot(v, "moving_average") for v in n.variables] for o, n in ((optimizer, net), (plain, other))]
    same(*averages, 1e-6)
    assert step.trace_count == 1


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("make", [SGD, RMSprop, SignSGD, SM3])
def test_op3_a_momentum_that_is_a_variable_has_a_slot(make):
    held, net, other = gx.Variable(0.5, trainable=False), Net(), Net()
    optimizer, plain = make(0.1, momentum=held), make(0.1, momentum=0.5)
    step = gx.jit(lambda: optimizer.apply(ones(net), net.variables))
    for _ in range(2):
        step()
        plain.apply(ones(other), other.variables)
    same(net.variables, other.variables, 1e-6)


def test_op3_a_rate_of_no_arguments_is_asked_at_each_update():
    rates, w = iter([1.0, 0.5, 0.25]), gx.Variable([0.0])
    optimizer = SGD(lambda: next(rates))
    for _ in range(3):
        optimizer.apply([[1.0]], [w])
    assert w.numpy().tolist() == [-1.75]


def test_op3_compiled_it_gives_a_variable_and_a_number_is_refused():
    held, w = gx.Variable(1.0, trainable=False), gx.Variable([0.0])
    optimizer = SGD(lambda: held * 2)
    step = gx.jit(lambda: optimizer.apply([[1.0]], [w]))
    step()
    held.assign(0.25)
    step()
    assert w.numpy().tolist() == [-2.5]
    with pytest.raises(ArgumentTypeError, match="while a function is compiled"):
        gx.jit(lambda: SGD(lambda: 0.1).apply([[1.0]], [w]))()


@pytest.mark.broad
def test_options_that_need_state_may_be_switched_on_later():
    optimizer, w = SGD(1.0), gx.Variable([0.0])
    step = gx.jit(lambda g: optimizer.apply([g], [w]))
    step(ops.asarray([1.0]))
    optimizer.accumulation_steps, optimizer.loss_scale = 2, 4.0
    for gradient in (4.0, np.nan, 12.0):
        step(ops.asarray([gradient]))
    assert w.numpy().tolist() == [-3.0]
    step(ops.asarray([8.0]))
    optimizer.accumulation_steps = 1  # what is gathered goes with the next update
    step(ops.asarray([16.0]))
    assert w.numpy().tolist() == [-6.0]
    assert int(optimizer.iterations) == 3


# --- decay ------------------------------------------------------------------------------------------------------------


def test_op13_decay_is_decoupled_and_l2_is_coupled(three_steps):
    np.testing.assert_allclose(
        three_steps(SGD(0.1, momentum=0.9, weight_decay=0.1)), [0.88679, -1.94588, 0.39417], atol=1e-5
    )
    np.testing.assert_allclose(three_steps(SGD(0.1, momentum=0.9, l2=0.1)), [0.86096, -1.89422, 0.38148], atol=1e-5)


def test_op14_what_does_not_decay_is_chosen_by_the_whole_path():
    class Outer(gx.Module):
        def __init__(self):
            super().__init__()
            self.bias_free = Net()
            self.block = Net()

    net = Outer()
    optimizer = SGD(1.0, weight_decay=0.5, rules=[("*/bias", {"weight_decay": 0.0})])
    optimizer.apply([np.zeros(v.shape, "float32") for v in net.variables], net.variables)
    assert net.bias_free.kernel.numpy()[0, 0] == 0.5, "a substring of another name is no match"
    assert net.bias_free.bias.numpy()[0] == net.block.bias.numpy()[0] == 0.5
    assert net.block.kernel.numpy()[0, 0] == 0.5


# --- partial restore --------------------------------------------------------------------------------------------------


def test_op21_state_comes_back_by_name_where_the_variables_differ(tmp_path):
    class Grown(Net):
        def __init__(self):
            super().__init__()
            self.extra = gx.Variable([1.0])

    net, optimizer = Net(), Adam(0.1)
    optimizer.apply(ones(net), net.variables)
    gx.Checkpoint(model=net, optimizer=optimizer).save(tmp_path / "c")
    grown, other = Grown(), Adam(0.1)
    other.build(grown)
    checkpoint = gx.Checkpoint(model=grown, optimizer=other)
    with pytest.raises(CheckpointError, match="extra"):
        checkpoint.restore(tmp_path / "c")
    assert int(other.iterations) == 0, "nothing is restored by halves"
    checkpoint.restore(tmp_path / "c", skip="model/extra")
    for name in ("momentum", "velocity"):
        for path in ("kernel", "bias"):
            a, b = getattr(net, path), getattr(grown, path)
            np.testing.assert_array_equal(optimizer.slot(a, name).numpy(), other.slot(b, name).numpy())
        assert other.slot(grown.extra, name).numpy().tolist() == [0.0]
    assert int(other.iterations) == 1


# --- random settings --------------------------------------------------------------------------------------------------

MAKERS = st.sampled_from(
    [lambda **o: SGD(0.1, momentum=0.5, **o), lambda **o: AdamW(0.1, **o), lambda **o: Lion(0.1, **o)]
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "l2": st.sampled_from([0.1]),
        "clipvalue": st.sampled_from([0.5]),
        "clipnorm": st.sampled_from([0.7]),
        "global_clipnorm": st.sampled_from([0.9]),
        "adaptive_clip": st.sampled_from([0.1]),
        "ema_momentum": st.sampled_from([0.5]),
    },
)
few = settings(max_examples=12, deadline=None)


def steps_for(seed, count):
    rng = np.random.default_rng(seed)
    return [[rng.normal(size=v.shape).astype("float32") for v in Net().variables] for _ in range(count)]


@pytest.mark.broad
@few
@given(MAKERS, OPTIONS, st.integers(1, 4), st.integers(0, 99))
def test_op15_accumulated_as_large(make, options, count, seed):
    small, large, optimizer, plain = Net(), Net(), make(accumulation_steps=count, **options), make(**options)
    gradients = steps_for(seed, 2 * count)
    for gradient in gradients:
        optimizer.apply(gradient, small.variables)
    for i in (0, count):
        plain.apply([np.mean(g, 0) for g in zip(*gradients[i : i + count], strict=True)], large.variables)
    same(small.variables, large.variables, 1e-4)
    assert int(optimizer.iterations) == int(plain.iterations) == 2


@pytest.mark.broad
@few
@given(MAKERS, OPTIONS, st.integers(0, 5), st.integers(0, 99))
def test_op15_saved_and_restored_in_the_middle(make, options, when, seed):
    net, other = Net(), Net()
    optimizer, its = (make(accumulation_steps=3, **options) for _ in range(2))
    gradients = steps_for(seed, 6)
    for gradient in gradients[:when]:
        optimizer.apply(gradient, net.variables)
    with tempfile.TemporaryDirectory() as folder:
        gx.Checkpoint(model=net, optimizer=optimizer).save(Path(folder) / "c")
        gx.Checkpoint(model=other, optimizer=its).restore(Path(folder) / "c")
    for gradient in gradients[when:]:
        optimizer.apply(gradient, net.variables)
        its.apply(gradient, other.variables)
    same([*net.variables, *optimizer.variables], [*other.variables, *its.variables])


@pytest.mark.broad
@few
@given(MAKERS, OPTIONS, st.lists(st.booleans(), min_size=3, max_size=6), st.integers(0, 99))
def test_op20_frozen_at_any_time_is_frozen_bit_for_bit(make, options, frozen, seed):
    net, optimizer = Net(), make(accumulation_steps=1 + seed % 2, weight_decay=0.1, **options)

    def all_of_the_kernel():
        slots = [r.slot for r in optimizer.slots() if r.variable is net.kernel and r.name != "accumulated_gradient"]
        return [v.numpy() for v in (net.kernel, *slots)]

    for still, gradient in zip(frozen, steps_for(seed, len(frozen)), strict=True):
        net.kernel.trainable = not still
        before = all_of_the_kernel()
        optimizer.apply(gradient, net.variables)
        if still:
            for a, b in zip(before, all_of_the_kernel(), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.broad
@few
@given(
    MAKERS,
    st.lists(st.tuples(st.sampled_from(["kernel", "bias", "**"]), st.sampled_from([0.0, 0.5, 2.0])), max_size=4),
    st.integers(0, 99),
)
def test_rules_act_as_an_optimizer_with_these_settings_for_each_variable(make, rules, seed):
    net, apart = Net(), Net()
    optimizer = make(
        weight_decay=0.1, rules=[(s, {"learning_rate_multiplier": m, "weight_decay": m / 8}) for s, m in rules]
    )
    alone = {}
    for path, variable in apart.named_variables().items():
        factor, decay = 1.0, 0.1
        for selector, number in rules:
            if selector in ("**", path):
                factor, decay = number, number / 8
        one = make(weight_decay=decay)
        one.learning_rate = float(one.learning_rate) * factor
        alone[path] = one, variable
    for gradient in steps_for(seed, 2):
        optimizer.apply(gradient, net.variables)
        for part, (one, variable) in zip(gradient, alone.values(), strict=True):
            one.apply([part], [variable])
    same(net.variables, apart.variables, 1e-5)


# --- averages, and the backend without transforms ---------------------------------------------------------------------


def test_op16_averages_that_a_checkpoint_lacks_start_at_the_restored_weights(tmp_path):
    net, optimizer = Net(), Adam(0.1)
    for _ in range(3):
        optimizer.apply(ones(net), net.variables)
    gx.Checkpoint(model=net, optimizer=optimizer).save(tmp_path / "c")
    for early in (False, True):
        other, averaging = Net(), Adam(0.1, ema_momentum=0.5)
        if early:
            averaging.build(other)
        gx.Checkpoint(model=other, optimizer=averaging).restore(tmp_path / "c", skip="optimizer/averaged_updates")
        restored = [v.numpy() for v in other.variables]
        with averaging.averaged() if early else nothing():
            for a, b in zip(restored, other.variables, strict=True):
                np.testing.assert_array_equal(a, b.numpy())
        averaging.apply(ones(other), other.variables)
        same([averaging.slot(v, "moving_average") for v in other.variables], other.variables)


@pytest.mark.broad
def test_every_option_without_jax():
    results = []
    for backend in ("jax", "numpy"):
        with gx.backend.use(backend):
            w, table = gx.Variable([1.0]), gx.Variable(np.ones((4, 2), "float32"))
            options = {"accumulation_steps": 2, "ema_momentum": 0.5, "loss_scale": "dynamic", "global_clipnorm": 1.0}
            optimizer = AdamW(lambda: 0.1, adaptive_clip=0.1, **options)
            for gradient in (1.0, np.inf, 2.0, 3.0, 4.0):
                optimizer.apply([[gradient], gx.IndexedRows([1, 1], np.ones((2, 2), "float32"), (4, 2))], [w, table])
            assert int(optimizer.iterations) == 2
            Adam(0.1, lazy=True).apply([gx.IndexedRows([1, 1], np.ones((2, 2), "float32"), (4, 2))], [table])
            with optimizer.averaged():
                results.append([w.numpy(), table.numpy()])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.broad
@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_op15_what_has_no_gradient_in_the_last_piece_moves_with_the_update(run):
    a, b, idle = gx.Variable([0.0]), gx.Variable([0.0]), gx.Variable([3.0])
    optimizer = AdamW(0.1, weight_decay=0.1, accumulation_steps=2, ema_momentum=0.5)
    plain = AdamW(0.1, weight_decay=0.1, ema_momentum=0.5)
    twin_a, twin_b, twin_idle = gx.Variable([0.0]), gx.Variable([0.0]), gx.Variable([3.0])
    first = run(lambda: optimizer.apply([[1.0], [1.0]], [a, b]))
    second = run(lambda: optimizer.apply([[1.0]], [b]))
    run(lambda: optimizer.apply([[2.0]], [idle]))()
    run(lambda: optimizer.apply([[2.0]], [idle]))()
    plain.apply([[2.0]], [twin_idle])
    for _ in range(3):
        first()
        second()
        plain.apply([[0.5], [1.0]], [twin_a, twin_b])
    same([a, b, idle], [twin_a, twin_b, twin_idle], 1e-6)  # one that had no gradient at all stays, undecayed
    same(
        [optimizer.slot(v, "moving_average") for v in (a, b)],
        [plain.slot(v, "moving_average") for v in (twin_a, twin_b)],
    )
    assert optimizer.slot(a, "accumulated_gradient").numpy().tolist() == [0.0]


def test_op16_training_inside_of_averaged_is_refused_also_by_a_step_that_is_compiled():
    w, optimizer = gx.Variable([0.0]), SGD(1.0, ema_momentum=0.5)
    step = gx.jit(lambda: optimizer.apply([[-1.0]], [w]))
    step()
    step()
    with optimizer.averaged():
        twin_optimizer, twin = copy.deepcopy((optimizer, w))
        with pytest.raises(StateError, match=r"inside of averaged"):
            step()
    step()
    assert w.numpy().tolist() == [3.0]
    assert step.trace_count <= 2
    twin_optimizer.apply([[-1.0]], [twin])  # a copy trains from the values that it has
    assert twin.numpy().tolist() == [2.5]


def test_op16_averages_that_are_no_longer_kept_are_not_lent():
    w, optimizer = gx.Variable([0.0]), SGD(1.0, ema_momentum=0.5)
    optimizer.apply([[-1.0]], [w])
    optimizer.ema_momentum = None
    optimizer.apply([[-1.0]], [w])
    with pytest.raises(StateError, match="has no averages"), optimizer.averaged():
        pass
