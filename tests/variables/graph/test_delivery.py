"""Values that wait for a variable are delivered once, when it appears."""

import copy
import pickle
from contextlib import nullcontext

from graftax.transforms.compile.jit import jit
from graftax.variables.graph.adoption import set_pending
from graftax.variables.graph.module import Module
from tests.variables.graph.boxes import Box, var

# --- delivery -------------------------------------------------------------------------------------------------------


class Waiting:
    """Values by path; each is given once."""

    def __init__(self, values, prefix=""):
        self.values, self.prefix = values, prefix

    def claim(self, edge, variable):
        value = self.values.pop(f"{self.prefix}{edge}", None)
        if value is not None:
            variable.assign(value)

    def child(self, edge):
        prefix = f"{self.prefix}{edge}/"
        return Waiting(self.values, prefix) if any(p.startswith(prefix) for p in self.values) else None

    def carried(self, module):
        return Waiting(self.values, self.prefix)

    def hang(self, module):
        set_pending(module, self)

    def hung_on(self, module):
        """Nothing has to be told."""

    def is_of(self, other):
        return isinstance(other, Waiting) and other.values is self.values

    def building(self, module):
        return nullcontext()


def test_ck12_ck13_ck15_delivered_once_when_it_appears():
    box = Box()
    set_pending(box, Waiting({"v": 4.0}))
    box.v = var()
    assert float(box.v) == 4.0
    box.v.assign(9.0)
    box.again = box.v
    assert float(box.v) == 9.0
    box.v = var(77.0)
    assert float(box.v) == 77.0


def test_what_exists_already_gets_its_value_at_once():
    box = Box(a=[var(), Box(w=var())])
    set_pending(box, Waiting({"a/0": 1.0, "a/1/w": 2.0, "b": 3.0}))
    assert [float(v) for v in box.variables] == [1.0, 2.0]
    box.b = var()
    assert float(box.b) == 3.0


def test_delivery_through_modules_made_later():
    box = Box()
    set_pending(box, Waiting({"sub/deep/w": 5.0}))
    box.sub = Box(deep=Box())
    box.sub.deep.w = var()
    assert float(box.sub.deep.w) == 5.0


def test_delivery_to_elements_appended_later():
    box = Box(items=[])
    set_pending(box, Waiting({"items/0": 1.0, "items/1/w": 2.0}))
    box.items.append(var())
    box.items.append(Box(w=var()))
    assert [float(v) for v in box.variables] == [1.0, 2.0]


def test_delivery_while_a_compiled_function_builds():
    class Lazy(Module):
        w = None

        def __call__(self, x):
            if self.w is None:
                self.w = var(0.0)
            return x * self.w

    lazy = Lazy()
    set_pending(lazy, Waiting({"w": 3.0}))
    step = jit(lazy)
    assert float(step(2.0)) == 6.0
    lazy.w.assign(5.0)  # the value is no part of the program
    assert float(step(2.0)) == 10.0
    assert step.trace_count == 1


def test_copies_wait_for_the_same_values():
    box = Box()
    set_pending(box, Waiting({"v": 4.0}))
    for twin in (copy.deepcopy(box), pickle.loads(pickle.dumps(box)), box):
        twin.v = var(1.0)
        assert float(twin.v) == 4.0
