"""Rules of one's own: what the base promises them, and what it says to those that break a promise."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import (
    ArgumentError,
)
from tests.optimizers.nets import Net, Weird, values


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


# --- rules of one's own -----------------------------------------------------------------------------------------------


@pytest.mark.broad
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


def test_the_rule_sm3_takes_an_empty_variable():
    w, empty = gx.Variable([1.0]), gx.Variable(np.zeros((0, 3), "float32"))
    gx.optimizers.SM3(0.5, momentum=0.0).apply([[2.0], np.zeros((0, 3), "float32")], [w, empty])
    assert w.numpy().tolist() == [0.5]
