"""Settings of expressions in a run that is resumed: callbacks' are set again, those of the program are told."""

import numpy as np
import pytest

import graftax as gx
from graftax.callbacks import LambdaCallback, ModelCheckpoint

X = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")
Y = X[:, :1]


def make(alpha=1):
    gx.set_random_seed(5)
    model = gx.Sequential([gx.layers.Dense(1, use_bias=False)])
    model(X)
    gx.graft(model, gx.reparam.LoRA(1, alpha=alpha), where="**/kernel")
    model.compile(gx.optimizers.SGD(0.1), "mse")
    return model


def fit(model, epochs, folder, *callbacks, **more):
    saving = ModelCheckpoint(str(folder))
    model.fit(X, Y, batch_size=4, epochs=epochs, verbose=0, callbacks=[saving, *callbacks], **more)
    return model.layers[0].kernel


@pytest.mark.broad
def test_those_of_the_program_stay_and_a_warning_says_so(tmp_path):
    fit(make(), 1, tmp_path)
    with pytest.warns(UserWarning, match=r"goes on with scale=8\.0 of the program, and had scale=1\.0"):
        kernel = fit(make(8), 2, tmp_path, resume=str(tmp_path))
    assert kernel.adapters["lora"].scale == 8.0


@pytest.mark.broad
def test_those_of_callbacks_are_set_again_without_a_word(tmp_path):
    def anneal(model):
        return LambdaCallback(
            on_epoch_begin=lambda epoch, logs: setattr(
                model.layers[0].kernel.adapters["lora"], "scale", 1.0 / (epoch + 1)
            )
        )

    unbroken = make()
    whole = fit(unbroken, 3, tmp_path / "whole", anneal(unbroken))
    first, second = make(), make()
    fit(first, 2, tmp_path / "broken", anneal(first))
    kernel = fit(second, 3, tmp_path / "broken", anneal(second), resume=str(tmp_path / "broken"))
    np.testing.assert_array_equal(kernel.numpy(), whole.numpy())
    assert kernel.adapters["lora"].scale == whole.adapters["lora"].scale == 1 / 3


@pytest.mark.broad
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_adapters_that_a_callback_switched_are_trained_again(tmp_path, optimizer):
    def run(folder, epochs):
        gx.set_random_seed(5)
        model = gx.Sequential([gx.layers.Dense(1)])
        model(X)
        for name in "ab":
            gx.graft(model, gx.reparam.LoRA(1, name=name), where="**/kernel")
        gx.adapters.use(model, "a")
        model.compile(optimizer, "mse")

        def switch(epoch, logs):
            if epoch == 1:
                gx.adapters.use(model, "b")

        fit(model, epochs, folder, LambdaCallback(on_epoch_begin=switch), resume=str(folder))
        return model

    whole = run(tmp_path / "whole", 4)
    run(tmp_path / "broken", 2)
    resumed = run(tmp_path / "broken", 4)
    assert [v.path for v in resumed.trainable_variables] == [v.path for v in whole.trainable_variables]
    for one, other in zip(whole.variables, resumed.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy(), err_msg=one.path)
