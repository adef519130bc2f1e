"""Freezing by selector: exactly what is meant stays as it is, and can be thawed again."""

import logging

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import SelectorError

X = np.sin(np.arange(12, dtype="float32")).reshape(3, 4)


def net():
    model = gx.Sequential([layers.Dense(5), layers.BatchNormalization(), layers.Dense(2)])
    model(X)
    return model


def trainable(model):
    return [v.path for v in model.trainable_variables]


@pytest.mark.broad
def test_frozen_is_frozen_and_the_optimizer_keeps_its_slots(caplog):
    model, optimizer = net(), gx.optimizers.Adam(1e-2, weight_decay=0.1)

    @gx.jit
    def step():
        loss, gradients = gx.value_and_grad(lambda: ops.mean(model(X) ** 2), wrt=model.trainable_variables)()
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    step()
    step()
    kernel = model.layers[0].kernel
    momentum = optimizer.slot(kernel, "momentum").numpy()
    assert model.freeze("layers/0/**") == ["layers/0/kernel", "layers/0/bias"]
    before, traces = kernel.numpy(), step.trace_count
    with caplog.at_level(logging.INFO, "graftax"):
        step()
        step()
    assert step.trace_count == traces + 1
    assert len(caplog.records) == 1
    np.testing.assert_array_equal(kernel.numpy(), before)
    np.testing.assert_array_equal(optimizer.slot(kernel, "momentum").numpy(), momentum)
    model.unfreeze("layers/0/kernel")
    step()
    assert np.abs(kernel.numpy() - before).max() > 0
    assert "layers/0/bias" not in trainable(model)


def test_unfreeze_undoes_freeze_and_no_more():
    model = net()
    before = trainable(model)
    model.freeze()
    assert trainable(model) == []
    assert model.unfreeze() == before
    assert trainable(model) == before  # the moving averages never were
    model.freeze(~gx.select("layers/2/**") & ~gx.select("**/gamma"))
    assert trainable(model) == ["layers/1/gamma", "layers/2/kernel", "layers/2/bias"]
    model.layers[2].freeze("bias")  # paths go by the Module that is asked
    assert trainable(model)[-1] == "layers/2/kernel"
    model.trainable = True
    assert trainable(model) == before


def test_parts_of_an_expression_are_frozen_with_it():
    model = net()
    gx.graft(model, gx.reparam.WeightNorm(), where="layers/0/kernel")
    assert model.freeze("**/0/kernel") == ["layers/0/kernel/direction", "layers/0/kernel/magnitude"]
    assert model.unfreeze("**/magnitude") == ["layers/0/kernel/magnitude"]


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        ("**/kernl", r"\*\*/kernel"),
        ("**/moving_mean", "matches none of 6"),
        (gx.select("**/kernel") & ~gx.select("**/haed/**"), "haed"),
        (["**/kernel", "**/gama"], r"gama', a part of .* matches none"),
        (gx.select("layers/0/kernel") & "layers/2/**", "none is matched by all parts"),
        (~gx.select("**"), "nothing is left over"),
        ("role:slot", "'role:slot' matches none.*\n.*\n.*that role"),
    ],
)
def test_what_matches_nothing_is_refused_and_nothing_changes(selector, told):
    model = net()
    before = trainable(model)
    for act in (model.freeze, model.unfreeze):
        with pytest.raises(SelectorError, match=told):
            act(selector)
    assert trainable(model) == before
