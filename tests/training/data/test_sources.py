"""Data sets by index, stored arrays, columns by name, and loaders that change their mind."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError
from graftax.training.sources.choosing import make_source
from graftax.training.sources.indexed_source import IndexedSource
from graftax.training.sources.stored_rows import StoredRows
from tests.training.lines import X, Y, line, losses


class Samples:
    """One sample for an index, as a Dataset of torch."""

    def __init__(self, count=5):
        self.count, self.read = count, []

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if not 0 <= i < self.count:
            raise IndexError(i)
        self.read.append(i)
        return X[i % 5], Y[i % 5]


class PyDataset:
    """One batch for an index, as Keras calls it; threads read ahead."""

    workers, max_queue_size = 3, 4

    def __init__(self):
        self.ends = 0

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return X[2 * i : 2 * i + 2], Y[2 * i : 2 * i + 2]

    def on_epoch_end(self):
        self.ends += 1


@pytest.mark.broad
def test_samples_become_batches_in_the_order_of_arrays():
    samples = Samples()
    with_arrays = losses(line(0.1), X, Y, epochs=3, batch_size=2)
    assert losses(line(0.1), samples, epochs=3, batch_size=2) == with_arrays
    assert len(samples.read) == 15
    assert losses(line(), Samples(), batch_size=5) == [6]


@pytest.mark.broad
def test_batches_by_index_are_read_by_threads_and_told_of_the_end():
    data = PyDataset()
    assert losses(line(), data, epochs=2) == [6, 6]
    assert data.ends == 2
    assert line().evaluate(data, verbose=0) == {"loss": 6}
    np.testing.assert_array_equal(line().predict(data, verbose=0), X)


@pytest.mark.parametrize("data", [Samples, PyDataset])
def test_no_sample_counts_twice_in_one_pass(data):
    options = {} if data is PyDataset else {"batch_size": 2}
    for run in (line().evaluate, line().predict):
        with pytest.raises(DataError, match=f"4 steps over a {data.__name__} of 3 batches"):
            run(data(), steps=4, verbose=0, **options)
    options = {} if data is PyDataset else {"validation_batch_size": 2}
    with pytest.raises(DataError, match=f"4 steps over a {data.__name__} of 3 batches"):
        line().fit(X, Y, validation_data=data(), validation_steps=4, verbose=0, **options)


@pytest.mark.broad
@pytest.mark.parametrize(("size", "expected"), [(None, [2, 2, 1]), (4, [4, 1])])
def test_samples_to_validate_on_come_in_batches_of_the_training_or_of_their_own(size, expected):
    class Together(Samples):
        def __getitems__(self, rows):
            sizes.append(len(rows))
            return [self[i] for i in rows]

    sizes = []
    line().fit(X, Y, batch_size=2, validation_data=Together(), validation_batch_size=size, verbose=0)
    assert sizes == expected


def test_an_error_of_a_thread_comes_out():
    class Fails(PyDataset):
        def __getitem__(self, i):
            if i == 2:
                raise KeyError("file 2")
            return super().__getitem__(i)

    with pytest.raises(KeyError, match="file 2"):
        line().fit(Fails(), verbose=0)


def test_processes_are_refused():
    data = PyDataset()
    data.use_multiprocessing = True
    with pytest.raises(DataError, match="threads"):
        line().fit(data, verbose=0)


@pytest.mark.parametrize("extra", [{"batch_size": 2}, {"y": Y}, {"sample_weight": X}])
def test_what_batches_by_index_have_already_is_refused(extra):
    with pytest.raises(DataError, match="yields batches"):
        line().fit(PyDataset(), **extra, verbose=0)


@pytest.mark.parametrize("sample", [(X[0], Y[0], 1.0, 2.0), (), [1.0, 2.0, 3.0, 4.0]], ids=["four", "none", "numbers"])
def test_a_sample_of_more_parts_than_there_are_is_refused(sample):
    class Others(Samples):
        def __getitem__(self, i):
            return sample

    with pytest.raises(DataError, match=r"a sample is x, \(x, y\)"):  # the parts beyond the third were dropped
        line().fit(Others(), batch_size=4, verbose=0)


def test_samples_of_other_sizes_name_both():
    class Ragged(Samples):
        def __getitem__(self, i):
            return np.zeros(3 + i % 2), 0.0

    with pytest.raises(DataError, match=r"shape \(3,\) in sample 0, \(4,\) in sample 1"):
        next(IndexedSource(Ragged(), 4, shuffle=False).epoch(0))

    class Fewer(Samples):
        def __getitem__(self, i):
            return (X[0], Y[0]) if i < 2 else X[0]

    with pytest.raises(DataError, match="sample 2 has 1 parts"):
        next(IndexedSource(Fewer(), 4, shuffle=False).epoch(0))
    with pytest.raises(DataError, match="length 0"):
        line().fit(Samples(0), verbose=0)


@pytest.mark.parametrize("make", [lambda: (X, Y), lambda: (Samples(), None), lambda: (PyDataset(), None)])
def test_an_epoch_goes_on_from_any_batch_and_with_a_seed_that_was_saved(make):
    def source():
        x, y = make()
        return make_source(x, y, None, None if isinstance(x, PyDataset) else 2, True, None)

    gx.set_random_seed(1)
    first = source()
    whole = [batch[0].tolist() for batch in first.epoch(1)]
    gx.set_random_seed(2)
    other = source()
    other.set_state(first.get_state())
    assert [batch[0].tolist() for batch in other.epoch(1, 1)] == whole[1:]
    state = {name: 7 if name != "seed" else value for name, value in first.get_state().items()}
    with pytest.raises(DataError, match="resumed"):
        other.set_state(state)


class Stateful:
    """Its iterators tell where they are, as those of grain do."""

    def __iter__(self):
        return StatefulIterator()


class StatefulIterator:
    def __init__(self):
        self.at, self.asked = 0, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 4:
            raise StopIteration
        self.at += 1
        return np.full((1, 1), self.at, "float32")

    def get_state(self):
        return {"at": self.at}

    def set_state(self, state):
        self.at = state["at"]


@pytest.mark.parametrize("make", [Stateful, lambda: [(np.full((1, 1), i, "float32"),) for i in range(1, 5)]])
def test_a_loader_goes_on_by_its_state_or_by_reading_what_came_before(make):
    source = make_source(make(), None, None, None, True, None)
    source.remembers = True
    stream = source.epoch(0)
    assert [next(stream)[0].item() for _ in range(2)] == [1, 2]
    other = make_source(make(), None, None, None, True, None)
    other.set_state(source.get_state(2))
    assert [batch[0].item() for batch in other.epoch(0, 2)] == [3, 4]


def test_a_generator_goes_on_over_epochs():
    def batches():
        yield from (np.full((1, 1), i, "float32") for i in range(9))

    source = make_source(batches(), None, None, None, True, 3)
    list(source.epoch(0))
    stream = source.epoch(1)
    next(stream)
    other = make_source(batches(), None, None, None, True, 3)
    other.set_state(source.get_state(1))
    assert [batch[0].item() for batch in other.epoch(1, 1)] == [4, 5]
    assert [batch[0].item() for batch in other.epoch(2)] == [6, 7, 8]


def test_a_loader_that_shuffles_by_itself_is_refused_when_a_run_resumes():
    class RandomSampler:
        pass

    class Loader(list):
        sampler = RandomSampler()

    source = make_source(Loader([(X, Y)]), None, None, None, True, None)
    with pytest.raises(DataError, match="StatefulDataLoader"):
        source.set_state(source.get_state())


@pytest.mark.broad
@pytest.mark.parametrize(
    ("third", "said"),
    [
        ((X, Y, X[:, 0]), "sample_weight of 1 axis"),
        (X, "batch 2 is"),
        (({"a": X}, Y), r"x\['a'\] of 2 axes"),
        ((X[0], Y), "x of 1 axis"),
        (("text", Y), "x holds str"),
        ((X, Y, X, Y), "a tuple of 4"),
    ],
    ids=["weights", "no targets", "a dict", "a row", "a text", "four"],
)
def test_a_loader_that_yields_something_else_in_its_third_batch(third, said):
    model = line(0.1)
    with pytest.raises(DataError, match=said) as caught:
        model.fit(iter([(X, Y), (X[:2], Y[:2]), third]), verbose=0)
    assert "batch 2 of epoch 1" in str(caught.value) or "batch 2 is" in str(caught.value)
    assert int(model.optimizer.iterations) == 2
    model.fit(X, Y, verbose=0)


@pytest.mark.broad
def test_sparse_matrices_become_dense_a_batch_at_a_time():
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.eye(5, 3, dtype="float64")
    for matrix in (sparse.csr_matrix(dense), sparse.coo_array(dense)):
        seen = [batch[0] for batch in make_source(matrix, Y, None, 2, False, None).epoch(0)]
        assert [one.dtype for one in seen] == ["float32"] * 3
        np.testing.assert_array_equal(np.concatenate(seen), dense)
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile("sgd", "mse")
    matrix = sparse.csr_matrix(dense)
    history = model.fit(matrix, Y, validation_split=0.4, verbose=0).history
    assert len(history["val_loss"]) == 1
    np.testing.assert_allclose(model.predict(matrix, verbose=0), model.predict(dense, verbose=0))
    model.fit(iter([(matrix, Y)]), verbose=0)
    model.train_on_batch(matrix, Y)


def test_memory_maps_are_read_a_batch_at_a_time(tmp_path):
    np.save(tmp_path / "x.npy", X.astype("float64"))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    source = make_source(mapped, Y, None, 2, True, None)
    assert isinstance(source._data[0], StoredRows)
    gx.set_random_seed(0)
    assert losses(line(0.1), mapped, Y, epochs=2) == losses(line(0.1), X, Y, epochs=2)


@pytest.mark.broad
def test_columns_by_name():
    batches = [{"image": X[:3], "label": Y[:3]}, {"image": X[3:], "label": Y[3:]}]
    assert losses(line(), batches, y="label") == [6]
    assert losses(line(), gx.data.columns(batches, x="image", y="label")) == [6]
    assert losses(line(), {"a": X, "b": Y}, y="b") == [6]
    weighted = [{**batch, "weight": batch["image"][:, 0]} for batch in batches]
    assert losses(line(), gx.data.columns(weighted, "image", "label", "weight")) == [pytest.approx(20.0)]


def test_a_missing_column_is_named():
    batches = [{"image": X, "label": Y}]
    with pytest.raises(DataError, match="'labels'") as caught:
        line().fit(batches, y="labels", verbose=0)
    assert "instead: 'label'" in str(caught.value)
    for asked in ({"y": ["image", "label"]}, {"y": "label", "x": None, "sample_weight": "image"}):
        with pytest.raises(DataError, match="no column is left for the inputs"):
            next(iter(gx.data.columns(batches, **asked)))
    with pytest.raises(DataError, match="only dicts have names"):
        line().fit([(X, Y)], y="label", verbose=0)
    with pytest.raises(DataError, match="no names for its columns"):
        line().fit(X, y="label", verbose=0)
    with pytest.raises(ArgumentError, match="an input, a target or a weight"):
        gx.data.columns(batches, x="label", y="label")


class Eager:
    """A tensor as TensorFlow's: NumPy makes an array of it, while its shape and dtype are of classes of its own."""

    def __init__(self, value):
        self._value = value
        self.shape = SimpleNamespace(rank=value.ndim, as_list=lambda: list(value.shape))
        self.dtype = SimpleNamespace(name=str(value.dtype), as_numpy_dtype=value.dtype.type)

    def numpy(self):
        return self._value

    def __array__(self, dtype=None, copy=None):
        return np.array(self._value, dtype)

    def __len__(self):
        return len(self._value)


