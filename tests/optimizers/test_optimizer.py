"""What the base promises to every rule: OP4, OP6, OP7, OP8, OP19, OP20, OP23, slots, copies, creators, compiling."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    GradientError,
    SelectorError,
    ShapeError,
)
from graftax.optimizers import SGD, Adam, AdamW


class Weird(gx.Optimizer):
    """Momentum with a higher power of the gradient."""

    elementwise = True

    def __init__(self, learning_rate=1e-2, beta=0.9, **options):
        super().__init__(learning_rate, **options)
        self.beta = beta

    def create_slots(self, variable):
        return {"momentum": gx.Slot(), "cube": gx.Slot(initializer="zeros")}

    def update(self, gradient, value, slots, step):
        momentum = self.beta * slots.momentum + (1 - self.beta) * gradient
        cube = self.beta * slots.cube + (1 - self.beta) * gradient**3
        direction = momentum + ops.sign(cube) * ops.abs(cube) ** (1 / 3)
        return value - step.learning_rate * direction, {"momentum": momentum, "cube": cube}


class SM3(gx.Optimizer):
    """One accumulator for each index of each axis, in place of one for each element (arXiv:1901.11150)."""

    def create_slots(self, variable):
        return {f"axis_{i}": gx.Slot(shape=(n,)) for i, n in enumerate(variable.shape)}

    def update(self, gradient, value, slots, step):
        rank = len(value.shape)
        sides = [
            ops.reshape(getattr(slots, f"axis_{i}"), [n if j == i else 1 for j in range(rank)])
            for i, n in enumerate(value.shape)
        ]
        largest = sides[0]
        for side in sides[1:]:
            largest = ops.minimum(largest, side)
        total = largest + gradient * gradient
        others = [tuple(j for j in range(rank) if j != i) for i in range(rank)]
        new = {f"axis_{i}": ops.max(total, axis=axes) if axes else total for i, axes in enumerate(others)}
        return value - step.learning_rate * ops.divide_no_nan(gradient, ops.sqrt(total)), new


class Net(gx.Module):
    def __init__(self):
        super().__init__()
        self.kernel = gx.Variable([[1.0, 2.0], [3.0, 4.0]])
        self.bias = gx.Variable([0.5, -0.5])

    def loss(self):
        return ops.sum((ops.matmul(np.ones((1, 2), "float32"), self.kernel) + self.bias) ** 2)


def ones_like(variables):
    return [np.ones(v.shape, "float32") for v in variables]


def values(module):
    return [v.numpy().copy() for v in module.variables]


# --- rules of one's own -----------------------------------------------------------------------------------------------


def test_a_rule_of_ones_own_eagerly_and_compiled():
    results = []
    for run in (lambda f: f, gx.jit):
        net, optimizer = Net(), Weird(0.05)
        step = run(lambda net=net, optimizer=optimizer: optimizer.minimize(net.loss, net.trainable_variables))
        losses = [float(step()) for _ in range(40)]
        assert losses[-1] < losses[0] / 10
        assert int(optimizer.iterations) == 40
        results.append([*losses, *map(np.sum, values(net))])
    np.testing.assert_allclose(*results, rtol=1e-4)


def test_slots_of_other_shapes_than_the_variable():
    w = gx.Variable(np.ones((2, 3), "float32"))
    optimizer = SM3(0.1)
    gradients = [np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([[0, 1, 0], [2, 0, 1]])]
    rows, columns, expected = np.zeros((2, 1)), np.zeros((1, 3)), np.ones((2, 3))
    for g in gradients:
        optimizer.apply([g], [w])
        total = np.minimum(rows, columns) + g**2
        rows, columns = total.max(1, keepdims=True), total.max(0, keepdims=True)
        expected = expected - 0.1 * g / np.sqrt(total)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-6)
    assert {r.name: r.slot.shape for r in optimizer.slots()} == {"axis_0": (2,), "axis_1": (3,)}


def test_op8_a_rule_without_update_is_named():
    class Nothing(gx.Optimizer):
        pass

    with pytest.raises(NotImplementedError, match="Nothing must define update"):
        Nothing(0.1).apply([[1.0]], [gx.Variable([1.0])])


class Broken(gx.Optimizer):
    result = None

    def create_slots(self, variable):
        return {"momentum": gx.Slot()}

    def update(self, gradient, value, slots, step):
        return self.result(value, slots)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda value, slots: value, ArgumentError, "a dict of the new slots"),
        (lambda value, slots: (value, {"velocity": value}), ArgumentError, "'velocity'"),
        (lambda value, slots: (value[:1], {}), ValueError, r"shape \(1,\)"),
        (lambda value, slots: (value, {"momentum": value[:1]}), ValueError, r"shape \(1,\)"),
        (
            lambda value, slots: (slots.velocity, {}),
            AttributeError,
            r"no slot 'velocity'(.|\n)*create_slots declares momentum",
        ),
    ],
)
def test_a_rule_that_returns_nonsense_is_told(result, error, message):
    optimizer = Broken(0.1)
    optimizer.result = result
    w = gx.Variable([1.0, 2.0], name="w")
    with pytest.raises(error, match=message) as caught:
        optimizer.apply([[1.0, 1.0]], [w])
    assert "the update of 'w' by Broken" in str(caught.value)
    assert w.numpy().tolist() == [1.0, 2.0]


def test_the_step_knows_the_rate_and_the_count():
    seen = []

    class Look(gx.Optimizer):
        def update(self, gradient, value, slots, step):
            twice = [step.once(self.rate), step.once(self.rate)]
            seen.append((float(step.learning_rate), int(step.iterations), float(step.count), twice[0] is twice[1]))
            assert str(step.count.dtype) == str(step.learning_rate.dtype) == str(value.dtype)
            return value, {}

        def rate(self, step):
            return step.learning_rate * 2

    w = gx.Variable([1.0])
    optimizer = Look(0.5)
    optimizer.apply([[1.0]], [w])
    optimizer.apply([[1.0]], [w])
    assert seen == [(0.5, 0, 1.0, True), (0.5, 1, 2.0, True)]


# --- apply and its relatives ------------------------------------------------------------------------------------------


def test_op4_iterations_counts_applies():
    net, optimizer = Net(), SGD(0.0)
    assert int(optimizer.iterations) == 0
    assert (optimizer.iterations.role, optimizer.iterations.dtype) == ("counter", "int32")
    optimizer.apply(ones_like(net.variables), net.variables)
    optimizer.apply(ones_like([net.bias]), [net.bias])
    assert int(optimizer.iterations) == 2
    assert optimizer.variables[0] is optimizer.iterations


def test_any_structure_of_variables_and_a_module():
    expected = values(Net())
    for structure in (
        lambda n: (ones_like(n.variables), n.variables),
        lambda n: (tuple(ones_like(n.variables)), tuple(n.variables)),
        lambda n: ({"b": [np.ones(2, "float32")], "k": np.ones((2, 2))}, {"k": n.kernel, "b": [n.bias]}),
        lambda n: ({"kernel": np.ones((2, 2)), "bias": [1.0, 1.0]}, n),
        lambda n: (iter(ones_like(n.variables)), iter(n.variables)),
    ):
        net = Net()
        SGD(1.0).apply(*structure(net))
        np.testing.assert_allclose(net.kernel.numpy(), expected[0] - 1)
        np.testing.assert_allclose(net.bias.numpy(), expected[1] - 1)


def test_gradients_of_a_module_fit_the_module():
    net, optimizer = Net(), SGD(0.01)
    before, gradients = gx.value_and_grad(net.loss, wrt=net)()
    optimizer.apply(gradients, net)
    assert float(net.loss()) < float(before)


def test_apply_gradients_takes_pairs():
    net = Net()
    SGD(1.0).apply_gradients(zip(ones_like(net.variables), net.variables, strict=True))
    assert net.bias.numpy().tolist() == [-0.5, -1.5]


@pytest.mark.parametrize("of", [lambda n: n, lambda n: n.trainable_variables, lambda n: {"x": n.kernel, "y": n.bias}])
def test_minimize_returns_the_loss_and_moves(of):
    net = Net()
    before = float(net.loss())
    loss = SGD(0.01).minimize(net.loss, of(net))
    assert float(loss) == before
    assert float(net.loss()) < before


@pytest.mark.parametrize(
    ("gradients", "variables", "error", "message"),
    [
        ([1.0], lambda n: n.variables, ArgumentError, "gradients 1 for variables 2"),
        ({"kernel": 1.0}, lambda n: n, ArgumentError, r"\['kernel'\] for variables \['kernel', 'bias'\]"),
        ([1.0, 1.0], lambda n: n, ArgumentError, "each variable needs its gradient"),
        (1.0, lambda n: n.variables, ArgumentError, "each variable needs its gradient"),
        ([], lambda n: [], ArgumentError, "no variables"),
        ([[1.0, 1.0]] * 2, lambda n: [n.bias, n.bias], ArgumentError, "'bias' twice"),
        ([1.0], lambda n: [1.0], ArgumentTypeError, "got float as variable 0"),
        ([[1.0, 1.0]], lambda n: [n.kernel], ShapeError, r"shape \(2,\) for the variable 'kernel'"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_moves(gradients, variables, error, message):
    net, optimizer = Net(), SGD(1.0)
    before = values(net)
    with pytest.raises(error, match=message):
        optimizer.apply(gradients, variables(net))
    assert all((a == b).all() for a, b in zip(before, values(net), strict=True))
    assert int(optimizer.iterations) == 0


def test_op6_no_gradient_at_all_is_an_error_that_lists_the_paths():
    net = Net()
    with pytest.raises(GradientError, match="kernel, bias"):
        SGD(1.0).apply([None, None], net.variables)


def test_op6_some_without_gradient_warn_once_and_the_others_move():
    net = Net()
    with pytest.warns(UserWarning, match="no gradient for kernel: not updated") as caught:
        SGD(1.0).apply([None, [1.0, 1.0]], net.variables)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert net.bias.numpy().tolist() == [-0.5, -1.5]
    assert net.kernel.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_op19_integers_are_refused_up_front():
    net, count = Net(), gx.Variable(3, name="count")
    with pytest.raises(DTypeError, match="'count' of dtype int32") as caught:
        SGD(1.0).apply([*ones_like(net.variables), 1], [*net.variables, count])
    assert isinstance(caught.value, ValueError)
    assert net.bias.numpy().tolist() == [0.5, -0.5]


def test_constraints_hold_after_each_update():
    w = gx.Variable([1.0, -1.0], constraint=lambda value: ops.maximum(value, 0.0))
    SGD(1.0, weight_decay=0.5).apply([[0.25, -3.0]], [w])
    assert w.numpy().tolist() == [0.25, 2.5]
    SGD(1.0).apply([[1.0, 1.0]], [w])
    assert w.numpy().tolist() == [0.0, 1.5]


# --- frozen -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_op20_frozen_means_frozen_and_is_read_at_each_step(run):
    net, optimizer = Net(), AdamW(0.1, weight_decay=0.1, global_clipnorm=1.0)
    step = run(lambda: optimizer.apply(ones_like([net.kernel, net.bias]), [net.kernel, net.bias]))
    net.kernel.trainable = False
    before = net.kernel.numpy().copy()
    for _ in range(3):
        step()
    np.testing.assert_array_equal(net.kernel.numpy(), before)
    assert {r.variable for r in optimizer.slots()} == {net.bias}, "no slot for what does not move"
    net.kernel.trainable = True
    step()
    assert (net.kernel.numpy() != before).all()
    net.trainable = False
    before = values(net)
    step()
    assert all((a == b).all() for a, b in zip(before, values(net), strict=True))
    assert int(optimizer.iterations) == 5


def test_op20_a_variable_that_nobody_owns_is_watched_under_jit():
    w = gx.Variable([1.0])
    optimizer = SGD(1.0)
    step = gx.jit(lambda: optimizer.apply([[1.0]], [w]))
    step()
    w.trainable = False
    step()
    assert w.numpy().tolist() == [0.0]
    w.trainable = True
    step()
    assert w.numpy().tolist() == [-1.0]


def test_the_global_norm_is_that_of_what_moves():
    net = Net()
    net.kernel.trainable = False
    SGD(1.0, global_clipnorm=1.0).apply([np.full((2, 2), 100.0), [0.6, 0.0]], [net.kernel, net.bias])
    np.testing.assert_allclose(net.bias.numpy(), [-0.1, -0.5], rtol=1e-6)


def test_minimize_takes_no_gradient_of_what_is_frozen():
    net = Net()
    net.kernel.trainable = False
    SGD(0.1).minimize(net.loss, [net.kernel, net.bias])
    assert net.kernel.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert net.bias.numpy().tolist() != [0.5, -0.5]


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


# --- copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["model first", "optimizer first"])
def test_copied_together_they_are_a_pair_of_their_own(order):
    things = (Net(), Adam(0.1, weight_decay=0.01))
    step = gx.jit(lambda net, optimizer: optimizer.apply(ones_like(net.variables), net.variables))
    step(*things)
    copied = copy.deepcopy(tuple(things[i] for i in order))
    net, optimizer = (copied[order.index(i)] for i in (0, 1))
    before = [*values(net), *(v.numpy().copy() for v in optimizer.variables)]
    for _ in range(3):
        step(*things)
    for a, b in zip(before, [*values(net), *(v.numpy() for v in optimizer.variables)], strict=True):
        np.testing.assert_array_equal(a, b)
    assert {id(r.variable) for r in optimizer.slots()} == {id(v) for v in net.variables}
    for _ in range(3):
        step(net, optimizer)
    for a, b in zip(values(things[0]), values(net), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_copy_of_the_optimizer_alone_serves_the_same_model():
    net, optimizer = Net(), Adam(0.1)
    optimizer.apply(ones_like(net.variables), net.variables)
    copied = copy.deepcopy(optimizer)
    optimizer.apply(ones_like(net.variables), net.variables)
    assert int(copied.iterations) == 1
    assert copied.slot(net.bias, "momentum") is not optimizer.slot(net.bias, "momentum")
    np.testing.assert_allclose(copied.slot(net.bias, "momentum").numpy(), [0.1, 0.1], rtol=1e-6)


def test_pickled_together_they_are_a_pair_of_their_own():
    net, optimizer = Net(), Adam(0.1)
    optimizer.apply(ones_like(net.variables), net.variables)
    other, restored = pickle.loads(pickle.dumps((net, optimizer)))
    for model, its in ((net, optimizer), (other, restored)):
        its.apply(ones_like(model.variables), model.variables)
    assert {id(r.variable) for r in restored.slots()} == {id(v) for v in other.variables}
    for a, b in zip([*values(net), *optimizer.variables], [*values(other), *restored.variables], strict=True):
        np.testing.assert_array_equal(a, b)


# --- compiling --------------------------------------------------------------------------------------------------------


def test_a_plain_number_retraces_once():
    net, optimizer = Net(), Weird(0.1)
    step = gx.jit(lambda: optimizer.apply(ones_like(net.variables), net.variables))
    step()
    step()
    assert step.trace_count == 1
    optimizer.beta = 0.5
    before = optimizer.slot(net.bias, "momentum").numpy().copy()
    step()
    step()
    assert step.trace_count == 2
    expected = 0.5 * (0.5 * before + 0.5) + 0.5
    np.testing.assert_allclose(optimizer.slot(net.bias, "momentum").numpy(), expected, rtol=1e-6)


def test_options_may_change_later():
    w = gx.Variable([1.0])
    optimizer = SGD(1.0)
    step = gx.jit(lambda: optimizer.apply([[0.5]], [w]))
    step()
    optimizer.clipvalue = 0.25
    optimizer.weight_decay = 0.5
    step()
    assert w.numpy().tolist() == [0.0]
    assert step.trace_count == 2


def test_an_error_in_a_compiled_step_leaves_everything_as_it_was():
    net, optimizer = Net(), Adam(0.1)
    optimizer.build(net)

    @gx.jit
    def step():
        optimizer.apply(ones_like(net.variables), net.variables)
        raise KeyError("later")

    before = [*values(net), *(v.numpy().copy() for v in optimizer.variables)]
    with pytest.raises(KeyError):
        step()
    for a, b in zip(before, [*values(net), *(v.numpy() for v in optimizer.variables)], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_step_of_a_step_can_be_differentiated():
    w, scale = gx.Variable([1.0]), gx.Variable(2.0)

    def after_one_step():
        SGD(0.1).minimize(lambda: ops.sum(scale * w * w), [w])
        return ops.sum(w)

    # w - 0.1 * 2 * scale * w, by scale
    gradient = gx.grad(after_one_step, wrt=scale)()
    np.testing.assert_allclose(gradient, -0.2, rtol=1e-6)


# --- looks ------------------------------------------------------------------------------------------------------------


def test_repr_shows_what_was_given():
    assert repr(SGD(0.1, momentum=0.9)) == "SGD(learning_rate=0.1, momentum=0.9)"
    assert repr(Weird(beta=0.5, clipnorm=1.0)) == "Weird(learning_rate=0.01, beta=0.5, clipnorm=1.0)"
    assert repr(AdamW(name="mine")) == "AdamW(learning_rate=0.001, name='mine')"
    optimizer = SGD(gx.optimizers.schedules.Constant(0.1))
    assert repr(optimizer) == "SGD(learning_rate=Constant(value=0.1))"


@pytest.mark.parametrize("option", ["clipvalue", "clipnorm", "global_clipnorm"])
def test_limits_are_positive(option):
    with pytest.raises(ArgumentError, match=f"{option}=0"):
        SGD(0.1, **{option: 0})


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="decay_everything"):
        Weird(0.1, decay_everything=True)


@pytest.mark.parametrize("loss_scale", [8.0, "dynamic"])
def test_where_nothing_moves_a_loss_scale_stays(loss_scale):
    optimizer = SGD(0.1, loss_scale=loss_scale)
    optimizer.apply([[1.0]], [gx.Variable([1.0], trainable=False)])
    assert int(optimizer.iterations) == 1
    assert int(optimizer.loss_scale.good_steps) == 0


def test_sm3_takes_an_empty_variable():
    w, empty = gx.Variable([1.0]), gx.Variable(np.zeros((0, 3), "float32"))
    gx.optimizers.SM3(0.5, momentum=0.0).apply([[2.0], np.zeros((0, 3), "float32")], [w, empty])
    assert w.numpy().tolist() == [0.5]
