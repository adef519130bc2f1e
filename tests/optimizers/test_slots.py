"""Slots: when they are made, where they start, whose they are, what creators see, their dtypes."""

import gc
import weakref

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import (
    ArgumentError,
    SelectorError,
)
from graftax.optimizers import SGD, Adam
from tests.optimizers.nets import Net, ones_like

# --- slots ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_op7_slots_of_new_variables_are_made_on_the_fly(run):
    first, second, optimizer = Net(), Net(), Adam(0.1)
    for net in (first, second):
        run(lambda net=net: optimizer.apply(ones_like(net.variables), net.variables))()
    assert len(list(optimizer.slots())) == 8
    assert all((r.slot.numpy() != 0).all() for r in optimizer.slots())
    fresh = Net()
    Adam(0.1).apply(ones_like(fresh.variables), fresh.variables)
    assert (second.kernel.numpy() != fresh.kernel.numpy()).any(), "the count is the optimizer's, not the variable's"


def test_growing_does_not_retrace_what_has_not_grown():
    first, second, optimizer = Net(), Net(), Adam(0.1)
    step = gx.jit(lambda: optimizer.apply(ones_like(first.variables), first.variables))
    step()
    optimizer.apply(ones_like(second.variables), second.variables)
    step()
    assert step.trace_count == 1
    assert int(optimizer.iterations) == 3


def test_slots_start_where_they_are_told_inside_jit_too():
    class Anchored(gx.Optimizer):
        def create_slots(self, variable):
            return {
                "start": gx.Slot(initializer=lambda key, shape, dtype: variable.value),
                "tenth": gx.Slot(shape=(3,), initializer=0.1),
            }

        def update(self, gradient, value, slots, step):
            return slots.start - step.learning_rate * gradient + ops.sum(slots.tenth), {}

    w = gx.Variable([5.0])
    optimizer = Anchored(1.0)
    step = gx.jit(lambda: optimizer.apply([[1.0]], [w]))
    for _ in range(3):
        step()
    np.testing.assert_allclose(w.numpy(), [4.3], rtol=1e-6)
    assert optimizer.slot(w, "start").numpy().tolist() == [5.0]


def test_slot_and_ensure_slot():
    net, optimizer = Net(), Adam(0.1)
    optimizer.build(net)
    slot = optimizer.slot(net.kernel, "momentum")
    assert optimizer._gx_ensure_slot("momentum", net.kernel) is slot
    assert (slot.role, slot.trainable, slot.shape, slot.path) == ("slot", False, (2, 2), "kernel/momentum")
    assert optimizer._gx_ensure_slot("nothing", net.kernel) is None
    with pytest.raises(ArgumentError, match="one of momentum, velocity"):
        optimizer.slot(net.kernel, "cube")
    with pytest.raises(ArgumentError, match="'momentum' of SGD"):
        SGD(0.1).slot(net.kernel, "momentum")
    fresh = Adam(0.1)
    fresh._gx_ensure_slot("velocity", net.bias).assign([1.0, 2.0])
    assert fresh.slot(net.bias, "velocity").numpy().tolist() == [1.0, 2.0]
    assert [(r.name, r.variable) for r in fresh.slots()] == [("momentum", net.bias), ("velocity", net.bias)]


def test_variables_list_everything_that_changes():
    net, optimizer = Net(), Adam(0.1)
    optimizer.build(net)
    assert list(optimizer.named_variables()) == [
        "iterations",
        "learning_rate",
        "slots/kernel/momentum",
        "slots/kernel/velocity",
        "slots/bias/momentum",
        "slots/bias/velocity",
    ]
    assert list(gx.state(optimizer)) == list(optimizer.named_variables())
    assert [v.role for v in optimizer.variables] == ["counter", "hyper"] + ["slot"] * 4
    assert optimizer.trainable_variables == []


def test_two_models_with_equal_paths_keep_their_slots_apart():
    first, second, optimizer = Net(), Net(), SGD(0.1, momentum=0.9)
    optimizer.build(first)
    optimizer.build(second)
    assert len(optimizer.named_variables()) == len(set(map(id, optimizer.variables))) == 6
    assert optimizer.slot(first.bias, "momentum") is not optimizer.slot(second.bias, "momentum")