class Stream:
    """What a ``tf.data.Dataset`` has that fit looks at: it starts anew, and may not know its length."""

    def __init__(self, form, knows=True):
        self._form, self._knows = form, knows

    def __iter__(self):
        return (self._form(Eager(X[i : i + 2]), Eager(Y[i : i + 2])) for i in range(0, 5, 2))

    def __len__(self):
        if not self._knows:
            raise TypeError("The dataset length is unknown.")
        return 3


@pytest.mark.broad
@pytest.mark.parametrize("knows", [True, False])
def test_streams_of_tensors_as_those_of_tf_data(knows):
    pairs = Stream(lambda x, y: (x, y), knows)
    assert losses(line(0.1), pairs, epochs=2) == losses(line(0.1), X, Y, epochs=2, batch_size=2, shuffle=False)
    assert line().evaluate(pairs, verbose=0) == {"loss": 6}
    assert len(line().fit(pairs, validation_data=pairs, epochs=2, verbose=0).history["val_loss"]) == 2
    assert losses(line(), Stream(lambda x, y: {"x": x, "label": y}, knows), y="label") == [6]
    assert line().predict(Stream(lambda x, y: x, knows), verbose=0).shape == (5, 1)


def test_names_of_columns_that_are_none():
    with pytest.raises(ArgumentTypeError, match=r"columns got 0(.|\n)*y=\"label\""):
        gx.data.columns([], 0, 1)


