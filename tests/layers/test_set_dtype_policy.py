"""set_dtype_policy with a model: the dtypes of some of its layers, by their paths or classes."""

import numpy as np
import pytest

import graftax as gx
from graftax import errors, layers

X = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


def a_model():
    inner = gx.Sequential([layers.Dense(5), layers.LayerNormalization()], name="inner")
    return gx.Sequential([inner, layers.Dense(2)])


def test_layers_are_chosen_by_path():
    model = a_model()
    assert gx.set_dtype_policy("bfloat16", model, where=["layers/0", "layers/0/**"]) == [
        "layers/0",
        "layers/0/layers/0",
        "layers/0/layers/1",
    ]
    out = model(X)
    assert [(v.path, v.dtype) for v in model.trainable_variables] == [
        ("layers/0/layers/0/kernel", "bfloat16"),
        ("layers/0/layers/0/bias", "bfloat16"),
        ("layers/0/layers/1/gamma", "bfloat16"),
        ("layers/0/layers/1/beta", "bfloat16"),
        ("layers/1/kernel", "float32"),
        ("layers/1/bias", "float32"),
    ]
    assert out.dtype == "float32"


def test_a_class_chooses_layers_of_it_and_what_is_inside():
    model = a_model()
    assert gx.set_dtype_policy("float64", model, where=gx.select(layers.Dense)) == ["layers/0/layers/0", "layers/1"]
    block = gx.Sequential([layers.TimeDistributed(layers.Dense(2))])
    assert gx.set_dtype_policy("mixed_bfloat16", block, where=layers.TimeDistributed) == [
        "layers/0",
        "layers/0/layer",
    ]


def test_without_where_it_is_all_of_the_model_and_no_layer_to_come():
    model = a_model()
    assert gx.set_dtype_policy("mixed_bfloat16", model)[0] == "."
    assert model(X).dtype == "bfloat16"
    assert layers.Dense(1).compute_dtype == "float32"


@pytest.mark.broad
@pytest.mark.parametrize("run", [lambda model: model, gx.jit], ids=["eager", "compiled"])
def test_layers_with_weights_compute_in_another_dtype_from_the_next_call_on(run):
    model = a_model()
    call = run(model)
    before = call(X)
    gx.set_dtype_policy("mixed_bfloat16", model, where="layers/1")
    after = call(X)
    assert (before.dtype, after.dtype) == ("float32", "bfloat16")
    np.testing.assert_allclose(np.asarray(after, "float32"), before, atol=0.02)
    gx.set_dtype_policy("float32", model, where="layers/1")
    np.testing.assert_array_equal(call(X), before)


def test_weights_of_another_dtype_refuse_it_and_nothing_has_changed():
    model = a_model()
    model(X)
    with pytest.raises(errors.StateError, match=r"'bfloat16'\) for 'layers/1', whose weights are there, in float32"):
        gx.set_dtype_policy("bfloat16", model, where=["layers/1", "layers/0"])
    assert model.layers[0].compute_dtype == "float32"


def test_a_place_that_is_not_there_is_told():
    with pytest.raises(errors.SelectorError, match="layers/7"):
        gx.set_dtype_policy("bfloat16", a_model(), where="layers/7")


def test_a_role_chooses_no_layers():
    with pytest.raises(errors.SelectorError, match="roles are those of Variables"):
        gx.set_dtype_policy("bfloat16", a_model(), where="role:weight")


def test_a_selector_needs_a_model():
    with pytest.raises(errors.ArgumentError, match=r"set_dtype_policy\('bfloat16', model, where=...\)|without a model"):
        gx.set_dtype_policy("bfloat16", where="layers/0")


def test_what_is_no_model_is_told():
    with pytest.raises(errors.ArgumentTypeError, match="str as the model"):
        gx.set_dtype_policy("bfloat16", "layers/0")
