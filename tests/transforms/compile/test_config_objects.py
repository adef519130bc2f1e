"""Config objects in attributes of Modules, and around functions: compiled code follows what they hold."""

import argparse
import dataclasses
import gc
import logging
import threading
import types
import weakref

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import RetraceError, StateError
from graftax.transforms.flow.attribute_changes import ChangingBodyError
from graftax.variables.graph.config_objects import CONFIG_VALUES, is_config
from tests.transforms.compile.boxes import Box

ONE = np.float32(1.0)


class Plain:
    def __init__(self, scale=2.0):
        self.scale = scale


@dataclasses.dataclass
class Data:
    scale: float = 2.0


@dataclasses.dataclass(slots=True)
class Slotted:
    scale: float = 2.0


class Below(Slotted):
    """Has a dict beside the slots of its base."""


@dataclasses.dataclass(slots=True, weakref_slot=True)
class Weak:
    scale: float = 2.0


class Given:
    scale = 2.0  # by the class


def made_by_a_function():
    return dataclasses.make_dataclass("Made", ["scale"])(2.0)


KINDS = [Plain, Data, Slotted, Below, Weak, Given, made_by_a_function]
NAMESPACES = [lambda: types.SimpleNamespace(scale=2.0), lambda: argparse.Namespace(scale=2.0)]
MAKERS = pytest.mark.parametrize("make", [*KINDS, *NAMESPACES], ids=[k.__name__ for k in KINDS] + ["simple", "parsed"])


def values(f, *changes):
    """Return what a function gives: first, and after each change, each time twice."""
    found = [float(f(ONE)), float(f(ONE))]
    for change in changes:
        change()
        found += [float(f(ONE)), float(f(ONE))]
    return found


@MAKERS
def test_one_in_an_attribute_of_a_module_is_followed(make):
    box = Box(cfg=make())
    f = gx.jit(lambda x: x * box.cfg.scale)
    assert values(f, lambda: setattr(box.cfg, "scale", 3.0)) == [2.0, 2.0, 3.0, 3.0]
    assert f.trace_count == 2


@MAKERS
def test_one_around_a_function_is_followed(make):
    cfg = make()
    f = gx.jit(lambda x: x * cfg.scale)
    assert values(f, lambda: setattr(cfg, "scale", 3.0)) == [2.0, 2.0, 3.0, 3.0]
    assert f.trace_count == 2


SETTINGS = Plain()


def test_one_that_is_a_global_and_another_one_under_its_name(monkeypatch):
    f = gx.jit(lambda x: x * SETTINGS.scale)
    monkeypatch.setattr(SETTINGS, "scale", 3.0)
    before = float(f(ONE))
    monkeypatch.setattr(SETTINGS, "scale", 4.0)
    middle = float(f(ONE))
    monkeypatch.setitem(globals(), "SETTINGS", Plain(5.0))
    assert (before, middle, float(f(ONE)), f.trace_count) == (3.0, 4.0, 5.0, 3)


def test_an_object_whose_method_is_compiled_is_followed_and_not_kept_alive():
    class Scaling(Plain):
        @gx.jit
        def __call__(self, x):
            return x * self.scale

    def use():
        one = Scaling()
        assert values(one.__call__, lambda: setattr(one, "scale", 3.0)) == [2.0, 2.0, 3.0, 3.0]
        return weakref.ref(one)

    alive = use()
    gc.collect()
    assert alive() is None


@pytest.mark.broad
def test_attributes_that_come_go_and_lie_deep():
    inner = Plain([1.0, {"deep": np.ones(1, "float32")}])
    box = Box(cfg={"all": (types.SimpleNamespace(inner=inner),)})

    def read(x):
        one = box.cfg["all"][0]
        scale = one.inner.scale
        return x * scale[0] * scale[1]["deep"][0] + getattr(one, "extra", 0.0)

    f = gx.jit(read)
    changes = [
        lambda: inner.scale.__setitem__(0, 2.0),
        lambda: inner.scale[1]["deep"].fill(3.0),
        lambda: setattr(box.cfg["all"][0], "extra", 10.0),
        lambda: delattr(box.cfg["all"][0], "extra"),
        lambda: setattr(box.cfg["all"][0], "inner", Plain([5.0, {"deep": [1.0]}])),
    ]
    assert values(f, *changes)[1::2] == [1.0, 2.0, 6.0, 16.0, 6.0, 5.0]
    assert f.trace_count == 5  # what is put back is known


