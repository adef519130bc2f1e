"""What is watched: each kind of container, each kind of change, wherever it lies; compiled code is as eager code."""

import types
from array import array
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque
from functools import partial

import numpy as np
import pytest

import graftax as gx
from tests.transforms.compile.boxes import Box

ONE = np.float32(1.0)


def read(held, x):
    """Return a number that depends on all there is in a container: kinds, keys, order, numbers and Modules."""
    if isinstance(held, gx.Module):
        return x * held.factor
    if isinstance(held, partial):
        return read(list(held.args), x) + read(dict(held.keywords), x)
    if isinstance(held, dict | UserDict | ChainMap | types.MappingProxyType):
        for key in held:
            x = read(held[key], x) + len(key)
        return x
    if isinstance(held, set | frozenset):
        return x * sum(factor_of(one) for one in held)
    if isinstance(held, list | tuple | deque | UserList | np.ndarray | bytearray | array):
        for one in held:
            x = read(one, x) + 1.0
        return x
    return x * float(held)


def factor_of(one):
    return one.factor if isinstance(one, gx.Module) else float(one)


def times(factor):
    box = Box()
    box.factor = factor
    return box


# --- containers: how one is made of entries, and what can be changed in it -------------------------------------------


IN_SEQUENCES = {
    "replace": lambda held, new: held.__setitem__(0, new),
    "delete": lambda held, new: held.__delitem__(0),
    "append": lambda held, new: held.append(new),
    "reverse": lambda held, new: held.reverse(),
    "clear": lambda held, new: held.clear(),
}
IN_DICTS = {
    "replace": lambda held, new: held.__setitem__("a", new),
    "delete": lambda held, new: held.__delitem__("a"),
    "add": lambda held, new: held.__setitem__("new", new),
    "rename": lambda held, new: held.__setitem__("longer", held.pop("b")),
    "reorder": lambda held, new: held.__setitem__("a", held.pop("a")),
    "clear": lambda held, new: held.clear(),
}
IN_SETS = {"add": lambda held, new: held.add(new), "clear": lambda held, new: held.clear()}
REPLACED = {"replace": IN_SEQUENCES["replace"]}


def inside(get, changes):
    """Return the same changes, of what lies in a container."""
    return {name: lambda held, new, change=change: change(get(held), new) for name, change in changes.items()}


def objects(one, other):
    held = np.empty(2, dtype=object)
    held[:] = one, other
    return held


CONTAINERS = {
    "list": (lambda a, b: [a, b], IN_SEQUENCES),
    "deque": (lambda a, b: deque([a, b], maxlen=3), IN_SEQUENCES),
    "UserList": (lambda a, b: UserList([a, b]), IN_SEQUENCES),
    "dict": (lambda a, b: {"a": a, "b": b}, IN_DICTS),
    "OrderedDict": (lambda a, b: OrderedDict(a=a, b=b), IN_DICTS),
    "defaultdict": (lambda a, b: defaultdict(list, a=a, b=b), IN_DICTS),
    "UserDict": (lambda a, b: UserDict(a=a, b=b), IN_DICTS),
    "ChainMap": (lambda a, b: ChainMap({"a": a, "b": b}, {"c": a}), {k: IN_DICTS[k] for k in ("replace", "add")}),
    "set": (lambda a, b: {a, b}, IN_SETS),
    "object array": (objects, REPLACED),
    "partial": (lambda a, b: partial(read, a, a=a, b=b), inside(lambda held: held.keywords, IN_DICTS)),
    "list in a tuple": (lambda a, b: ([a, b], a), inside(lambda held: held[0], IN_SEQUENCES)),
    "dict in a list": (lambda a, b: [{"a": a, "b": b}], inside(lambda held: held[0], IN_DICTS)),
    "deque in a dict": (lambda a, b: {"a": deque([a, b])}, inside(lambda held: held["a"], IN_SEQUENCES)),
    "list in a partial": (lambda a, b: partial(read, [a, b]), inside(lambda held: held.args[0], IN_SEQUENCES)),
}
OF_NUMBERS = {
    "bytearray": (lambda a, b: bytearray([int(a), int(b)]), REPLACED),
    "array": (lambda a, b: array("d", [a, b]), {"replace": REPLACED["replace"], "append": IN_SEQUENCES["append"]}),
}
VIEWED: dict[int, dict] = {}


