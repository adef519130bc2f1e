"""A trace is compared with what it saw, before its own Python changed it: compiled gives what eager gives."""

import logging

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import RetraceError

ONE = np.float32(1.0)


class Box(gx.Module):
    later = True

    def __init__(self):
        super().__init__()
        self.first = True
        self.items = []
        self.v = gx.Variable(1.0, trainable=False)


def flag():
    box = Box()

    def f(x):
        y = x * (10.0 if box.first else 1.0) * box.v
        box.first = False
        return y

    return f


def flag_without_a_variable():
    box = Box()

    def f(x):
        y = x * 10 if box.first else x
        box.first = False
        return y

    return f


def attribute_of_the_class():
    box = Box()

    def f(x):
        y = x * (10.0 if box.later else 1.0)
        box.later = False
        return y

    return f


def deleted_attribute():
    box = Box()

    def f(x):
        y = x * (10.0 if "first" in vars(box) else 1.0)
        if "first" in vars(box):
            del box.first
        return y

    return f


def flag_reached_through_an_object():
    holder = type("Plain", (), {})()
    holder.box = Box()
    names = {"holder": lambda: holder}

    def f(x):
        box = names["holder"]().box
        y = x * (10.0 if box.first else 1.0)
        box.first = False
        return y

    return f


def built():
    dense = layers.Dense(2, kernel_initializer="ones")

    def f(x):
        first = not dense.built
        return ops.sum(dense(ops.ones((1, 2)) * x)) + 100.0 * first

    return f


def slots_counted():
    w = gx.Variable(2.0)
    optimizer = gx.optimizers.SGD(0.1, momentum=0.9)

    def f(x):
        count = len(list(optimizer.slots()))
        optimizer.minimize(lambda: w * w * x, [w])
        return ops.asarray(float(count))

    return f


def slots_set_to_zero():
    w = gx.Variable([1.0, 2.0])
    optimizer = gx.optimizers.SGD(0.1, momentum=0.9)

    def f(x):
        w.assign([1.0, 2.0])
        for record in optimizer.slots():
            record.slot.assign(ops.zeros_like(record.slot))
        for _ in range(2):
            optimizer.minimize(lambda: ops.sum(w * w) * x, [w])
        return ops.sum(w * w)

    return f


def variables_of_the_optimizer():
    w = gx.Variable(2.0)
    optimizer = gx.optimizers.SGD(0.1, momentum=0.9)

    def f(x):
        count = len(optimizer.variables)
        optimizer.minimize(lambda: w * w * x, [w])
        return ops.asarray(float(count))

    return f


def variables_of_a_model():
    model = gx.Sequential([layers.Dense(2, kernel_initializer="ones")])

    def f(x):
        count = len(model.trainable_variables)
        return ops.sum(model(ops.ones((1, 2)) * x)) + 100.0 * count

    return f


def hyperparameter():
    w = gx.Variable(2.0)
    optimizer = gx.optimizers.SGD(0.1, momentum=0.5)

    def f(x):
        optimizer.minimize(lambda: w * w * x, [w])
        optimizer.momentum = 0.9
        return w.value

    return f


def frozen():
    dense = layers.Dense(1, kernel_initializer="ones")
    dense.build((None, 1))

    def f(x):
        count = len(dense.trainable_variables)
        dense.freeze()
        return x * count + ops.sum(dense(ops.ones((1, 1))))

    return f


def frozen_by_attribute():
    dense = layers.Dense(1, kernel_initializer="ones")
    dense.build((None, 1))

    def f(x):
        y = x * (2.0 if dense.trainable else 1.0)
        dense.trainable = False
        return y

    return f


def trainable():
    box = Box()

    def f(x):
        y = x * (1.0 if box.v.trainable else 2.0)
        box.v.trainable = True
        return y * box.v

    return f


def averages_made_at_the_first_call():
    model, box = gx.Sequential([layers.Dense(2, kernel_initializer="ones")]), Box()

    def f(x):
        y = model(ops.ones((1, 2)) * x)
        if not box.items:
            box.items = [gx.Variable(np.zeros(v.shape, "float32"), trainable=False) for v in model.variables]
        else:
            for average, v in zip(box.items, model.variables, strict=True):
                average.assign(0.5 * average + 0.5 * v)
        return ops.sum(box.items[0]) + 0 * ops.sum(y)

    return f


def growing_list():
    box = Box()

    def f(x):
        if len(box.items) < 2:
            box.items.append(gx.Variable(1.0, trainable=False))
        return x * box.v + sum(item.value for item in box.items)

    return f


def counter():
    box = Box()

    def f(x):
        box.n = getattr(box, "n", 0) + 1
        return x * box.n

    return f


def toggle():
    box = Box()

    def f(x):
        box.first = not box.first
        return x * (2.0 if box.first else 3.0) * box.v

    return f


