"""What was drawn for one save serves the next as long as the program keeps its structure, and not longer."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint import save as saving
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.paths import node_paths
from graftax.checkpoint.reader import Reader
from graftax.variables.graph.module import SlotRecord


@pytest.fixture
def drawn(monkeypatch):
    """How often something was drawn."""
    count = []
    plain = saving._sketch

    def counting(*args):
        count.append(1)
        return plain(*args)

    monkeypatch.setattr(saving, "_sketch", counting)
    return count


def saved(path):
    with Reader(path) as reader:
        index = reader.index
    return {p: index.nodes[n].payload for n, p in node_paths(index).items() if index.nodes[n].kind.is_leaf}


def test_a_program_that_stays_as_it_is_is_drawn_once(tmp_path, toys, drawn):
    model, optimizer = toys.Stack(3, inputs=2), toys.Optimizer()
    optimizer._gx_ensure_slot("momentum", model.layers[0].kernel)
    position = toys.Position({"a": np.zeros(2), "n": 0})
    checkpoint = Checkpoint(model=model, optimizer=optimizer, data=position)
    for i in range(3):
        model.layers[0].kernel.assign(np.full((2, 3), i, "float32"))
        position.position["n"] = i
        position.position["a"] += 1
        checkpoint.save(tmp_path / f"{i}")
        model.layers[0].epoch = i
    assert len(drawn) == 1
    for i in range(3):
        other = toys.Position(None)
        fresh = toys.Stack(3, inputs=2)
        Checkpoint(model=fresh, data=other).restore(tmp_path / f"{i}", mode="cover")
        assert (other.position["n"], other.position["a"].tolist()) == (i, [i + 1, i + 1])
        assert float(fresh.layers[0].kernel.numpy()[0, 0]) == i


def change(model, optimizer, toys, how):
    first = model.layers[0]
    if how == "attribute":
        first.extra = toys.number(1)
    elif how == "replaced":
        first.bias = gx.Variable(np.ones(3, "float32"))
    elif how == "removed":
        del first.bias
    elif how == "appended":
        model.layers.append(toys.Dense(1))
        model.layers[-1].build(3)
    elif how == "swapped":
        model.layers.reverse()
    elif how == "trainable":
        first.kernel.trainable = False
    elif how == "frozen":
        model.freeze()
    elif how == "slot":
        optimizer._gx_ensure_slot("momentum", first.bias)
    elif how == "empty list":
        model.more["later"].append(toys.number(4))
    elif how == "renamed":
        first.offset = first.__dict__.pop("bias")
        first.__dict__["built"] = first.__dict__.pop("built")  # the same values in the same order
    elif how == "key":
        model.table = {key + "x": value for key, value in model.table.items()}
    elif how == "key in place":
        model.table["b"] = model.table.pop("a")
    elif how == "root":
        return {"extra": toys.number(2)}
    return {}


HOWS = ["attribute", "replaced", "removed", "appended", "swapped", "trainable", "frozen", "slot", "empty list", "root"]
HOWS += ["renamed", "key", "key in place"]


@pytest.mark.parametrize("how", HOWS)
def test_whatever_changes_is_drawn_anew(tmp_path, toys, drawn, how):
    model, optimizer = toys.Stack(3, 3, inputs=2), toys.Optimizer()
    model.more = {"later": []}
    model.table = {"a": toys.number(3)}
    optimizer._gx_ensure_slot("momentum", model.layers[0].kernel)
    checkpoint = Checkpoint(model=model, optimizer=optimizer)
    checkpoint.save(tmp_path / "before")
    checkpoint.roots.update(change(model, optimizer, toys, how))
    checkpoint.save(tmp_path / "after")
    assert len(drawn) == 2
    Checkpoint(**checkpoint.roots).save(tmp_path / "fresh")
    assert saved(tmp_path / "after") == saved(tmp_path / "fresh")
    assert saved(tmp_path / "after") != saved(tmp_path / "before") or how in ("swapped", "replaced")


def test_values_that_wait_are_drawn_each_time(tmp_path, toys, drawn):
    Checkpoint(model=toys.Stack(3, inputs=2)).save(tmp_path / "c")
    model = toys.Stack(3)
    checkpoint = Checkpoint(model=model)
    checkpoint.restore(tmp_path / "c")
    checkpoint.save(tmp_path / "waiting")
    model.build(2)
    checkpoint.save(tmp_path / "built")
    assert saved(tmp_path / "waiting").keys() == saved(tmp_path / "built").keys()
    assert len(drawn) == 3


def test_a_part_is_drawn_each_time(tmp_path, toys):
    checkpoint = Checkpoint(model=toys.Stack(3, inputs=2))
    checkpoint.save(tmp_path / "all")
    checkpoint.save(tmp_path / "part", only=["**/kernel"])
    checkpoint.save(tmp_path / "again")
    assert len(saved(tmp_path / "part")) == 1
    assert saved(tmp_path / "again") == saved(tmp_path / "all")


def test_slots_that_no_attribute_shows(tmp_path, toys, drawn):
    kept = []

    class Hidden(toys.Optimizer):
        def _gx_slot_records(self):
            return [*kept]

    model, optimizer = toys.Stack(3, inputs=2), Hidden()
    checkpoint = Checkpoint(model=model, optimizer=optimizer)
    checkpoint.save(tmp_path / "none")
    kept.append(SlotRecord("momentum", model.layers[0].bias, toys.number(7)))
    checkpoint.save(tmp_path / "one")
    checkpoint.save(tmp_path / "still one")
    assert len(drawn) == 2
    assert len(saved(tmp_path / "one")) == len(saved(tmp_path / "still one")) == len(saved(tmp_path / "none")) + 1
