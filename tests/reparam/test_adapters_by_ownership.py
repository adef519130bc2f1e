"""What is a part of an adapter follows from who asked for it, whatever attributes are called."""

import numpy as np
import pytest

import graftax as gx

CREATORS = {
    "lora": lambda: gx.reparam.LoRA(rank=1),
    "dora": lambda: gx.reparam.DoRA(rank=1),
    "int8": gx.reparam.Int8,
}
X = np.ones((2, 3), "float32")


class Holding(gx.Model):
    """A layer for each task, in a dict under an attribute of the given name."""

    def __init__(self, name, key):
        super().__init__()
        self.held = name
        setattr(self, name, {key: gx.layers.Dense(3)})

    def call(self, x):
        for layer in getattr(self, self.held).values():
            x = layer(x)
        return x


@pytest.mark.in_turn(12)
@pytest.mark.parametrize("creator", CREATORS)
@pytest.mark.parametrize("key", ["task", "adapters", "base"])
@pytest.mark.parametrize("name", ["adapters", "base", "blocks"])
def test_a_layer_gets_its_expression_under_whatever_name_it_is_kept(name, key, creator):
    with gx.variable_creator_scope(CREATORS[creator]()):
        scoped = Holding(name, key)
        scoped(X)
    grafted = Holding(name, key)
    grafted(X)
    done = gx.graft(grafted, CREATORS[creator](), where="**/kernel", tolerance=0.1)
    assert [one.path for one in done] == [f"{name}/{key}/kernel"]
    for model in (scoped, grafted):
        assert isinstance(getattr(model, name)[key].kernel, gx.Reparam)


@pytest.mark.parametrize("outer", ["lora", "int8"])
def test_parts_of_an_adapter_that_are_expressions_get_no_adapter_of_their_own(outer):
    with (
        gx.variable_creator_scope(CREATORS[outer]()),
        gx.variable_creator_scope(gx.reparam.WeightNorm(), where="**/down"),
        gx.variable_creator_scope(gx.reparam.LoRA(rank=2, name="inner")),
    ):
        model = Holding("adapters", "task")
        model(X)
    inner = [v.path.partition("/inner/")[2] for v in model.variables if "/inner/" in v.path]
    assert inner == ["down/direction", "down/magnitude", "up"]
