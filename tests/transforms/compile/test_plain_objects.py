"""A compiled method of a plain object follows the Modules in its lists and dicts, as eager code does."""

import dataclasses
import gc
import types
import weakref

import numpy as np
import pytest

import graftax as gx
from graftax.transforms.compile.reach import find_modules

ONE = np.float32(1.0)


def times(factor):
    scale = gx.Module()
    scale.factor = factor
    return scale


def product(held, x):
    """Multiply by every Module in nested containers, in their order, and by the length of every key."""
    if isinstance(held, gx.Module):
        return x * held.factor + 1.0
    if isinstance(held, dict):
        for key, one in held.items():
            x = product(one, x) * len(key)
        return x
    for one in held:
        x = product(one, x)
    return x


class Trainer:
    def __init__(self, held):
        self.held = held

    def eager(self, x):
        return product(self.held, x)

    step = gx.jit(eager)


@dataclasses.dataclass(eq=False)
class Data:
    held: object

    eager = Trainer.eager
    step = gx.jit(Trainer.eager)


class Slotted:
    __slots__ = ("__weakref__", "held")
    __init__ = Trainer.__init__
    eager = Trainer.eager
    step = gx.jit(Trainer.eager)


class Above:
    """Holds another plain object that holds the Modules."""

    def __init__(self, held):
        self.inner = types.SimpleNamespace(part=Trainer(held))

    def eager(self, x):
        return product(self.inner.part.held, x)

    step = gx.jit(eager)


class Typed(Trainer):
    """Has what arrays have, too."""

    dtype = "float32"

    def __init__(self, held):
        super().__init__(held)
        self.shape = (1,)


HOLDERS = [Trainer, Data, Slotted, Above, Typed]
CONTAINERS = {
    "list": lambda: [times(2.0), times(3.0)],
    "dict": lambda: {"a": times(2.0), "b": times(3.0)},
    "list in a tuple": lambda: ([times(2.0), times(3.0)],),
    "list in a dict": lambda: {"all": [times(2.0), times(3.0)]},
    "dict in a list": lambda: [{"a": times(2.0), "b": times(3.0)}],
}


def _innermost(held):
    while not isinstance(inner := next(iter(held.values() if isinstance(held, dict) else held)), gx.Module):
        held = inner
    return held


def replace(held):
    held["a" if isinstance(held, dict) else 0] = times(5.0)


def delete(held):
    del held["a" if isinstance(held, dict) else 0]


def add(held):
    if isinstance(held, dict):
        held["new"] = times(5.0)
    else:
        held.append(times(5.0))


def reorder(held):
    if isinstance(held, dict):
        held["a"] = held.pop("a")
    else:
        held.reverse()


def rename(held):
    if isinstance(held, dict):
        one = held.pop("b")
        held["longer"] = one
    else:
        held[:] = [held[1], held[1]]


CHANGES = [replace, delete, add, reorder, rename]


@pytest.mark.in_turn(3, broad=2)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", HOLDERS, ids=lambda kind: kind.__name__)
def test_a_change_of_what_it_holds_is_seen(kind, container, change):
    one = kind(CONTAINERS[container]())
    held = one.inner.part.held if kind is Above else one.held
    found = [float(one.step(ONE)), float(one.step(ONE))]
    before = float(one.eager(ONE))
    change(_innermost(held))
    found += [float(one.step(ONE)), float(one.step(ONE))]
    after = float(one.eager(ONE))
    assert before != after
    assert found == [before, before, after, after]
    assert one.step.trace_count == 2


@pytest.mark.parametrize("kind", [Trainer, Data, Slotted])
def test_an_object_is_not_kept_alive_by_its_compiled_method(kind):
    one = kind([times(2.0)])
    assert float(one.step(ONE)) == 3.0
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def test_two_names_of_one_list_are_both_followed():
    net = [times(2.0)]
    trainer = Trainer(net)
    f = gx.jit(lambda x: product(net, x) + product(trainer.held, x))
    found = [float(f(ONE))]
    trainer.held = [times(3.0)]
    found.append(float(f(ONE)))
    net = [times(5.0)]
    assert [*found, float(f(ONE))] == [6.0, 7.0, 10.0]


class Foreign:
    """Answers anything, as proxies do."""

    def __init__(self, answer):
        self.answer = answer
        self.net = [times(2.0)]

    def __getattr__(self, name):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    @gx.jit
    def step(self, x):
        return product(self.net, x)


@pytest.mark.parametrize("answer", [RuntimeError("no such thing"), 3, np.float32], ids=lambda one: type(one).__name__)
def test_one_that_answers_for_every_name_is_looked_through_as_others_are(answer):
    one = Foreign(answer)
    found = [float(one.step(ONE))]
    one.net[0] = times(3.0)
    assert [*found, float(one.step(ONE))] == [3.0, 4.0]


def test_what_a_compiled_function_keeps_of_its_traces_is_not_looked_at():
    trainer = Trainer([times(2.0)])
    trainer.step(ONE)
    _, around = find_modules([trainer.step])
    assert [one.find() for one in around.objects] == [trainer]
    assert [*around._gx_traced_attributes()] == ["product()"]