def view(one, other):
    """Return a view of a dict that cannot be written; the dict can."""
    below = {"a": one, "b": other}
    proxy = types.MappingProxyType(below)
    VIEWED[id(proxy)] = below
    return proxy


CONTAINERS["MappingProxyType"] = view, inside(lambda held: VIEWED[id(held)], IN_DICTS)

# --- places: where a container lies ---------------------------------------------------------------------------------


class Plain:
    def __init__(self, held):
        self.held, self.other, self.steps = held, times(1.0), 0

    def eager(self, x):
        return read(self.held, x) * self.other.factor

    step = gx.jit(eager)


class Whole:
    """A config object: it holds no Module itself."""

    def __init__(self, held):
        self.inner = Plain(held)
        self.inner.other = types.SimpleNamespace(factor=1.0)


class OfModule(gx.Module):
    def __init__(self, held):
        self.held = held

    def eager(self, x):
        return read(self.held, x)

    step = gx.jit(eager)


HELD = None


def of_global(x):
    return read(HELD, x)


def by_global(held, monkeypatch):
    monkeypatch.setitem(globals(), "HELD", held)
    return of_global, gx.jit(of_global)


def by_method(kind):
    def place(held, monkeypatch):
        one = kind(held)
        return one.eager, lambda x: one.step(x)

    return place


def compiled(around):
    def place(held, monkeypatch):
        f = around(held)
        return f, gx.jit(f)

    return place


def by_argument(held, monkeypatch):
    one, f = Plain(held), gx.jit(lambda one, x: one.eager(x))
    return one.eager, lambda x: f(one, x)


PLACES = {
    "plain self": by_method(Plain),
    "below plain self": compiled(lambda held: (lambda one: lambda x: one.inner.eager(x))(Whole(held))),
    "argument": by_argument,
    "plain object in a closure": compiled(lambda held: Plain(held).eager),
    "plain object in a list": compiled(lambda held: (lambda many: lambda x: many[0].eager(x))([Plain(held)])),
    "config object": compiled(lambda held: (lambda one: lambda x: read(one.held, x))(types.SimpleNamespace(held=held))),
}
OF_MODULES = {
    "closure": compiled(lambda held: lambda x: read(held, x)),
    "global": by_global,
    "default": compiled(lambda held: (lambda f: lambda x: f(x))(lambda x, held=held: read(held, x))),
}
MODULE = {"Module": by_method(OfModule), "below a Module": by_method(lambda held: OfModule({"a": [held]}))}


def rows():
    for container, (make, changes) in {**CONTAINERS, **OF_NUMBERS}.items():
        for name, change in changes.items():
            for place in {**PLACES, **MODULE}:
                yield pytest.param(make, change, place, float, id=f"{container}-{name}-{place}-numbers")
            # in a Module, those that are no lists, tuples or dicts hide what they hold, which is told
            hides = container in OF_NUMBERS or container.startswith(_HIDING)
            for place in () if container in OF_NUMBERS else {**PLACES, **OF_MODULES, **({} if hides else MODULE)}:
                yield pytest.param(make, change, place, times, id=f"{container}-{name}-{place}-Modules")


_HIDING = ("deque", "User", "ChainMap", "set", "object", "partial", "list in a partial", "Mapping")


@pytest.mark.in_turn(24, broad=7)
@pytest.mark.parametrize(("make", "change", "place", "entry"), list(rows()))
def test_a_change_is_seen(make, change, place, entry, monkeypatch):
    held = make(entry(2), entry(3))
    eager, f = {**PLACES, **OF_MODULES, **MODULE}[place](held, monkeypatch)
    before = float(eager(ONE))
    found = [float(f(ONE)), float(f(ONE))]
    change(held, 7 if entry is float else entry(7))
    found += [float(f(ONE)), float(f(ONE))]
    after = float(eager(ONE))
    assert before != after
    assert found == [before, before, after, after]


@pytest.mark.parametrize("place", PLACES)
def test_a_call_without_a_change_costs_no_trace(place, monkeypatch, caplog):
    held = {name: make(2.0, 3.0) for name, (make, _) in {**CONTAINERS, **OF_NUMBERS}.items()}
    _, f = PLACES[place](held, monkeypatch)
    with caplog.at_level("INFO", "graftax"):
        for _ in range(3):
            f(ONE)
    assert "traced again" not in caplog.text
