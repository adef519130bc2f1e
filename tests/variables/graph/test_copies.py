"""Copies of what nobody has used yet: streams are made while they are copied, and that must not disturb the copying."""

import copy
import inspect
import pickle
from itertools import product

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from tests.conformance.lanes import crossed
from tests.layers.foreign_modules import Foreign, identity

SETTINGS = {
    "units": 4,
    "filters": 4,
    "kernel_size": 3,
    "pool_size": 2,
    "size": 2,
    "padding": 1,
    "cropping": 1,
    "num_heads": 2,
    "key_dim": 4,
    "head_dim": 4,
    "dim": 4,
    "rate": 0.1,
    "stddev": 0.1,
    "input_dim": 8,
    "output_dim": 4,
    "n": 2,
    "target_shape": (4,),
    "dims": (2, 1),
    "activation": "relu",
    "fn": abs,
    "function": abs,
    "layer": layers.LSTM(4),
    "cell": layers.GRUCell(4),
    "cells": [layers.LSTMCell(4), layers.SimpleRNNCell(4)],
    "upscale_factor": 2,
    "output_size": 2,
    "axes": 1,
    "equation": "ab,bc->ac",
    "output_shape": 4,
    "sequence_length": 8,
    "call_fn": identity,
    "module": Foreign(3),
    "num_tokens": 4,
    "num_bins": 4,
    "scale": 0.5,
    "height": 4,
    "width": 4,
    "factor": 0.2,
    "height_factor": 0.2,
    "width_factor": 0.2,
    "intermediate_dim": 8,
    "num_experts": 3,
}
CHANCES = {
    "params": {"w": np.ones(2, "float32")},
    "bin_boundaries": (0.0, 1.0),
    "shape": (3,),
    "dropout": 0.1,
    "recurrent_dropout": 0.1,
}


def every_layer():
    for name in layers.__all__:
        kind = getattr(layers, name)
        if inspect.isclass(kind) and issubclass(kind, gx.Layer) and not inspect.isabstract(kind):
            yield kind


def made(kind):
    given = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if name in CHANCES:
            given[name] = CHANCES[name]
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            given[name] = copy.deepcopy(SETTINGS[name])
    return kind(**given)


class Block(gx.Layer):
    """Layers in attributes, lists and dicts."""

    def __init__(self, first, second):
        super().__init__()
        self.first = first
        self.rest = [second, {"last": layers.Dropout(0.1)}]

    def call(self, x):
        return x


HOLDERS = {
    "alone": lambda layer: layer,
    "in a block": lambda layer: Block(layer, layers.LSTM(2, dropout=0.1)),
    "in a list": lambda layer: [layer, layers.Dropout(0.2)],
    "in a model": lambda layer: gx.Sequential([layers.Dense(4), layer]),
}
COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda thing: pickle.loads(pickle.dumps(thing))}


def streams(thing):
    tops = thing if isinstance(thing, list) else [thing]
    return [v.numpy().tolist() for top in tops for v in top.variables if v.role == "seed"]


KINDS = {kind.__name__: kind for kind in every_layer()}


@pytest.mark.parametrize(("name", "holder", "how"), crossed([*KINDS], [*product(HOLDERS, COPIES)]))
def test_layers_that_were_never_used_can_be_copied(name, holder, how):
    thing = HOLDERS[holder](made(KINDS[name]))
    assert streams(COPIES[how](thing)) == streams(thing)


def test_a_copy_of_a_fresh_dropout_drops_the_same():
    layer = layers.Dropout(0.5)
    twin = copy.deepcopy(layer)
    x = np.ones((4, 8), "float32")
    np.testing.assert_array_equal(layer(x, training=True), twin(x, training=True))


class Marked(gx.Module):
    """Its attribute marks it while the attribute is looked at, as another thread may."""

    def __init__(self):
        self.odd = self.Odd(self)
        self.last = gx.Variable(1.0)

    class Odd:
        def __init__(self, module):
            self.module = module

        def __deepcopy__(self, memo):
            object.__setattr__(self.module, "_gx_watched", True)
            return self


