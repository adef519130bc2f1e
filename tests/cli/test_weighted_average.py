"""`ckpt average --weights`: how much each checkpoint counts; the numbers are divided by their sum."""

import json

import numpy as np
import pytest

import graftax as gx

VALUES = {"one": 1.0, "two": 3.0, "three": 7.0}


@pytest.fixture
def three(ckpt):
    for name, n in VALUES.items():
        gx.Checkpoint(w=gx.Variable(np.full(2, n, "float32"))).save(name)
    return ckpt


def mean():
    with gx.checkpoint.read("mean") as found:
        return float(found["w"][0])


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ("0.5,0.3,0.2", [0.5, 0.3, 0.2]),
        ("5,3,2", [0.5, 0.3, 0.2]),
        ("1,0,0", [1, 0, 0]),
        ("0, 1, 1", [0, 0.5, 0.5]),
        ("2,2,2", [1 / 3] * 3),
        ("1e-3,1e-3,2e-3", [0.25, 0.25, 0.5]),
    ],
)
def test_each_counts_by_its_share(three, weights, shares):
    code, out, err = three("average", *VALUES, "--to", "mean", "--weights", weights, "--json")
    assert code == 0, err
    np.testing.assert_allclose(json.loads(out)["weights"], shares)
    np.testing.assert_allclose(mean(), np.dot(shares, list(VALUES.values())), rtol=1e-6)


def test_without_weights_all_count_the_same(three):
    assert three("average", *VALUES, "mean")[0] == 0
    np.testing.assert_allclose(mean(), 11 / 3, rtol=1e-6)


def test_what_does_not_count_may_hold_a_nan(three):
    gx.Checkpoint(w=gx.Variable(np.full(2, np.nan, "float32"))).save("bad")
    assert three("average", "one", "two", "bad", "--to", "mean", "--weights", "1,3,0")[0] == 0
    np.testing.assert_allclose(mean(), 2.5)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ("0.5,0.5", "2 numbers for 3 checkpoints, one, two, three"),
        ("1,1,1,1", "4 numbers for 3 checkpoints"),
        ("1,x,1", "these are numbers with commas"),
        ("", "these are numbers with commas"),
        ("1,,1", "these are numbers with commas"),
        ("0,0,0", "divided by their sum"),
        ("2,-1,0", "0 or more"),
        ("nan,1,1", "0 or more"),
        ("inf,1,1", "0 or more"),
        ("1e308,1e308,1e308", "divided by their sum"),
    ],
)
def test_weights_that_are_none(three, weights, told, tmp_path):
    code, _, err = three("average", *VALUES, "--to", "mean", f"--weights={weights}")
    assert (code, told in err, "instead: --weights 3,2,1" in err) == (2, True, True), err
    assert not (tmp_path / "mean").exists()


class Squared(gx.reparam.Reparam):
    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.root = next_creator(spec.replace(name="root"))

    def forward(self):
        return self.root * self.root

    def inverse(self, value):
        self.root.assign(gx.ops.sqrt(value))


class Gain(gx.reparam.Adapter):
    """An adapter of a user's, without settings."""

    def __init__(self, name, part):
        super().__init__(name)
        self.gain = part("gain", shape=(), initializer=gx.initializers.Ones())

    def __call__(self, value):
        return value * self.gain

    def inverse(self, value):
        return value / self.gain


class Gains(gx.reparam.AdapterCreator):
    def adapter(self, part, spec):
        return Gain(self.name, part)


def of(creator, seed):
    layer = gx.layers.Dense(2, use_bias=False)
    with gx.variable_creator_scope(creator, where="kernel"):
        layer(np.ones((1, 3), "float32"))
    draw = np.random.default_rng(seed)
    for variable in layer.trainable_variables:
        variable.assign(draw.uniform(0.5, 1, variable.shape).astype("float32"))
    return layer


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("creator", "told"),
    [
        (gx.reparam.LoRA(1, name="p"), ["m/kernel/adapters/p"]),
        (gx.reparam.WeightNorm(), ["m/kernel"]),
        (gx.reparam.Positive(), ["m/kernel"]),
        (gx.reparam.Mask(), []),
        (Squared, ["m/kernel"]),
        (Gains("p"), ["m/kernel", "m/kernel/adapters/p"]),
        (gx.reparam.HyperNetwork(gx.layers.Dense(2)), ["m/kernel"]),
    ],
    ids=["LoRA", "WeightNorm", "Positive", "Mask", "a user's", "a user's adapter", "HyperNetwork"],
)
def test_a_mean_of_parts_is_said_to_be_no_mean_of_weights(ckpt, creator, told):
    layers = [of(creator, seed) for seed in (1, 2)]
    for name, layer in zip(("one", "two"), layers, strict=True):
        gx.Checkpoint(m=layer).save(name)
    assert json.loads(ckpt("average", "one", "two", "mean", "--json")[1])["of_parts"] == told
    code, out, _ = ckpt("average", "one", "two", "--to", "mean", "--overwrite")
    assert (code, out.count("the means of its parts")) == (0, len(told))
    assert "the means of its parts" not in ckpt("average", "one", "one", "same")[1]
    gx.Checkpoint(m=layers[0]).restore("mean")
    values = [of(creator, seed).kernel.numpy() for seed in (1, 2)]
    assert np.allclose(layers[0].kernel.numpy(), np.mean(values, 0), rtol=1e-5) == (not told)
