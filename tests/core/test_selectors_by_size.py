"""A function that asks for sizes selects the same weights of what is there, of what is made, and of what was saved."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.ones((4, 16), "float32")
LARGE = "layers/0/kernel"


@gx.select
def large(variable):
    return variable.size > 100 and variable.ndim == 2 and variable.name == "kernel" and variable.shape[0] == 16


def model(value=None):
    made = gx.Sequential([layers.Dense(8), layers.Dense(2)])
    if value is not None:
        made(X)
        for variable in made.variables:
            variable.assign(np.full(variable.shape, value))
    return made


def test_of_what_is_there_and_of_what_is_made():
    net = model(1.0)
    assert net.freeze(large) == [LARGE]
    gx.graft(net, gx.reparam.LoRA(1, name="a"), where=large)
    with gx.variable_creator_scope(gx.reparam.LoRA(1, name="a"), where=large):
        other = model()
        other(X)
    for one in (net, other):
        assert [v.path for v in one.variables if "adapters" in v.path] == [
            f"{LARGE}/adapters/a/{n}" for n in ("down", "up")
        ]


@pytest.mark.parametrize("how", ["only", "skip"])
@pytest.mark.parametrize("is_built", [True, False], ids=["built", "later"])
@pytest.mark.parametrize("has_optimizer", [True, False], ids=["optimizer", "alone"])
def test_of_what_is_saved(how, is_built, has_optimizer, tmp_path):
    def program(value):
        net, more = model(value), {}
        if has_optimizer:
            more["optimizer"] = gx.optimizers.SGD(0.1, momentum=0.9)
        if has_optimizer and value is not None:
            more["optimizer"].apply([np.zeros(v.shape, "float32") for v in net.variables], net.variables)
            for record in more["optimizer"].slots():
                record.slot.assign(np.full(record.slot.shape, value))
        return net, more, gx.Checkpoint(model=net, **more)

    program(1.0)[-1].save(tmp_path / "whole")
    net, more, checkpoint = program(0.0 if is_built else None)
    checkpoint.restore(tmp_path / "whole", **{how: large})
    net(X)
    for record in more["optimizer"].slots() if more else ():
        assert np.array_equal(record.slot, np.ones(record.slot.shape)) == (
            (record.variable.path == LARGE) == (how == "only")
        )
    restored = {v.path for v in net.variables if np.array_equal(v, np.ones(v.shape))}
    paths = {v.path for v in net.variables}
    assert restored == ({LARGE} if how == "only" else paths - {LARGE})
