"""What is frozen stays frozen through graft, ungraft and adapters, and what rests is no matter of freezing."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.reparam import FakeQuant, Int8, LoRA, LowRank, Orthogonal, WeightNorm

X = np.sin(np.arange(12, dtype="float32")).reshape(3, 4)


def net():
    model = gx.Sequential([layers.Dense(4, activation="tanh"), layers.Dense(2)])
    model(X)
    return model


def trainable(model):
    return [v.path for v in model.trainable_variables]


ALL = [f"layers/{i}/{name}" for i in (0, 1) for name in ("kernel", "bias")]
CREATORS = [WeightNorm(), LowRank(4), Orthogonal(), FakeQuant(8)]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("creator", CREATORS, ids=repr)
def test_frozen_before_a_graft_is_frozen_after_it_until_it_is_unfrozen(creator):
    model = net()
    model.freeze("layers/0/kernel")
    gx.graft(model, creator, where="**/kernel", tolerance=10.0)
    assert trainable(model)[0] == "layers/0/bias"
    model.unfreeze()
    assert trainable(model)[0].startswith("layers/0/kernel/")
    model.freeze()
    gx.ungraft(model)
    assert trainable(model) == []
    model.unfreeze()
    assert trainable(model) == ALL


def test_a_frozen_model_takes_adapters_that_are_trained():
    model = net()
    model.freeze()
    gx.graft(model, LoRA(1), where="**/kernel")
    assert all(gx.is_adapter(v) for v in model.trainable_variables)
    assert len(trainable(model)) == 4
    model.unfreeze()
    assert "layers/0/kernel/base" not in trainable(model)  # which rests
    gx.ungraft(model)
    assert trainable(model) == ALL


def test_freezing_and_unfreezing_a_resting_adapter():
    model = net()
    for name in "pq":
        gx.graft(model, LoRA(1, name=name), where="**/kernel")
    everything = trainable(model)
    gx.adapters.use(model, "p")
    model.freeze(gx.adapters.named("q"))
    gx.adapters.use(model, "p", "q")
    assert not any("/q/" in path for path in trainable(model))
    gx.adapters.use(model, "p")
    model.unfreeze()
    assert not any("/q/" in path for path in trainable(model))
    gx.adapters.use(model, "p", "q")
    assert trainable(model) == everything


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("end", ["remove", "merge", "ungraft"])
def test_what_is_frozen_beneath_an_adapter_stays_frozen_without_it(late, end):
    if late:
        model = net()
        gx.graft(model, LoRA(1, name="p"), where="**/kernel")
    else:
        with gx.variable_creator_scope(LoRA(1, name="p"), where="**/kernel"):
            model = net()
    model.freeze(~gx.is_adapter)
    gx.ungraft(model) if end == "ungraft" else getattr(gx.adapters, end)(model, "p")
    assert trainable(model) == []
    model.unfreeze()
    assert trainable(model) == ALL


def nested():
    with (
        gx.variable_creator_scope(LoRA(rank=1, name="outer"), where="**/kernel"),
        gx.variable_creator_scope(LoRA(rank=1, name="inner"), where="**/kernel"),
    ):
        layer = layers.Dense(2)
        layer(X)
    return layer


def test_adapters_of_nested_scopes_are_trained_as_those_of_two_grafts():
    parts = {name: [f"kernel/adapters/{name}/{part}" for part in ("down", "up")] for name in ("outer", "inner")}
    layer = nested()
    assert gx.adapters.active(layer) == ["outer", "inner"]
    assert trainable(layer) == [*parts["outer"], *parts["inner"], "bias"]
    for name, paths in parts.items():
        gx.adapters.use(layer, name)
        assert trainable(layer) == [*paths, "bias"]
    for first, second in (("outer", "inner"), ("inner", "outer")):
        layer = nested()
        gx.adapters.remove(layer, first)
        assert trainable(layer) == [*parts[second], "bias"]
        gx.adapters.remove(layer, second)
        assert trainable(layer) == ["kernel", "bias"]


class Adapted(gx.Model):
    """A model whose field calls some of its layers adapters."""

    def __init__(self):
        super().__init__()
        self.adapters = [layers.Dense(4, activation="tanh"), layers.Dense(4)]
        self.head = layers.Dense(2)

    def call(self, x):
        for adapter in self.adapters:
            x = adapter(x)
        return self.head(x)


@pytest.mark.broad
@pytest.mark.parametrize("creator", [LoRA(1), Int8()], ids=repr)
def test_a2_layers_in_an_attribute_called_adapters_are_taken_like_others(creator):
    model = Adapted()
    model(X)
    gx.graft(model, creator, where="**/kernel", tolerance=1.0)
    grafted = {v.path.rpartition("/kernel/")[0] for v in model.variables if "/kernel/" in v.path}
    assert sorted(grafted) == ["adapters/0", "adapters/1", "head"]
