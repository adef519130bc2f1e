"""Networks of Keras, their ``.weights.h5`` loaded in one line, give what Keras gives."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers

keras = pytest.importorskip("keras")
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras with NumPy 2.4


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def trained(model):
    """Numbers of its own everywhere, moving statistics included."""
    rng = np.random.default_rng(1)
    model.set_weights([(rng.random(w.shape) * 0.5 + 0.1).astype("float32") for w in model.get_weights()])
    return model


def compare(theirs, ours, x, tmp_path, suffix=".weights.h5", names=None):
    path = str(tmp_path / f"net{suffix}")
    expected = trained(theirs)(x)
    theirs.save(path) if suffix == ".keras" else theirs.save_weights(path)
    ours(x)
    report = gx.checkpoint.load_foreign(path, ours, names=names)
    np.testing.assert_allclose(ours(x), np.asarray(expected), rtol=2e-5, atol=2e-5)
    return report


@pytest.mark.parametrize("suffix", [".weights.h5", ".keras"])
def test_cnn(tmp_path, suffix):
    k = keras.layers
    theirs = keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            k.Conv2D(4, 3),
            k.BatchNormalization(),
            k.DepthwiseConv2D(2),
            k.SeparableConv2D(3, 2),
            k.Dropout(0.1),
            k.Flatten(),
            k.Dense(3),
            k.Dense(3),
            k.Dense(3),
        ]
    )
    theirs.compile("adam", "mse")
    ours = gx.Sequential(
        [
            layers.Conv2D(4, 3),
            layers.BatchNormalization(),
            layers.DepthwiseConv2D(2),
            layers.SeparableConv2D(3, 2),
            layers.Flatten(),
            layers.Dense(3),
            layers.Dense(3),
            layers.Dense(3),
        ]
    )
    report = compare(theirs, ours, draw(2, 6, 6, 2), tmp_path, suffix)
    assert not report.settings
    assert all("optimizer" in one.name or "seed" in one.name for one in report.left_out)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "SimpleRNN"])
def test_recurrent(tmp_path, name):
    k = keras.layers
    theirs = keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            k.Embedding(7, 4),
            k.Bidirectional(getattr(k, name)(3, return_sequences=True)),
            getattr(k, name)(4),
        ]
    )
    ours = gx.Sequential(
        [
            layers.Embedding(7, 4),
            layers.Bidirectional(getattr(layers, name)(3, return_sequences=True)),
            getattr(layers, name)(4),
        ]
    )
    compare(theirs, ours, np.random.default_rng(0).integers(0, 7, (2, 5)), tmp_path)


def test_attention(tmp_path):
    k = keras.layers
    i = keras.Input((5, 8))
    theirs = keras.Model(i, k.LayerNormalization()(k.MultiHeadAttention(2, 4)(i, i)))
    ours = gx.Sequential([layers.MultiHeadAttention(2, 4), layers.LayerNormalization()])
    compare(theirs, ours, draw(2, 5, 8), tmp_path)


def test_names_of_layers_and_attributes(tmp_path):
    """Four layers of one shape: only what they are called tells them apart."""
    k = keras.layers
    names = ("one", "three", "two", "four")
    theirs = keras.Sequential([keras.Input((4,)), *(k.Dense(4, name=name) for name in names)])
    ours = gx.Sequential([layers.Dense(4, name=name) for name in names])
    compare(theirs, ours, draw(2, 4), tmp_path)
    other = gx.Sequential([layers.Dense(4) for _ in names])
    compare(theirs, other, draw(2, 4), tmp_path)  # numbered as dense, dense_1, ...


def test_a_subclass_by_its_attributes(tmp_path):
    class Theirs(keras.Model):
        def __init__(self):
            super().__init__()
            self.tail = keras.layers.Dense(4)
            self.body = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(4)])

        def call(self, x):
            return self.tail(self.body(x))

    class Ours(gx.Model):
        def __init__(self):
            super().__init__()
            self.body = gx.Sequential([layers.Dense(4), layers.Dense(4)])
            self.tail = layers.Dense(4)

        def call(self, x):
            return self.tail(self.body(x))

    theirs, x = Theirs(), draw(2, 4)
    theirs(x)
    compare(theirs, Ours(), x, tmp_path)


def test_damaged_files_are_refused_by_name(tmp_path):
    theirs = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    path = tmp_path / "a.weights.h5"
    theirs.save_weights(path)
    whole = path.read_bytes()
    dense = layers.Dense(3)
    dense.build((None, 4))
    before = dense.kernel.numpy()
    rng = np.random.default_rng(0)
    cases = [whole[:n] for n in range(0, len(whole), max(1, len(whole) // 40))]
    for _ in range(60):
        flipped = bytearray(whole)
        for at in rng.integers(0, len(whole), 3):
            flipped[at] ^= int(rng.integers(1, 256))
        cases.append(bytes(flipped))
    for data in cases:
        path.write_bytes(data)
        try:
            gx.checkpoint.load_foreign(path, dense)
        except gx.errors.CheckpointError:
            np.testing.assert_array_equal(dense.kernel.numpy(), before)
        else:
            dense.kernel.assign(before)  # a flip in the numbers themselves, which HDF5 does not check


def test_links_and_values_elsewhere_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    dense = layers.Dense(3)
    dense.build((None, 4))
    for i, link in enumerate((h5py.ExternalLink("other.h5", "/x"), h5py.SoftLink("/vars/1"))):
        with h5py.File(tmp_path / f"{i}.h5", "w") as file:
            file["vars/1"] = np.zeros(3, "float32")
            file["vars/0"] = link
        with pytest.raises(gx.errors.UnsafeCheckpoint, match="link"):
            gx.checkpoint.load_foreign(tmp_path / f"{i}.h5", dense)
    with h5py.File(tmp_path / "outside.h5", "w") as file:
        file.create_dataset("vars/0", (4, 3), "float32", external=[("/etc/hostname", 0, 48)])
    with pytest.raises(gx.errors.UnsafeCheckpoint, match="other files"):
        gx.checkpoint.load_foreign(tmp_path / "outside.h5", dense)
    with h5py.File(tmp_path / "round.h5", "w") as file:
        group = file.create_group("a")
        group["b"] = group
    with pytest.raises(gx.errors.UnsafeCheckpoint, match="deep"):
        gx.checkpoint.load_foreign(tmp_path / "round.h5", dense)


def test_layers_of_own_classes_in_a_list(tmp_path):
    """Keras calls them by their class, ``block`` and ``block_1``, and what is inside by its attributes."""

    class Block(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = keras.layers.Dense(4, "tanh"), keras.layers.Dense(4)

        def build(self, shape):
            self.fc1.build(shape)
            self.fc2.build(shape)

        def call(self, x):
            return self.fc2(self.fc1(x))

    class Theirs(keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [Block(), Block()]

        def call(self, x):
            return self.blocks[1](self.blocks[0](x))

    class OurBlock(gx.Layer):
        def __init__(self):
            super().__init__()
            self.fc2, self.fc1 = layers.Dense(4), layers.Dense(4, "tanh")

        def call(self, x):
            return self.fc2(self.fc1(x))

    class Ours(gx.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [OurBlock(), OurBlock()]

        def call(self, x):
            return self.blocks[1](self.blocks[0](x))

    theirs, x = Theirs(), draw(2, 4)
    theirs(x)
    compare(theirs, Ours(), x, tmp_path)


def test_normalization_and_einsum_dense(tmp_path):
    k = keras.layers
    x = draw(6, 5, 4) + 3
    theirs = keras.Sequential(
        [keras.Input((5, 4)), k.Normalization(), k.EinsumDense("btd,de->bte", (None, 3), bias_axes="e")]
    )
    theirs.layers[0].adapt(x)
    ours = gx.Sequential([layers.Normalization(), layers.EinsumDense("btd,de->bte", (None, 3), bias_axes="e")])
    ours.layers[0].build(x.shape)
    ours.layers[1].build(x.shape)
    path = tmp_path / "net.weights.h5"
    theirs.save_weights(path)
    gx.checkpoint.load_foreign(path, ours)
    np.testing.assert_allclose(ours(x), np.asarray(theirs(x)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("use_bias", [False, True])
def test_the_report_names_a_reset_that_only_the_bias_tells(use_bias, tmp_path):
    theirs = keras.Sequential([keras.Input((6, 4)), keras.layers.GRU(5, use_bias=use_bias, reset_after=False)])
    theirs.save_weights(tmp_path / "net.weights.h5")
    model = gx.Sequential([gx.layers.GRU(5, use_bias=use_bias, reset_after=False)])
    x = np.ones((2, 6, 4), "float32")
    model(x)
    report = gx.checkpoint.load_foreign(tmp_path / "net.weights.h5", model)
    np.testing.assert_allclose(np.asarray(model(x)), np.asarray(theirs(x)), rtol=1e-4, atol=1e-5)
    assert [(one.name, one.here, one.there) for one in report.settings] == [("reset_after", False, True)][use_bias:]


def test_rms_normalization(tmp_path):
    theirs = keras.Sequential([keras.Input((4,)), keras.layers.RMSNormalization(), keras.layers.Dense(4)])
    ours = gx.Sequential([layers.RMSNormalization(), layers.Dense(4)])
    compare(theirs, ours, draw(3, 4), tmp_path, ".keras")


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_weights_of_bfloat16(dtype, tmp_path):
    theirs = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, dtype="bfloat16")])
    theirs.save_weights(tmp_path / "net.weights.h5")
    ours = gx.Sequential([layers.Dense(4, dtype=dtype)])
    ours.build((None, 4))
    gx.checkpoint.load_foreign(tmp_path / "net.weights.h5", ours, cast="safe")
    np.testing.assert_array_equal(
        ours.variables[0].numpy().astype("float32"), np.asarray(theirs.weights[0].value).astype("float32")
    )


class Skips(gx.Model):
    """The layers of `test_a_branch_by_operators`, in the order in which Keras made them."""

    def __init__(self):
        super().__init__()
        self.skip, self.first, self.second, self.last = (layers.Dense(4) for _ in range(4))

    def call(self, x):
        return self.last(self.skip(x) - 2 * self.second(self.first(x)))


def test_a_branch_by_operators_is_warned_of(tmp_path):
    skip, first, second, last = (keras.layers.Dense(4) for _ in range(4))
    x = keras.Input((4,))
    theirs = keras.Model(x, last(skip(x) - 2 * second(first(x))))
    theirs.save_weights(tmp_path / "net.weights.h5")
    ours = Skips()
    ours(np.ones((1, 4), "float32"))
    with pytest.warns(UserWarning, match="graph of Keras with branches"):
        gx.checkpoint.load_foreign(tmp_path / "net.weights.h5", ours)
