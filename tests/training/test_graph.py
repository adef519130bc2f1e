"""Models that are graphs of layers: what they compute, and all that works on any model."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(8, 4)).astype("float32")
Y = DRAWS.normal(size=(8, 2)).astype("float32")


def two_ways():
    x = gx.Input((4,), name="x")
    h = layers.Dense(3, activation="tanh", name="h")(x)
    g = layers.Dense(3, name="g")(h) * 0.5 + h
    return gx.Model(x, layers.Dense(2, name="out")(ops.concatenate([g, x], axis=-1)), name="ways")


def by_hand(model, x):
    def dense(name, value):
        layer = model.get_layer(name)
        return value @ np.asarray(layer.kernel) + np.asarray(layer.bias)

    h = np.tanh(dense("h", x))
    return dense("out", np.concatenate([dense("g", h) * 0.5 + h, x], axis=-1))


def test_a_graph_computes_what_its_calls_say():
    model = two_ways()
    np.testing.assert_allclose(model(X), by_hand(model, X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gx.jit(model)(X), by_hand(model, X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.predict(X, verbose=0), by_hand(model, X), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_a_model_of_the_inputs_of_another_takes_an_array():
    x = gx.Input((4,))
    model = gx.Model(x, layers.Dense(3)(layers.Dense(2)(x)))
    features = gx.Model(model.inputs, model.layers[-1].output)
    for given in (X, [X]):
        np.testing.assert_array_equal(features(given), model(given))
    features.compile("sgd", "mse")
    features.fit(X, np.zeros((len(X), 3), "float32"), verbose=0)


def test_paths_are_positions_and_weights_are_those_of_the_layers():
    model = two_ways()
    assert [v.path for v in model.variables] == [f"layers/{i}/{name}" for i in (1, 2, 3) for name in ("kernel", "bias")]
    assert [layer.name for layer in model.layers] == ["x", "h", "g", "out"]
    assert model.count_params() == 15 + 12 + 16
    assert model.built


def test_numpy_computes_the_same():
    model = two_ways()
    with gx.backend.use("numpy"):
        other = two_ways()
        other.set_weights([v.numpy() for v in model.variables])
        np.testing.assert_allclose(np.asarray(other(X)), by_hand(model, X), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_fit_evaluate_and_gradients():
    model = two_ways()
    model.compile(gx.optimizers.SGD(0.1), "mse")
    losses = model.fit(X, Y, epochs=5, batch_size=4, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert model.evaluate(X, Y, verbose=0)["loss"] == pytest.approx(np.mean((by_hand(model, X) - Y) ** 2), rel=1e-4)
    gradients = gx.grad(lambda: ops.sum(model(X)), wrt=model.trainable_variables)()
    assert len(gradients) == 6


@pytest.mark.broad
def test_a_class_of_the_users_with_a_step_of_its_own():
    class Halved(gx.Model):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
            return super().compute_loss(x, y, y_pred, sample_weight) / 2

    x = gx.Input((4,))
    model = Halved(inputs=x, outputs=layers.Dense(2)(x))
    model.compile("sgd", "mse")
    whole = float(np.mean((np.asarray(model(X)) - Y) ** 2))
    assert model.test_on_batch(X, Y)["loss"] == pytest.approx(whole / 2, rel=1e-5)


@pytest.mark.broad
def test_nested_inputs_and_outputs():
    a, b = gx.Input((2,), name="a"), gx.Input((2,), name="b")
    model = gx.Model({"one": a, "more": [b]}, (a + b, {"d": a - b}))
    one, two = np.ones((3, 2), "float32"), np.full((3, 2), 2, "float32")
    total, rest = model({"more": [two], "one": one})
    assert np.asarray(total)[0, 0] == 3
    assert np.asarray(rest["d"])[0, 0] == -1
    listed = gx.Model([a, b], a - b)
    for given in ([one, two], (one, two), {"b": two, "a": one}):
        assert np.asarray(listed(given))[0, 0] == -1
    assert np.asarray(gx.Model([a], a * 2)([one]))[0, 0] == 2
    assert [value.shape for value in listed.inputs] == [(None, 2)] * 2
    assert listed.output.shape == (None, 2)
    assert listed.outputs[0].shape == (None, 2)


def test_a_shared_layer_has_one_set_of_weights():
    shared = layers.Dense(2, name="shared")
    a, b = gx.Input((4,)), gx.Input((4,))
    model = gx.Model([a, b], shared(a) - shared(b))
    assert len(model.variables) == 2
    assert not np.asarray(model([X, X])).any()


@pytest.mark.broad
def test_parts_of_a_graph_share_weights_and_grafts():
    model = two_ways()
    encoder = gx.Model(model.input, model.get_layer("h").output)
    head = gx.Model(model.get_layer("g").output, model.get_layer("g").output * 2)
    assert encoder.get_layer("h") is model.get_layer("h")
    np.testing.assert_allclose(head(encoder(X)), 2 * np.asarray(encoder(X)))
    before = np.asarray(model(X))
    gx.graft(encoder, gx.reparam.LoRA(rank=1), where="**/h/kernel")
    assert isinstance(model.get_layer("h").kernel, gx.Reparam)
    np.testing.assert_allclose(model(X), before, atol=1e-5)
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0)
    np.testing.assert_allclose(model(X), by_hand(model, X), rtol=1e-4, atol=1e-5)


def test_a_model_is_a_layer_of_another_one():
    inner = two_ways()
    x = gx.Input((4,))
    outer = gx.Model(x, inner(x) + inner(2 * x))
    np.testing.assert_allclose(outer(X), by_hand(inner, X) + by_hand(inner, 2 * X), rtol=1e-4, atol=1e-5)
    assert outer.variables[0].path == "layers/1/layers/1/kernel"
    assert outer.get_layer("ways") is inner


@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_layers_and_a_graph_of_its_own(how):
    model = two_ways()
    twin = how(model)
    np.testing.assert_array_equal(twin(X), model(X))
    assert twin.get_layer("h") is not model.get_layer("h")
    part = gx.Model(twin.input, twin.get_layer("h").output)
    assert part.get_layer("h") is twin.get_layer("h")
    twin.get_layer("out").bias.assign([1.0, 1.0])
    np.testing.assert_allclose(np.asarray(twin(X)) - np.asarray(model(X)), 1, atol=1e-6)


def test_a_layer_alone_is_copied_without_its_graph():
    model = two_ways()
    alone = copy.deepcopy(model.get_layer("g"))
    assert alone.owner is None
    assert not hasattr(alone, "output")


@pytest.mark.broad
def test_a_deep_graph_is_copied_and_pickled():
    x = y = gx.Input((2,))
    for _ in range(400):
        y = y + 1
    model = pickle.loads(pickle.dumps(copy.deepcopy(gx.Model(x, y))))
    assert np.asarray(model(np.zeros((1, 2), "float32"))).tolist() == [[400.0, 400.0]]


def test_checkpoints_go_by_position(tmp_path):
    model, other = two_ways(), two_ways()
    gx.Checkpoint(model=model).save(tmp_path / "c")
    gx.Checkpoint(model=other).restore(tmp_path / "c").assert_consumed()
    np.testing.assert_array_equal(other(X), model(X))


@pytest.mark.broad
def test_masks_go_from_layer_to_layer():
    words = gx.Input((None,), dtype="int32")
    embedded = layers.Embedding(5, 3, mask_zero=True)(words)
    model = gx.Model(words, layers.LSTM(2)(layers.Dropout(0.5)(embedded)))
    short, padded = np.array([[1, 2]]), np.array([[1, 2, 0, 0]])
    np.testing.assert_allclose(model(short), model(padded), rtol=1e-6)
    vectors = gx.Input((None, 3))
    pooled = gx.Model(vectors, layers.GlobalAveragePooling1D()(vectors))
    x = np.array([[[1, 1, 1], [5, 5, 5]]], "float32")
    assert np.asarray(pooled(x, mask=np.array([[True, False]]))).tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.broad
def test_training_reaches_the_layers():
    x = gx.Input((50,))
    model = gx.Model(x, layers.Dropout(0.5)(x))
    ones = np.ones((2, 50), "float32")
    assert (np.asarray(model(ones, training=True)) == 0).any()
    assert (np.asarray(model(ones)) == 1).all()
    always = gx.Model(x, layers.Dropout(0.5)(x, training=True))
    assert (np.asarray(always(ones)) == 0).any()


def test_variables_in_operations_are_held_trained_and_saved(tmp_path):
    scale = gx.Variable([2.0, 3.0])
    x = gx.Input((2,))
    model = gx.Model(x, x * scale)
    assert [v.path for v in model.variables] == ["operands/0"]
    assert copy.deepcopy(model).variables[0] is not scale
    gx.Checkpoint(model=model).save(tmp_path / "c")
    scale.assign([0.0, 0.0])
    gx.Checkpoint(model=model).restore(tmp_path / "c")
    assert np.asarray(model(np.ones((1, 2), "float32"))).tolist() == [[2.0, 3.0]]


def test_a_layer_that_is_replaced_is_the_one_that_is_called():
    model = two_ways()
    model.layers[2] = layers.Dense(3, kernel_initializer="zeros", name="g")
    h = gx.Model(model.input, model.get_layer("h").output)(X)
    out = model.get_layer("out")
    wanted = np.concatenate([np.asarray(h), X], axis=-1) @ np.asarray(out.kernel) + np.asarray(out.bias)
    np.testing.assert_allclose(model(X), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_an_eager_call_of_a_graph_of_ours_is_one_program():
    model = two_ways()
    model(X)
    assert [plan is not None for plan in model._gx_plans.values()] == [True]
    x = gx.Input((4,))
    kernel = model.get_layer("h")
    added, doubled = gx.Model(x, kernel(x) + 1), gx.Model(x, kernel(x) * 2)  # alike but for the wiring
    np.testing.assert_allclose(np.asarray(doubled(X)), 2 * (np.asarray(added(X)) - 1), rtol=1e-5, atol=1e-6)


def test_values_are_let_go_once_nothing_needs_them():
    model = two_ways()
    steps = model._gx_graph.steps
    freed = [result for step in steps for result in step.last_used]
    assert len(freed) == len(steps) - 1
    assert len(set(freed)) == len(freed)


def test_summary_counts_the_layers(capsys):
    two_ways().summary()
    assert "43" in capsys.readouterr().out


@pytest.mark.broad
def test_listed_outputs_are_called_as_their_layers():
    x = gx.Input((4,))
    model = gx.Model(x, [layers.Dense(1, name="size")(x), layers.Dense(3, name="label")(x)])
    model.compile(
        "sgd",
        {"size": "mse", "label": gx.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"label": ["accuracy"]},
        loss_weights={"size": 0.5},
    )
    labels = np.arange(8) % 3
    named = model.evaluate(X, {"size": Y[:, :1], "label": labels}, verbose=0)
    assert set(named) == {"loss", "size_loss", "label_loss", "label_accuracy"}
    assert named["loss"] == pytest.approx(0.5 * named["size_loss"] + named["label_loss"], rel=1e-5)
    model.fit(X, [Y[:, :1], labels], verbose=0, validation_data=(X, {"size": Y[:, :1], "label": labels}))
    plain = gx.Model(x, [layers.Dense(1)(x), layers.Dense(1, name="one")(x)])
    plain.compile("sgd", "mse")
    assert set(plain.evaluate(X, [Y[:, :1], Y[:, 1:]], verbose=0)) == {"loss", "output_0_loss", "output_1_loss"}
