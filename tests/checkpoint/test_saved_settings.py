"""`settings="saved"` makes the settings of expressions those of the checkpoint, all of them or none."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import ArgumentError, ShapeMismatch

X = np.ones((1, 2), "float32")


def model(alpha, build=True, bits=8):
    with (
        gx.variable_creator_scope(gx.reparam.FakeQuant(bits=bits), where="**/1/kernel"),
        gx.variable_creator_scope(gx.reparam.LoRA(1, alpha=alpha, name="p"), where="**/0/kernel"),
    ):
        net = gx.Sequential([gx.layers.Dense(2, use_bias=False), gx.layers.Dense(2, use_bias=False)])
        if build:
            net(X)
    for i, variable in enumerate(net.variables):
        variable.assign(np.full(variable.shape, 1 + i / 7))
    return net


@pytest.fixture
def path(tmp_path):
    net = model(4, bits=3)
    net.layers[1].kernel.base.assign([[0.1, 0.7], [0.33, 1.0]])
    net.save_weights(tmp_path / "w")
    return tmp_path / "w", np.asarray(net(X))


@pytest.mark.parametrize("copied", [lambda net: net, copy.deepcopy], ids=["itself", "copy"])
@pytest.mark.parametrize("build", [True, False])
@pytest.mark.parametrize(
    "restore",
    [
        lambda net, where: Checkpoint(model=net).restore(where, only="model/**", settings="saved"),
        lambda net, where: net.load_weights(where, settings="saved"),
    ],
    ids=["restore", "load_weights"],
)
def test_the_model_computes_what_was_saved(path, build, restore, copied):
    where, wanted = path
    net = model(1, build)
    report = restore(net, where)
    net = copied(net)
    np.testing.assert_array_equal(net(X), wanted)
    assert net.layers[0].kernel.adapters["p"].scale == 4.0
    if copied is not copy.deepcopy:
        assert {line.path: line.now for line in report.other_settings} == {
            "model/layers/0/kernel/adapters/p": {"scale": 4.0},
            "model/layers/1/kernel": {"bits": 3},
        }


@pytest.mark.broad
def test_compiled_functions_compute_with_them(path):
    where, wanted = path
    net = model(1)
    run = gx.jit(lambda x: net(x))
    run(X)
    net.load_weights(where, settings="saved")
    np.testing.assert_allclose(run(X), wanted, rtol=1e-6)


def test_load_weights_may_keep_those_of_the_program(path):
    net = model(1)
    report = net.load_weights(path[0], settings="program")
    assert len(report.other_settings) == 2
    assert net.layers[1].kernel.bits == 8
    with pytest.raises(ArgumentError, match="settings='mine'"):
        net.load_weights(path[0], settings="mine")
    with pytest.raises(gx.errors.SettingsMismatch, match=r"settings=\"saved\".*settings=\"program\"") as error:
        net.load_weights(path[0])
    assert "Checkpoint(" not in error.value.instead


@pytest.mark.broad
def test_nothing_is_assigned_if_anything_else_differs(path):
    net = model(1)
    net.add(gx.layers.Dense(2))
    net(X)
    with pytest.raises(gx.errors.MissingInCheckpoint):
        net.load_weights(path[0], settings="saved")
    assert net.layers[1].kernel.bits == 8


def test_settings_are_taken_back_when_the_restore_fails_late(path, monkeypatch):
    net = model(1)
    before = np.asarray(net(X))
    monkeypatch.setattr("graftax.checkpoint.restore._apply_values", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        net.load_weights(path[0], settings="saved")
    assert net.layers[1].kernel.bits == 8
    np.testing.assert_array_equal(net(X), before)


@pytest.mark.broad
def test_other_shapes_are_refused_whatever_is_chosen(tmp_path):
    def quantized(creator):
        layer = gx.layers.Dense(4, use_bias=False)
        layer(X)
        gx.graft(layer, creator, where="kernel")
        return layer

    Checkpoint(m=quantized(gx.reparam.Int8("tensor"))).save(tmp_path / "t")
    with pytest.raises(ShapeMismatch):
        Checkpoint(m=quantized(gx.reparam.Int8())).restore(tmp_path / "t", settings="saved")