def test_one_in_a_circle_and_one_that_holds_its_module():
    class Part(Plain):
        def __init__(self):
            super().__init__()
            self.other = self

    class Net(Box):
        @gx.jit
        def __call__(self, x):
            return x * self.cfg.other.other.scale

    def use():
        net = Net(cfg=Part())
        net.cfg.owner = net
        assert values(net.__call__, lambda: setattr(net.cfg, "scale", 3.0)) == [2.0, 2.0, 3.0, 3.0]
        return weakref.ref(net)

    alive = use()
    gc.collect()
    assert alive() is None


@pytest.mark.broad
def test_one_that_several_layers_share():
    cfg = Plain()

    class Part(gx.Layer):
        def __init__(self):
            super().__init__()
            self.cfg = cfg

        def call(self, x):
            return x * self.cfg.scale

    model = gx.Sequential([Part(), Part(), Part()])
    model.compile("sgd", "mse")
    x = np.ones((2, 1), "float32")
    found = [float(model.predict(x, verbose=0)[0, 0]), model.evaluate(x, x, verbose=0)["loss"]]
    cfg.scale = 3.0
    found += [float(model.predict(x, verbose=0)[0, 0]), model.evaluate(x, x, verbose=0)["loss"]]
    assert found == [8.0, 49.0, 27.0, 26.0**2]
    assert float(model(x)[0, 0]) == 27.0


