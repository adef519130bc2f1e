"""Adapters beneath and above other expressions: removed, merged, folded; then the weight is trained as before."""

from itertools import product

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import GraftError, SelectorError
from graftax.reparam import DoRA, FakeQuant, Int4, LoRA, LowRank, Mask, SpectralNorm, WeightNorm
from tests.conformance.lanes import crossed

X = np.sin(np.arange(12, dtype="float32")).reshape(3, 4)
Y = X[:, :1] * 2
PLAIN = [f"layers/{i}/{name}" for i in (0, 1) for name in ("kernel", "bias")]


class Scaled(gx.Reparam):
    """One of a user's own: a weight times a number."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.inner = next_creator(spec.replace(name="base"))
        self.scale = next_creator(spec.replace(name="scale", shape=(), initializer=gx.initializers.Ones()))

    def forward(self):
        return self.inner * self.scale

    def inverse(self, value):
        self.inner.assign(value / self.scale)


ADAPTERS = {"lora": LoRA(2, name="b"), "dora": DoRA(2, name="b")}
OTHERS = {"fake_quant": FakeQuant(8), "mask": Mask(), "own": Scaled, "weight_norm": WeightNorm()}
PARTS = {  # of a kernel with this alone, in the order of the graph; which of them are trained
    "fake_quant": ["base"],
    "mask": ["base"],
    "own": ["inner", "scale"],
    "weight_norm": ["direction", "magnitude"],
}


WHOLE = ("kernel", "kernel/base", "kernel/direction")


def net():
    model = gx.Sequential([layers.Dense(5, activation="tanh"), layers.Dense(1)])
    model.build(X.shape)
    return model


def made(creators, late):
    """A model whose kernels have these expressions, the first innermost."""
    if late:
        model = net()
        for creator in creators:
            gx.graft(model, creator, where="**/kernel")
        return model
    with_scopes = net
    for creator in reversed(creators):  # the scope that is entered last is asked first
        with_scopes = within(creator, with_scopes)
    return with_scopes()


def within(creator, then):
    """What ``then`` builds, with a creator in scope."""

    def build():
        with gx.variable_creator_scope(creator, where=lambda v: v.path.endswith(WHOLE)):
            return then()

    return build


def moved(model):
    for i, v in enumerate(v for v in model.variables if gx.is_adapter(v)):
        v.assign_add(np.cos(np.arange(v.size, dtype="float32") + i).reshape(v.shape) * np.float32(0.1))
    return model


def trainable(model):
    return [v.path for v in model.trainable_variables]


def finish(model, end):
    gx.ungraft(model) if end == "ungraft" else getattr(gx.adapters, end)(model, "b")


def train(model):
    """Epochs of training, after which each variable that is to be trained has moved, and no other one."""
    before = {v.path: v.numpy() for v in model.variables}
    model.compile(gx.optimizers.SGD(0.1, momentum=0.9), "mse")
    model.fit(X, Y, epochs=2, batch_size=3, verbose=0)
    still = {v.path for v in model.variables if np.array_equal(before[v.path], v.numpy())}
    assert still == {v.path for v in model.non_trainable_variables}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("adapter", "other", "end", "late", "above"),
    crossed([*product(ADAPTERS, OTHERS)], [*product(["merge", "remove", "ungraft"], [True, False], [True, False])]),
)
def test_a_weight_without_its_last_adapter_is_trained_again(adapter, other, above, late, end, tmp_path):
    if late and above and other == "weight_norm":
        pytest.skip("its direction is a part of its own: grafted, it takes the place of what was there")
    order = [ADAPTERS[adapter], OTHERS[other]]
    model = moved(made(order if above else order[::-1], late))
    before = np.asarray(model(X))
    if end == "merge" and not above and other == "fake_quant":
        with pytest.raises(GraftError, match="the furthest of 2 such weights") as caught:
            gx.adapters.merge(model, "b")
        gx.adapters.merge(model, "b", tolerance=float(caught.value.instead.split(",")[0].split("=")[1]))
    else:
        finish(model, end)
        if end != "remove":
            np.testing.assert_allclose(model(X), before, atol=2e-6)
    assert gx.adapters.names(model) == []
    kernels = [""] if end == "ungraft" else [f"/{part}" for part in PARTS[other]]
    wanted = [f"layers/{i}/{name}" for i in (0, 1) for name in (*(f"kernel{part}" for part in kernels), "bias")]
    assert trainable(model) == wanted
    assert not any("/base/base" in v.path or "adapters" in v.path for v in model.variables)
    assert model.unfreeze() == wanted
    train(model)
    gx.Checkpoint(model=model).save(tmp_path / "c")
    after = np.asarray(model(X))
    for v in model.trainable_variables:
        v.assign(ops.zeros_like(v.value))
    gx.Checkpoint(model=model).restore(tmp_path / "c")
    np.testing.assert_array_equal(model(X), after)
    if end != "ungraft":
        gx.ungraft(model)
        assert trainable(model) == PLAIN


@pytest.mark.broad
@pytest.mark.parametrize("late", [True, False], ids=["grafted", "created"])
@pytest.mark.parametrize("end", ["merge", "remove"])
@pytest.mark.parametrize("first", ["b", "c"])
def test_two_adapters_around_an_expression_go_one_after_the_other(late, end, first):
    model = moved(made([LoRA(2, name="b"), Scaled, LoRA(1, name="c")], late))
    before = np.asarray(model(X))
    assert gx.adapters.names(model) == gx.adapters.active(model) == ["b", "c"]
    getattr(gx.adapters, end)(model, first)
    assert not any(v.path.endswith("inner") or v.path.endswith("base") for v in model.trainable_variables)
    getattr(gx.adapters, end)(model, "c" if first == "b" else "b")
    if end == "merge":
        np.testing.assert_allclose(model(X), before, atol=2e-6)
    assert trainable(model)[:2] == ["layers/0/kernel/inner", "layers/0/kernel/scale"]
    assert [v.path for v in model.layers[0].variables] == trainable(model)[:3]
    train(model)


def test_a_weight_that_was_not_made_to_be_trained_is_not_after_it_either():
    for end in ("merge", "remove", "ungraft"):
        model = net()
        model.layers[0].kernel.trainable = False
        for creator in (LoRA(1, name="b"), FakeQuant(8)):
            gx.graft(model, creator, where="**/kernel")
        finish(model, end)
        gx.ungraft(model) if end != "ungraft" else None
        assert trainable(model) == PLAIN[1:]


def test_what_is_frozen_beneath_stays_frozen():
    model = made([LoRA(1, name="b"), FakeQuant(8)], late=True)
    model.freeze()
    gx.adapters.merge(model, "b")
    assert trainable(model) == []
    assert model.unfreeze("**/kernel") == ["layers/0/kernel/base", "layers/1/kernel/base"]
    assert trainable(model) == ["layers/0/kernel/base", "layers/1/kernel/base"]


def test_unfreeze_tells_what_is_trained_and_refuses_what_rests():
    model = made([LoRA(1, name="b")], late=True)
    model.freeze()
    assert model.unfreeze() == trainable(model)
    with pytest.raises(SelectorError, match="layers/0/kernel/base, layers/1/kernel/base") as caught:
        model.unfreeze("**/base")
    assert "gx.adapters.merge" in caught.value.instead
    gx.adapters.use(model)
    with pytest.raises(SelectorError, match=r"layers/0/kernel/adapters/b/down, .*, …"):
        model.unfreeze(gx.adapters.named("b"))


def test_names_come_in_one_order_for_weights_that_have_different_ones():
    model = net()
    gx.graft(model, LoRA(1, name="a"), where="layers/1/kernel")
    gx.graft(model, LoRA(1, name="b"), where="**/kernel")
    assert gx.adapters.names(model) == gx.adapters.active(model) == ["a", "b"]
    gx.adapters.use(model, "b", "a")
    assert gx.adapters.names(model) == ["a", "b"]
    assert gx.adapters.active(model) == ["b", "a"]


def test_adapters_cannot_pass_an_expression_between_them():
    model = made([LoRA(1, name="first"), FakeQuant(8), LoRA(1, name="second")], late=True)
    assert gx.adapters.names(model) == gx.adapters.active(model) == ["first", "second"]
    with pytest.raises(GraftError, match="another expression lies between") as caught:
        gx.adapters.use(model, "second", "first")
    assert caught.value.instead == "gx.adapters.use(model, 'first', 'second')"
    gx.adapters.use(model, "second")
    assert gx.adapters.active(model) == ["second"]


@pytest.mark.broad
@pytest.mark.parametrize(("creator", "word"), [(SpectralNorm(), "if its value may"), (LowRank(1), "a higher rank")])
def test_the_tolerance_that_graft_tells_is_enough_for_all_weights(creator, word):
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(16), layers.Dense(16), layers.Dense(16)])
    model(X)
    with pytest.raises(GraftError, match="the furthest of 3 such weights") as caught:
        gx.graft(model, creator, where="**/kernel", tolerance=1e-3)
    assert caught.value.instead.startswith(word)
    done = gx.graft(model, creator, where="**/kernel", tolerance=float(caught.value.instead.split("tolerance=")[1]))
    assert len(done) == 3


@pytest.mark.broad
def test_a_merge_into_few_bits_says_how_far_the_furthest_weight_is():
    model = net()
    gx.graft(model, Int4(), where="**/kernel", tolerance=1.0)
    gx.graft(model, LoRA(1, name="b"), where="**/kernel")
    before = moved(model)(X)
    with pytest.raises(GraftError, match="the furthest of 2 such weights") as caught:
        gx.adapters.merge(model, "b", tolerance=1e-3)
    np.testing.assert_array_equal(model(X), before)
    gx.adapters.merge(model, "b", tolerance=float(caught.value.instead.split(",")[0].split("=")[1]))
    assert trainable(model) == ["layers/0/bias", "layers/1/bias"]
