"""What is trained is state: restored with a whole program, told wherever it differs."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import ArgumentError


def model():
    net = gx.Sequential([gx.layers.Dense(2), gx.layers.BatchNormalization(), gx.layers.Dense(1)])
    net(np.ones((2, 3), "float32"))
    return net


def trained(net):
    return [v.path for v in net.trainable_variables]


def test_a_whole_program_is_trained_as_it_was_saved(saved):
    net = model()
    net.freeze("layers/0/**")
    net.layers[1].trainable = False
    path = saved(net=net)
    other = model()
    report = Checkpoint(net=other).restore(path).assert_consumed()
    assert trained(other) == trained(net) == ["layers/2/kernel", "layers/2/bias"]
    assert other.layers[1].trainable is False
    assert ("net/layers/0/kernel", False, False) in report.trainable
    assert "was frozen when it was saved; is frozen now" in str(report)
    assert other.unfreeze("layers/0/**") == ["layers/0/kernel", "layers/0/bias"]
    frozen, path = trained(net), saved(net=model())
    with pytest.raises(
        UserWarning, match="unfreezes 5 of what the program has frozen, as it was saved: net/layers/0/kern"
    ):
        Checkpoint(net=net).restore(path)
    assert trained(net) == frozen  # as an error, it comes before anything is changed
    Checkpoint(net=net).restore(path, trainable="saved")
    assert trained(net) == trained(model())
    assert Checkpoint(net=net).restore(saved(net=model())).trainable == ()


def test_the_program_has_its_way_where_a_part_comes_or_it_is_told(saved):
    path = saved(net=model())
    for choice in ({"only": "net/**"}, {"mode": "cover"}, {"trainable": "program"}):
        net = model()
        net.freeze("layers/0/kernel")
        report = Checkpoint(net=net).restore(path, **choice)
        assert report.trainable == (("net/layers/0/kernel", True, False),)
        assert "layers/0/kernel" not in trained(net)
    Checkpoint(net=net).restore(path, only="net/layers/0/**", trainable="saved")
    assert trained(net) == trained(model())
    with pytest.raises(ArgumentError, match="'saved' or 'program'"):
        Checkpoint(net=net).restore(path, trainable=True)


def test_layers_that_are_built_later_are_frozen_as_saved(saved):
    net = gx.Sequential([gx.layers.Dense(2)])
    net.layers[0].trainable = False
    net(np.ones((1, 3), "float32"))
    path = saved(net=net)
    other = gx.Sequential([gx.layers.Dense(2)])
    report = Checkpoint(net=other).restore(path)
    other(np.ones((1, 3), "float32"))
    report.assert_consumed()
    assert trained(other) == []


def test_what_rests_under_adapters_is_left_to_them(saved):
    plain = saved(net=model())
    net = model()
    gx.graft(net, gx.reparam.LoRA(rank=1), where="layers/0/kernel")
    before = trained(net)
    report = Checkpoint(net=net).restore(plain)
    assert (trained(net), report.trainable) == (before, ())
    other = model()
    gx.graft(other, gx.reparam.LoRA(rank=1), where="layers/0/kernel")
    assert Checkpoint(net=other).restore(saved(net=net)).trainable == ()
    assert trained(other) == before


def test_a_failed_restore_freezes_nothing(saved, toys):
    class Picky(toys.Position):
        def set_state(self, state):
            raise ValueError("no")

    net = model()
    net.freeze()
    path = saved(net=net, p=toys.Position(1))
    other = model()
    with pytest.raises(ValueError, match="no"):
        Checkpoint(net=other, p=Picky(0)).restore(path)
    assert trained(other) == trained(model())
