"""fit, evaluate and predict: section 19 of the semantics. X = [0..4], y = 0, one weight of 1 that stays, mse."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, BackendCapabilityError, StateError
from tests.training.lines import X, Y, line, losses


@pytest.mark.broad
def test_ft1_loss_is_the_mean_over_samples_not_over_batches():
    history = line(metrics=["mae"]).fit(X, Y, batch_size=4, shuffle=False, verbose=0).history
    assert history["loss"] == [6.0]
    assert history["mae"] == [2.0]


@pytest.mark.broad
def test_ft2_sample_weights_scale_the_loss_and_count_in_weighted_metrics_only():
    weights = np.array([1, 1, 1, 1, 10], "float32")
    model = line(metrics=["mae"], weighted_metrics=["mae"])
    logs = model.evaluate(X, Y, batch_size=4, sample_weight=weights, verbose=0)
    assert model.evaluate(X, Y, batch_size=5, sample_weight=weights, verbose=0)["loss"] == pytest.approx(34.8)
    assert logs["mae"] == pytest.approx(2.0)
    assert logs["weighted_mae"] == pytest.approx(46 / 14)


@pytest.mark.broad
def test_ft3_class_weight_and_a_class_that_is_not_named_counts_one():
    model = gx.Sequential([layers.Dense(2, kernel_initializer="zeros")])
    model.compile(gx.optimizers.SGD(0.0), gx.losses.SparseCategoricalCrossentropy(from_logits=True))
    labels = np.array([0, 1, 1, 1])
    history = model.fit(X[:4], labels, class_weight={0: 1, 1: 2}, verbose=0)
    assert history.history["loss"][0] == pytest.approx(np.log(2) * 7 / 4, rel=1e-5)
    history = model.fit(X[:4], labels, class_weight={1: 2}, verbose=0)
    assert history.history["loss"][0] == pytest.approx(np.log(2) * 7 / 4, rel=1e-5)


@pytest.mark.broad
def test_ft4_class_weight_and_sample_weight_multiply():
    model = gx.Sequential([layers.Dense(2, kernel_initializer="zeros")])
    model.compile(gx.optimizers.SGD(0.0), gx.losses.SparseCategoricalCrossentropy(from_logits=True))
    labels = np.array([0, 1])
    got = losses(model, X[:2], labels, class_weight={1: 3.0}, sample_weight=[2.0, 5.0])
    assert got[0] == pytest.approx(np.log(2) * (2 + 15) / 2, rel=1e-5)


def test_ft6_epochs_is_an_end_index():
    history = line().fit(X, Y, epochs=5, initial_epoch=3, verbose=0)
    assert history.epoch == [3, 4]
    assert len(history.history["loss"]) == 2


@pytest.mark.broad
def test_ft7_steps_per_epoch_go_on_and_wrap():
    seen = losses(line(), X, Y, batch_size=2, steps_per_epoch=2, epochs=3, shuffle=False)
    # batches have the losses .5, 6.5, 16 and rows 2, 2, 1; the stream is 0 1 | 2 0 | 1 2
    assert seen == pytest.approx([3.5, (16 + 2 * 0.5) / 3, (2 * 6.5 + 16) / 3])


def test_ft8_a_generator_that_ends_early_ends_training():
    batches = ((X[:2], Y[:2]) for _ in range(3))
    with pytest.warns(UserWarning, match="stops"):
        history = line().fit(batches, steps_per_epoch=2, epochs=4, verbose=0)
    assert history.epoch == [0, 1]


def test_ft9_a_new_history_each_time_and_the_optimizer_goes_on():
    model = line()
    first = model.fit(X, Y, batch_size=5, epochs=1, verbose=0)
    second = model.fit(X, Y, batch_size=5, epochs=2, verbose=0)
    assert first is not second
    assert len(second.history["loss"]) == 2
    assert int(model.optimizer.iterations) == 3
    assert model.history is second


class TwoHeads(gx.Model):
    def __init__(self):
        super().__init__()
        self.a = layers.Dense(1, use_bias=False, kernel_initializer="ones")
        self.b = layers.Dense(1, use_bias=False, kernel_initializer="zeros")

    def call(self, x):
        return {"a": self.a(x), "b": self.b(x)}


@pytest.mark.broad
def test_ft16_several_outputs_by_name():
    model = TwoHeads()
    model.compile(gx.optimizers.SGD(0.0), {"a": "mse", "b": "mae"}, metrics={"a": ["mae"]})
    logs = model.evaluate(X, {"a": Y, "b": Y + 1}, verbose=0)
    assert list(logs) == ["loss", "a_loss", "b_loss", "a_mae"]
    assert logs == pytest.approx({"loss": 7.0, "a_loss": 6.0, "b_loss": 1.0, "a_mae": 2.0})


def test_ft16_loss_weights():
    model = TwoHeads()
    model.compile(None, {"a": "mse", "b": "mae"}, loss_weights={"a": 0.5, "b": 10.0})
    assert model.evaluate(X, {"a": Y, "b": Y + 1}, verbose=0)["loss"] == pytest.approx(13.0)


@pytest.mark.broad
def test_ft17_evaluate_gives_names():
    assert list(line(metrics=["mae"]).evaluate(X, Y, verbose=0)) == ["loss", "mae"]


@pytest.mark.broad
def test_ft18_on_batch_metrics_start_over_unless_told():
    model = line()
    assert model.test_on_batch(X[:1], Y[:1]) == {"loss": 0.0}
    assert model.test_on_batch(X[4:], Y[4:]) == {"loss": 16.0}
    assert model.test_on_batch(X[:1], Y[:1], reset_metrics=False) == {"loss": 8.0}
    assert model.train_on_batch(X[4:], Y[4:]) == {"loss": 16.0}
    assert int(model.optimizer.iterations) == 1


def test_ft19_predict_keeps_row_order_and_structure():
    model = TwoHeads()
    out = model.predict(X, batch_size=2, verbose=0)
    np.testing.assert_array_equal(out["a"], X)
    assert out["b"].shape == (5, 1)
    assert isinstance(out["a"], np.ndarray)


def test_ft20_not_compiled():
    model = gx.Sequential([layers.Dense(1)])
    for call in (lambda: model.fit(X, Y), lambda: model.evaluate(X, Y, verbose=0), lambda: model.train_step((X, Y))):
        with pytest.raises(StateError, match="compile"):
            call()
    assert not model.variables or call  # nothing half-done: the message comes before the first step


def test_ft20_without_optimizer_or_loss():
    model = gx.Sequential([layers.Dense(1)])
    model.compile(loss="mse")
    with pytest.raises(StateError, match="optimizer"):
        model.fit(X, Y, verbose=0)
    model.compile("sgd")
    with pytest.raises(StateError, match="no loss"):
        model.fit(X, Y, verbose=0)


def test_ft20_unknown_output_in_the_loss_lists_the_outputs():
    model = TwoHeads()
    model.compile("sgd", {"a": "mse", "c": "mse"})
    with pytest.raises(ArgumentError, match=r"'a', 'b'") as caught:
        model.fit(X, {"a": Y, "b": Y}, verbose=0)
    assert "'c'" in str(caught.value)


def test_ft20_unknown_names_are_told_at_compile():
    model = gx.Sequential([layers.Dense(1)])
    with pytest.raises(ArgumentError, match="mean_squared_error"):
        model.compile("sgd", "mean_square_error")
    with pytest.raises(ArgumentError, match="binary_accuracy"):
        model.compile("sgd", "mse", metrics=["akkuracy"])
    with pytest.raises(ArgumentError, match="adam"):
        model.compile("sdg", "mse")


def test_ft28_all_frozen_still_reports_a_loss():
    model = line(0.1)
    model(X)
    model.trainable = False
    before = model.variables[0].numpy().copy()
    with pytest.warns(UserWarning, match="nothing is trained"):
        assert losses(model, X, Y, epochs=2, batch_size=5) == [6.0, 6.0]
    np.testing.assert_array_equal(before, model.variables[0].numpy())


def test_op20_freezing_after_fit_is_honoured_without_compiling_again():
    model = gx.Sequential([layers.Dense(2), layers.Dense(1)])
    model.compile(gx.optimizers.AdamW(0.1, weight_decay=0.1), "mse")
    model.fit(X, Y, verbose=0)
    model.layers[0].trainable = False
    before = [v.numpy().copy() for v in model.layers[0].variables]
    last = model.layers[1].kernel.numpy().copy()
    model.fit(X, Y, epochs=2, verbose=0)
    for old, variable in zip(before, model.layers[0].variables, strict=True):
        np.testing.assert_array_equal(old, variable.numpy())
    assert (last != model.layers[1].kernel.numpy()).any()
    model.layers[0].trainable = True
    model.fit(X, Y, verbose=0)
    assert (before[0] != model.layers[0].kernel.numpy()).any()


def test_ft31_resume_is_bit_exact(tmp_path):
    x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
    y = np.sin(x[:, :1])

    def program():
        gx.set_random_seed(5)
        body = [layers.Dense(8, activation="tanh"), layers.Dropout(0.3), layers.BatchNormalization()]
        model = gx.Sequential([*body, layers.Dense(1)])
        model.compile(gx.optimizers.Adam(1e-2), "mse")
        return model, gx.Checkpoint(model=model, optimizer=model.optimizer)

    model, checkpoint = program()
    model.fit(x, y, epochs=2, batch_size=16, verbose=0)
    checkpoint.save(tmp_path / "two")
    straight = losses(model, x, y, initial_epoch=2, epochs=4, batch_size=16)

    again, checkpoint = program()
    report = checkpoint.restore(tmp_path / "two")
    resumed = losses(again, x, y, initial_epoch=2, epochs=4, batch_size=16)
    report.assert_consumed()
    assert resumed == straight
    for a, b in zip(model.variables, again.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_need2_a_restored_value_that_never_found_its_place_stops_training(tmp_path):
    wide = gx.Sequential([layers.Dense(2), layers.Dense(1)])
    wide(X)
    gx.Checkpoint(model=wide).save(tmp_path / "wide")
    model = gx.Sequential([layers.Dense(2), layers.Dense(1, use_bias=False)])
    model.compile("sgd", "mse")
    gx.Checkpoint(model=model).restore(tmp_path / "wide")
    with pytest.raises(StateError, match="model/layers/1/bias"):
        model.fit(X, Y, verbose=0)


@pytest.mark.broad
def test_ft32_train_step_and_compute_loss_are_used():
    calls = []

    class Mine(gx.Sequential):
        def train_step(self, batch):
            calls.append("train_step")
            return super().train_step(batch)

        def compute_loss(self, x, y, y_pred, sample_weight=None):
            return 10 * super().compute_loss(x, y, y_pred, sample_weight)

    model = Mine([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    assert losses(model, X, Y, batch_size=5, epochs=3) == [60.0] * 3
    assert calls == ["train_step"]  # traced once


@pytest.mark.broad
def test_ft33_loss_includes_regularizers_and_added_losses():
    class Adds(gx.Layer):
        def call(self, x):
            self.add_loss(100.0)
            return x

    model = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones", kernel_regularizer="l2"), Adds()])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    penalty = gx.regularizers.get("l2")(ops.ones((1, 1)))
    assert losses(model, X, Y, batch_size=5)[0] == pytest.approx(106.0 + float(penalty))
    assert model.evaluate(X, Y, batch_size=5, verbose=0)["loss"] == pytest.approx(106.0 + float(penalty))


@pytest.mark.broad
def test_kl11_masks_reach_the_loss():
    class Masked(gx.Layer):
        def call(self, x):
            return x * 0

        def compute_mask(self, inputs, mask):
            return ops.asarray([[True, False]])

    model = gx.Sequential([Masked()])
    model.compile(None, "mse", metrics=["mae"])
    logs = model.evaluate(np.zeros((1, 2, 1), "float32"), np.array([[[1.0], [5.0]]], "float32"), verbose=0)
    assert logs == {"loss": 1.0, "mae": 1.0}


def test_a_changed_learning_rate_is_honoured_and_compiles_nothing():
    model = line(0.0)
    model.fit(X, Y, batch_size=5, verbose=0)
    model.optimizer.learning_rate = 0.05
    model.fit(X, Y, batch_size=5, verbose=0)
    assert float(model.variables[0][0, 0]) == pytest.approx(1 - 0.05 * 12)
    assert model._gx_compiled_step("train_step").trace_count == 1


@pytest.mark.broad
def test_run_eagerly_gives_the_same_numbers():
    def train(eagerly):
        gx.set_random_seed(0)
        model = gx.Sequential([layers.Dense(4, activation="tanh"), layers.Dropout(0.5), layers.Dense(1)])
        model.compile(gx.optimizers.Adam(0.01), "mse", run_eagerly=eagerly)
        return losses(model, X, Y, epochs=3, batch_size=2)

    np.testing.assert_allclose(train(True), train(False), rtol=1e-5)


def test_numpy_backend_evaluates_and_predicts_but_cannot_train():
    with gx.backend.use("numpy"):
        model = line(metrics=["mae"])
        assert model.evaluate(X, Y, verbose=0) == {"loss": 6.0, "mae": 2.0}
        np.testing.assert_array_equal(model.predict(X, verbose=0), X)
        with pytest.raises(BackendCapabilityError, match="jax"):
            model.fit(X, Y, verbose=0)


def test_an_exception_in_a_step_leaves_the_model_valid():
    model = line(0.1)
    model.fit(X, Y, verbose=0)
    before = model.variables[0].numpy().copy()
    with pytest.raises(ValueError, match="matmul|shape|axis"):
        model.fit(np.ones((4, 3), "float32"), Y[:4], verbose=0)
    np.testing.assert_array_equal(before, model.variables[0].numpy())
    model.fit(X, Y, verbose=0)


@pytest.mark.broad
def test_labels_out_of_range_name_the_label_before_anything_is_trained():
    model = gx.Sequential([layers.Dense(3)])
    model.compile("sgd", gx.losses.SparseCategoricalCrossentropy(from_logits=True))
    with pytest.raises(IndexError, match=r"5 is not in \[0, 3\)"):
        model.fit(X, np.array([0, 1, 2, 5, 0]), verbose=0)


def test_sequential_refuses_what_is_no_layer():
    with pytest.raises(TypeError, match=r"Dense\(\.\.\.\)"):
        gx.Sequential([layers.Dense])
    with pytest.raises(TypeError, match="3"):
        gx.Sequential([3])


def test_sequential_takes_functions_and_nests():
    model = gx.Sequential([gx.Sequential([layers.Dense(2)]), ops.abs])
    assert model(np.ones((3, 4), "float32")).shape == (3, 2)
    assert [v.path for v in model.variables] == ["layers/0/layers/0/kernel", "layers/0/layers/0/bias"]


def test_nothing_warns_in_a_plain_run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        line(0.01).fit(X, Y, epochs=2, verbose=0)


@pytest.mark.broad
def test_an_optimizer_made_before_the_model_does_not_change_the_weights():
    def weights(optimizer_first):
        gx.set_random_seed(0)
        if optimizer_first:
            gx.optimizers.Adam()
        layer = layers.Dense(2)
        layer(X)
        return layer.kernel.numpy()

    np.testing.assert_array_equal(weights(True), weights(False))
