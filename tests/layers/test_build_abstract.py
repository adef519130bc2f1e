"""build_abstract: shapes and dtypes of weights that nobody has made."""

import numpy as np
import pytest

import graftax as gx
from graftax import errors, layers


def a_model():
    model = gx.Sequential(
        [layers.Embedding(30, 8), layers.LSTM(4), layers.BatchNormalization(), layers.Dropout(0.1), layers.Dense(3)]
    )
    model.compile("adam", gx.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


SPEC = gx.ArraySpec((2, 5), "int32")
TOKENS = np.ones((2, 5), "int32")


@pytest.mark.broad
def test_the_copy_says_what_the_model_would_say_once_it_is_built():
    model = a_model()
    abstract = gx.build_abstract(model, SPEC)
    assert not model.built
    assert not model.variables or all(v.role == "seed" for v in model.variables)
    model(TOKENS)
    assert [(v.path, v.shape, v.dtype) for v in abstract.variables] == [
        (v.path, v.shape, v.dtype) for v in model.variables
    ]
    assert abstract.count_params() == model.count_params()


@pytest.mark.broad
def test_a_memory_report_before_anything_is_allocated_is_that_of_the_model():
    model, targets = a_model(), gx.ArraySpec((2,), "int32")
    before = gx.memory_report(gx.build_abstract(model, SPEC), (SPEC, targets))
    after = gx.memory_report(model, (TOKENS, TOKENS[:, 0]))
    assert before[:4] == after[:4]


@pytest.mark.broad
def test_building_an_abstract_copy_draws_nothing():
    values = []
    for looks in (False, True):
        gx.set_random_seed(0)
        model = a_model()
        if looks:
            gx.build_abstract(model, SPEC)
        values.append(model(TOKENS))
    np.testing.assert_array_equal(*values)


@pytest.mark.broad
def test_no_weight_is_allocated_however_large():
    model = gx.Sequential([layers.Dense(10**7), layers.Dense(10**7)])
    abstract = gx.build_abstract(model, gx.ArraySpec((2, 10**7)))
    assert abstract.count_params() == 2 * (10**14 + 10**7)
    assert repr(abstract.layers[0].bias).endswith("dtype=float32, no value)")


def test_weights_that_are_there_keep_their_values_and_share_them():
    model = gx.Sequential([layers.Dense(3), layers.Dense(2)])
    model.layers[0](np.ones((1, 4), "float32"))
    abstract = gx.build_abstract(model, gx.ArraySpec((1, 4)))
    np.testing.assert_array_equal(abstract.layers[0].kernel, model.layers[0].kernel)
    with pytest.raises(errors.StateError, match="'layers/1/kernel', of shape \\(3, 2\\)"):
        abstract.layers[1].kernel.numpy()


def test_an_assigned_value_is_there():
    abstract = gx.build_abstract(layers.Dense(2), gx.ArraySpec((1, 2)))
    abstract.kernel.assign(np.eye(2, dtype="float32"))
    abstract.bias.assign(np.ones(2, "float32"))
    np.testing.assert_array_equal(abstract(np.ones((1, 2), "float32")), [[2, 2]])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "use",
    [
        lambda model: model(TOKENS),
        lambda model: model.fit(TOKENS, TOKENS[:, 0], verbose=0),
        lambda model: model.predict(TOKENS, verbose=0),
        lambda model: gx.jit(lambda x: model(x))(TOKENS),
        lambda model: model.layers[-1].kernel.numpy(),
        lambda model: gx.Checkpoint(model=model).save("model"),
    ],
    ids="call fit predict jit numpy save".split(),
)
def test_whatever_asks_for_a_value_is_told(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    abstract = gx.build_abstract(a_model(), SPEC)
    with pytest.raises(errors.StateError, match=r"build_abstract made it") as caught:
        use(abstract)
    assert "the model itself" in str(caught.value)
    assert not list(tmp_path.glob("model"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "without an input"),
        (((2, 3),), "got 2 as an input"),
        (("x",), "got 'x' as an input"),
        ((gx.Input((3,)),), "got <.*> as an input"),
    ],
    ids="nothing shape text symbolic".split(),
)
def test_what_is_no_input_is_refused(given, said):
    with pytest.raises(errors.ArgumentTypeError, match=said):
        gx.build_abstract(layers.Dense(2), *given)


def test_what_is_no_layer_is_refused():
    with pytest.raises(errors.ArgumentTypeError, match="build_abstract got int"):
        gx.build_abstract(3, SPEC)


def test_a_backend_that_computes_at_once_is_refused():
    with gx.backend.use("numpy"), pytest.raises(errors.BackendCapabilityError, match="tracing"):
        gx.build_abstract(layers.Dense(2), gx.ArraySpec((1, 2)))
