"""What fit takes as data, in which order it goes through it, and what it refuses."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import DataError
from tests.training.lines import X, Y, line, losses


@pytest.mark.broad
def test_ft5_validation_split_is_the_last_rows_before_any_shuffle():
    history = line().fit(X, Y, validation_split=0.4, verbose=0).history
    assert history["val_loss"] == [12.5]
    assert history["loss"][0] == pytest.approx(5 / 3, rel=1e-6)
    assert len(line().fit(X, Y, validation_split=0.1, verbose=0).history["val_loss"]) == 1


def test_ft5_validation_split_of_a_generator_raises():
    with pytest.raises(DataError, match="validation_data"):
        line().fit(((x, y) for x, y in [(X, Y)]), validation_split=0.4, verbose=0)


def test_ft21_lengths_differ():
    with pytest.raises(DataError, match=r"x has 5.*y has 4"):
        line().fit(X, Y[:4], verbose=0)
    with pytest.raises(DataError, match="sample_weight has 2"):
        line().fit(X, Y, sample_weight=[1.0, 2.0], verbose=0)


@pytest.mark.parametrize("run", ["fit", "evaluate"])
def test_ft22_no_data(run):
    with pytest.raises(DataError, match="no rows"):
        getattr(line(), run)(X[:0], Y[:0], verbose=0)
    with pytest.raises(DataError, match="no batch"):
        getattr(line(), run)(iter([]), verbose=0)
    with pytest.raises(DataError):
        getattr(line(), run)(None, verbose=0)


@pytest.mark.broad
def test_ft23_plain_lists():
    assert losses(line(), [[0.0], [1.0], [2.0], [3.0], [4.0]], [[0.0]] * 5, batch_size=5) == [6.0]


@pytest.mark.broad
def test_ft24_iterables():
    batches = [(X[:2], Y[:2]), (X[2:], Y[2:])]
    assert losses(line(), batches, epochs=2) == [6.0, 6.0]

    class Loader:
        def __iter__(self):
            return iter(batches)

    assert losses(line(), Loader(), epochs=2) == [6.0, 6.0]


def test_ft24_jax_arrays_and_dicts():
    class Named(gx.Model):
        def call(self, x):
            return x["a"] + x["b"]

    model = Named()
    model.compile(None, "mse")
    assert model.evaluate({"a": ops.asarray(X), "b": X}, ops.asarray(2 * Y), verbose=0)["loss"] == pytest.approx(24.0)


def test_ft24_torch_data_loader():
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    assert losses(line(), ((x, y) for x, y in loader), steps_per_epoch=3) == [6.0]


def test_ft25_targets_beside_an_iterable():
    with pytest.raises(DataError, match="yield"):
        line().fit([(X, Y)].__iter__(), Y, verbose=0)


@pytest.mark.broad
def test_ft30_shuffle_follows_the_seed_and_the_epoch():
    def order(seed, epoch=0):
        gx.set_random_seed(seed)
        seen = []

        class Watch(gx.Model):
            def train_step(self, batch):
                seen.append(np.asarray(batch[0])[:, 0].tolist())
                return super().train_step(batch)

            def call(self, x):
                return layers_one(x)

        model = Watch()
        model.dense = layers_one = layers.Dense(1)
        model.compile("sgd", "mse", run_eagerly=True)
        model.fit(X, Y, batch_size=2, initial_epoch=epoch, epochs=epoch + 1, verbose=0)
        return [row for batch in seen for row in batch]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1, epoch=1) != order(1)
    assert sorted(order(1)) == X[:, 0].tolist()
