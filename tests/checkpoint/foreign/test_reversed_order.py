"""Layers that are defined in another order than in the file: the order tells nothing, unless others say who moved."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from tests.checkpoint.foreign.test_pairing import Parts

MissingInCheckpoint = gx.errors.MissingInCheckpoint
Chain = list[tuple[str, int, int]]


def file_of(chain: Chain, folder):
    """A file of torch with Linears of these names and widths; the bias of each is its place."""
    arrays = {}
    for place, (name, inputs, outputs) in enumerate(chain):
        arrays[f"{name}.weight"] = np.full((outputs, inputs), place, "float32")
        arrays[f"{name}.bias"] = np.full(outputs, place, "float32")
    np.savez(folder / "net.npz", **arrays)
    return folder / "net.npz"


def module_of(chain: Chain):
    parts = {}
    for name, inputs, outputs in chain:
        parts[name] = layers.Dense(outputs)
        parts[name].build((None, inputs))
    return Parts(**parts)


def loaded(theirs: Chain, ours: Chain, folder):
    report = gx.checkpoint.load_foreign(file_of(theirs, folder), module_of(ours), source="torch")
    return {one.path.partition("/")[0]: one.source.partition(".")[0] for one in report.restored}


FORWARD = [("embed", 9, 5), ("a", 5, 5), ("b", 5, 5), ("c", 5, 5), ("fc", 5, 4)]
OURS = [("table", 9, 5), ("first", 5, 5), ("second", 5, 5), ("third", 5, 5), ("out", 5, 4)]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("ends", [(True, True), (False, True), (True, False)], ids=["both", "last", "first"])
def test_layers_defined_from_the_output_to_the_input_are_refused(ends, count, tmp_path):
    first, last = ends
    here, there = ([*side[:1] * first, *side[1 : 1 + count], *side[4:] * last] for side in (OURS, FORWARD))
    with pytest.raises(MissingInCheckpoint, match="neither names nor order decide"):
        loaded(there, here[::-1], tmp_path)
    with pytest.warns(UserWarning, match="nothing but the order"):
        assert list(loaded(there, here, tmp_path).values()) == [name for name, _, _ in there]


def test_two_classes_that_changed_places_are_refused(tmp_path):
    there = [("a", 5, 5), ("b", 5, 5), ("c", 7, 7), ("d", 7, 7)]
    here = [("w", 7, 7), ("x", 7, 7), ("y", 5, 5), ("z", 5, 5)]
    with pytest.raises(MissingInCheckpoint, match="neither names nor order decide"):
        loaded(there, here, tmp_path)


def test_layers_that_moved_as_a_whole_keep_their_order(tmp_path):
    """The others are in the same order on both sides: the norms of torch's TransformerEncoderLayer come last."""
    there = [("qkv", 4, 12), ("linear1", 4, 8), ("linear2", 8, 4), ("a", 5, 5), ("b", 5, 5)]
    here = [("before", 5, 5), ("behind", 5, 5), ("mix", 4, 12), ("up", 4, 8), ("down", 8, 4)]
    with pytest.warns(UserWarning, match="nothing but the order"):
        found = loaded(there, here, tmp_path)
    assert found == {"before": "a", "behind": "b", "mix": "qkv", "up": "linear1", "down": "linear2"}


def test_numbers_on_both_sides_tell_the_order(tmp_path):
    there = [("l1", 5, 5), ("l2", 5, 5), ("head", 5, 4)]
    here = [("out", 5, 4), ("f1", 5, 5), ("f2", 5, 5)]
    assert loaded(there, here, tmp_path) == {"out": "head", "f1": "l1", "f2": "l2"}


def recurrent_file(count, folder):
    rng = np.random.default_rng(0)
    shapes = {"weight_ih": (12, 3), "weight_hh": (12, 3), "bias_ih": (12,), "bias_hh": (12,)}
    arrays = {
        f"rnn.{name}_l{i}{way}": rng.normal(size=shape).astype("float32")
        for i in range(count)
        for way in ("", "_reverse")
        for name, shape in shapes.items()
    }
    np.savez(folder / "net.npz", **arrays)
    return folder / "net.npz"


@pytest.mark.parametrize("backwards_first", [True, False])
@pytest.mark.parametrize("count", [1, 2])
def test_the_direction_of_recurrent_layers_counts(count, backwards_first, tmp_path):
    """The layers of two directions have one shape, and say which way they go."""
    ways = (True, False) if backwards_first else (False, True)
    parts = {}
    for i in range(count):
        for backwards in ways:
            layer = layers.LSTM(3, go_backwards=backwards)
            layer.build((None, None, 3))
            parts[f"{'past' if backwards else 'next'}_{i}"] = layer
    report = gx.checkpoint.load_foreign(recurrent_file(count, tmp_path), Parts(**parts), source="torch")
    found = {one.path.partition("/")[0]: one.source for one in report.restored if one.path.endswith("/kernel")}
    expected = {f"next_{i}": f"rnn.weight_ih_l{i}" for i in range(count)}
    assert found == expected | {f"past_{i}": f"rnn.weight_ih_l{i}_reverse" for i in range(count)}


