"""A weight that is held several times is selected by each of its paths, in Python and on the command line."""

import json

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.checkpoint.graph import Graph
from graftax.cli.main import main

IDS = np.zeros((1, 3), "int32")


class Language(gx.Model):
    """Its table is first found as ``output_table``, which is the shorter path."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = layers.Embedding(7, 4), layers.Embedding(5, 4)
        self.tokens.build((None, 3))
        self.positions.build((None, 3))
        self.output_table = self.tokens.embeddings

    def call(self, ids):
        return (self.tokens(ids) + self.positions(ids)) @ gx.ops.transpose(self.output_table.value)


FIRST = "model/output_table"
SELECTORS = ["**/embeddings", "model/tokens/**", "model/tokens/embeddings", "model/tokens"]


@pytest.fixture
def saved(tmp_path):
    model = Language()
    optimizer = gx.optimizers.SGD(0.1, momentum=0.9)
    optimizer.minimize(lambda: gx.ops.mean(model(IDS) ** 2), model.trainable_variables)
    path = str(tmp_path / "whole")
    gx.Checkpoint(model=model, optimizer=optimizer).save(path)
    return model, path


def arrays(path):
    with gx.checkpoint.read(path) as found:
        return {name: np.array(found[name]) for name in found}


@pytest.mark.parametrize("selector", SELECTORS)
def test_restore(saved, selector):
    model, path = saved
    table = model.tokens.embeddings.numpy()
    for how, changed in (({"only": selector}, True), ({"skip": selector}, False)):
        other = Language()
        other.tokens.embeddings.assign(np.full((7, 4), 5.0, "float32"))
        report = gx.Checkpoint(model=other).restore(path, **how, mode="overlap")
        assert (FIRST in [one.path for one in report.restored]) == changed
        np.testing.assert_array_equal(other.tokens.embeddings, table if changed else np.full((7, 4), 5.0))


@pytest.mark.parametrize("selector", SELECTORS)
def test_save(saved, selector, tmp_path):
    model, _ = saved
    gx.Checkpoint(model=model).save(tmp_path / "part", only=selector)
    found = arrays(tmp_path / "part")
    assert FIRST in found
    assert ("model/positions/embeddings" in found) == (selector == "**/embeddings")
    other = Language()
    gx.Checkpoint(model=other).restore(tmp_path / "part", only=selector)
    np.testing.assert_array_equal(other.tokens.embeddings, model.tokens.embeddings)
    if selector != "**/embeddings":
        gx.Checkpoint(model=model).save(tmp_path / "rest", skip=selector)
        assert FIRST not in arrays(tmp_path / "rest")


@pytest.mark.parametrize("selector", SELECTORS)
def test_commands(saved, selector, tmp_path, capsys):
    _, path = saved

    def ran(*words):
        assert main(["ckpt", *words]) == 0
        return capsys.readouterr().out

    ran("extract", path, "--to", str(tmp_path / "part"), "--only", selector)
    assert FIRST in arrays(tmp_path / "part")
    ran("extract", path, "--to", str(tmp_path / "rest"), "--skip", selector)
    assert FIRST not in arrays(tmp_path / "rest")
    ran("convert", path, "--to", str(tmp_path / "part.npz"), "--only", selector)
    assert FIRST in np.load(tmp_path / "part.npz")
    ran("cast", path, "--to", str(tmp_path / "half"), "--only", selector, "--dtype", "bfloat16")
    assert arrays(tmp_path / "half")[FIRST].dtype.name == "bfloat16"
    if selector != "model/tokens":  # which is shown as the object that it is
        assert FIRST in ran("show", path, "--only", selector)
    entries = json.loads(ran("show", path, "--stats", "--only", selector, "--json"))["entries"]
    assert FIRST in [one["path"] for one in entries]
    other = Language()
    gx.Checkpoint(model=other).save(tmp_path / "other")
    assert main(["ckpt", "diff", path, str(tmp_path / "other"), "--only", selector]) == 1
    assert FIRST in capsys.readouterr().out


def test_slots_by_the_other_path(saved, tmp_path):
    _, path = saved
    slot = "optimizer/slots(momentum)/model/tokens/embeddings"
    argv = ["ckpt", "extract", path, "--to", str(tmp_path / "part"), "--only", slot, "--only", "model/tokens"]
    assert main(argv) == 0
    assert sorted(arrays(tmp_path / "part")) == [FIRST, f"optimizer/slots(momentum)/{FIRST}"]


def test_load_foreign_by_the_other_path(saved, tmp_path):
    model, _ = saved
    rows = {"tokens.weight": np.full((7, 4), 2.0, "float32"), "positions.weight": np.full((5, 4), 3.0, "float32")}
    np.savez(tmp_path / "net.npz", **rows)
    gx.checkpoint.load_foreign(tmp_path / "net.npz", model, source="torch", only="tokens/**", mode="cover")
    np.testing.assert_array_equal(model.output_table, rows["tokens.weight"])
    assert not np.array_equal(model.positions.embeddings, rows["positions.weight"])


def test_parts_of_expressions_by_the_path_of_the_weight(tmp_path, capsys):
    model = gx.Sequential([gx.Input((4,)), layers.Dense(3), layers.Dense(2)])
    gx.graft(model, gx.reparam.LoRA(1, name="a"), where="layers/0/kernel")
    path = str(tmp_path / "whole")
    gx.Checkpoint(model=model).save(path)
    assert main(["ckpt", "extract", path, "--to", str(tmp_path / "part"), "--only", "**/kernel"]) == 0
    gx.Checkpoint(model=model).save(tmp_path / "python", only="**/kernel")
    found = arrays(tmp_path / "part")
    assert sorted(found) == sorted(arrays(tmp_path / "python"))
    assert {"model/layers/0/kernel/base", "model/layers/0/kernel/adapters/a/up", "model/layers/1/kernel"} <= set(found)


def test_many_paths_and_cycles_end():
    """Parts that know what they are in, and parts shared by parts that are shared."""

    class Part(gx.Layer):
        def __init__(self, *parts):
            super().__init__()
            self.one, self.other = parts or (layers.Dense(2), layers.Dense(2))
            if not parts:
                self.one.build((None, 2))
            self.again = self.one

    part = Part()
    for _ in range(12):
        part = Part(part, part)
    graph = Graph({"model": part})
    graph.find_further_paths(through_expressions=True)
    assert max(len(place.further) for place in graph.places) == 32
