"""When a compiled function is traced again, and what it says then."""

import gc
import logging

import numpy as np
import pytest

from graftax.core.errors import (
    RetraceError,
)
from graftax.transforms.compile.jit import jit
from graftax.transforms.gradients.grad import grad, value_and_grad
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import touch
from graftax.variables.variable import Variable
from tests.transforms.compile.boxes import Box

# --- retraces -------------------------------------------------------------------------------------------------------


def expect_retrace(caplog, f, text, count=2):
    with caplog.at_level(logging.INFO, "graftax"):
        caplog.clear()
        result = f()
    assert [text in m for m in caplog.messages] == [True], caplog.messages
    assert f.trace_count == count
    caplog.clear()
    with caplog.at_level(logging.INFO, "graftax"):
        f()
    assert (caplog.messages, f.trace_count) == ([], count)
    return result


class Net(Module):
    rate = 1.0

    def __init__(self):
        self.v = Variable(2.0)
        self.parts = [Box(k=1.0), Box(k=2.0)]
        self.table = {"a": Box(k=1.0)}

    def __call__(self):
        for box in (*self.parts, *self.table.values()):
            touch(box)
        return self.v * self.rate * sum(p.k for p in self.parts) * sum(p.k for p in self.table.values())


def test_a_plain_attribute(caplog):
    net = Net()
    net.rate = 2.0
    f = jit(lambda: net())
    assert float(f()) == 12.0
    net.rate = 3.0
    assert float(expect_retrace(caplog, f, "Net.rate: 2.0 -> 3.0")) == 18.0


def test_a_class_default_that_an_instance_overrides(caplog):
    net = Net()
    f = jit(lambda: net())
    assert float(f()) == 6.0
    net.rate = 5.0
    assert float(expect_retrace(caplog, f, "Net.rate: 1.0 -> 5.0")) == 30.0


def test_an_attribute_of_a_part(caplog):
    net = Net()
    f = jit(lambda: net())
    f()
    net.parts[1].k = 5.0
    assert float(expect_retrace(caplog, f, "parts/1.k: 2.0 -> 5.0")) == 12.0


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda n: n.parts.append(Box(k=4.0)), 14.0),
        (lambda n: n.parts.pop(), 2.0),
        (lambda n: n.parts.__setitem__(0, Box(k=10.0)), 24.0),
        (lambda n: n.table.update(a=Box(k=3.0)), 18.0),
        (lambda n: n.table.update(b=Box(k=3.0)), 24.0),
        (lambda n: setattr(n, "parts", [Box(k=1.0)]), 2.0),
    ],
    ids=["append", "pop", "replace", "replace in dict", "add to dict", "another list"],
)
def test_the_content_of_containers(change, expected):
    net = Net()
    f = jit(lambda: net())
    f()
    change(net)
    gc.collect()
    assert (float(f()), f.trace_count) == (expected, 2)
    f()
    assert f.trace_count == 2


@pytest.mark.broad
def test_an_element_replaced_by_one_with_the_same_address():
    net = Net()
    f = jit(lambda: net())
    f()
    for k in range(20):  # freed and made again, many at the same address
        net.parts.pop()
        net.parts.append(Box(k=float(k)))
        assert float(f()) == 2.0 * (1.0 + k)


def test_equal_content_traces_nothing():
    net = Net()
    net.sizes = [1, 2]
    f = jit(lambda: net())
    f()
    net.sizes = [1, 2]
    net.rate = 1.0
    net.note = "x"
    del net.note
    f()
    assert f.trace_count <= 2
    before = f.trace_count
    net.rate = 1.0
    net.sizes[0] = 1
    f()
    assert f.trace_count == before


def test_functions_as_attributes():
    box = Box(act=lambda x: x * 2, v=Variable(1.0))
    f = jit(lambda: box.act(box.v.value))
    assert float(f()) == 2.0
    for k in (3.0, 4.0, 5.0):
        box.act = lambda x: x * 0
        box.act = lambda x, k=k: x * k  # perhaps at the address of the one before
        assert float(f()) == k