def test_batches_that_never_end_need_a_number_of_steps():
    forever = itertools.cycle([(X, Y)])
    assert len(losses(line(), forever, epochs=2, steps_per_epoch=3)) == 2
    for data in (forever, gx.data.columns(itertools.cycle([{"x": X}]))):
        with pytest.raises(DataError, match=r"cycle that begins again for ever(.|\n)*steps_per_epoch"):
            line().fit(data, verbose=0)


def test_a_sample_where_a_batch_should_be_is_named():
    with pytest.raises(DataError, match=r"y of a batch is a single number(.|\n)*batch 1 of epoch 1"):
        line().fit([(X, Y), (X[0], Y[0, 0])], verbose=0)


@pytest.mark.broad
def test_objects_that_are_rows_are_no_texts():
    rows = np.array([[1.0], [1.0, 2.0]], dtype=object)
    with pytest.raises(DataError, match=r"x is an array of objects, whose rows have lengths of their own(.|\n)*bucket"):
        line().fit(rows, Y[:2], verbose=0)


class _Pairs:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return np.ones(2, "float32") * [1, 2, 3][i], np.ones(1, "float32")


def _line():
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def test_a_length_that_is_too_large_is_told():
    with pytest.raises(IndexError) as caught:
        _line().fit(_Pairs(4), batch_size=2, verbose=0, shuffle=False)
    assert "read at [2, 3]" in caught.value.__notes__[0]
    assert "the __len__ of _Pairs returns too much" in caught.value.__notes__[0]


def test_a_function_that_was_not_called_is_named_in_the_line_to_write():
    def batches():
        yield np.ones((2, 2)), np.ones((2, 1))

    with pytest.raises(DataError, match=r"validation_data=batches\(\)"):
        _line().fit(np.ones((2, 2)), np.ones((2, 1)), validation_data=batches, verbose=0)