def test_layers_that_all_go_forwards_take_both_directions(tmp_path):
    """The program turns the sequence around by itself."""
    parts = {name: layers.LSTM(3) for name in ("one", "other")}
    for layer in parts.values():
        layer.build((None, None, 3))
    with pytest.warns(UserWarning, match="nothing but the order"):
        report = gx.checkpoint.load_foreign(recurrent_file(1, tmp_path), Parts(**parts), source="torch")
    found = {one.path: one.source for one in report.restored}
    assert found["other/kernel"] == "rnn.weight_ih_l0_reverse"


def test_names_that_share_a_word_with_another_partner_deny_the_order(tmp_path):
    there = [("rgb", 4, 5), ("flow", 4, 5), ("fuse", 10, 3)]
    here = [("flow_stream", 4, 5), ("rgb_stream", 4, 5), ("fuse", 10, 3)]
    with pytest.raises(MissingInCheckpoint, match="neither names nor order decide"):
        loaded(there, here, tmp_path)
    found = loaded(there, [here[1], here[0], here[2]], tmp_path)
    assert found == {"rgb_stream": "rgb", "flow_stream": "flow", "fuse": "fuse"}


@pytest.mark.parametrize("is_crossed", [True, False])
def test_streams_of_equal_names_inside(is_crossed, tmp_path):
    """The parts of both streams have the same names, and the streams have names that share a word."""

    def stream():
        found = Parts(up=layers.Dense(6), down=layers.Dense(4))
        found.up.build((None, 4))
        found.down.build((None, 6))
        return found

    names = ["encoder_stream", "decoder_stream"]
    module = Parts(**{name: stream() for name in (names[::-1] if is_crossed else names)})
    chain = [
        (f"{part}.{name}", *((4, 6) if name == "up" else (6, 4))) for part in ("enc", "dec") for name in ("up", "down")
    ]
    path = file_of(chain, tmp_path)
    if is_crossed:
        with pytest.raises(MissingInCheckpoint, match="neither names nor order decide"):
            gx.checkpoint.load_foreign(path, module, source="torch")
        return
    gx.checkpoint.load_foreign(path, module, source="torch")
    assert [float(module.encoder_stream.up.bias[0]), float(module.decoder_stream.down.bias[0])] == [0.0, 3.0]


@pytest.mark.parametrize("mode", ["cover", "overlap"])
def test_bare_numbers_of_other_counts_pair_nothing(mode, tmp_path):
    """Six layers of a file, and three of a program at the numbers 0, 2 and 4."""
    chain = [(str(i), 6, 6) for i in range(6)]
    model = gx.Sequential([layers.Dense(6), layers.Dropout(0.1), layers.Dense(6), layers.Dropout(0.1), layers.Dense(6)])
    model.build((None, 6))
    with pytest.raises(MissingInCheckpoint, match="neither names nor order decide"):
        gx.checkpoint.load_foreign(file_of(chain, tmp_path), model, source="torch", mode=mode)
    gx.checkpoint.load_foreign(
        file_of(chain, tmp_path), model, source="torch", mode=mode, names={f"layers/{2 * i}": str(i) for i in range(3)}
    )
    assert [float(model.layers[i].bias[0]) for i in (0, 2, 4)] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("kinds", ["bb", "bf", "fb"])
def test_cells_go_the_way_of_the_layer_around_them(kinds, tmp_path):
    """The weights of an RNN are those of its cell, which does not know the direction."""
    parts = {}
    for name, kind, backwards in (("past", kinds[0], True), ("next", kinds[1], False)):
        made = layers.LSTM(3, go_backwards=backwards)
        parts[name] = layers.RNN(layers.LSTMCell(3), go_backwards=backwards) if kind == "b" else made
        parts[name](np.ones((1, 2, 3), "float32"))
    report = gx.checkpoint.load_foreign(recurrent_file(1, tmp_path), Parts(**parts), source="torch")
    restored = [(one.path, one.source) for one in report.restored]
    found = {path.partition("/")[0]: source for path, source in restored if source.startswith("rnn.weight_ih")}
    assert found == {"past": "rnn.weight_ih_l0_reverse", "next": "rnn.weight_ih_l0"}


def test_words_that_are_only_shifted_deny_nothing(tmp_path):
    """The first of the file has a name of its own, so that words are one place further on."""
    there = [(name, 5, 5) for name in ("inc", "down1", "down2", "up1", "up2")]
    here = [(name, 5, 5) for name in ("down_0", "down_1", "bottleneck", "up_0", "up_1")]
    with pytest.warns(UserWarning, match="nothing but the order"):
        assert list(loaded(there, here, tmp_path).values()) == [name for name, _, _ in there]


def test_words_that_go_round_deny_the_order(tmp_path):
    there = [(name, 5, 5) for name in ("red", "green", "blue")]
    here = [(name, 5, 5) for name in ("green_x", "blue_x", "red_x")]
    with pytest.raises(MissingInCheckpoint, match="neither names nor order decide"):
        loaded(there, here, tmp_path)
