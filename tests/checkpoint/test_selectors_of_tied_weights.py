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
    graph.find_further_paths(lambda place, path: True)
    assert max(len(place.further) for place in graph.places) == 64


class Shared(gx.Module):
    """A layer at two paths, beside another one."""

    def __init__(self, value=None):
        self.a = layers.Dense(2)
        self.b, self.c = self.a, layers.Dense(2)
        for one in (self.a, self.c) if value is not None else ():
            one.build((None, 2))
            one.kernel.assign(np.full((2, 2), value))


@pytest.mark.parametrize("value", [0.0, None], ids=["built", "later"])
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"only": "model/b"}, [1, 0]),
        ({"only": "**/b/kernel"}, [1, 0]),
        ({"skip": "model/b"}, [0, 1]),
        ({"skip": "**/b/**"}, [0, 1]),
    ],
    ids=str,
)
def test_layers_that_are_built_later(how, expected, value, tmp_path):
    gx.Checkpoint(model=Shared(1.0)).save(tmp_path / "whole")
    model = Shared(value)
    gx.Checkpoint(model=model).restore(tmp_path / "whole", **how)
    for one in (model.a, model.c) if value is None else ():
        one.build((None, 2))
    assert [int(float(one.kernel[0, 0]) == 1.0) for one in (model.a, model.c)] == expected


def test_an_optimizer_at_two_paths_is_one_whole(tmp_path):
    class Trainer(gx.Module):
        def __init__(self):
            self.net, self.opt = layers.Dense(2), gx.optimizers.Adam(0.1)
            self.net.build((None, 2))
            x = np.ones((1, 2), "float32")
            self.opt.minimize(lambda: gx.ops.sum(self.net(x) ** 2), self.net.trainable_variables)

    def restored(**how):
        trainer = Trainer()
        report = gx.Checkpoint(trainer=trainer, opt=trainer.opt).restore(tmp_path / "whole", **how)
        found = [one.path for one in report.restored]
        return any("iterations" in path for path in found), any("slots(" in path for path in found)

    trainer = Trainer()
    gx.Checkpoint(trainer=trainer, opt=trainer.opt).save(tmp_path / "whole")
    assert restored(only="trainer") == restored(only="trainer/opt") == restored(only="opt") == (True, True)
    assert restored(skip="trainer/opt") == restored(skip="opt") == (False, False)
    gx.Checkpoint(trainer=trainer, opt=trainer.opt).save(tmp_path / "part", skip="trainer/opt")
    assert not any("opt" in path for path in arrays(tmp_path / "part"))
    assert main(["ckpt", "extract", str(tmp_path / "whole"), "--to", str(tmp_path / "cli"), "--only", "trainer"]) == 0
    assert sum("slots(" in path for path in arrays(tmp_path / "cli")) == 4


class Tied(gx.Module):
    """The kernel of the head is made of the table."""

    def __init__(self, value=None):
        self.embed, self.head, self.mid = layers.Embedding(5, 4), layers.Dense(5), layers.Dense(4)
        self.box = [self.head]
        if value is not None:
            self.build()
            self.embed.embeddings.assign(np.full((5, 4), value))

    def build(self):
        self.embed.build((None, 3))
        self.mid.build((None, 4))
        with gx.variable_creator_scope(gx.reparam.Shared(self.embed.embeddings, transpose=True), where="**/kernel"):
            self.head.build((None, 4))


@pytest.mark.parametrize("value", [0.0, None], ids=["built", "later"])
@pytest.mark.parametrize("path", ["model/head", "model/head/kernel", "model/box", "model/embed", "model/embed/**"])
def test_a_weight_that_expressions_are_made_of(path, value, tmp_path):
    """It is selected by the paths of these, too, if it was saved so."""
    gx.Checkpoint(model=Tied(1.0)).save(tmp_path / "whole")
    for how, expected in (("only", True), ("skip", False)):
        model = Tied(value)
        gx.Checkpoint(model=model).restore(tmp_path / "whole", **{how: path})
        if value is None:
            model.build()
        assert (float(model.embed.embeddings[0, 0]) == 1.0) == expected, how


@pytest.mark.parametrize("selector", ["**/kernel", "model/*/kernel", "model/head/kernel", "model/box/**"])
def test_expressions_in_python_and_in_the_shell(selector, tmp_path):
    gx.Checkpoint(model=Tied(1.0)).save(tmp_path / "whole")
    for how in ("only", "skip"):
        gx.Checkpoint(model=Tied(1.0)).save(tmp_path / f"python_{how}", **{how: selector})
        words = ["extract", str(tmp_path / "whole"), "--to", str(tmp_path / f"shell_{how}"), f"--{how}", selector]
        assert main(["ckpt", *words]) == 0
        found = [sorted(arrays(tmp_path / f"{where}_{how}")) for where in ("python", "shell")]
        assert found[0] == found[1]
        assert ("model/embed/embeddings" in found[0]) == (how == "only")


def test_differences_by_each_path_in_both_orders(saved, tmp_path, capsys):
    _, path = saved
    file = str(tmp_path / "file.safetensors")
    assert main(["ckpt", "convert", path, "--to", file]) == 0
    for pair in ((path, file), (file, path)):
        assert main(["ckpt", "diff", *pair, "--only", "model/tokens"]) == 0
    assert main(["ckpt", "convert", path, "--to", str(tmp_path / "folder"), "--only", "model/tokens"]) == 0
    assert list(arrays(tmp_path / "folder")) == [FIRST]


def test_all_but_the_seed_is_converted(saved, tmp_path, capsys):
    _, path = saved
    for name in ("file.safetensors", "folder"):
        assert main(["ckpt", "convert", path, "--to", str(tmp_path / name), "--skip", "gx.random"]) == 0
    again = str(tmp_path / "again")
    assert main(["ckpt", "convert", str(tmp_path / "file.safetensors"), "--to", again]) == 0
    capsys.readouterr()
    for name in ("again", "folder"):
        assert main(["ckpt", "show", str(tmp_path / name)]) == 0
        assert "gx.random" not in capsys.readouterr().out


@pytest.mark.parametrize("is_built", [True, False], ids=["built", "later"])
def test_one_variable_that_creators_give_to_two_layers(is_built, tmp_path):
    """What is skipped by its first path is not restored through the other one."""

    class Pair(gx.Module):
        def __init__(self):
            self.a, self.b = layers.Dense(2), layers.Dense(2, use_bias=True)

        def build(self):
            self.a.build((None, 2))
            with gx.variable_creator_scope(lambda next_creator, spec: self.a.kernel, where="**/kernel"):
                self.b.build((None, 2))

    def made(value):
        pair = Pair()
        if value is not None:
            pair.build()
            for one in pair.variables:
                one.assign(np.full(one.shape, value))
        return pair

    gx.Checkpoint(model=made(1.0)).save(tmp_path / "whole")
    model = made(0.0 if is_built else None)
    gx.Checkpoint(model=model).restore(tmp_path / "whole", skip="model/a/**")
    if not is_built:
        model.build()
    assert model.a.kernel is model.b.kernel
    assert not np.array_equal(model.a.kernel, np.ones((2, 2)))
    np.testing.assert_array_equal(model.b.bias, [1, 1])
