"""What methods name counts, of plain objects and of Modules; and what the classes hold that code names."""

import types

import numpy as np
import pytest

import graftax as gx
from graftax.transforms.compile.code_names import attribute_names, global_names, methods_of
from tests.transforms.compile.boxes import Box

ONE = np.float32(1.0)
SETTINGS = types.SimpleNamespace(scale=1.0)
NETS = {"a": Box(k=1.0)}
LOG = types.SimpleNamespace(lines=0)


class Group:
    """Only groups settings."""

    rate = 1.0
    unused = 0


class Below:
    def unnamed(self):
        LOG.lines += 1

    def last(self, x):
        return x * SETTINGS.scale * NETS["a"].k * Group.rate


class Plain(Below):
    def __init__(self):
        self.net = Box(k=1.0)

    @property
    def second(self):
        return self.last

    @staticmethod
    def first(one, x):
        return one.second(x)

    def eager(self, x):
        return self.first(self, x) * self.net.k

    step = gx.jit(eager)


class Called(Plain):
    def __call__(self, x):
        return self.eager(x)


class Net(gx.Layer, Below):
    def call(self, x):
        return self.last(x)


def of_model():
    model = gx.Sequential([Net()])
    model.compile("sgd", "mse")
    return lambda x: model.predict(np.full((1, 1), x), verbose=0)[0, 0]


PLAIN = Plain()
WAYS = {
    "compiled method": PLAIN.step,
    "bound method": gx.jit(PLAIN.eager),
    "called": gx.jit(Called()),
    "layer": gx.jit(Net()),
    "below a model": gx.jit(gx.Sequential([gx.Sequential([Net()])])),
    "predict": of_model(),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("way", WAYS)
def test_what_methods_name_is_followed(way, monkeypatch):
    f = WAYS[way]
    found = [float(f(ONE)), float(f(ONE))]
    monkeypatch.setattr(SETTINGS, "scale", 2.0)
    found.append(float(f(ONE)))
    monkeypatch.setitem(NETS, "a", Box(k=3.0))
    found.append(float(f(ONE)))
    monkeypatch.setattr(Group, "rate", 5.0)
    assert [*found, float(f(ONE))] == [1.0, 1.0, 2.0, 6.0, 30.0]


def test_what_only_other_methods_name_costs_no_trace(monkeypatch):
    plain = Plain()
    for name in ("lines", "more"):
        plain.step(ONE)
        monkeypatch.setattr(LOG, name, 1, raising=False)
        monkeypatch.setattr(Group, "unused", 1)
    plain.step(ONE)
    assert plain.step.trace_count == 1


def test_names_in_code():
    def f(x):
        return lambda: NETS["a"].k + Group.rate * x.shape[0]

    assert global_names(f.__code__) == ["Group", "NETS"]
    assert attribute_names(f.__code__) == {"k", "rate", "shape"}


def test_methods_of_a_class():
    names = {name for name, _ in methods_of(Called)}
    assert names == {"__call__", "second", "first", "eager", "step", "last", "unnamed"}
    assert not methods_of(dict)
