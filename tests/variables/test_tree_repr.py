"""What print(model) shows: the tree of Modules, short, and nothing moves for it."""

import pickle
import time

import execnet
import numpy as np
import pytest

import graftax as gx
from graftax import layers


class Net(gx.Module):
    """Everything that may hang below a Module."""

    def __init__(self):
        self.scale = gx.Variable(np.ones((3, 4), "float16"))
        self.first = layers.Dense(2, activation="relu")
        self.again = self.first
        self.blocks = {"deep": [layers.Dense(5, name="five"), layers.Dropout(0.25)]}
        self.steps = gx.Variable(0, trainable=False, role="counter")


def test_a_line_for_each_part_with_its_edges_class_arguments_and_weights():
    net = Net()
    net.first(np.ones((1, 3), "float32"))
    assert str(net).splitlines() == [
        "<Net 'net', 20 parameters, scale (3, 4) float16>",
        "  first  Dense(2, activation='relu')  kernel (3, 2), bias (2,)",
        "  again  Dense, the same as first",
        "  blocks/deep/0  Dense(5, name='five')  not built",
        "  blocks/deep/1  Dropout(0.25)",
    ]


def test_a_layer_alone_has_one_line():
    layer = layers.Dense(3)
    assert repr(layer) == "<Dense(3) 'dense', not built>"
    layer(np.ones((1, 2), "float32"))
    assert repr(layer) == "<Dense(3) 'dense', kernel (2, 3), bias (3,)>"
    layer.trainable = False
    assert repr(layer) == "<Dense(3) 'dense', frozen, kernel (2, 3), bias (3,)>"


def test_sentences_have_one_line():
    model = gx.Sequential([layers.Dense(3), layers.Dense(4)])
    assert f"got {model!r}, {model!r:.5}" == "got <Sequential 'sequential', not built>, <Sequ"
    model.build((None, 2))
    assert f"{model!r}" == "<Sequential 'sequential'>"
    assert repr(model).count("\n") == 2
    assert f"{model.layers[1]!r}" == "<Dense 'layers/1'>"


def test_it_goes_to_other_processes_as_texts_do():
    """A failed test under pytest-xdist sends what it was given."""
    text = repr(gx.Sequential([layers.Dense(3), layers.Dense(4)]))
    assert execnet.loads(execnet.dumps(text)) == text
    assert f"{pickle.loads(pickle.dumps(text))}" == f"{text}" != str(text)


@pytest.mark.broad
def test_neighbours_that_are_alike_share_their_lines():
    model = gx.Sequential([layers.Dense(4), *(layers.Dense(4) for _ in range(30)), layers.Dense(4, name="head")])
    model.build((None, 7))
    assert str(model).splitlines()[1:] == [
        "  layers/0  Dense(4)  kernel (7, 4), bias (4,)",
        "  layers/1 to 30  30 × Dense(4)  kernel (4, 4), bias (4,)",
        "  layers/31  Dense(4, name='head')  kernel (4, 4), bias (4,)",
    ]


def test_given_names_are_never_cut():
    encoder = gx.Sequential([layers.Dense(64, activation="relu", name="features_of_the_encoder")], name="encoder")
    model = gx.Sequential([encoder, layers.Dense(9, name="projection_of_what_the_encoder_says_to_the_labels")])
    model.build((None, 7))
    assert str(model).splitlines()[1:] == [
        "  layers/0  Sequential(name='encoder')  512 parameters",
        "    layers/0  Dense(64, activation='relu')  kernel (7, 64), bias (64,)",
        "        name='features_of_the_encoder'",
        "  layers/1  Dense(9)  kernel (64, 9), bias (9,)",
        "      name='projection_of_what_the_encoder_says_to_the_labels'",
    ]
    picture = gx.Input((5,), name="a_picture_of_the_left_camera")
    graph = gx.Model(picture, layers.Dense(2, name="classes")(picture), name="cameras")
    assert str(graph).splitlines() == [
        "<Model 'cameras', 12 parameters>",
        "  layers/0  InputLayer((5,), name='a_picture_of_the_left_camera')",
        "  layers/1  Dense(2, name='classes')  kernel (5, 2), bias (2,)",
    ]


def test_expressions_tell_which_they_are():
    with gx.variable_creator_scope(gx.reparam.LowRank(2), where="**/kernel"):
        model = gx.Sequential([layers.Dense(8)])
        model.build((None, 7))
    assert str(model).endswith("  layers/0  Dense(8)  kernel (7, 8) of LowRankMatrix, bias (8,)")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("count", "depth"), [(3, 1), (3, 5), (3, 30), (60, 1), (60, 2)])
def test_forty_lines_of_eighty_columns_are_enough(count, depth):
    def tree(levels):
        inner = [tree(levels - 1)] if levels > 1 else []
        wide = [layers.Dense(i + 1, activation="relu", kernel_initializer="he_normal") for i in range(count)]
        return gx.Sequential([*wide, *inner], name="the_name_of_this_part_of_the_model")

    model = tree(depth)
    if count == 3:
        model.build((None, 3))
    lines = str(model).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    if count == 3:
        assert f"{model.count_params():,} parameters" in lines[0]
    else:
        assert "lines left out" in str(model)


@pytest.mark.broad
def test_nothing_is_read_made_or_noted(monkeypatch):
    model = gx.Sequential([layers.Dense(3), layers.BatchNormalization(), layers.Dropout(0.5)])
    model.compile("adam", "mse", metrics=["mae"])
    before = dict(vars(model))
    monkeypatch.setattr(gx.Variable, "value", property(lambda self: pytest.fail("a value is read")))
    monkeypatch.setattr(gx.Variable, "numpy", lambda self: pytest.fail("a value is read"))
    assert "not built" in str(model)
    monkeypatch.undo()
    assert vars(model) == before
    model.build((None, 2))

    traces = []

    @gx.jit
    def step(x):
        traces.append(repr(model))
        return model(x)

    step(np.ones((1, 2), "float32"))
    model.layers[0].trainable = False
    step(np.ones((1, 2), "float32"))
    assert len(traces) <= 2
    assert "kernel (2, 3)" in traces[0]


def test_what_is_only_described_is_shown():
    model = gx.Sequential([layers.Dense(1000), layers.Dense(1000)])
    model = gx.build_abstract(model, gx.ArraySpec((8, 10**6)))
    assert "kernel (1000000, 1000)" in str(model)


def test_an_object_that_is_half_made_is_shown():
    class Half(gx.Module):
        def __init__(self):
            self.shown = repr(self)
            self.strange = {}

    half = Half()
    assert half.shown == "<Half 'half'>"
    half.strange[1, 2] = gx.Variable(1.0)
    assert str(half) == "<Half 'half'>"


def test_a_repr_of_ones_own_stays():
    class Own(layers.Dense):
        def __repr__(self):
            return "mine"

    assert f"{Own(3)}" == "mine"


@pytest.mark.slow
def test_a_tree_of_many_parts_is_quick():
    model = gx.Module()
    model.parts = [layers.Dense(i % 13 + 1) for i in range(20_000)]
    began = time.perf_counter()
    assert len(str(model).splitlines()) <= 40
    assert time.perf_counter() - began < 30
