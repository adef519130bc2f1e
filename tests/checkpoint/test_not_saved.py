"""A save says what it does not take along: plain attributes, and the optimizer of a compiled model."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.backend import registry
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import ArgumentTypeError


class Counts(gx.Layer):
    def __init__(self, units, rate=0.1):
        super().__init__()
        self.units = units  # the program gives it again
        self.rate = rate
        self.dense = gx.layers.Dense(units)
        self.epoch = 0
        self.table = np.zeros(3)
        self._seen = [1, 2]
        self.function = np.exp
        self.nothing = None

    def call(self, x):
        return self.dense(x)


def test_plain_attributes_are_told(tmp_path, toys):
    layer = Counts(2)
    layer(np.ones((1, 3), "float32"))
    report = Checkpoint(net=layer, data=toys.Position(3)).save(tmp_path / "c")
    assert report.plain == ("net/epoch", "net/table", "net/_seen")
    assert "not saved: 3 plain attributes, net/epoch, net/table, net/_seen; keep what changes" in str(report)
    assert Checkpoint(net=layer).save(tmp_path / "d", only="net/**").plain == ()
    assert "not saved" not in str(Checkpoint(net=layer.dense).save(tmp_path / "e"))


class Scaled(gx.Reparam):
    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))
        self.bits = 3

    def forward(self):
        return self.base * self.bits


class Normed(layers.BatchNormalization):
    def __init__(self):
        super().__init__()
        self.seen = 0


class Stops(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.tries = 0

    def call(self, x):
        return self.dense(x)


@pytest.mark.parametrize(
    ("make", "wanted"), [(Scaled, ("net/kernel/bits",)), (Normed, ("net/seen",)), (Stops, ("net/tries",))]
)
def test_what_graftax_keeps_itself_is_not_told(make, wanted, tmp_path):
    with registry.use("numpy"):
        if make is Scaled:
            with gx.variable_creator_scope(Scaled, where="kernel"):
                net = layers.Dense(3)
                net.build((1, 4))
        else:
            net = make()
            net.build((2, 4))
        assert Checkpoint(net=net).save(tmp_path / "c").plain == wanted


@pytest.mark.broad
def test_the_optimizer_of_a_compiled_model_is_told(tmp_path):
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile(gx.optimizers.Adam(0.1), "mse")
    model(np.ones((2, 3), "float32"))
    assert Checkpoint(model=model).save(tmp_path / "before").beside == ()  # there is nothing to lose
    model.fit(np.ones((2, 3), "float32"), np.ones((2, 1), "float32"), verbose=0)
    report = Checkpoint(model=model).save(tmp_path / "after")
    assert report.beside == ("model/optimizer (Adam)",)
    assert "not saved: model/optimizer (Adam); make it a root" in str(report)
    assert Checkpoint(model=model, optimizer=model.optimizer).save(tmp_path / "both").beside == ()


@pytest.mark.parametrize(
    "root", [{"epoch": 3}, {"a": np.ones(3)}, [gx.ops.ones(3)], {"a": [gx.Variable(1.0), 2]}, (1,), {(1, 2): "x"}]
)
def test_what_a_dict_that_is_given_holds_is_saved_or_refused(root):
    with pytest.raises(ArgumentTypeError, match=r"^root.*: (?s:.)*a checkpoint takes Modules, Variables"):
        gx.Checkpoint(root=root)


def test_the_state_of_a_model_is_refused_with_the_line_that_keeps_it(tmp_path):
    layer = layers.Dense(2)
    layer.build((1, 3))
    average = gx.state(layer)
    with pytest.raises(ArgumentTypeError, match=r"for k, v in state.items\(\)"):
        gx.Checkpoint(model=layer, average=average)
    average = {k: gx.Variable(v, trainable=False) for k, v in average.items()}
    assert gx.Checkpoint(model=layer, average=average).save(tmp_path / "c").arrays == 4


def test_a_number_that_comes_to_a_list_later_is_refused_by_the_save(tmp_path):
    given = [gx.Variable(1.0)]
    checkpoint = gx.Checkpoint(given=given)
    given.append(3)
    with pytest.raises(ArgumentTypeError, match=r"given\[1\]: 3"):
        checkpoint.save(tmp_path / "c")
