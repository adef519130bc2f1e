"""gx.summary, read with TensorBoard itself: eagerly, inside of compiled functions, gradients, loops and fit."""

import io

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from tests.training.lines import X, Y, line


def read(folder):
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    return accumulators.EventAccumulator(str(folder), size_guidance={"tensors": 0, "images": 0}).Reload()


def scalars(folder, tag):
    return [(event.step, event.value) for event in read(folder).Scalars(tag)]


@pytest.fixture
def writer(tmp_path):
    pytest.importorskip("tensorboardX")
    made = gx.summary.Writer(tmp_path)
    yield made
    made.close()


def test_sm1_without_a_writer_nothing_happens():
    assert gx.summary.scalar("loss", 1.0) is False
    assert gx.summary.text("note", "x") is False
    assert gx.jit(lambda x: (gx.summary.scalar("x", x), x)[1])(2.0) == 2.0


def test_sm1_and_sm5_inside_of_a_writer(writer, tmp_path):
    with writer.as_default(step=5), gx.summary.name_scope("train"):
        assert gx.summary.scalar("loss", 0.5) is True
        assert gx.summary.scalar("loss", 0.25, step=7) is True
        gx.summary.histogram("weights", [[1.0, 2.0], [np.inf, 4.0]])
        gx.summary.image("two", np.zeros((2, 4, 5, 3)))
        gx.summary.image("one", np.zeros((4, 5, 1)))
        gx.summary.text("note", "**bold**")
    found = read(tmp_path)
    assert scalars(tmp_path, "train/loss") == [(5, 0.5), (7, 0.25)]
    assert found.Histograms("train/weights")[0].histogram_value.num == 3
    assert scalars(tmp_path, "train/weights/not_finite") == [(5, 1.0)]
    assert {"train/two/0", "train/two/1", "train/one"} == set(found.Tags()["images"])
    assert b"bold" in found.Tensors("train/note/text_summary")[0].tensor_proto.string_val[0]


def test_sm2_and_sm3_wrong_entries(writer):
    with writer.as_default():
        with pytest.raises(ArgumentError, match="without a step"):
            gx.summary.scalar("loss", 1.0)
        with pytest.raises(ShapeError, match=r"shape \(2,\)"):
            gx.summary.scalar("loss", [1.0, 2.0], step=1)
        with pytest.raises(ShapeError, match="channels"):
            gx.summary.image("digit", np.zeros((4, 4)), step=1)
        with pytest.raises(ArgumentTypeError, match="records text"):
            gx.summary.text("note", 3, step=1)
    with pytest.raises(ArgumentError, match="no writer"):
        gx.summary.set_step(3)
    with pytest.raises(ArgumentTypeError, match="record_if"), gx.summary.record_if("yes"):
        pass


def test_sm4_record_if_and_steps(writer, tmp_path):
    with writer.as_default(step=5):
        assert gx.summary.get_step() == 5
        with gx.summary.record_if(False), gx.summary.record_if(True):
            assert gx.summary.scalar("loss", 1.0) is False
        assert gx.summary.scalar("loss", 2.0)
        gx.summary.set_step(6)
        gx.summary.scalar("loss", 3.0)
    assert gx.summary.get_step() is None
    assert scalars(tmp_path, "loss") == [(5, 2.0), (6, 3.0)]


def test_sm6_two_writers_in_one_folder(tmp_path):
    pytest.importorskip("tensorboardX")
    writers = [gx.summary.Writer(tmp_path) for _ in range(2)]
    for i, writer in enumerate(writers):
        with writer.as_default(step=i):
            gx.summary.scalar("loss", i)
        writer.close()
    assert len(list(tmp_path.glob("*tfevents*"))) == 2


def test_in_compiled_functions_each_run_is_recorded_with_its_step(writer, tmp_path):
    count, traces = gx.Variable(0, dtype="int32", trainable=False), []

    @gx.jit
    def step(x):
        traces.append(1)
        count.assign_add(1)
        gx.summary.scalar("x", x * 2)
        return x

    step(1.0)  # no writer is there
    with writer.as_default(step=count):
        for value in (1.0, 2.0, 3.0):
            step(value)
    step(4.0)
    assert scalars(tmp_path, "x") == [(2, 2.0), (3, 4.0), (4, 6.0)]
    assert len(traces) == 2


