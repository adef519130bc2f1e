"""What calls of layers and methods are given elsewhere is answered with the line to write."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentTypeError, DataError, MissingAttributeError, ShapeError
from graftax.core.foreign_keywords import CALLS

X = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")


def refused(call):
    with pytest.raises(ArgumentTypeError) as caught:
        call()
    assert all((caught.value.received, caught.value.reason, caught.value.instead))
    return caught.value


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda: gx.load_model("m", custom_objects={}), "custom= in place of custom_objects="),
        (lambda: gx.load_model("m", compile=False), "model.compile"),
        (lambda: gx.Sequential([]).load_weights("m", by_name=True), 'restore(path, mode="overlap")'),
        (lambda: gx.Sequential([]).load_weights("m", skip_mismatch=True), 'skip="model/head/**"'),
        (lambda: gx.Sequential([]).save("m", save_format="h5"), "there is one format"),
        (lambda: gx.losses.TripletSemiHard(distance_metric="L2"), "distances are squared"),
        (lambda: layers.TransformerEncoder(8, 2)(X, return_attention_scores=True), "attention.query"),
        (lambda: layers.TransformerEncoder(8, 2)(X, padding_mask=X), "mask=, which says True"),
        (lambda: layers.TransformerDecoder(8, 2)(X, encoder_sequence=X), "context= in place of encoder_sequence="),
        (lambda: layers.MultiHeadAttention(2, 4)(X, is_causal=True), "use_causal_mask= in place of is_causal="),
        (lambda: layers.MultiHeadAttention(2, 4)(X, attention_msk=X), "attention_mask= in place of attention_msk="),
        (lambda: layers.Dropout(0.5)(X, deterministic=True), "training=, which says the contrary"),
        (lambda: layers.Dense(2, activity_regularizer=gx.regularizers.L2(0.02)), "ActivityRegularization(l2=0.02)"),
        (lambda: layers.Conv1D(2, 1, activity_regularizer="l1"), "ActivityRegularization(l1=0.01) behind"),
        (lambda: layers.Activation("relu", activity_regularizer="l2"), "ActivityRegularization(l2=0.01) behind"),
        (lambda: layers.MixUp()(X, X, training=True), 'layer({"images": x, "labels": y}, training=True)'),
        (lambda: layers.CutMix()(X), 'layer({"images": x, "labels": y}, training=True)'),
        (lambda: layers.Dense(2)(X, zyx=1), "layer(...) with what its call takes"),
    ],
)
def test_keywords(call, instead):
    assert instead in refused(call).instead


@pytest.mark.broad
def test_the_line_for_attention_scores_gives_them():
    layer, heads, key_dim = layers.MultiHeadAttention(2, 4, use_bias=False), 2, 4
    layer(X)
    space = {"ops": ops, "attention": layer, "x": ops.asarray(X), "heads": heads, "key_dim": key_dim}
    first, second, _ = CALLS["return_attention_scores"][1].split("; ")
    exec(first, space)
    scores = np.asarray(eval(second, space))
    values = np.asarray(layer.value(X)).reshape(2, 3, 2, 4)
    out = layer.output(ops.asarray(np.einsum("bhts,bshd->bthd", scores, values).reshape(2, 3, 8)))
    np.testing.assert_allclose(out, layer(X), rtol=1e-4, atol=1e-5)


def test_every_answer_for_a_call_is_of_a_parameter_that_some_layer_has():
    calls = [layers.MultiHeadAttention.call, layers.TransformerEncoder.call, layers.TransformerDecoder.call]
    known = {name for call in [*calls, layers.LSTM.call] for name in call.__annotations__}
    assert {needed for needed, _ in CALLS.values() if needed} <= known


def test_names_and_data():
    with pytest.raises(MissingAttributeError, match=r"ops.one_hot\(labels, classes\) for to_categorical"):
        gx.utils  # noqa: B018
    model = gx.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse")
    for texts in (["text"], [["a"], ["b"]], {"a": ["b"]}):
        for run in (lambda t: model.fit(t, [1], verbose=0), lambda t: model.predict(t, verbose=0)):
            with pytest.raises(DataError, match=r"of text(.|\n)*TextVectorization"):
                run(texts)
    with pytest.raises(ShapeError) as caught:
        model.fit(X[:, 0], X[:, 0, :1], sample_weight=np.ones((2, 3, 3)), verbose=0)
    assert caught.value.instead == "sample_weight of shape [2]"


def test_a_column_for_an_input_of_one():
    model = gx.Sequential([gx.Input((1,)), layers.Dense(1)])
    with pytest.raises(ShapeError) as caught:
        model(X[:, 0, 0])
    assert caught.value.instead.startswith('x.reshape(-1, 1), or df[["a"]] of a table in place of df["a"]')


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize(
    ("shape", "wanted", "message"),
    [
        ((3,), (2, 4), r"\[3\] to \[2, 4\](.|\n)*axis -1 has size 3, and needs 4(.|\n)*expand_dims\(x, -1\)"),
        ((2, 3), (2, 4), r"axis -1 has size 3, and needs 4(.|\n)*an axis of size 1"),
        ((2, 3), (3,), r"x has 2 axes(.|\n)*2 axes or more"),
    ],
)
def test_broadcast_to_says_which_axis(backend, shape, wanted, message):
    with gx.backend.use(backend), pytest.raises(ShapeError, match=message):
        ops.broadcast_to(ops.ones(shape), wanted)