def test_a_dropped_model_takes_its_slots_with_it():
    kept, optimizer = Net(), Adam(0.1)
    optimizer.build(kept)
    dropped = Net()
    optimizer.apply(ones_like(dropped.variables), dropped.variables)
    watch = [weakref.ref(v) for v in (*dropped.variables, optimizer.slot(dropped.kernel, "momentum"))]
    del dropped
    gc.collect()
    assert all(ref() is None for ref in watch)
    assert len(list(optimizer.slots())) == 4


def test_state_of_model_and_optimizer_goes_through_a_functional_call():
    class Trainer(gx.Module):
        def __init__(self, optimizer):
            super().__init__()
            self.net = Net()
            self.optimizer = optimizer

        def __call__(self):
            return self.optimizer.minimize(self.net.loss, self.net)

    trainer = Trainer(SGD(0.1))
    _, after = gx.functional_call(trainer, gx.state(trainer))
    assert int(after["optimizer/iterations"]) == 1
    assert int(trainer.optimizer.iterations) == 0


# --- creators ---------------------------------------------------------------------------------------------------------


def test_creators_see_slots_by_role_even_those_made_after_the_scope():
    seen = []

    def look(next_creator, spec):
        seen.append((spec.role, spec.path, spec.trainable))
        return next_creator(spec)

    net = Net()
    with gx.variable_creator_scope(look, roles=("slot",), where="**/momentum"):
        optimizer = Adam(0.1)
    optimizer.build(net)
    assert seen == [("slot", "kernel/momentum", False), ("slot", "bias/momentum", False)]


def test_a_creator_selector_that_matches_no_slot_raises_once_they_are_made():
    with gx.variable_creator_scope(lambda n, spec: n(spec), roles=("slot",), where="**/nothing"):
        optimizer = Adam(0.1)
    with pytest.raises(SelectorError, match="nothing"):
        optimizer.build(Net())


def test_a_slot_may_be_an_expression():
    class Halved(gx.Reparam):
        """Stored in 16 bits."""

        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.packed = next_creator(spec.replace(name="packed", dtype="bfloat16"))

        def forward(self):
            return ops.cast(self.packed, "float32")

        def inverse(self, value):
            self.packed.assign(ops.cast(value, "bfloat16"))

    net, optimizer = Net(), Adam(0.1)
    with gx.variable_creator_scope(Halved, roles=("slot",)):
        optimizer.build(net)
    step = gx.jit(lambda: optimizer.apply(ones_like(net.variables), net.variables))
    step()
    step()
    assert [r.name for r in optimizer.slots()][:2] == ["momentum/packed", "velocity/packed"]
    assert optimizer._gx_ensure_slot("momentum/packed", net.bias).dtype == "bfloat16"
    plain = Net()
    reference = Adam(0.1)
    for _ in range(2):
        reference.apply(ones_like(plain.variables), plain.variables)
    np.testing.assert_allclose(net.kernel.numpy(), plain.kernel.numpy(), rtol=1e-2)


# --- dtypes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_op23_slots_of_16_bit_weights_are_float32_unless_told(dtype):
    w = gx.Variable([1.0, -2.0], dtype=dtype)
    optimizer, narrow = Adam(0.1), Adam(0.1, slot_dtype=dtype)
    optimizer.apply([np.float32([1e-3, 2.0])], [w])
    assert w.dtype == dtype
    assert {r.slot.dtype for r in optimizer.slots()} == {"float32"}
    narrow.apply([np.float32([1e-3, 2.0])], [w])
    assert {r.slot.dtype for r in narrow.slots()} == {dtype}


def test_16_bit_weights_are_rounded_once():
    # 256 steps of 2**-9: each alone is lost in bfloat16, the momentum of all is not
    w, exact = gx.Variable([1.0], dtype="bfloat16"), gx.Variable([1.0])
    for variable in (w, exact):
        optimizer = SGD(0.01, momentum=0.9, weight_decay=0.1)
        for _ in range(20):
            optimizer.apply([[0.3]], [variable])
    np.testing.assert_allclose(w.numpy().astype("float32"), exact.numpy(), rtol=0.02)


def test_gradients_of_another_dtype_are_cast():
    w = gx.Variable([1.0, 2.0])
    SGD(1.0).apply([gx.ops.cast([0.5, 0.25], "bfloat16")], [w])
    assert w.numpy().tolist() == [0.5, 1.75]
    SGD(1.0).apply([np.array([1, 1])], [w])
    assert w.numpy().tolist() == [-0.5, 0.75]
