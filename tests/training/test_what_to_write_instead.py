"""Messages whose remedy must work for what was given: an index of batches, lengths that differ, weights of a loss."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import DataError, ShapeError

X, Y = np.ones((4, 3), "float32"), np.ones((4, 1), "float32")


class Batches:
    """As a PyDataset of Keras: an index gives a batch."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return X, Y


class Samples(Batches):
    def __getitem__(self, i):
        return X[i], Y[i]


def compiled(loss="mse", **options):
    model = gx.Sequential([layers.Dense(1)])
    model.compile("sgd", loss, **options)
    return model


def test_what_gives_a_batch_for_an_index_is_shown_how_to_be_iterated_over():
    with pytest.raises(DataError, match="may be a batch") as caught:
        compiled().fit(Batches(), verbose=0)
    assert "DataLoader" not in str(caught.value)
    assert "(x[i] for i in range(len(x)))" in str(caught.value)
    x = Batches()
    compiled().fit((x[i] for i in range(len(x))), verbose=0)

    class Iterable(Batches):
        def __iter__(self):
            return (self[i] for i in range(len(self)))

    assert len(compiled().fit(Iterable(), epochs=2, verbose=0).history["loss"]) == 2


@pytest.mark.parametrize("name", ["PyDataset", "Sequence"])
def test_what_is_called_as_in_keras_gives_batches_even_if_it_fails_at_once(name):
    def fail(self, i):
        raise OSError

    kind = type("Mine", (type(name, (), {"__getitem__": fail, "__len__": lambda self: 3}),), {})
    with pytest.raises(OSError):  # noqa: PT011 - the class's own, with nothing in it
        compiled().fit(kind(), verbose=0)


def test_what_may_be_a_batch_or_a_sample_is_told_how_to_say_which():
    with pytest.raises(DataError, match="batch_size=32 for samples"):
        compiled().fit(Batches(), verbose=0)


@pytest.mark.broad
def test_what_gives_a_sample_for_an_index_is_put_together():
    batches = []
    model = compiled()
    model.fit(
        Samples(),
        verbose=0,
        batch_size=2,
        callbacks=[gx.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: batches.append(batch))],
    )
    assert batches == [0, 1]


@pytest.mark.broad
def test_outputs_of_different_lengths_are_told_at_the_first_batch_that_differs():
    model = gx.Sequential([layers.LSTM(2, return_sequences=True)])
    ran = []

    def batches():
        for length in (3, 4, 5):
            ran.append(length)
            yield np.zeros((2, length, 3), "float32")

    with pytest.raises(DataError, match=r"\(2, 3, 2\) in batch 0, \(2, 4, 2\) in batch 1") as caught:
        model.predict(batches(), verbose=0)
    assert "pad" in str(caught.value)
    assert ran == [3, 4]
    assert [np.asarray(model(x)).shape for x in batches()] == [(2, 3, 2), (2, 4, 2), (2, 5, 2)]


def test_the_output_whose_lengths_differ_is_named():
    class Two(gx.Model):
        def call(self, x):
            return {"same": x[:, 0], "other": x}

    with pytest.raises(DataError, match="output 'other'"):
        Two().predict((np.zeros((2, n), "float32") for n in (3, 4)), verbose=0)


def _scalar(y_true, y_pred):
    return ops.mean((y_true - y_pred) ** 2)


@pytest.mark.broad
def test_weights_of_a_loss_of_one_number_are_told_to_keep_the_rows():
    with pytest.raises(ShapeError) as caught:
        compiled(_scalar).fit(X, Y, sample_weight=np.ones(4), verbose=0)
    assert "ops.mean(..., axis=-1)" in str(caught.value)
    assert "one number as sample_weight" not in str(caught.value)
    rows = compiled(lambda a, b: ops.mean((a - b) ** 2, axis=-1))
    rows.fit(X, Y, sample_weight=np.ones(4), verbose=0)


@pytest.mark.broad
def test_one_number_as_weight_is_told_to_be_one_for_each_row():
    with pytest.raises(DataError, match="is a single number") as caught:
        compiled().fit(X, Y, sample_weight=2.0, verbose=0)
    assert "np.full(len(x), sample_weight)" in str(caught.value)
    compiled().fit(X, Y, sample_weight=np.full(len(X), 2.0), verbose=0)


@pytest.mark.parametrize("key", ["learning_rate", "lr", "lr_multiplier", "learning_rate_multipler"])
def test_a_rule_for_the_learning_rate_is_told_the_multiplier(key):
    with pytest.raises(gx.errors.ArgumentError) as caught:
        gx.optimizers.SGD(0.1, rules=[("layers/0/**", {key: 0.01})])
    assert '"learning_rate_multiplier": 0.1' in str(caught.value)
    gx.optimizers.SGD(0.1, rules=[("layers/0/**", {"learning_rate_multiplier": 0.1})])


def test_a_misspelt_key_of_a_rule_is_told_the_one_that_was_meant():
    with pytest.raises(gx.errors.ArgumentError, match='"frozen": True'):
        gx.optimizers.SGD(0.1, rules=[("layers/0/**", {"frozn": True})])


CLASSES = [layers.Dense, gx.optimizers.Adam, gx.losses.Huber, gx.metrics.Mean, gx.Model, gx.Layer, gx.Module]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_class_answers_to_from_config(kind):
    with pytest.raises(gx.errors.MissingAttributeError, match=f"{kind.__name__} has no 'from_config'") as caught:
        kind.from_config({})
    assert f"{kind.__name__}(**config)" in str(caught.value)
    assert not hasattr(kind, "get_config")


def test_objects_answer_as_before_and_classes_of_ones_own_may_have_both():
    with pytest.raises(gx.errors.MissingAttributeError, match=r"copy\.deepcopy\(layer\)"):
        layers.Dense(1).get_config()

    for misspelt in ("get_confg", "from_cofig"):
        with pytest.raises(gx.errors.MissingAttributeError) as caught:
            getattr(layers.Dense(1), misspelt)
        assert "get_config" not in str(caught.value)
        assert "'from_config'" not in str(caught.value)

    class Mine(layers.Dense):
        def get_config(self):
            return {"units": self.units}

        @classmethod
        def from_config(cls, config):
            return cls(**config)

    assert Mine.from_config(Mine(3).get_config()).units == 3

    class Keras(layers.Dense):
        def get_config(self):
            return super().get_config()

    with pytest.raises(gx.errors.MissingAttributeError, match=r"copy\.deepcopy"):
        Keras(1).get_config()


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("draw", ["normal", "uniform", "truncated_normal", "bernoulli"])
def test_a_number_in_the_place_of_the_shape_of_draws_is_told_the_order(draw):
    with pytest.raises(gx.errors.ArgumentTypeError, match="the shape comes first") as caught:
        getattr(gx.random, draw)(0.5, (8, 1))
    assert f"{draw}((2, 3), 0.5)" in str(caught.value)
    assert getattr(gx.random, draw)((2, 3), 0.5).shape == (2, 3)


def test_texts_given_to_a_model_are_sent_to_the_layer_before_it():
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(gx.errors.DataError, match="dtype <U1") as caught:
        model.fit(np.array(["a", "b"]), np.ones((2, 1)), verbose=0)
    assert "TextVectorization" in caught.value.instead
