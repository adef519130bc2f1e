"""Rules that see all variables at once."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.optimizers import SGD, Adam, Prodigy

pytestmark = pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up, and scaled by hand or not at all


class Normalized(gx.Optimizer):
    """Steps of the length of the rate, all variables together; counts them, and adds the norms up."""

    def __init__(self, learning_rate=0.5, **options):
        super().__init__(learning_rate, **options)
        self.travelled = gx.Variable(0.0, trainable=False)

    def create_slots(self, variable):
        return {"steps": gx.Slot(shape=())}

    def update_all(self, moving):
        norm = ops.sqrt(ops.sum(ops.stack([ops.sum(one.gradient**2) for one in moving])))
        self.travelled.assign_add(norm)
        return [
            (one.value - one.step.learning_rate * one.gradient / norm, {"steps": one.slots.steps + 1}) for one in moving
        ]


class Net(gx.Module):
    def __init__(self, dtype="float32"):
        super().__init__()
        self.a = gx.Variable([1.0, 2.0], dtype=dtype)
        self.b = gx.Variable(3.0, dtype=dtype, constraint=lambda value: ops.minimum(value, 2.75))
        self.c = gx.Variable([9.0])


def values(net):
    return [v.numpy().astype("float32").tolist() for v in net.variables]


GRADIENTS = ([3.0, 0.0], 4.0, [5.0])


@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_it_gets_what_update_gets(run):
    """Decay, l2, multipliers, constraints; what is frozen is not there."""
    net = Net()
    net.c.trainable = False
    rules = [("b", {"learning_rate_multiplier": 2.0, "weight_decay": 0.0})]
    optimizer = Normalized(weight_decay=0.5, l2=1.0, rules=rules)
    step = run(lambda *gradients: optimizer.apply(gradients, net.variables))
    step([2.0, -2.0], 1.0, [5.0])  # with l2: (3, 0) and 4
    np.testing.assert_allclose(net.a.numpy(), [0.75 - 0.3, 1.5], rtol=1e-6)
    np.testing.assert_allclose(net.b.numpy(), 3.0 - 0.8, rtol=1e-6)
    assert [float(net.c.numpy()[0]), float(optimizer.travelled)] == [9.0, 5.0]
    assert [record.variable.path for record in optimizer.slots()] == ["a", "b"]
    step([-0.45, -1.5], -1e3 - 2.2, [5.0])
    assert float(net.b.numpy()) == 2.75
    assert float(optimizer.slot(net.a, "steps")) == 2.0


def test_16_bits_are_computed_in_32():
    net, wide = Net("bfloat16"), Net()
    for one in (net, wide):
        optimizer = Normalized(0.001)
        for _ in range(2):
            optimizer.apply(GRADIENTS, one.variables)
    assert [net.a.dtype, net.b.dtype, optimizer.slot(net.a, "steps").dtype] == ["bfloat16", "bfloat16", "float32"]
    np.testing.assert_allclose(net.a.numpy().astype("float32"), wide.a.numpy(), rtol=1e-2)


@pytest.mark.broad
def test_accumulated_and_scaled_it_moves_once_and_assigns_once():
    net, plain = Net(), Net()
    optimizer = Normalized(accumulation_steps=2, loss_scale=8.0, ema_momentum=0.5)
    step = gx.jit(lambda *gradients: optimizer.apply(gradients, net.variables))
    eight = [8 * np.asarray(g, "float32") for g in GRADIENTS]
    for given in ([0 * g for g in eight], [g + np.float32(np.inf) for g in eight], [2 * g for g in eight]):
        step(*given)
    other = Normalized()
    other.apply(GRADIENTS, plain.variables)
    for v, w in zip(net.variables, plain.variables, strict=True):
        np.testing.assert_allclose(v.numpy(), w.numpy(), rtol=1e-6)
    assert float(optimizer.travelled) == float(other.travelled) > 0
    assert int(optimizer.iterations) == step.trace_count == 1


def test_another_optimizer_may_name_it_and_it_sees_its_own_only():
    net, inner = Net(), Normalized()
    outer = SGD(1.0, rules=[(["a", "c"], {"optimizer": inner})])
    outer.apply(([3.0, 0.0], 1.0, [4.0]), net.variables)
    np.testing.assert_allclose(net.a.numpy(), [0.7, 2.0], rtol=1e-6)
    assert [float(net.b), float(inner.travelled)] == [2.0, 5.0]
    outer.apply([1.0], [net.b])  # nothing of its own: not called
    assert [float(inner.travelled), int(inner.iterations)] == [5.0, 2]
    assert "others/0/travelled" in outer.named_variables()


def test_rows_are_dense_and_lazy_is_refused():
    table, other = gx.Variable(np.ones((3, 2), "float32")), gx.Variable(np.ones((3, 2), "float32"))
    rows = gx.IndexedRows([2, 2], [[1.0, 0.0], [1.0, 0.0]], (3, 2))
    Normalized().apply([rows], [table])
    Normalized().apply([rows.dense()], [other])
    np.testing.assert_array_equal(table.numpy(), other.numpy())

    class Together(Adam):
        def update_all(self, moving):
            return super().update_all(moving)

    with pytest.raises(ArgumentError, match="whole variables together in update_all"):
        Together(lazy=True).apply([rows], [table])


def test_what_it_returns_is_checked():
    class Wrong(Normalized):
        def update_all(self, moving):
            return self.make(super().update_all(moving))

    wrong, net = Wrong(), Net()
    for make, said in (
        (lambda moved: moved[:2], "returned 2 results for 3 variables"),
        (lambda moved: moved[0][0], r"one array of shape \(2,\) for 3 variables"),
        (lambda moved: [new for new, _ in moved], r"update_all returned one array of shape \(2,\)"),
        (lambda moved: [(new, {"pace": new}) for new, _ in moved], "returned a slot 'pace'"),
    ):
        wrong.make = make
        with pytest.raises(ArgumentError, match=said) as caught:
            wrong.apply(GRADIENTS, net.variables)
        assert "the update of 'a', 'b', 'c' by Wrong" in str(caught.value)


def test_an_elementwise_rule_that_is_none_is_said_in_a_compiled_step_too():
    class Summed(gx.Optimizer):
        elementwise = True

        def create_slots(self, variable):
            return {"seen": gx.Slot()}

        def update(self, gradient, value, slots, step):
            return (ops.sum(value), {}) if self.name == "value" else (value, {"seen": ops.sum(value)})

    for name, what in (("value", "a value"), ("slot", "a slot 'seen'")):
        a, b, optimizer = gx.Variable([1.0, 2.0]), gx.Variable([3.0, 4.0, 5.0]), Summed(0.1, name=name)
        with pytest.raises(ShapeError, match=rf"Summed.update returned {what} of shape \(\)") as error:
            gx.jit(lambda o=optimizer, v=(a, b): o.apply([ops.ones(2), ops.ones(3)], list(v)))()
        assert error.value.instead.startswith("Summed.elementwise = False")


@pytest.mark.parametrize("optimizer", [SGD(0.1), Prodigy()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"w": [1.0]}, "an argument of type dict"),
        (None, "an argument of type NoneType"),
        ([[1.0], [2.0]], "a list with an element of type list"),
        ([None], "a list with an element of type NoneType"),
    ],
    ids=["dict", "none", "gradients", "nones"],
)
def test_update_all_with_something_else_is_told(optimizer, given, told):
    with pytest.raises(ArgumentTypeError) as caught:
        optimizer.update_all(given)
    assert told in caught.value.received
    assert "optimizer.apply(gradients, variables)" in caught.value.instead