@pytest.mark.broad
def test_a_callback_may_change_one_between_the_epochs_of_fit():
    cfg = Plain(0.0)

    class Scaled(gx.Layer):
        def build(self, shape):
            self.cfg, self.w = cfg, self.add_weight((1,), "ones")

        def call(self, x):
            return x * self.w * self.cfg.scale

    class Anneal(gx.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            cfg.scale = float(epoch)

    model = gx.Sequential([Scaled()])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    x = np.ones((4, 1), "float32")
    losses = model.fit(x, x, epochs=3, verbose=0, callbacks=[Anneal()]).history["loss"]
    assert losses == [1.0, 0.0, 1.0]


# --- changed by the function itself, as attributes of Modules are ---------------------------------------------------


def counting(held):
    box, cfg = Box(cfg=Plain(0.0)), Plain(0.0)

    def in_attribute(x):
        box.cfg.scale += 1.0
        return x * box.cfg.scale

    def around(x):
        cfg.scale += 1.0
        return x * cfg.scale

    return (in_attribute, box.cfg) if held else (around, cfg)


HELD = pytest.mark.parametrize("held", [True, False], ids=["held", "around"])


@HELD
def test_one_that_the_function_changes_is_as_in_eager_code(held):
    (eager, _), (f, cfg) = counting(held), counting(held)
    f = gx.jit(f)
    assert [float(f(ONE)) for _ in range(3)] == [float(eager(ONE)) for _ in range(3)] == [1.0, 2.0, 3.0]
    assert cfg.scale == 3.0
    strict = gx.jit(counting(held)[0], max_retraces=0)
    strict(ONE)
    with pytest.raises(RetraceError, match=r"cfg\.scale: 0\.0 -> 1\.0, in the object cfg, in the function itself"):
        strict(ONE)


@HELD
@pytest.mark.parametrize("compiled", [False, True])
def test_the_body_of_a_loop_that_changes_one_is_refused(held, compiled):
    f, _ = counting(held)

    def loop():
        return gx.scan(lambda carry, x: (carry + f(x), x), ops.asarray(0.0), ops.ones(3))[0]

    with pytest.raises(ChangingBodyError, match=r"changes (Box\.)?cfg\.scale, on which it depends"):
        (gx.jit(loop) if compiled else loop)()


def test_what_the_body_of_a_loop_counts_beside_is_left_alone():
    calls = Plain(0)

    def body(carry, x):
        calls.scale += 1
        return carry + x, x

    assert float(gx.scan(body, ops.asarray(0.0), ops.ones(3))[0]) == 3.0


@HELD
def test_mapped_functions_and_branches_that_change_one_are_refused(held):
    f, _ = counting(held)
    with pytest.raises(StateError, match=r"changes (Box\.)?cfg\.scale"):
        gx.vectorized_map(f, ops.ones(3))
    with pytest.raises(StateError, match=r"changes (Box\.)?cfg\.scale"):
        gx.jit(lambda yes: gx.cond(yes, f, lambda x: x, ONE))(True)


@HELD
def test_one_that_keeps_a_traced_value_is_told_and_overlooked(held):
    box = Box(cfg=Plain())
    cfg = box.cfg

    def f(x):
        (box.cfg if held else cfg).last = x
        return x * 2

    compiled = gx.jit(f)
    with pytest.warns(UserWarning, match=r"cfg\.last keeps a traced value"):
        compiled(ONE)
    assert [float(compiled(ONE)) for _ in range(3)] == [2.0, 2.0, 2.0]
    assert compiled.trace_count == 2
    out = gx.scan(lambda carry, x: (carry + f(x), x), ops.asarray(0.0), ops.ones(3))[0]  # no turn reads it
    assert float(out) == 6.0


def test_a_value_worked_out_once_costs_one_trace():
    class Lazy(Plain):
        @property
        def twice(self):
            if not hasattr(self, "_twice"):
                self._twice = 2 * self.scale
            return self._twice

    box = Box(cfg=Lazy())
    f = gx.jit(lambda x: x * box.cfg.twice)
    assert [float(f(ONE)) for _ in range(3)] == [4.0, 4.0, 4.0]
    assert f.trace_count == 2


# --- what is told, and what is left alone ---------------------------------------------------------------------------


def test_what_has_changed_and_what_helps_is_told(caplog):
    box = Box(cfg=types.SimpleNamespace(inner=Plain()))
    f = gx.jit(lambda x: x * box.cfg.inner.scale)
    with caplog.at_level(logging.INFO, "graftax"):
        for i in range(6):
            box.cfg.inner.scale = float(i)
            f(ONE)
    assert "Box.cfg.inner.scale: 0.0 -> 1.0, in the object cfg" in caplog.messages[0]
    (told,) = (one.getMessage() for one in caplog.records if one.levelname == "WARNING")
    assert 'untracked = frozenset({"cfg"})' in told


def test_an_untracked_one_is_left_alone():
    class Net(gx.Module):
        untracked = frozenset({"replay"})

        def __init__(self):
            self.replay = Plain()

        def __call__(self, x):
            return x

    net = Net()
    f = gx.jit(net)
    for i in range(3):
        net.replay.scale = i
        f(ONE)
    assert f.trace_count == 1


def test_what_a_trainer_counts_beside_its_modules_is_left_alone():
    class Trainer:
        def __init__(self):
            self.net, self.steps, self.losses = Box(k=2.0), 0, []

        @gx.jit
        def step(self, x):
            return x * self.net.k

    trainer = Trainer()
    for _ in range(3):
        trainer.losses.append(float(trainer.step(ONE)))
        trainer.steps += 1
    assert trainer.step.trace_count == 1
    trainer.net.k = 3.0
    assert float(trainer.step(ONE)) == 3.0


class Stream:
    def __iter__(self):
        return self

    def __next__(self):
        return 1


NO_CONFIG = [1, "a", [1], {"a": 1}, np.ones(2), ops.ones(2), gx.Variable(1.0), gx.Module(), Plain, Plain.__init__]
NO_CONFIG += [types, threading.Lock(), logging.getLogger(), gx.callbacks.Callback(), object(), Stream(), ValueError()]
NO_CONFIG += [gx.regularizers.L2(1.0), gx.jit(lambda x: x), lambda x: x, iter([]), np.random.default_rng(0)]


@pytest.mark.parametrize("value", NO_CONFIG, ids=lambda value: type(value).__name__)
def test_what_is_no_config_object(value):
    assert not is_config(value)


def test_more_than_so_many_values_are_compared_by_which_object_holds_them():
    small, large = Plain([0.0] * (CONFIG_VALUES // 2)), Plain([0.0] * CONFIG_VALUES)
    box = Box(small=small, large=large)
    f = gx.jit(lambda x: x * box.small.scale[0] + box.large.scale[0])
    changes = [
        lambda: small.scale.__setitem__(0, 1.0),
        lambda: large.scale.__setitem__(0, 1.0),  # not seen
        lambda: setattr(large, "scale", [2.0] * CONFIG_VALUES),
    ]
    assert values(f, *changes)[1::2] == [0.0, 1.0, 1.0, 3.0]


def test_a_net_of_many_objects_is_looked_through_in_short():
    class Point(Plain):
        pass

    points = [Point() for _ in range(100)]
    for point in points:
        point.near = points  # each leads to all
    box = Box(points=points)
    f = gx.jit(lambda x: x * box.points[0].scale)
    assert values(f, lambda: setattr(points[0], "scale", 3.0)) == [2.0, 2.0, 3.0, 3.0]


def test_one_that_says_a_dtype_is_no_array():
    @dataclasses.dataclass
    class Precision(Data):
        dtype: str = "float32"

    box = Box(cfg=Precision())
    f = gx.jit(lambda x: x * box.cfg.scale)
    assert values(f, lambda: setattr(box.cfg, "scale", 3.0)) == [2.0, 2.0, 3.0, 3.0]
