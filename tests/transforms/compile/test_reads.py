"""Of a plain object that holds Modules, such as a trainer, a compiled function follows what it reads, and no more."""

import copy
import dataclasses
import logging
import threading
import types

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import RetraceError
from tests.transforms.compile.boxes import Box

ONE = np.float32(1.0)


class Trainer:
    rate = 1.0

    def __init__(self):
        self.net = Box(k=1.0)
        self.scale, self.training, self.missing = 2.0, True, None
        self.coefficients = {"kl": 1.0, "all": [1.0, (2.0, np.ones(2))]}
        self.function = abs
        self.steps, self.losses = 0, []

    @property
    def scaled(self):
        return self.scale * self.rate

    def factor(self):
        return self.scaled if self.training else 100.0

    def eager(self, x):
        x = x * self.net.k * self.factor() * self.coefficients["kl"]
        x = x * self.coefficients["all"][0] * float(self.coefficients["all"][1][1][0])
        x = x + (0.0 if self.missing is None else self.missing)
        return x * float(self.function(-1.0))

    step = gx.jit(eager)


@dataclasses.dataclass(eq=False)
class Data(Trainer):
    net: gx.Module = dataclasses.field(default_factory=lambda: Box(k=1.0))
    scale: float = 2.0

    def __post_init__(self):
        Trainer.__init__(self)


class Slotted(Trainer):
    __slots__ = ("net", "scale")


class Asking(Trainer):
    """Has a ``__getattribute__`` of its own."""

    def __getattribute__(self, name):
        return super().__getattribute__(name)


class Meta(type):
    def __setattr__(cls, name, value):
        raise AttributeError(name)


class Closed(Trainer, metaclass=Meta):
    pass


KINDS = [Trainer, Data, Slotted, Asking, Closed]
CHANGES = {
    "a number": lambda t: setattr(t, "scale", 3.0),
    "a flag": lambda t: setattr(t, "training", False),
    "a number in a dict": lambda t: t.coefficients.__setitem__("kl", 0.1),
    "a number in a list": lambda t: t.coefficients["all"].__setitem__(0, 3.0),
    "an array": lambda t: t.coefficients["all"][1][1].fill(3.0),
    "a number for None": lambda t: setattr(t, "missing", 5.0),
    "another function": lambda t: setattr(t, "function", lambda x: 3.0),
    "another net": lambda t: setattr(t, "net", Box(k=4.0)),
    "an attribute that the class gives": lambda t: setattr(t, "rate", 7.0),
    "a method of its own": lambda t: setattr(t, "factor", lambda: 11.0),
}


@pytest.mark.in_turn(12, broad=7)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_read_is_followed(kind, change):
    trainer = kind()
    before = float(trainer.eager(ONE))
    found = [float(trainer.step(ONE)), float(trainer.step(ONE))]
    CHANGES[change](trainer)
    found += [float(trainer.step(ONE)), float(trainer.step(ONE))]
    after = float(trainer.eager(ONE))
    assert found == [before, before, after, after]
    assert before != after
    assert trainer.step.trace_count == 2


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_not_read_costs_no_trace(kind):
    trainer = kind()
    for _ in range(3):
        trainer.losses.append(float(trainer.step(ONE)))
        trainer.steps += 1
        trainer.other = Box()
    assert trainer.step.trace_count == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_classes_are_as_before_after_a_trace(kind):
    before, trainer = dict(vars(kind)), kind()
    trainer.step(ONE)

    @gx.jit
    def fails(trainer):
        return trainer.nothing

    with pytest.raises(AttributeError, match="nothing"):
        fails(trainer)
    assert dict(vars(kind)) == before
    assert kind.__getattribute__ is (vars(kind).get("__getattribute__") or object.__getattribute__)


def around(trainer):
    return lambda x: trainer.eager(x)


def argument(trainer):
    f = gx.jit(lambda one, x: one.eager(x))
    return lambda x: f(trainer, x)


WAYS = {
    "closure": lambda t: gx.jit(around(t)),
    "bound method": lambda t: gx.jit(t.eager),
    "in a list": lambda t: gx.jit((lambda held: lambda x: held[0].eager(x))([t])),
    "in another one": lambda t: gx.jit((lambda one: lambda x: one.held["a"].eager(x))(Box(k=1) and _above(t))),
    "argument": argument,
}


def _above(trainer):
    return types.SimpleNamespace(held={"a": trainer}, net=trainer.net)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_followed_wherever_it_is(way):
    trainer = Trainer()
    f = WAYS[way](trainer)
    found = [float(f(ONE))]
    for _ in range(2):
        trainer.steps += 1
        f(ONE)
    trainer.scale = 3.0
    found.append(float(f(ONE)))
    trainer.coefficients["kl"] = 2.0
    assert [*found, float(f(ONE))] == [2.0, 3.0, 6.0]


def test_another_object_in_its_place_is_seen():
    agents = [Trainer(), Trainer()]
    one = Trainer()
    f = gx.jit(lambda x: x * agents[0].scale * one.scale)
    found = [float(f(ONE))]
    agents[0] = Trainer()
    agents[0].scale = 3.0
    found.append(float(f(ONE)))
    one = Trainer()
    one.scale = 5.0
    found.append(float(f(ONE)))
    agents.reverse()
    assert [*found, float(f(ONE))] == [4.0, 6.0, 15.0, 10.0]


