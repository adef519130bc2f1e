"""What the forward pass of an expression changes, such as counters and caches, is no setting; what else changes is."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import SettingsMismatch
from graftax.reparam.adapted import Adapter, AdapterCreator

X = np.ones((1, 2), "float32")


def count(one):
    one.reads += 1


def count_in_training(one):
    if one.training:
        one.reads += 1


def fill_cache(one):
    one.cache = one.cache or {"value": 2}


def append(one):
    one.history.append(len(one.history))


def count_in_function(one):
    one.function()


def note_first(one):
    if not hasattr(one, "first"):
        one.first = np.arange(3)


class Calls:
    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1


class Own(gx.Reparam):
    def __init__(self, next_creator, spec, change):
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))
        self.change, self.reads, self.cache, self.history, self.bits = change, 0, None, [], 8
        self.function = Calls()

    def forward(self):
        self.change(self)
        return gx.ops.asarray(self.base)


class Twice(Adapter):
    """An adapter that counts."""

    def __init__(self, name, part, spec, change):
        super().__init__(name)
        self.gain = part("gain", shape=(), initializer=gx.initializers.Ones())
        self.change, self.reads, self.cache, self.history, self.bits = change, 0, None, [], 8
        self.function, self.training = Calls(), True

    def __call__(self, value):
        self.change(self)
        return value * self.gain


class Creator(AdapterCreator):
    def __init__(self, change):
        super().__init__("p")
        self.change = change

    def adapter(self, part, spec):
        return Twice(self.name, part, spec, self.change)


def of_expression(change):
    return lambda next_creator, spec: Own(next_creator, spec, change)


def program(make, change, calls):
    layer = gx.layers.Dense(2, use_bias=False)
    with gx.variable_creator_scope(make(change), where="kernel"):
        layer.build((2,))
    for i in range(calls):
        layer(X, training=i % 2 == 0)
    return layer


def holder(layer):
    return layer.kernel.adapters["p"] if hasattr(layer.kernel, "adapters") else layer.kernel


MAKERS = {"expression": of_expression, "adapter": Creator}
CHANGES = [count, count_in_training, fill_cache, append, count_in_function, note_first]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("before", "after"), [(3, 0), (0, 3), (3, 1), (0, 0), (3, 7)])
def test_what_the_forward_pass_changes_is_no_setting(saved, make, change, before, after):
    path = saved(m=program(MAKERS[make], change, before))
    layer = program(MAKERS[make], change, after)
    assert not Checkpoint(m=layer).restore(path).other_settings
    assert not Checkpoint(m=copy.deepcopy(layer)).restore(path).other_settings


@pytest.mark.parametrize("make", MAKERS)
def test_what_the_program_assigns_is_one(saved, make):
    layer = program(MAKERS[make], count, 3)
    holder(layer).bits = 4
    path = saved(m=layer)
    with pytest.raises(SettingsMismatch, match="saved with bits=4, and has bits=8"):
        Checkpoint(m=program(MAKERS[make], count, 1)).restore(path)
    other = program(MAKERS[make], count, 1)
    Checkpoint(m=other).restore(path, settings="saved")
    assert (holder(other).bits, holder(other).reads) == (4, 1)


def test_a_compiled_step_counts_at_its_trace(saved):
    layer = program(of_expression, count, 0)
    gx.jit(lambda x: layer(x))(X)
    assert layer.kernel.reads > 0
    assert not Checkpoint(m=program(of_expression, count, 0)).restore(saved(m=layer)).other_settings


def test_what_is_assigned_after_an_error_in_the_forward_pass_is_a_setting(saved):
    def fail(one):
        raise RuntimeError

    layer = program(of_expression, fail, 0)
    with pytest.raises(RuntimeError):
        layer(X)
    layer.kernel.bits = 4
    with pytest.raises(SettingsMismatch, match="bits=4"):
        Checkpoint(m=program(of_expression, fail, 0)).restore(saved(m=layer))
