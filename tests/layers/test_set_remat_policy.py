"""set_remat_policy: some layers compute again for the gradient; numbers stay, memory falls."""

import numpy as np
import pytest

import graftax as gx
from graftax import errors, layers, ops

X = np.linspace(-1, 1, 64, dtype="float32").reshape(4, 16)


def a_model(depth=2):
    def block():
        return gx.Sequential(
            [layers.Dense(16, activation="gelu"), layers.BatchNormalization(), layers.Dropout(0.5)], name="block"
        )

    model = gx.Sequential([*(block() for _ in range(depth)), layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), "mse")
    return model


@pytest.mark.broad
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("built", [False, True], ids=["unbuilt", "built"])
@pytest.mark.parametrize("policy", ["full", "dots", "dots_without_batch"])
def test_numbers_and_state_stay_the_same(policy, built):
    found = []
    for chosen in (None, policy):
        gx.set_random_seed(0)
        model = a_model()
        if built:
            model(X)
        assert gx.set_remat_policy(chosen, model, where="layers/0") == ["layers/0"]
        model.fit(X, X[:, :1], epochs=2, verbose=0, shuffle=False)
        found.append([v.numpy() for v in model.variables])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_memory_falls_and_a_compiled_step_is_traced_again():
    model = a_model(depth=8)
    batch = np.ones((512, 16), "float32"), np.ones((512, 1), "float32")
    step = model._gx_compiled_step("train_step")
    before = str(step.lower(batch).text).count("optimization_barrier")
    gx.set_remat_policy("full", model, where=[f"layers/{i}" for i in range(8)])
    after = str(step.lower(batch).text).count("optimization_barrier")
    assert (before, after) == (0, 8)
    gx.set_remat_policy(None, model, where="layers/*")
    assert str(step.lower(batch).text).count("optimization_barrier") == 0


def test_a_layer_inside_of_a_chosen_one_goes_with_it():
    model = a_model()
    assert gx.set_remat_policy("full", model, where=gx.Sequential) == ["."]
    assert gx.set_remat_policy("full", model, where=["layers/0", "layers/0/**", layers.Dense]) == [
        "layers/0",
        "layers/1/layers/0",
        "layers/2",
    ]


@pytest.mark.broad
def test_masks_pass_through():
    model = gx.Sequential([layers.Masking(), layers.TimeDistributed(layers.Dense(3)), layers.GlobalAveragePooling1D()])
    x = np.ones((2, 4, 3), "float32")
    x[:, 2:] = 0
    step = gx.jit(gx.value_and_grad(lambda: ops.sum(model(x) ** 2), model))
    model(x)
    before = step()
    gx.set_remat_policy("full", model, where="layers/1")
    after = step()
    assert float(before[0]) == pytest.approx(float(after[0]))
    np.testing.assert_allclose(*(found[1]["layers/1/layer/kernel"] for found in (before, after)), rtol=1e-6)


@pytest.mark.parametrize("policy", ["all", True, ""])
def test_there_is_no_such_policy(policy):
    with pytest.raises(errors.ArgumentError, match="no such policy"):
        gx.set_remat_policy(policy, a_model(), where="layers/0")


@pytest.mark.broad
def test_a_place_that_is_not_there_is_told():
    with pytest.raises(errors.SelectorError, match="layers/7"):
        gx.set_remat_policy("full", a_model(), where="layers/7")
