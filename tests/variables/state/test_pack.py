"""Small buffers in one: whoever reads, assigns, copies or saves one of the Variables notices nothing."""

import copy
import gc
import weakref

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.variables.state.pack import Pack, pack_of
from graftax.variables.state.storage import Moves


def variables(count=3):
    return [gx.Variable(np.full((2, i + 1), i, "float32"), name=f"v{i}") for i in range(count)]


def packed(count=3):
    found = variables(count)
    return found, pack_of([v._storage for v in found])


def test_the_row_holds_the_elements_in_order():
    found, pack = packed()
    assert pack.buffer.tolist() == [0] * 2 + [1] * 4 + [2] * 6
    assert [v.shape for v in found] == [(2, 1), (2, 2), (2, 3)]
    assert [v.numpy().tolist() for v in found] == [[[0]] * 2, [[1, 1]] * 2, [[2, 2, 2]] * 2]


def test_a_variable_that_is_read_twice_gives_the_same_array():
    found, pack = packed()
    pack.join()
    assert found[0].value is found[0].value


def test_an_assignment_leaves_the_others_and_joins_anew():
    found, pack = packed()
    pack.join()
    before = Moves.count
    found[1].assign(np.full((2, 2), 7, "float32"))
    assert Moves.count > before
    assert [v.numpy()[0, 0] for v in found] == [0, 7, 2]
    assert pack.buffer.tolist() == [0] * 2 + [7] * 4 + [2] * 6


def test_the_same_value_again_changes_nothing():
    found, pack = packed()
    pack.join()
    before = Moves.count
    found[0]._storage.buffer = found[0]._storage.buffer
    assert Moves.count == before


def test_another_grouping_takes_them_over():
    found, pack = packed()
    pack.join()
    other = pack_of([found[2]._storage, found[0]._storage])
    assert other is not pack
    assert not pack.is_of([v._storage for v in found])
    assert other.buffer.tolist() == [2] * 6 + [0] * 2
    assert [v.numpy()[0, 0] for v in found] == [0, 1, 2]


def test_the_pack_of_the_same_is_the_same():
    found, pack = packed()
    assert pack_of([v._storage for v in found]) is pack
    assert isinstance(found[0]._storage.place[0], Pack)


def test_a_deep_copy_has_memory_of_its_own():
    found, pack = packed()
    pack.join()
    twin = copy.deepcopy(found)
    found[0].assign(np.full((2, 1), 5, "float32"))
    assert [v.numpy()[0, 0] for v in twin] == [0, 1, 2]


# --- in compiled steps ----------------------------------------------------------------------------------------------


class Net(gx.Module):
    def __init__(self, count=5):
        super().__init__()
        self.weights = [gx.Variable(np.full((3,), i + 1.0, "float32")) for i in range(count)]

    def loss(self):
        return ops.sum(ops.stack([ops.cast(ops.sum(w * w), "float32") for w in self.weights]))


def trained(net, optimizer):
    @gx.jit
    def step():
        loss, gradients = gx.value_and_grad(net.loss, wrt=net.weights)()
        optimizer.apply(gradients, net.weights)
        return loss

    return step


def values(net, optimizer):
    return [v.numpy() for v in [*net.weights, *optimizer.variables]]


def plainly(net, optimizer, steps):
    for _ in range(steps):
        gradients = gx.grad(net.loss, wrt=net.weights)()
        optimizer.apply(gradients, net.weights)


def is_packed(variable):
    return isinstance(variable._storage.place[0], Pack)


@pytest.mark.broad
def test_weights_and_slots_of_an_elementwise_rule_share_buffers():
    net, optimizer = Net(), gx.optimizers.Adam(0.1)
    step = trained(net, optimizer)
    step()
    assert all(map(is_packed, net.weights))
    assert all(is_packed(record.slot) for record in optimizer.slots())
    assert len({id(w._storage.place[0]) for w in net.weights}) == 1


def test_a_rule_that_is_not_elementwise_sees_each_variable_alone():
    shapes = []

    class Looking(gx.Optimizer):
        def update(self, gradient, value, slots, step):
            shapes.append(value.shape)
            return value - gradient, {}

    net = Net(3)
    trained(net, Looking(0.1))()
    assert shapes == [(3,)] * 3
    assert not any(map(is_packed, net.weights))


@pytest.mark.broad
def test_large_ones_stay_alone():
    net = Net(2)
    net.weights += [gx.Variable(np.ones(70_000, "float32")) for _ in range(2)]
    trained(net, gx.optimizers.SGD(0.1))()
    assert [is_packed(w) for w in net.weights] == [True, True, False, False]


@pytest.mark.broad
def test_more_than_sixteen_go_in_groups():
    net = Net(40)
    trained(net, gx.optimizers.SGD(0.1))()
    packs = [w._storage.place[0] for w in net.weights]
    assert [len(pack.storages) for pack in dict.fromkeys(packs)] == [16, 16, 8]


@pytest.mark.broad
def test_settings_and_dtypes_are_not_mixed():
    net = Net(6)
    net.weights += [gx.Variable(np.ones(3, "float32"), dtype="bfloat16") for _ in range(2)]
    rules = [("weights/0", {"weight_decay": 0.5}), ("weights/1", {"weight_decay": 0.5})]
    optimizer = gx.optimizers.AdamW(0.1, weight_decay=0.0, rules=rules)
    plain, plain_optimizer = copy.deepcopy((net, optimizer))
    step = trained(net, optimizer)
    for _ in range(3):
        step()
    plainly(plain, plain_optimizer, 3)
    packs = [w._storage.place[0] for w in net.weights]
    assert [len(pack.storages) for pack in dict.fromkeys(packs)] == [2, 4, 2]
    for a, b in zip(net.weights, plain.weights, strict=True):
        np.testing.assert_allclose(np.asarray(a.numpy(), "float32"), np.asarray(b.numpy(), "float32"), rtol=2e-5)


