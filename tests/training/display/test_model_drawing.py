"""plot_model: boxes inside of boxes, lines where it is known what is computed from what, by Graphviz and without."""

import os
import shutil
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError
from graftax.training.display.model_boxes import boxes_of

SVG = "{http://www.w3.org/2000/svg}"


def nested():
    model = gx.Sequential([layers.Dense(3), gx.Sequential([layers.Dense(2), layers.Dense(2)]), layers.Dense(1)])
    model(np.ones((1, 4), "float32"))
    return model


def graph():
    """Two inputs, a way around, an op, a layer that is called twice, two outputs."""
    a, b = gx.Input((4,)), gx.Input((4,))
    shared = layers.Dense(4)
    h = ops.relu(shared(a) + a)
    return gx.Model([a, b], [layers.Dense(2)(h), layers.Concatenate()([h, shared(b)])])


class Own(gx.Model):
    def __init__(self):
        super().__init__()
        self.first = layers.Dense(2)
        self.second = layers.Dense(3)

    def call(self, x):
        return self.second(self.first(x))


@pytest.fixture
def without_graphviz(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def with_graphviz(monkeypatch, tmp_path):
    """Make a program dot that writes what it is given below its options."""

    def install(text):
        program = tmp_path / "dot"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return install


def rectangles(drawing):
    found = ET.fromstring(drawing.svg).iter(f"{SVG}rect")
    return [tuple(float(box.get(name)) for name in ("x", "y", "width", "height")) for box in found]


def contains(outer, inner):
    return all(outer[i] <= inner[i] and inner[i] + inner[i + 2] <= outer[i] + outer[i + 2] for i in (0, 1))


@pytest.mark.broad
@pytest.mark.usefixtures("without_graphviz")
def test_a_box_for_each_layer_inside_of_its_own(tmp_path):
    drawing = gx.plot_model(nested(), tmp_path / "model.svg")
    boxes = rectangles(drawing)
    assert len(boxes) == 1 + 5
    assert all(contains(boxes[0], one) for one in boxes[1:])
    assert [contains(boxes[2], one) for one in boxes[1:]] == [False, True, True, True, False]
    assert boxes[5][1] >= boxes[2][1] + boxes[2][3]
    assert (tmp_path / "model.svg").read_text() == drawing.svg == drawing._repr_svg_()
    assert len(rectangles(gx.plot_model(nested(), expand=1))) == 4


@pytest.mark.usefixtures("without_graphviz")
def test_lines_that_pass_by_a_box_stay_in_the_picture():
    drawing = gx.plot_model(graph())
    whole = rectangles(drawing)[0]
    lines = [path.get("d") for path in ET.fromstring(drawing.svg).iter(f"{SVG}path")]
    lanes = [float(d.split(" H")[1].split()[0]) for d in lines if " H" in d]
    assert len(set(lanes)) == len(lanes) >= 3
    assert max(lanes) < whole[0] + whole[2]


def test_lines_lead_from_what_gives_to_what_takes():
    found = boxes_of(graph())
    ops_of = {box.title for box in found.boxes} - {box.title for box in found.boxes if "layers/" in box.title}
    assert ops_of == {"add", "relu"}
    names = {box.path: box.title.split()[0] for box in found.boxes}
    arrows = sorted((names[first], names[second]) for first, second in found.arrows)
    assert arrows == sorted(
        [
            ("InputLayer", "Dense"), ("InputLayer", "Dense"), ("InputLayer", "add"), ("Dense", "add"), ("add", "relu"),
            ("relu", "Dense"), ("relu", "Concatenate"), ("Dense", "Concatenate"),
        ]
    )  # fmt: skip
    row = boxes_of(nested())
    assert [(first[-1], second[-1]) for first, second in row.arrows] == [("0", "1"), ("1", "2")]
    assert row.boxes[1].detail == "(None, 2), 14 parameters"
    assert boxes_of(Own()).arrows == ()  # what a call computes is not known


def test_what_is_not_built_or_frozen_is_told():
    model = nested()
    model.layers[0].trainable = False
    assert boxes_of(model).boxes[0].detail.endswith("frozen")
    assert boxes_of(gx.Sequential([layers.Dense(2)])).boxes[0].detail == "not built"
    assert boxes_of(layers.Dense(2)).boxes == ()


@pytest.mark.broad
def test_files_by_their_names(tmp_path, without_graphviz):
    gx.plot_model(nested(), tmp_path / "model.dot")
    assert (tmp_path / "model.dot").read_text().startswith("digraph {")
    with pytest.raises(ArgumentError, match=r"Graphviz(.|\n)*model\.svg"):
        gx.plot_model(nested(), tmp_path / "model.png")
    with pytest.raises(ArgumentError, match="the end of the name"):
        gx.plot_model(nested(), tmp_path / "model.txt")
    with pytest.raises(ArgumentTypeError, match="draws layers"):
        gx.plot_model("model")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.dot"]


def test_graphviz_draws_where_it_is_installed(with_graphviz, tmp_path):
    with_graphviz("echo '<?xml?><svg>'; cat; echo '</svg>'")
    drawing = gx.plot_model(nested(), tmp_path / "model.png")
    assert drawing.svg.startswith("<svg>")
    assert drawing.dot in drawing.svg
    assert (tmp_path / "model.png").read_text().startswith("<?xml?>")


def test_a_graphviz_that_fails_is_told(with_graphviz):
    with_graphviz("echo 'no fonts' >&2; exit 3")
    with pytest.raises(StateError, match="no fonts"):
        gx.plot_model(nested())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is a program of the system")
@pytest.mark.parametrize("make", [nested, graph, Own])
def test_graphviz_itself(make):
    model = make()
    drawing = gx.plot_model(model)
    texts = {" ".join(str(text.text).split()) for text in ET.fromstring(drawing.svg).iter(f"{SVG}text")}
    assert {" ".join(box.title.split()) for box in boxes_of(model).boxes} <= texts
    edges = [g for g in ET.fromstring(drawing.svg).iter(f"{SVG}g") if g.get("class") == "edge"]
    lines = [line for line in drawing.dot.splitlines() if " -> " in line]
    assert len(edges) == sum("style=invis" not in line for line in lines)  # those only put one box below another


def test_layers_without_wiring_stand_below_each_other_in_graphviz():
    class Block(gx.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = (gx.layers.Dense(2) for _ in range(3))

        def call(self, x):
            return self.third(self.second(self.first(x)))

    block = Block()
    block(np.ones((1, 2), "float32"))
    dot = gx.plot_model(block).dot
    assert '"first" -> "second" [style=invis];' in dot
    assert '"second" -> "third" [style=invis];' in dot
