"""Data of the real libraries, each row of the table of what fit takes."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import DataError
from graftax.training.sources.choosing import make_source
from tests.training.lines import X, Y, line, losses

PAIRS = list(zip(X, Y, strict=True))


@pytest.mark.parametrize("workers", [0, 1])
def test_torch_loaders(torch, workers):
    data = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    more = {"multiprocessing_context": "spawn", "persistent_workers": True} if workers else {}
    loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=workers, **more)
    assert losses(line(), loader, epochs=2) == [6, 6]
    assert line().evaluate(loader, verbose=0) == {"loss": 6}


def test_torch_data_sets(torch):
    data = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    assert losses(line(0.1), data, epochs=2, batch_size=2) == losses(line(0.1), X, Y, epochs=2, batch_size=2)

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(PAIRS)

    assert losses(line(), torch.utils.data.DataLoader(Stream(), batch_size=2)) == [6]


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata calls it
def test_a_stateful_torch_loader_goes_on_where_it_was(torch):
    loading = pytest.importorskip("torchdata.stateful_dataloader")

    def loader():
        return loading.StatefulDataLoader(PAIRS, batch_size=2)

    assert losses(line(), loader(), epochs=2) == [6, 6]
    source = make_source(loader(), None, None, None, True, None)
    source.remembers = True
    next(source.epoch(0))
    other = make_source(loader(), None, None, None, True, None)
    other.set_state(source.get_state(1))
    assert [batch[0][:, 0].tolist() for batch in other.epoch(0, 1)] == [[2, 3], [4]]


def test_a_run_with_a_shuffling_torch_loader_cannot_be_resumed(torch):
    loader = torch.utils.data.DataLoader(PAIRS, batch_size=2, shuffle=True)
    source = make_source(loader, None, None, None, True, None)
    with pytest.raises(DataError, match="shuffles"):
        source.set_state(source.get_state())


def test_predict_warns_of_a_torch_loader_that_shuffles(torch):
    samplers = torch.utils.data
    for options in (
        {"shuffle": True},
        {"sampler": samplers.WeightedRandomSampler([1.0] * len(PAIRS), 4)},
        {"sampler": samplers.DistributedSampler(PAIRS, 1, 0)},
    ):
        loader = torch.utils.data.DataLoader(PAIRS, batch_size=2, **options)
        for given in (loader, gx.data.prefetch(loader)):
            with pytest.warns(UserWarning, match="predict got a DataLoader that shuffles"):
                line().predict(given, verbose=0)
        line().evaluate(loader, verbose=0)
    line().predict(torch.utils.data.DataLoader(PAIRS, batch_size=2), verbose=0)


@pytest.mark.parametrize("workers", [1, 3])
def test_py_datasets(keras, workers):
    class Mine(keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return X[2 * i : 2 * i + 2], Y[2 * i : 2 * i + 2]

    assert losses(line(), Mine(workers=workers), epochs=2) == [6, 6]
    assert line().evaluate(Mine(workers=workers), verbose=0) == {"loss": 6}


def test_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": X[:, 0].astype("float64"), "b": np.arange(5), "y": Y[:, 0]})
    model = gx.Sequential([gx.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    assert losses(model, table[["a", "b"]], table["y"]) == [24]
    assert losses(model, table, y="y") == [24]
    assert losses(model, table[["a", "b"]], table[["y"]]) == [24]
    assert model.predict(table[["a", "b"]], verbose=0).shape == (5, 1)
    for options in ({"validation_split": 0.4}, {"validation_data": table}):
        assert len(model.fit(table, y="y", verbose=0, **options).history["val_loss"]) == 1
    assert model.evaluate(table, y="y", verbose=0) == {"loss": 24}


def test_pandas_columns_that_are_no_numbers_or_missing_are_named():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": X[:, 0], "city": ["x"] * 5, "y": Y[:, 0]})
    with pytest.raises(DataError, match="'city'"):
        line().fit(table, y="y", verbose=0)
    with pytest.raises(DataError, match="'z'"):
        line().fit(table, y="z", verbose=0)


def test_polars():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": X[:, 0].astype("float64"), "b": np.arange(5), "y": Y[:, 0]})
    model = gx.Sequential([gx.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    assert losses(model, table[["a", "b"]], table["y"]) == [24]
    assert losses(model, table, y="y") == [24]
    assert model.predict(table[["a", "b"]], verbose=0).shape == (5, 1)
    assert len(model.fit(table, y="y", validation_split=0.4, verbose=0).history["val_loss"]) == 1
    with pytest.raises(DataError, match="'z'"):
        model.fit(table, y="z", verbose=0)
    with pytest.raises(DataError, match="'city'"):
        model.fit(table.with_columns(city=polars.lit("x")), y="y", verbose=0)


def stored_in_h5py(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "data.h5", "w") as file:
        file["x"], file["y"] = X.astype("float64"), Y
    file = h5py.File(folder / "data.h5")
    return file["x"], file["y"]


def stored_in_zarr(folder):
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(folder / "data.zarr", mode="w")
    for name, value in (("x", X.astype("float64")), ("y", Y)):
        root.create_array(name, data=value, chunks=(2, 1))
    return root["x"], root["y"]


@pytest.mark.references
@pytest.mark.parametrize("stored", [stored_in_h5py, stored_in_zarr])
def test_arrays_in_files_are_read_a_batch_at_a_time(tmp_path, stored):
    x, y = stored(tmp_path)
    assert losses(line(0.1), x, y, epochs=2, batch_size=2) == losses(line(0.1), X, Y, epochs=2, batch_size=2)
    shuffled = {"epochs": 2, "batch_size": 2, "shuffle": True}
    gx.set_random_seed(3)
    first = losses(line(0.1), x, y, **shuffled)
    gx.set_random_seed(3)
    assert first == losses(line(0.1), X, Y, **shuffled)
    assert len(line(0.1).fit(x, y, validation_split=0.4, verbose=0).history["val_loss"]) == 1
    assert line().evaluate(x, y, verbose=0) == {"loss": 6}
    with pytest.raises(DataError, match="rows"):
        line().fit(x, y[:3], verbose=0)


def test_hugging_face_data_sets():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"value": X.tolist(), "label": Y.tolist()})
    assert losses(line(0.1), data, y="label", epochs=2, batch_size=2) == losses(line(0.1), X, Y, epochs=2, batch_size=2)
    assert losses(line(), gx.data.columns(data, x="value", y="label")) == [6]
    assert losses(line(), data.with_format("numpy"), y="label") == [6]
    assert losses(line(), gx.data.columns(data.iter(batch_size=2), "value", "label")) == [6]
    stream = data.to_iterable_dataset().batch(batch_size=2)
    assert losses(line(), gx.data.columns(stream, "value", "label")) == [6]
    with pytest.raises(DataError, match="'labels'"):
        line().fit(data, y="labels", verbose=0)


def test_grain():
    grain = pytest.importorskip("grain")
    rows = grain.MapDataset.source(PAIRS)
    assert losses(line(), rows.batch(2), epochs=2) == [6, 6]
    assert losses(line(), rows.to_iter_dataset().batch(2), epochs=2) == [6, 6]
    assert losses(line(), rows.batch(2).map(lambda batch: batch)) == [6]
    source = make_source(rows.to_iter_dataset().batch(2), None, None, None, True, None)
    source.remembers = True
    stream = source.epoch(0)
    next(stream)
    other = make_source(rows.to_iter_dataset().batch(2), None, None, None, True, None)
    other.set_state(source.get_state(1))
    assert [batch[0][:, 0].tolist() for batch in other.epoch(0, 1)] == [[2, 3], [4]]
    for forever in (rows.repeat().batch(2), rows.batch(2).repeat()):
        assert len(losses(line(), forever, epochs=2, steps_per_epoch=4)) == 2
        with pytest.raises(DataError, match="begins again for ever"):
            line().fit(forever, verbose=0)