@pytest.mark.broad
def test_reads_and_assignments_between_steps_are_honoured():
    net, optimizer = Net(), gx.optimizers.Adam(0.1)
    plain, plain_optimizer = copy.deepcopy((net, optimizer))
    step = trained(net, optimizer)
    for i in range(6):
        step()
        plainly(plain, plain_optimizer, 1)
        for one in (net, plain):
            one.weights[i % 5].assign_add(np.full(3, 0.5, "float32"))
        _ = net.weights[(i + 1) % 5].numpy()
        if i == 3:
            for one in (optimizer, plain_optimizer):
                one.slot((net if one is optimizer else plain).weights[0], "velocity").assign(np.ones(3, "float32"))
    for a, b in zip(values(net, optimizer), values(plain, plain_optimizer), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert step.trace_count == 1


@pytest.mark.broad
def test_another_compiled_function_reads_and_assigns_them():
    net, optimizer = Net(), gx.optimizers.SGD(0.1)
    step = trained(net, optimizer)
    total = gx.jit(net.loss)

    @gx.jit
    def halve():
        for w in net.weights[:2]:
            w.assign(w * 0.5)

    found = []
    for _ in range(6):
        found.append(float(total()))
        step()
        halve()
    expected, weights = [], [np.full(3, i + 1.0) for i in range(5)]
    for _ in range(6):
        expected.append(sum((w * w).sum() for w in weights))
        weights = [w * 0.8 * (0.5 if i < 2 else 1) for i, w in enumerate(weights)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_an_array_that_somebody_holds_stays_what_it_was():
    net, optimizer = Net(), gx.optimizers.SGD(0.1)
    step = trained(net, optimizer)
    step()
    held = net.weights[0].value
    expected = np.array(held)
    step()
    np.testing.assert_array_equal(held, expected)
    assert net.weights[0].numpy()[0] != expected[0]


@pytest.mark.broad
def test_a_failing_step_loses_nothing():
    net, optimizer = Net(), gx.optimizers.SGD(0.1)
    step = trained(net, optimizer)
    step()
    before = [w.numpy() for w in net.weights]

    @gx.jit
    def failing():
        step()
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        failing()
    for w, value in zip(net.weights, before, strict=True):
        np.testing.assert_array_equal(w.numpy(), value)


@pytest.mark.broad
def test_freezing_one_leaves_it_as_it_is_and_packs_the_rest():
    net, optimizer = Net(), gx.optimizers.Adam(0.1)
    step = trained(net, optimizer)
    step()
    net.weights[2].trainable = False
    before = net.weights[2].numpy()
    step()
    step()
    np.testing.assert_array_equal(net.weights[2].numpy(), before)
    assert len(net.weights[0]._storage.place[0].storages) == 4


def test_a_model_that_is_gone_leaves_no_memory():
    net, optimizer = Net(), gx.optimizers.SGD(0.1)
    step = trained(net, optimizer)
    step()
    pack = weakref.ref(net.weights[0]._storage.place[0])
    del net, optimizer, step
    gc.collect()
    assert pack() is None


@pytest.mark.broad
def test_nested_in_another_compiled_function_and_in_a_functional_call():
    net, optimizer = Net(), gx.optimizers.Adam(0.1)
    step = trained(net, optimizer)
    outer = gx.jit(lambda: [step(), step()][1])
    outer()
    twin, twin_optimizer = Net(), gx.optimizers.Adam(0.1)
    plainly(twin, twin_optimizer, 2)
    for a, b in zip(values(net, optimizer), values(twin, twin_optimizer), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_checkpoint_between_steps(tmp_path):
    net, optimizer = Net(), gx.optimizers.Adam(0.1)
    step = trained(net, optimizer)
    step()
    gx.Checkpoint(net=net, optimizer=optimizer).save(tmp_path / "c")
    saved = values(net, optimizer)
    step()
    after = values(net, optimizer)
    gx.Checkpoint(net=net, optimizer=optimizer).restore(tmp_path / "c")
    for a, b in zip(values(net, optimizer), saved, strict=True):
        np.testing.assert_array_equal(a, b)
    step()
    for a, b in zip(values(net, optimizer), after, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_tape_watches_them_between_steps():
    net, optimizer = Net(), gx.optimizers.SGD(0.1)
    step = trained(net, optimizer)
    step()
    with gx.GradientTape() as tape:
        loss = net.loss()
    gradient = tape.gradient(loss, net.weights[1])
    np.testing.assert_allclose(gradient, 2 * net.weights[1].numpy(), rtol=1e-6)
    step()
    np.testing.assert_allclose(net.weights[1].numpy(), np.full(3, 2 * 0.8 * 0.8), rtol=1e-5)


def test_what_lower_shows_are_the_variables():
    net, optimizer = Net(), gx.optimizers.SGD(0.1)
    lowered = trained(net, optimizer).lower()
    assert {v.path for v in lowered.written} >= {w.path for w in net.weights}
    assert lowered.memory.donated >= 5 * 3 * 4
