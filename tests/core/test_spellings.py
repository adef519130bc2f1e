"""Names that users give are a second spelling of the last edge that leads to a Module, in all selectors."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.spellings import spellings


@pytest.fixture
def model():
    x = gx.Input((4,))
    inner = gx.Sequential([layers.Dense(3, name="in"), layers.Dense(2)], name="body")
    return gx.Model(x, layers.Dense(2, name="head")(inner(x)))


def test_each_name_may_be_there_or_not(model):
    kernel = model.get_layer("body").layers[0].kernel
    assert kernel.path == "layers/1/layers/0/kernel"
    assert sorted(spellings((kernel.path,), kernel)) == [
        "layers/1/layers/in/kernel",
        "layers/body/layers/0/kernel",
        "layers/body/layers/in/kernel",
    ]
    assert spellings(("layers/0/kernel",), kernel) == ["layers/in/kernel"]  # from the inner model
    unnamed = model.get_layer("body").layers[1].bias
    assert spellings((unnamed.path,), unnamed) == ["layers/body/layers/1/bias"]


@pytest.mark.broad
def test_graft_freeze_explain_and_rules_take_names(model):
    gx.graft(model, gx.reparam.LoRA(rank=1), where="**/in/kernel")
    assert isinstance(model.get_layer("body").layers[0].kernel, gx.Reparam)
    assert model.freeze("layers/head/**") == ["layers/2/kernel", "layers/2/bias"]
    assert [row.path for row in gx.explain(model, "**/body/**/down").rows] == [
        "layers/1/layers/0/kernel/adapters/lora/down"
    ]
    optimizer = gx.optimizers.SGD(0.1, rules=[("**/body/**", {"learning_rate_multiplier": 0.5})])
    model.compile(optimizer, "mse")
    model.fit(np.ones((2, 4), "float32"), np.ones((2, 2), "float32"), verbose=0)


def test_creators_see_names():
    def frozen(next_creator, spec):
        return next_creator(spec.replace(trainable=False))

    class Pair(gx.Layer):
        def __init__(self):
            super().__init__()
            self.parts = [layers.Dense(2, name="first"), layers.Dense(2)]

        def call(self, x):
            return self.parts[1](self.parts[0](x))

    pair = Pair()
    with gx.variable_creator_scope(frozen, where="**/first/kernel"):
        pair(np.ones((1, 2), "float32"))
    assert [v.path for v in pair.non_trainable_variables] == ["parts/0/kernel"]


def test_only_and_skip_of_checkpoints_take_names(model, tmp_path):
    gx.Checkpoint(model=model).save(tmp_path / "c")
    head = model.get_layer("head")
    before = head.kernel.numpy().copy()
    for v in model.variables:
        v.assign(v.value * 0)
    gx.Checkpoint(model=model).restore(tmp_path / "c", only="**/head/kernel")
    np.testing.assert_array_equal(head.kernel.numpy(), before)
    assert not model.get_layer("body").layers[0].kernel.numpy().any()