def test_in_compiled_functions_the_step_of_the_host_is_that_of_the_run(writer, tmp_path):
    step = gx.jit(lambda x: (gx.summary.scalar("x", x), x)[1])
    with writer.as_default(step=0):
        for i in range(3):
            gx.summary.set_step(i)
            step(float(i))
        with gx.summary.record_if(False):
            step(9.0)
    assert scalars(tmp_path, "x") == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_inside_of_gradients_and_loops(writer, tmp_path):
    def loss(x):
        gx.summary.scalar("inside", x, step=1)
        return x**2

    with writer.as_default(step=0):
        assert float(gx.grad(loss)(3.0)) == 6.0
        assert float(gx.jit(gx.grad(loss))(4.0)) == 8.0
        gx.jit(lambda: gx.scan(lambda c, i: (gx.summary.scalar("turn", i, step=i), (c, i))[1], 0.0, ops.arange(3)))()
    assert [value for _, value in scalars(tmp_path, "inside")] == [3.0, 4.0]
    assert sorted(scalars(tmp_path, "turn")) == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_inside_of_fit_entries_go_to_the_callback(tmp_path):
    pytest.importorskip("tensorboardX")

    class Recording(gx.layers.Dense):
        def call(self, x):
            gx.summary.scalar("largest", ops.max(x))
            return super().call(x)

    model = gx.Sequential([Recording(1)])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    board = gx.callbacks.TensorBoard(tmp_path)
    model.fit(X, Y, batch_size=1, shuffle=False, verbose=0, callbacks=[board])
    assert scalars(tmp_path / "train", "largest") == [(i, float(i)) for i in range(5)]


def test_in_a_loop_of_ones_own(writer, tmp_path):
    model = line(0.1)
    with writer.as_default(step=0):
        for i in range(2):
            gx.summary.scalar("loss", model.train_on_batch(X, Y)["loss"], step=i)
    assert [step for step, _ in scalars(tmp_path, "loss")] == [0, 1]


def test_in_compiled_functions_each_default_step_is_that_of_its_block(writer, tmp_path):
    traces = []

    @gx.jit
    def step(x):
        traces.append(1)
        gx.summary.scalar("x", x)
        return x

    one, other = (gx.Variable(n, dtype="int32", trainable=False) for n in (10, 100))
    blocks = [np.int64(5), 6, ops.asarray(7), np.array(8), 3_000_000_000, one, other, one]
    for i, default in enumerate(blocks):
        with writer.as_default(step=default):
            step(float(i))
    assert [at for at, _ in scalars(tmp_path, "x")] == [5, 6, 7, 8, 3_000_000_000, 10, 100, 10]
    assert len(traces) == 3  # one for steps of the host, one for each Variable
    with writer.as_default(step=0):
        for default in (np.int64(1), one, ops.asarray(2)):
            gx.summary.set_step(default)
            step(0.0)
    assert [at for at, _ in scalars(tmp_path, "x")][len(blocks) :] == [1, 10, 2]
    with writer.as_default(), pytest.raises(ArgumentError, match="without a step"):
        step(0.0)


def test_a_large_step_is_recorded(writer, tmp_path):
    with writer.as_default():
        gx.summary.scalar("x", 0.5, step=3_000_000_000)
    assert scalars(tmp_path, "x") == [(3_000_000_000, 0.5)]


def test_images_are_cut_to_what_can_be_shown(writer, tmp_path):
    images = pytest.importorskip("PIL.Image")
    shades = np.array([[-0.5, 0.0, 0.4, 1.0, 1.2, np.inf, np.nan]])
    with writer.as_default(step=0):
        for dtype in ("float32", "float16", "bfloat16"):
            gx.summary.image(dtype, ops.asarray(shades[..., None], dtype))
        gx.summary.image("uint8", np.array([[[0], [102], [255]]], "uint8"))
        with pytest.raises(DTypeError, match="int32"):
            gx.summary.image("int32", np.array([[[0], [200]]], "int32"))
    found = read(tmp_path)
    for tag in found.Tags()["images"]:
        picture = np.asarray(images.open(io.BytesIO(found.Images(tag)[0].encoded_image_string)))[0, :, 0]
        expected = [0, 102, 255] if tag == "uint8" else [0, 0, 102, 255, 255, 255, 0]
        np.testing.assert_allclose(picture.astype(int), expected, atol=1)