def test_a_module_that_is_marked_while_it_is_copied_is_copied():
    twin = copy.deepcopy(Marked())
    assert float(twin.last) == 1.0


class Holder(gx.Module):
    def __call__(self, _):
        return self.run()


@pytest.mark.parametrize("way", ["value_and_grad", "tape", "functional_call"])
def test_a_copy_in_a_function_that_is_differentiated_has_the_value_there(way):
    net = Holder()
    net.w = gx.Variable(1.0)
    copies = []

    def moving():
        net.w.assign(net.w * 5)
        copies.append(copy.deepcopy(net))
        return net.w * 2.0

    if way == "tape":
        with gx.GradientTape() as tape:
            y = moving()
        assert float(tape.gradient(y, net.w)) == 10.0
    elif way == "value_and_grad":
        assert float(gx.value_and_grad(moving, wrt=net.w)()[1]) == 10.0
    else:
        net.run = moving
        assert float(gx.functional_call(net, {"w": 3.0}, 0)[1]["w"]) == 15.0
    assert float(copies[0].w) == (15.0 if way == "functional_call" else 5.0)


def test_a_copy_in_mixed_precision_has_all_of_a_weight():
    copies = []

    class Net(gx.Layer):
        def call(self, x):
            copies.extend([copy.deepcopy(self.w), pickle.loads(pickle.dumps(self.w))])
            return x * self.w

    net = Net(dtype="mixed_bfloat16")
    net.w = gx.Variable(1 + 2.0**-10)
    net(np.ones(1, "float32"))
    assert [float(one) for one in copies] == [1 + 2.0**-10] * 2


def test_the_copy_of_an_unbuilt_layer_keeps_its_creators_without_the_original():
    with gx.variable_creator_scope(gx.reparam.WeightNorm(), where="**/kernel"):
        copied = copy.deepcopy(gx.Sequential([gx.layers.Dense(2)]))  # the original is gone
    copied(np.ones((1, 3), "float32"))
    assert [v.path for v in copied.variables][:2] == ["layers/0/kernel/direction", "layers/0/kernel/magnitude"]


@pytest.mark.parametrize("name", ["LoRA", "WeightNorm"])
def test_a_pickle_of_an_unbuilt_layer_keeps_its_creators(name):
    creator = gx.reparam.LoRA(1) if name == "LoRA" else gx.reparam.WeightNorm()
    with gx.variable_creator_scope(creator, where="**/kernel"):
        net = gx.Sequential([gx.layers.Dense(2), gx.layers.Dense(1)])
    again = pickle.loads(pickle.dumps(net))
    for one in (net, again):
        one(np.ones((1, 3), "float32"))
    assert [v.path for v in again.variables] == [v.path for v in net.variables]
    built = pickle.loads(pickle.dumps(net))
    assert [v.path for v in built.variables] == [v.path for v in net.variables]


def test_a_pickle_of_a_half_built_model_is_built_under_its_creators():
    with gx.variable_creator_scope(gx.reparam.WeightNorm(), where="**/kernel"):
        net = [gx.layers.Dense(2), gx.layers.BatchNormalization()]
    net[0](np.ones((1, 3), "float32"))
    again = pickle.loads(pickle.dumps(net))
    assert again[1](np.ones((1, 3), "float32")).shape == (1, 3)


def test_a_creator_that_cannot_be_pickled_is_named():
    with gx.variable_creator_scope(lambda next_creator, spec: next_creator(spec)):
        net = gx.Sequential([gx.layers.Dense(2)])
    with pytest.raises(gx.errors.CreatorError, match="made without that creator"):
        pickle.dumps(net)
    net(np.ones((1, 3), "float32"))
    assert len(pickle.loads(pickle.dumps(net)).variables) == 2
