"""What is trained is state: restored with a whole program, told wherever it differs."""

import copy
import pickle

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


@pytest.mark.broad
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


@pytest.mark.broad
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


def dense(count=2):
    return gx.Sequential([gx.layers.Dense(2) for _ in range(count)])


@pytest.mark.parametrize("choice", [{}, {"trainable": "saved"}, {"trainable": "saved", "mode": "cover"}])
def test_weights_that_were_frozen_one_by_one_are_frozen_when_they_are_built(saved, choice):
    x = np.ones((1, 2), "float32")
    net = dense()
    net(x)
    net.freeze("layers/0/**")
    other = dense()
    report = Checkpoint(net=other).restore(saved(net=net), **choice)
    other(x)
    assert trained(other) == trained(net) == ["layers/1/kernel", "layers/1/bias"]
    assert [flag.path for flag in report.assert_consumed().trainable] == ["net/layers/0/kernel", "net/layers/0/bias"]
    other.unfreeze()
    assert len(trained(other)) == 4


def test_what_is_built_later_is_trained_as_in_the_program_where_that_is_told(saved):
    x = np.ones((1, 2), "float32")
    net = dense()
    net(x)
    net.freeze("layers/0/**")
    path = saved(net=net)
    other = dense()
    report = Checkpoint(net=other).restore(path, trainable="program")
    other(x)
    assert len(trained(other)) == 4
    assert report.trainable[0] == ("net/layers/0/kernel", False, True)
    net.unfreeze()
    other = dense()
    Checkpoint(net=other).restore(saved(net=net))
    other.layers[0].trainable = False  # after the restore, so it counts
    other(x)
    assert trained(other) == ["layers/1/kernel", "layers/1/bias"]


@pytest.mark.broad
def test_frozen_weights_that_wait_are_frozen_in_copies_and_after_another_save(saved):
    x = np.ones((1, 2), "float32")
    net = dense()
    net(x)
    net.freeze("layers/0/**")
    half = dense()
    Checkpoint(net=half).restore(saved(net=net))
    again = dense()
    Checkpoint(net=again).restore(saved(net=half))
    for each in (copy.deepcopy(half), pickle.loads(pickle.dumps(half)), again, half):
        each(x)
        assert trained(each) == trained(net)


def test_a_weight_unfrozen_in_a_frozen_layer_is_trained_when_it_is_built(saved):
    x = np.ones((1, 2), "float32")
    net = dense(1)
    net(x)
    net.layers[0].trainable = False
    net.unfreeze("layers/0/bias")
    other = dense(1)
    Checkpoint(net=other).restore(saved(net=net))
    other(x)
    assert trained(other) == trained(net) == ["layers/0/bias"]


def test_a_frozen_module_that_comes_later_freezes_what_is_made_in_it(saved, toys):
    box = toys.Box(inner=toys.Box(v=toys.number(1), w=toys.number(2)))
    box.inner.trainable = False
    late = toys.Box(inner=None)
    Checkpoint(m=late).restore(saved(m=box))
    late.inner = toys.Box(v=toys.number(0))
    assert late.inner.trainable is False
    late.inner.w = toys.number(0)
    assert ([float(v) for v in late.variables], trained(late)) == ([1, 2], [])


@pytest.mark.broad
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