FORMS = [
    (flag, 2),
    (flag_without_a_variable, 2),
    (attribute_of_the_class, 2),
    (deleted_attribute, 2),
    (flag_reached_through_an_object, 2),
    (built, 2),
    (slots_counted, 2),
    (slots_set_to_zero, 2),
    (variables_of_the_optimizer, 2),
    (variables_of_a_model, 2),
    (hyperparameter, 2),
    (frozen, 2),
    (frozen_by_attribute, 2),
    (trainable, 2),
    (averages_made_at_the_first_call, 2),
    (growing_list, 3),
    (counter, 4),
    (toggle, 4),
]


@pytest.mark.in_turn(8, broad=4)
@pytest.mark.parametrize(("make", "traces"), FORMS, ids=[make.__name__ for make, _ in FORMS])
def test_what_the_function_changes_itself_is_seen_by_the_next_call(make, traces):
    eager, compiled = make(), gx.jit(make())
    expected = [float(eager(ONE)) for _ in range(4)]
    np.testing.assert_allclose([float(compiled(ONE)) for _ in range(4)], expected, rtol=1e-6)
    assert compiled.trace_count == traces


def test_a_trace_that_was_not_run_yet_is_run_by_the_call_it_was_made_for():
    f = gx.jit(flag())
    f.lower(ONE)
    assert [float(f(ONE)) for _ in range(3)] == [10.0, 1.0, 1.0]
    assert f.trace_count == 2


def test_a_trace_that_changed_something_is_not_run_a_second_time():
    box = Box()

    def f(x):
        if not box.first:
            return x * box.v
        box.first = False
        return x * 10

    compiled = gx.jit(f)
    found = [float(compiled(ONE)) for _ in range(2)]
    box.first = True
    assert [*found, *(float(compiled(ONE)) for _ in range(2))] == [10.0, 1.0, 10.0, 1.0]
    assert compiled.trace_count == 3  # the one for False is still there


def test_what_is_changed_and_put_back_needs_no_new_trace():
    box = Box()

    @gx.jit
    def f(x):
        box.first = False
        y = x * (10.0 if box.first else 1.0)
        box.first = True
        box.items.append(1)
        box.items.pop()
        return y

    assert [float(f(ONE)) for _ in range(3)] == [1.0, 1.0, 1.0]
    assert f.trace_count == 1


def test_modules_that_the_function_makes_cause_no_new_trace():
    @gx.jit
    def f(x):
        box = gx.Module()
        box.items = []
        box.items.append(3.0)
        box.me = box  # kept alive by itself
        return gx.losses.MeanSquaredError()(x, box.items[0] * x)

    assert [float(f(np.ones((2, 1), "float32"))) for _ in range(3)] == [4.0, 4.0, 4.0]
    assert f.trace_count == 1


@pytest.mark.broad
def test_a_first_call_that_builds_takes_one_trace():
    class Stack(gx.Layer):
        def __init__(self):
            super().__init__()
            self.parts = []

        def build(self, input_shape):
            self.parts += [layers.Dense(2), layers.Dense(2)]
            for part in self.parts:
                part.build(input_shape)
            self.ready = True

        def call(self, x):
            for part in self.parts:
                x = part(x)
            return x

    stack, optimizer = Stack(), gx.optimizers.Adam()
    f = gx.jit(lambda x: ops.sum(stack(x)))
    step = gx.jit(lambda x: optimizer.minimize(lambda: ops.sum(stack(x)), stack))
    for _ in range(3):
        f(np.ones((1, 2), "float32"))
        step(np.ones((1, 2), "float32"))
    assert (f.trace_count, step.trace_count) == (1, 1)


def test_a_random_stream_that_starts_in_the_call_takes_one_trace():
    seed = gx.SeedGenerator(0)
    f = gx.jit(lambda x: gx.random.normal((2,), seed=seed) * x)
    drawn = [np.asarray(f(ONE)) for _ in range(3)]
    assert f.trace_count == 1
    assert not np.array_equal(drawn[0], drawn[1])


@pytest.mark.broad
def test_a_counter_is_told_in_the_log_and_refused_by_max_retraces(caplog):
    f = gx.jit(counter())
    with caplog.at_level(logging.INFO, "graftax"):
        for _ in range(6):
            f(ONE)
    assert "Box.n: 1 -> 2, in the function itself" in caplog.text
    assert any(record.levelno == logging.WARNING and "traced 5 times" in record.message for record in caplog.records)
    f = gx.jit(counter(), max_retraces=1)
    f(ONE), f(ONE)
    with pytest.raises(RetraceError, match=r"(?s)Box\.n: 1 -> 2.*changes an attribute"):
        f(ONE)


def test_an_attribute_that_keeps_a_traced_value_warns_and_does_not_trace_at_each_call():
    box = Box()

    def f(x):
        box.last = x * 2
        return x * box.v

    compiled = gx.jit(f)
    with pytest.warns(UserWarning, match=r"Box\.last keeps a traced value"):
        compiled(ONE)
    compiled(ONE)
    compiled(ONE)
    assert compiled.trace_count == 2