@pytest.mark.broad
def test_whatever_asks_for_an_attribute():
    """Names that no code has, all there is, a file of its own, a copy."""
    elsewhere = types.ModuleType("elsewhere")
    exec("def read(one):\n    return one.scale", elsewhere.__dict__)
    ways = [
        lambda t: getattr(t, "".join(["sc", "ale"])),
        lambda t: vars(t)["scale"],
        lambda t: t.__dict__["scale"],
        elsewhere.read,
        lambda t: copy.copy(t).scale,
    ]
    for way in ways:
        trainer = Trainer()
        f = gx.jit(lambda x, way=way, trainer=trainer: x * way(trainer))
        found = [float(f(ONE))]
        trainer.scale = 3.0
        assert [*found, float(f(ONE))] == [2.0, 3.0]


def test_all_that_there_is():
    trainer = Trainer()
    f = gx.jit(lambda x: x * len(vars(trainer)))
    count = len(vars(trainer))
    found = [float(f(ONE))]
    trainer.new = 1
    found += [float(f(ONE)), float(f(ONE))]
    del trainer.new
    assert [*found, float(f(ONE))] == [count, count + 1, count + 1, count]
    assert f.trace_count == 2


def test_an_attribute_of_none_that_goes_gives_way_to_that_of_the_class():
    trainer = Trainer()
    trainer.rate = None
    f = gx.jit(lambda x: x if trainer.rate is None else x * 5)
    found = [float(f(ONE))]
    del trainer.rate
    found.append(float(f(ONE)))
    assert found == [1.0, 5.0]


def test_an_attribute_of_the_class(monkeypatch):
    trainer = Trainer()
    found = [float(trainer.step(ONE))]
    monkeypatch.setattr(Trainer, "rate", 3.0)
    assert [*found, float(trainer.step(ONE))] == [2.0, 6.0]


def test_a_namespace_with_modules_is_followed_in_what_the_code_names():
    state = types.SimpleNamespace(net=Box(k=2.0), scale=1.0, step=0)
    f = gx.jit(lambda x: x * state.net.k * state.scale)
    found = [float(f(ONE))]
    for _ in range(2):
        state.step += 1
        f(ONE)
    state.scale = 3.0
    found.append(float(f(ONE)))
    state.net = Box(k=5.0)
    assert [*found, float(f(ONE))] == [2.0, 6.0, 15.0]
    assert f.trace_count == 3


# --- changed by the function itself, as attributes of Modules are ---------------------------------------------------


class Counting:
    def __init__(self):
        self.net, self.n, self.seen = Box(k=2.0), 0, []

    def eager(self, x):
        self.n += 1
        self.seen.append(self.n)
        return x * self.net.k * self.n + len(self.seen)

    step = gx.jit(eager)


@pytest.mark.broad
def test_one_that_counts_what_it_reads_is_as_in_eager_code(caplog):
    one, other = Counting(), Counting()
    with caplog.at_level(logging.INFO, "graftax"):
        assert [float(one.step(ONE)) for _ in range(3)] == [float(other.eager(ONE)) for _ in range(3)]
    assert (one.n, one.seen) == (other.n, other.seen) == (3, [1, 2, 3])
    assert "Counting.n: 0 -> 1, in the function itself" in caplog.text
    strict = gx.jit(Counting().eager, max_retraces=0)
    strict(ONE)
    with pytest.raises(RetraceError, match=r"self\.count\.assign_add"):
        strict(ONE)


def test_what_is_made_by_the_first_call_and_kept_costs_no_trace():
    class Lazy:
        def __init__(self):
            self.first, self.net = Box(k=1.0), None

        @gx.jit
        def step(self, x):
            if self.net is None:
                self.net = gx.layers.Dense(1, kernel_initializer="ones")
            return self.net(x)

    lazy, x = Lazy(), np.ones((1, 2), "float32")
    found = [float(lazy.step(x)[0, 0]) for _ in range(2)]
    assert (found, lazy.step.trace_count) == ([2.0, 2.0], 1)
    lazy.net.kernel.assign(np.zeros((2, 1)))
    assert float(lazy.step(x)[0, 0]) == 0.0
    lazy.net = None
    assert float(lazy.step(x)[0, 0]) == 2.0


def test_an_object_that_is_made_in_the_function_may_count():
    trainer = Trainer()

    def f(x):
        one = Counting()
        return one.eager(x) * trainer.scale

    compiled = gx.jit(f)
    assert [float(compiled(ONE)) for _ in range(3)] == [float(f(ONE))] * 3
    assert compiled.trace_count == 1


def test_a_traced_value_that_it_keeps_and_reads_is_told():
    class Running:
        def __init__(self):
            self.net, self.total = Box(k=1.0), 0.0

        @gx.jit
        def step(self, x):
            self.total = self.total + x
            return self.total

    running = Running()
    with pytest.warns(UserWarning, match=r"Running\.total keeps a traced value"):
        running.step(ONE)
    with pytest.raises(gx.errors.TracerLeakError):
        running.step(ONE)


def test_reads_of_other_threads_do_not_count():
    trainer, inside, done = Trainer(), threading.Event(), threading.Event()

    def read():
        inside.wait(10)
        assert trainer.steps == 0
        done.set()

    def f(x):
        inside.set()
        assert done.wait(10)
        return x * trainer.scale

    compiled = gx.jit(f)
    thread = threading.Thread(target=read)
    thread.start()
    compiled(ONE)
    thread.join()
    trainer.steps += 1
    compiled(ONE)
    assert compiled.trace_count == 1
