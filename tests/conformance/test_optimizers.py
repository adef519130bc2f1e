"""What all optimizers promise; the rows are in `optimizer_rows.py`."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import ops, optimizers
from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.optimizers.engine.rule import RuleInput
from graftax.optimizers.engine.slot import SlotValues
from graftax.optimizers.engine.step import steps_from
from graftax.optimizers.registry import NAMES, get
from tests.conformance.optimizer_rows import ROWS, every_row

SHAPES = {"kernel": (3, 2), "bias": (2,), "scale": ()}


def test_every_optimizer_has_a_row():
    public = {getattr(optimizers, name) for name in optimizers.__all__ if isinstance(getattr(optimizers, name), type)}
    rules = {kind for kind in public if issubclass(kind, optimizers.Optimizer)}
    rules -= {optimizers.Optimizer, optimizers.Optax}  # whose own tests have a table of transformations
    assert {type(row.make()) for row in ROWS.values()} == rules


def test_every_name_gives_an_optimizer_that_has_a_row():
    assert {type(get(name)) for name in NAMES} <= {type(row.make()) for row in ROWS.values()}
    assert all(type(get(name)).__name__.lower() == name for name in NAMES)


class Net(gx.Module):
    def __init__(self, dtype="float32"):
        super().__init__()
        rng = np.random.default_rng(0)
        for name, shape in SHAPES.items():
            setattr(self, name, gx.Variable(rng.normal(size=shape), dtype=dtype))


def gradients(seed):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=shape) * 3).astype("float32") for shape in SHAPES.values()]


def trained(optimizer, net=None, steps=4, run=lambda f: f):
    """Values of variables and slots after some steps."""
    net = net or Net()

    def step(*given):
        optimizer.apply(list(given), [net.kernel, net.bias, net.scale])

    step = run(step)
    for i in range(steps):
        step(*gradients(i))
    return [v.numpy() for v in (*net.variables, *optimizer.variables)]


@pytest.mark.in_turn(4)
@every_row
def test_compiled_as_eager(row):
    for a, b in zip(trained(row.make()), trained(row.make(), run=gx.jit), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@every_row
def test_numpy_as_jax(row):
    jax = trained(row.make())
    with registry.use("numpy"):
        host = trained(row.make())
    for a, b in zip(jax, host, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@pytest.mark.in_turn(3, 1)
@every_row
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_16_bit_weights_follow_those_of_32_bits(row, dtype):
    net = Net(dtype)
    wide, narrow = trained(row.make()), trained(row.make(), net)
    assert {v.dtype for v in net.variables} == {dtype}
    for a, b in zip(wide[: len(SHAPES)], narrow, strict=False):
        np.testing.assert_allclose(a, b.astype("float32"), rtol=0.03, atol=0.03)


@every_row
def test_an_update_keeps_shapes_and_dtypes(row):
    net, optimizer = Net(), row.make()
    optimizer.build(net)
    steps = steps_from(ops.asarray(0.1), ops.asarray(3, dtype="int32"))
    for variable, gradient in zip(net.variables, gradients(0), strict=True):
        slots = {name: optimizer.slot(variable, name).value for name in optimizer.create_slots(variable)}
        step = steps("float32")
        one = RuleInput(variable, ops.asarray(gradient), variable.value, SlotValues(slots), step)
        ((new, after),) = optimizer.update_all([one])
        for before, result in [(variable.value, new), *((slots[name], after[name]) for name in after)]:
            assert (result.shape, result.dtype) == (before.shape, before.dtype)
        assert set(after) == set(slots)


@every_row
def test_elementwise_as_promised(row):
    """On several variables laid end to end, the update is that of each alone, bit for bit."""
    optimizer = row.make()
    if not optimizer.elementwise:
        pytest.skip("makes no promise")
    net = Net()
    optimizer.build(net)
    rng = np.random.default_rng(1)
    step = steps_from(ops.asarray(0.1), ops.asarray(3, dtype="int32"))("float32")
    names = list(optimizer.create_slots(net.kernel))
    parts = []
    for variable, gradient in zip(net.variables, gradients(0), strict=True):
        slots = {name: ops.asarray(rng.uniform(0.1, 1, size=variable.shape).astype("float32")) for name in names}
        parts.append((ops.asarray(gradient), variable.value, slots))

    def flat(arrays):
        return ops.concatenate([ops.ravel(a) for a in arrays])

    def update(gradient, value, slots):
        new, after = optimizer.update(gradient, value, SlotValues(slots), step)
        return [new, *(after[name] for name in names)]

    alone = [update(*part) for part in parts]
    together = update(
        flat(p[0] for p in parts), flat(p[1] for p in parts), {n: flat(p[2][n] for p in parts) for n in names}
    )
    for i, whole in enumerate(together):
        np.testing.assert_array_equal(np.asarray(whole), np.asarray(flat(results[i] for results in alone)))


@pytest.mark.in_turn(3, 2)
@every_row
@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_frozen_is_bit_equal(row, run):
    net, optimizer = Net(), row.make(weight_decay=0.1)
    net.bias.trainable = False
    before = net.bias.numpy().copy()
    trained(optimizer, net, run=run)
    np.testing.assert_array_equal(net.bias.numpy(), before)
    assert not [r for r in optimizer.slots() if r.variable is net.bias]


@pytest.mark.in_turn(3)
@every_row
@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_a_constraint_holds_or_is_refused(row, run):
    """Every step goes below zero if nothing stops it: what is asked for there is what the variable has in the end."""
    value, optimizer = gx.Variable([0.1, 0.2], constraint="non_neg"), row.make()
    step = run(lambda: optimizer.minimize(lambda: ops.sum(value**2 / 2 + 30 * value), [value]))
    said = "a constraint that holds"
    try:
        for _ in range(4):
            step()
    except ArgumentError as error:
        said = str(error)
    assert "constraint" in said
    assert value.numpy().min() >= 0


@every_row
def test_slots_come_back_by_name_and_variable(row):
    """What a checkpoint does: every slot through `_gx_ensure_slot` of a fresh optimizer; then both go on alike."""
    net, optimizer = Net(), row.make()
    trained(optimizer, net, steps=3)
    other, fresh = Net(), row.make()
    for a, b in zip(net.variables, other.variables, strict=True):
        b.assign(a.value)
    for record in reversed(list(optimizer.slots())):
        twin = other.named_variables()[record.variable.path]
        fresh._gx_ensure_slot(record.name, twin).assign(record.slot.value)
    own = fresh.named_variables()
    for path, variable in optimizer.named_variables().items():
        if not path.startswith("slots/"):
            own[path].assign(variable.value)
    trained(optimizer, net)
    trained(fresh, other)
    expected, found = ({**n.named_variables(), **o.named_variables()} for n, o in ((net, optimizer), (other, fresh)))
    assert set(found) == set(expected)
    for path, variable in expected.items():
        np.testing.assert_array_equal(found[path].numpy(), variable.numpy(), err_msg=path)


@pytest.mark.in_turn(4)
@every_row
def test_copies_are_independent(row):
    net, optimizer = Net(), row.make()
    trained(optimizer, net, steps=2)
    other, copied = copy.deepcopy((net, optimizer))
    before = [v.numpy().copy() for v in (*other.variables, *copied.variables)]
    after = trained(optimizer, net, run=gx.jit)
    for a, v in zip(before, (*other.variables, *copied.variables), strict=True):
        np.testing.assert_array_equal(a, v.numpy())
    for a, b in zip(after, trained(copied, other, run=gx.jit), strict=True):
        np.testing.assert_array_equal(a, b)


@every_row
def test_repr_is_a_call_that_makes_it_again(row):
    optimizer = row.make(clipnorm=3.0)
    again = eval(repr(optimizer), vars(optimizers))
    assert repr(again) == repr(optimizer)
    for a, b in zip(trained(optimizer), trained(again), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.in_turn(5)
@every_row
def test_it_goes_down(row):
    net = Net()
    target = gradients(9)
    optimizer = row.make()

    def loss():
        pairs = zip(net.variables, target, strict=True)
        return ops.sum(ops.stack([ops.sum((v - t) ** 2) for v, t in pairs]))

    step = gx.jit(lambda: optimizer.minimize(loss, net))
    losses = [float(step()) for _ in range(150)]
    assert losses[-1] < losses[0] * 1e-2
    assert step.trace_count == 1


@pytest.mark.in_turn(4, 2)
@every_row
def test_a_new_rate_needs_no_new_trace(row):
    net, optimizer = Net(), row.make()
    step = gx.jit(lambda: optimizer.apply(gradients(0), net.variables))
    step()
    optimizer.learning_rate = 0.0
    before = [v.numpy().copy() for v in net.variables]
    optimizer.build(net)
    step()
    assert step.trace_count == 1
    if row.stops_at_rate_zero:
        for a, v in zip(before, net.variables, strict=True):
            np.testing.assert_array_equal(a, v.numpy())


def reach_of(row, steps_before):
    """How far two variables move in the first steps of the second one, after some of the first one alone."""
    optimizer, other, late = row.make(), gx.Variable([1.0, 2.0]), gx.Variable([3.0, 4.0])
    gradient, reach = np.array([1.0, -2.0], "float32"), np.zeros(2)
    for _ in range(steps_before):
        optimizer.apply([gradient], [other])
    starts = other.numpy(), late.numpy()
    for _ in range(4):
        optimizer.apply([gradient, gradient], [other, late])
        moved = [np.abs(v.numpy() - start).max() for v, start in zip((other, late), starts, strict=True)]
        reach = np.maximum(reach, moved)
    return reach


@every_row
def test_a_variable_that_comes_late_does_not_leap(row):
    # ADOPT without clips moved it by a million times the rate: what it divides by was taken for known
    other, late = reach_of(row, 20)
    assert late <= 20 * (other + reach_of(row, 0)[1])


@every_row
@pytest.mark.parametrize("zero", ["weights", "gradients"])
def test_a_gradient_through_an_update_is_a_number_where_something_is_zero(row, zero):
    w = gx.Variable(np.zeros((2, 2), "float32") if zero == "weights" else np.float32([[1, 2], [3, 4]]), name="w")
    optimizer = row.make()
    state, some = optimizer.pure_state([w]), ops.asarray([[0.5, 0.0], [0.0, 0.0]], "float32")

    def total(value, gradient):
        values, after = optimizer.pure_update({"w": gradient}, state, {"w": value})
        values, _ = optimizer.pure_update({"w": gradient}, after, values)
        return ops.sum(values["w"] ** 2)

    for gradient in (some, ops.zeros_like(some)):
        found = gx.grad(lambda both: total(*both))((w.value, gradient))
        assert all(np.isfinite(part).all() for part in found), found


@every_row
@pytest.mark.parametrize("size", [0.5, 1e-20, 1e15], ids=["some", "tiny", "huge"])
def test_what_has_no_gradient_leaves_no_nan(row, size):
    # Adafactor made nan of a matrix in which a row and a column had none, as dead units and black pixels have
    w, optimizer = gx.Variable(np.ones((3, 3), "float32")), row.make()
    for _ in range(3):
        optimizer.apply([np.diag([size, 0.0, 0.0]).astype("float32")], [w])
    assert np.isfinite(w.numpy()).all()
    assert np.ptp(w.numpy()[1:, 1:]) == 0  # what is alike stays alike