def test_trainable(caplog):
    box = Box(a=Variable(2.0), b=Variable(3.0))
    f = jit(lambda: value_and_grad(lambda: box.a * box.b, wrt=box)()[1])
    assert sorted(f()) == ["a", "b"]
    box.b.trainable = False
    assert sorted(expect_retrace(caplog, f, "b.trainable: True -> False")) == ["a"]
    box.b.trainable = True
    assert sorted(f()) == ["a", "b"]
    assert f.trace_count == 2  # the first trace is still there


def test_trainable_of_lone_variables_even_unread_ones():
    variables = [Variable(2.0), Variable(3.0, trainable=False)]
    f = jit(lambda: grad(lambda: variables[0] * 5.0, wrt=[v for v in variables if v.trainable])())
    assert len(f()) == 1
    variables[1].trainable = True
    assert len(f()) == 2


def test_freezing_to_and_fro_as_adversarial_training_does():
    generator, critic = Box(w=Variable(1.0)), Box(w=Variable(1.0))
    step = jit(lambda: len(value_and_grad(lambda: generator.w * critic.w, wrt=[generator, critic])()[1][0]) * 1.0)
    for _ in range(5):
        for frozen in (True, False):
            generator.trainable = not frozen
            assert float(step()) == (0.0 if frozen else 1.0)
    assert step.trace_count == 2


def test_modules_made_inside_do_not_matter():
    f = jit(lambda x: (touch(Box(k=2)), x * 2)[1])
    assert [float(f(1.0)), float(f(2.0)), f.trace_count] == [2.0, 4.0, 1]


def test_new_modules_elsewhere_cost_nothing():
    net = Net()
    f = jit(lambda: net())
    f()
    ((entry,),) = f._entries.values()
    version = entry._version
    other = Net()
    other.rate = 5.0
    f()
    assert entry._version == version


def test_arguments(caplog):
    f = jit(lambda x: x * 2)
    f(np.ones(2, "float32"))
    with caplog.at_level(logging.INFO, "graftax"):
        f(np.ones(3, "float32"))
        f(np.ones(3, "int32"))
        f(1.0)
    assert "argument x: float32[2] -> float32[3]" in caplog.messages[0]
    assert "argument x: float32[3] -> int32[3]" in caplog.messages[1]
    assert "-> a Python float" in caplog.messages[2]
    assert "lambda" in caplog.messages[0]
    assert "traced again (2)" in caplog.messages[0]


def test_a_number_that_changes_is_to_be_a_variable():
    box, v = Box(rate=2.0), Variable(3.0)
    f = jit(lambda: (touch(box), v * box.rate)[1], max_retraces=0)
    f()
    box.rate = 5.0
    with pytest.raises(RetraceError, match=r"rate: 2.0 -> 5.0(.|\n)*each value compiles anew") as caught:
        f()
    assert "self.rate = graftax.Variable(2.0, trainable=False)" in caught.value.instead
    shapes = jit(lambda x: x, max_retraces=0)
    shapes(np.ones(2))
    with pytest.raises(RetraceError, match="keep shapes and settings the same"):
        shapes(np.ones(3))


def test_another_module_is_another_program():
    """Found by an outsider: ten copies of a model were ten traces, and the log told to keep shapes the same."""
    f = jit(lambda box: box.rate * 2.0, max_retraces=0)
    f(Box(rate=2.0))
    with pytest.raises(RetraceError, match=r"argument box: .*, another Module than before") as caught:
        f(Box(rate=2.0))
    assert "graftax.functional_call(module, state, x)" in caught.value.instead


def test_max_retraces():
    f = jit(lambda x: x * 2, max_retraces=1)
    f(np.ones(1))
    f(np.ones(2))
    with pytest.raises(RetraceError, match=r"once more after 2 traces: argument x: .*\[2\] -> .*\[3\]"):
        f(np.ones(3))
    assert f(np.ones(2)).tolist() == [2.0, 2.0]


def test_a_structure_change_inside_a_nested_compiled_function_is_seen_outside():
    box, v = Box(rate=2.0), Variable(3.0)
    inner = jit(lambda: (touch(box), v * box.rate)[1])
    outer = jit(lambda: value_and_grad(lambda: inner() * 1.0, wrt=v)())
    assert [float(x) for x in outer()] == [6.0, 2.0]
    box.rate = 5.0
    assert [float(x) for x in outer()] == [15.0, 5.0]
