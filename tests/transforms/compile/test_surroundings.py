"""Lists and dicts of layers around a compiled function, and the names for these, may change: it follows."""

import gc
import weakref

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.transforms.compile.reach import find_modules

ONE = np.float32(1.0)


def times(factor):
    scale = gx.Module()
    scale.factor = factor
    return scale


def product(scales, x):
    for scale in scales.values() if isinstance(scales, dict) else scales:
        x = x * scale.factor
    return x


NET = [times(2.0)]
NAMED = {"first": times(2.0)}
WHOLE = times(2.0)


def of_the_global_list(x):
    return product(NET, x)


class Trainer:
    def __init__(self, net):
        self.net = net

    def step(self, x):
        return product(self.net, x)


class Calls:
    def __init__(self, net):
        self.net = net

    @gx.jit
    def step(self, x):
        return product(self.net, x)


def closure(net):
    return lambda x: product(net, x)


def default(net):
    def f(x, held=net):
        return product(held, x)

    return lambda x: f(x)


WAYS = {
    "closure": closure,
    "default": default,
    "deeper": lambda net: closure((net,)[0]),
    "method": lambda net: Trainer(net).step,
    "object": lambda net: (lambda trainer: lambda x: product(trainer.net, x))(Trainer(net)),
    "a dict of lists": lambda net: (lambda held: lambda x: product(held["a"], x))({"a": net}),
}


def append(net):
    net.append(times(3.0))


def pop(net):
    net.pop()


def replace(net):
    net[0] = times(5.0)


def change_one(net):
    net[0].factor = 7.0


CHANGES = [(append, 6.0), (pop, 1.0), (replace, 5.0), (change_one, 7.0)]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("change", "after"), CHANGES, ids=[change.__name__ for change, _ in CHANGES])
def test_a_change_of_a_list_of_modules_is_seen(way, change, after):
    net = [times(2.0)]
    f = gx.jit(WAYS[way](net))
    before = [float(f(ONE)), float(f(ONE))]
    change(net)
    assert [*before, float(f(ONE)), float(f(ONE))] == [2.0, 2.0, after, after]
    assert f.trace_count == 2


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("way", WAYS)
def test_a_list_that_was_empty_is_followed(way):
    net = []
    f = gx.jit(WAYS[way](net))
    found = [float(f(ONE))]
    for factor in (2.0, 3.0):
        net.append(times(factor))
        found += [float(f(ONE)), float(f(ONE))]
    net.clear()
    assert [*found, float(f(ONE))] == [1.0, 2.0, 2.0, 6.0, 6.0, 1.0]
    assert f.trace_count == 3  # the one for nothing is still there


def test_changes_of_globals_are_seen(monkeypatch):
    f, g, h = gx.jit(of_the_global_list), gx.jit(lambda x: product(NAMED, x)), gx.jit(lambda x: x * WHOLE.factor)
    found = [[float(one(ONE)) for one in (f, g, h)]]
    monkeypatch.setattr(f"{__name__}.NET", [*NET, times(3.0)])
    monkeypatch.setitem(NAMED, "second", times(4.0))
    monkeypatch.setattr(f"{__name__}.WHOLE", times(5.0))
    found.append([float(one(ONE)) for one in (f, g, h)])
    monkeypatch.undo()
    found.append([float(one(ONE)) for one in (f, g, h)])
    assert found == [[2.0, 2.0, 2.0], [6.0, 8.0, 5.0], [2.0, 2.0, 2.0]]


def test_another_module_under_the_same_name_is_seen():
    trainer, model = Trainer([times(2.0)]), times(3.0)
    f, g = gx.jit(trainer.step), gx.jit(lambda x: x * model.factor)
    found = [float(f(ONE)), float(g(ONE))]
    trainer.net, model = [times(5.0)], times(7.0)
    assert [*found, float(f(ONE)), float(g(ONE))] == [2.0, 3.0, 5.0, 7.0]


@pytest.mark.broad
def test_a_net_that_grows_is_trained_whole():
    def make(compiled):
        x = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
        net, optimizer = (
            [layers.Dense(3, kernel_initializer=gx.initializers.GlorotUniform(seed=1))],
            gx.optimizers.SGD(0.1),
        )

        def loss():
            y = x
            for layer in net:
                y = layer(y)
            return ops.mean((y - x) ** 2)

        def step():
            variables = [v for layer in net for v in layer.trainable_variables]
            optimizer.minimize(loss, variables)

        run = gx.jit(step) if compiled else step
        loss()
        for _ in range(2):
            run()
        net.append(layers.Dense(3, kernel_initializer="ones"))
        net[-1].build((None, 3))
        for _ in range(2):
            run()
        return [layer.kernel.numpy() for layer in net]

    for found, expected in zip(make(True), make(False), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_list_that_the_function_fills_is_seen_by_the_next_call():
    def make():
        net = []

        def f(x):
            y = product(net, x)
            if len(net) < 2:
                net.append(times(2.0))
            return y

        return f

    eager, compiled = make(), gx.jit(make())
    assert [float(compiled(ONE)) for _ in range(4)] == [float(eager(ONE)) for _ in range(4)] == [1.0, 2.0, 4.0, 4.0]
    assert compiled.trace_count == 3


def test_a_list_into_which_the_function_only_puts_things_costs_no_trace():
    calls, names, losses = [], set(), []

    @gx.jit
    def f(x):
        calls.append(1)
        names.add("f")
        return x * 2.0

    for _ in range(3):
        losses.append(f(ONE))
        calls.append(0)
    assert f.trace_count == calls.count(1) == 1


def test_settings_of_an_object_in_the_closure_and_of_one_among_the_arguments_are_seen():
    penalty = gx.regularizers.L2(1.0)
    f, g = gx.jit(lambda x: penalty(x)), gx.jit(lambda one, x: one(x))
    found = [float(f(ONE)), float(g(penalty, ONE))]
    penalty.l2 = 2.0
    assert [*found, float(f(ONE)), float(g(penalty, ONE))] == [1.0, 1.0, 2.0, 2.0]


def test_the_line_in_the_log_names_function_and_variable(caplog):
    net = [times(2.0)]

    def train_step(x):
        return product(net, x)

    f = gx.jit(train_step)
    with caplog.at_level("INFO", "graftax"):
        f(ONE)
        net.append(times(3.0))
        f(ONE)
    assert "train_step.net changed" in caplog.text


def test_an_object_is_not_kept_alive_by_its_compiled_method():
    one = Calls([times(2.0)])
    one.step(ONE)
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def test_two_lists_of_one_name_are_told_apart():
    first, second = [times(2.0)], [times(3.0)]
    f, g = closure(first), closure(second)
    h = gx.jit(lambda x: f(x) + g(x))
    found = [float(h(ONE))]
    for net in (first, second):
        append(net)
        found.append(float(h(ONE)))
    assert found == [5.0, 9.0, 15.0]


def test_of_containers_in_each_other_the_outermost_is_noted_once():
    net = [times(2.0)]
    held = {"net": net, "more": [net]}
    _, around = find_modules([lambda: held])
    assert [*around._gx_traced_attributes()] == ["held"]
