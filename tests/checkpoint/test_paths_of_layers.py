"""Paths of layers stand for all below them, in only=, skip= and map=; a path that will never be is refused."""

import numpy as np
import pytest

import graftax as gx
from graftax.errors import ArgumentError, MissingInCheckpoint, SelectorError

X = np.ones((2, 3), "float32")


class Net(gx.Model):
    def __init__(self):
        super().__init__()
        self.body, self.head = gx.layers.Dense(4), gx.layers.Dense(2)
        self.steps = gx.Variable(0, trainable=False, role="state")

    def call(self, x):
        return self.head(self.body(x))


class Other(gx.Model):
    def __init__(self):
        super().__init__()
        self.trunk, self.out = gx.layers.Dense(4), gx.layers.Dense(5)
        self.steps = gx.Variable(0, trainable=False, role="state")

    def call(self, x):
        return self.out(self.trunk(x))


def _made(kind, built=True):
    net = kind()
    if built:
        net(X)
    return net


@pytest.fixture
def path(tmp_path):
    net = _made(Net)
    net.body.bias.assign(np.full(4, 7, "float32"))
    gx.Checkpoint(net=net).save(tmp_path / "c")
    return tmp_path / "c"


SKIPS = {
    "paths": ["net/out", "net/head"],
    "globs": ["net/out/**", "net/head/**"],
    "combined": gx.select("net/out", "net/head") | "role:state",
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("built", [True, False], ids=["built", "unbuilt"])
@pytest.mark.parametrize("skip", SKIPS)
def test_skip(path, skip, built):
    other = _made(Other, built)
    report = gx.Checkpoint(net=other).restore(path, map={"net/trunk": "net/body"}, skip=SKIPS[skip])
    other(X)
    report.assert_consumed()
    assert other.trunk.bias.numpy().tolist() == [7.0] * 4
    assert other.out.bias.shape == (5,)


@pytest.mark.parametrize("built", [True, False], ids=["built", "unbuilt"])
def test_the_part_without_effect_is_named(path, built):
    with pytest.raises(SelectorError, match="skip= 'net/haed'.*matches none"):
        gx.Checkpoint(net=_made(Other, built)).restore(
            path, map={"net/trunk": "net/body"}, skip=["net/out", "net/head", "net/haed"]
        )


def test_only(path, tmp_path):
    net = _made(Net)
    report = gx.Checkpoint(net=net).restore(path, only="net/body")
    assert [one.path for one in report.restored] == ["net/body/kernel", "net/body/bias"]
    gx.Checkpoint(net=net).save(tmp_path / "part", only="net/body")
    with gx.checkpoint.read(tmp_path / "part") as archive:
        assert list(archive) == ["net/body/kernel", "net/body/bias"]


@pytest.mark.broad
def test_slots_are_below_their_optimizer(tmp_path):
    net = _made(Net)
    net.compile(gx.optimizers.SGD(0.1, momentum=0.9), "mse")
    net.fit(X, np.ones((2, 2), "float32"), verbose=0)
    checkpoint = gx.Checkpoint(net=net, optimizer=net.optimizer)
    checkpoint.save(tmp_path / "c")
    report = checkpoint.restore(tmp_path / "c", only="optimizer")
    assert len(report.restored) == 6
    assert len(checkpoint.restore(tmp_path / "c", only="optimizer/slots(momentum)/net/head").restored) == 2


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("mode", ["exact", "cover", "overlap"])
def test_a_misspelt_key_of_map(path, mode):
    net = _made(Net)
    kept = net.body.bias.numpy()
    with pytest.raises(ArgumentError, match="map= names 'net/bdoy'") as caught:
        gx.Checkpoint(net=net).restore(path, mode=mode, map={"net/bdoy": "net/body"})
    assert "nearest: net/body" in str(caught.value)
    np.testing.assert_array_equal(net.body.bias.numpy(), kept)


def test_a_misspelt_key_beside_a_plain_module(tmp_path):
    class Plain(gx.Module):
        def __init__(self):
            self.weight = gx.Variable(1.0)

    gx.Checkpoint(part=Plain()).save(tmp_path / "c")
    with pytest.raises(ArgumentError, match="map= names 'part/wieght'"):
        gx.Checkpoint(part=Plain()).restore(tmp_path / "c", mode="overlap", map={"part/wieght": "part/weight"})


def test_values_of_layers_that_a_built_model_lacks_are_unused(path):
    net = _made(Other)
    report = gx.Checkpoint(net=net).restore(path, mode="overlap", map={"net/trunk": "net/body"})
    assert report.unused == ("net/head/kernel", "net/head/bias")
    assert report.deferred == ()


def test_those_of_a_model_that_is_not_built_wait(path):
    report = gx.Checkpoint(net=_made(Net, built=False)).restore(path, mode="overlap")
    assert len(report.deferred) == 4


def test_a_layer_may_be_new_only_where_it_is_skipped(path):
    with pytest.raises(MissingInCheckpoint, match="net/out/kernel"):
        gx.Checkpoint(net=_made(Other)).restore(path, map={"net/trunk": "net/body"}, skip="net/head")
