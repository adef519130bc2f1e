"""gx.data: lengths padded to a few, reading ahead, pictures and texts in folders."""

import threading
import time

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError
from tests.training.lines import X, Y, line, losses


def ragged(count=40, longest=30, seed=0):
    draw = np.random.default_rng(seed)
    return [draw.integers(1, 9, size=draw.integers(1, longest)).tolist() for _ in range(count)]


# --- buckets ----------------------------------------------------------------------------------------------------------


def test_every_sequence_comes_once_padded_in_one_of_a_few_shapes():
    rows = ragged()
    batches = gx.data.bucket(rows, list(range(40)), sizes=[8, 16, 30], batch_size=4)
    got = list(batches)
    assert len(got) == len(batches)
    seen = {int(label): x[i].tolist() for x, y in got for i, label in enumerate(y)}
    assert sorted(seen) == list(range(40))
    for number, padded in seen.items():
        assert padded[: len(rows[number])] == rows[number]
        assert not any(padded[len(rows[number]) :])
    assert len({x.shape for x, _ in got}) <= 4


@pytest.mark.broad
def test_nothing_is_traced_anew_for_a_length(caplog):
    rows = ragged()
    model = gx.Sequential([layers.Embedding(9, 2, mask_zero=True), layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile("sgd", "mse")
    traces = []

    class Count(gx.losses.MeanSquaredError):
        def call(self, y_true, y_pred):
            traces.append(y_pred.shape)
            return super().call(y_true, y_pred)

    model.compile("sgd", Count())
    model.fit(gx.data.bucket(rows, np.zeros((40, 1)), sizes=[10, 30], batch_size=8), epochs=3, verbose=0)
    assert len(traces) <= 2 * 3  # two sizes and what is left over, looked at twice each


def test_targets_of_each_position_are_averaged_over_what_is_real():
    x = [np.ones((2, 1)), np.ones((4, 1))]
    y = [np.zeros((2, 1)), np.zeros((4, 1))]
    y[1][:] = 3.0
    (batch,) = gx.data.bucket(x, y, sizes=[4], shuffle=False, weights="mean")
    np.testing.assert_allclose(batch[2], [[8 / 6, 8 / 6, 0, 0], [8 / 6] * 4], rtol=1e-6)
    # prediction 1: two errors of 1, four of 4
    assert line().evaluate([batch], verbose=0)["loss"] == pytest.approx((2 * 1 + 4 * 4) / 6)


@pytest.mark.broad
def test_weights_of_what_is_shown_are_one_beside_a_mask_and_without():
    tokens = [[1, 2], [3, 4, 5, 6], [7, 8, 9]]
    targets = [np.full((len(row), 1), 2.0, "float32") for row in tokens]
    batches = gx.data.bucket(tokens, targets, sizes=[4, 8], batch_size=2, shuffle=False)
    assert all(set(np.unique(weights)) <= {0, 1} for _, _, weights in batches)
    first = next(iter(batches))
    assert first[2].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    model = gx.Sequential([gx.layers.Embedding(10, 3, mask_zero=True), gx.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mse"], weighted_metrics=["mae"])
    errors = [np.asarray(model(np.array([row])))[0, :, 0] - 2 for row in tokens]
    found = model.evaluate([first], verbose=0)
    shown = np.concatenate(errors[:2])
    assert found["loss"] == pytest.approx(np.mean(shown**2), rel=1e-5)
    found = model.evaluate(batches, verbose=0)
    assert found["mse"] == pytest.approx(np.mean(np.concatenate(errors) ** 2), rel=1e-5)
    assert found["mae"] == pytest.approx(np.mean(np.abs(np.concatenate(errors))), rel=1e-5)
    hidden = (np.ones((1, 4, 1)), np.zeros((1, 4, 1)), np.array([[1, 1, 0, 0]]))
    assert line().evaluate([hidden], verbose=0)["loss"] == 0.5


def test_passes_have_orders_of_their_own_that_can_be_gone_on_with():
    batches = gx.data.bucket(ragged(), batch_size=8)
    first, second = ([x.tolist() for (x,) in batches] for _ in range(2))
    assert first != second
    other = gx.data.bucket(ragged(), batch_size=8)
    other.set_state({**batches.get_state(), "passes": 1})
    assert [x.tolist() for (x,) in other] == second


def test_buckets_refuse():
    with pytest.raises(DataError, match="length 3") as caught:
        gx.data.bucket([[1, 2, 3]], sizes=[2])
    assert "row[:2]" in str(caught.value)
    with pytest.raises(ArgumentError, match="sizes"):
        gx.data.bucket([[1]], sizes=[0])
    with pytest.raises(ArgumentError, match="batch_size"):
        gx.data.bucket([[1]], batch_size=0)
    with pytest.raises(DataError, match="x has 1, y has 2"):
        gx.data.bucket([[1]], [1, 2])
    with pytest.raises(ArgumentError, match="weights='median'"):
        gx.data.bucket([[1]], weights="median")
    with pytest.raises(DataError, match="only targets of each position"):
        gx.data.bucket([[1], [1, 2]], [1, 2], weights="mean")
    with pytest.raises(DataError, match="no rows"):
        gx.data.bucket([])
    with pytest.raises(DataError, match="is a number"):
        gx.data.bucket([1, 2])
    for row, value in (([1], 0.5), (np.uint8([1]), -1), (np.uint8([1]), 256), (np.array([True]), 2), ([1], np.nan)):
        with pytest.raises(ArgumentError, match="pad_value="):  # NumPy would cut it off, or wrap it around
            gx.data.bucket([row, row[:0]], pad_value=value)


# --- reading ahead ----------------------------------------------------------------------------------------------------


@pytest.mark.broad
def test_prefetched_batches_are_the_same():
    batches = [(X[:3], Y[:3]), (X[3:], Y[3:])]
    ahead = gx.data.prefetch(batches)
    assert len(ahead) == 2
    assert losses(line(0.1), ahead, epochs=3) == losses(line(0.1), batches, epochs=3)
    assert losses(line(0.1), gx.data.prefetch(iter(batches * 3)), epochs=3, steps_per_epoch=2) == losses(
        line(0.1), batches, epochs=3
    )
    assert losses(line(0.1, steps_per_execution=2), gx.data.prefetch([(X, Y)] * 4)) == pytest.approx(
        losses(line(0.1), [(X, Y)] * 4)
    )


def test_a_thread_reads_ahead_and_ends():
    read = []

    def batches():
        for i in range(50):
            read.append(threading.current_thread().name)
            yield np.full((1, 1), i, "float32")

    stream = iter(gx.data.prefetch(batches(), size=3))
    next(stream)
    for _ in range(200):
        if len(read) >= 4:
            break
        time.sleep(0.01)
    assert 4 <= len(read) <= 6
    assert set(read) == {"graftax prefetch"}
    stream._stream.close()
    for _ in range(500):  # a busy machine takes its time, also with the threads of tests before this one
        if not any(thread.name == "graftax prefetch" for thread in threading.enumerate()):
            break
        time.sleep(0.01)
    assert not any(thread.name == "graftax prefetch" for thread in threading.enumerate())


def test_an_error_of_a_loader_comes_where_its_batch_would():
    def batches():
        yield X, Y
        raise OSError("the share is gone")

    model = line(0.1)
    with pytest.raises(OSError, match="the share is gone"):
        model.fit(gx.data.prefetch(batches()), verbose=0)
    assert int(model.optimizer.iterations) == 1


@pytest.mark.broad
def test_labels_out_of_range_are_found_in_prefetched_batches():
    model = gx.Sequential([layers.Dense(2)])
    model.compile("sgd", gx.losses.SparseCategoricalCrossentropy(from_logits=True))
    with pytest.raises(gx.errors.IndexRangeError):
        model.fit(gx.data.prefetch([(X, np.full(5, 7))]), verbose=0)


def test_prefetch_refuses():
    with pytest.raises(ArgumentTypeError, match="loader"):
        gx.data.prefetch(3)
    with pytest.raises(ArgumentError, match="size"):
        gx.data.prefetch([X], size=0)


# --- folders ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pets(tmp_path):
    images = pytest.importorskip("PIL.Image")
    for number, name in enumerate(("cats", "dogs")):
        (tmp_path / name).mkdir()
        for i in range(5):
            images.new("RGB", (12, 8), (50 * i, 100 * number, 7)).save(tmp_path / name / f"{i}.png")
    return tmp_path


def test_pictures_come_with_the_number_of_their_folder(pets):
    found = gx.data.images_from_directory(pets, (4, 6), batch_size=4)
    assert (len(found), found.class_names) == (3, ["cats", "dogs"])
    seen = [(tuple(picture[0, 0]), int(label)) for x, y in found for picture, label in zip(x, y, strict=True)]
    assert sorted(seen) == sorted(((50 * i, 100 * n, 7), n) for n in range(2) for i in range(5))
    first, second = ([y.tolist() for _, y in found] for _ in range(2))
    assert first != second


@pytest.mark.parametrize(
    ("options", "shape", "label"),
    [
        ({"color_mode": "grayscale"}, (4, 4, 1), 0),
        ({"color_mode": "rgba"}, (4, 4, 4), 0),
        ({"crop_to_aspect_ratio": True}, (4, 4, 3), 0),
        ({"label_mode": "categorical"}, (4, 4, 3), [1, 0]),
        ({"label_mode": "binary"}, (4, 4, 3), [0]),
        ({"label_mode": None}, (4, 4, 3), None),
        ({"class_names": ["dogs", "cats"]}, (4, 4, 3), 0),
    ],
)
def test_forms_of_pictures_and_labels(pets, options, shape, label):
    batch = next(iter(gx.data.images_from_directory(pets, (4, 4), shuffle=False, **options)))
    assert batch[0].shape[1:] == shape
    assert batch[0].dtype == "float32"
    assert (batch[1][0].tolist() if label is not None else None) == label


def test_a_split_of_files_has_each_once(pets):
    parts = [
        gx.data.images_from_directory(pets, (2, 2), validation_split=0.3, subset=subset)
        for subset in ("training", "validation")
    ]
    assert [len(part.file_paths) for part in parts] == [7, 3]
    assert len({path for part in parts for path in part.file_paths}) == 10


def test_hidden_files_and_those_in_hidden_folders_are_no_data(pets):
    for name in (".ipynb_checkpoints/0.png", "more/.trash/0.png", ".0.png", "more/5.png"):
        copy = pets / "cats" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((pets / "cats" / "0.png").read_bytes())
    names = [path.name for path in gx.data.images_from_directory(pets, (2, 2)).file_paths]
    assert names == ["0.png", "1.png", "2.png", "3.png", "4.png", "5.png", *(f"{i}.png" for i in range(5))]


def test_folders_refuse(pets):
    (pets / "cats" / "bad.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"bad\.png"):
        list(gx.data.images_from_directory(pets, (2, 2)))
    (pets / "cats" / "notes.md").write_text("")
    with pytest.raises(DataError, match=r"notes\.md"):
        gx.data.images_from_directory(pets, (2, 2))
    with pytest.raises(DataError, match="'birds'"):
        gx.data.images_from_directory(pets, (2, 2), class_names=["cats", "birds"])
    with pytest.raises(DataError, match="no directory"):
        gx.data.images_from_directory(pets / "nowhere", (2, 2))
    with pytest.raises(DataError, match="no folders"):
        gx.data.images_from_directory(pets / "dogs", (2, 2))
    with pytest.raises(ArgumentError, match="color_mode"):
        gx.data.images_from_directory(pets, color_mode="cmyk")
    with pytest.raises(ArgumentError, match="subset"):
        gx.data.images_from_directory(pets, validation_split=0.2)


def test_texts(tmp_path):
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
        for i in range(3):
            (tmp_path / name / f"{i}.txt").write_text(f"{name} {i} é", encoding="utf-8")
    found = gx.data.texts_from_directory(tmp_path)
    assert found.texts[0] == "bad 0 é"
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]
    (tmp_path / "bad" / "0.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"0\.txt"):
        gx.data.texts_from_directory(tmp_path)
    assert len(gx.data.texts_from_directory(tmp_path, encoding="latin-1").texts) == 6


@pytest.mark.parametrize("mode", ["grayscale", "rgb"])
def test_pictures_of_16_bits_keep_their_shades(tmp_path, mode):
    images = pytest.importorskip("PIL.Image")
    shades = np.linspace(0, 65535, 64).reshape(8, 8).astype("uint16")
    (tmp_path / "xrays").mkdir()
    images.fromarray(shades).save(tmp_path / "xrays" / "1.png")
    ((x, _),) = gx.data.images_from_directory(tmp_path, (8, 8), color_mode=mode)
    np.testing.assert_array_equal(x[0, :, :, 0], shades >> 8)


@pytest.mark.parametrize(
    "bad", [{"image_size": (4.5, 4)}, {"image_size": 4}, {"batch_size": -2}, {"workers": 0}], ids=str
)
def test_sizes_of_pictures_are_counted_from_1(pets, bad):
    with pytest.raises(ArgumentError, match=next(iter(bad))):
        gx.data.images_from_directory(pets, **bad)
