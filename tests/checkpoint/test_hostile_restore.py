"""Indexes that were changed by hand and sealed again: restore, read and show say by name what is wrong."""

import random
from contextlib import suppress

import msgpack
import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint import outline, partial_restore, values
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.envelope import open_envelope, seal
from graftax.checkpoint.names import GRAPH
from graftax.cli import main as command
from graftax.core.errors import CheckpointError, CorruptMetadata, SelectorError, StateError


@pytest.fixture
def trained(saved, toys):
    """A checkpoint with slots, and the program again."""

    def program():
        model, optimizer = toys.Stack(2, inputs=1), toys.Optimizer()
        for v in model.variables:
            optimizer._gx_ensure_slot("momentum", v)
        return {"model": model, "optimizer": optimizer, "data": toys.Position({"epoch": (1, 2.5)})}

    return saved(**program()), program


def resealed(path, change):
    """The checkpoint with another index, well sealed."""
    top = values.unpack(open_envelope((path / GRAPH).read_bytes()))
    change(top)
    (path / GRAPH).write_bytes(seal(values.pack(repacked(top))))


def repacked(value):
    if type(value) is dict:
        return {key: repacked(item) for key, item in value.items()}
    if type(value) is list:
        return [repacked(item) for item in value]
    if type(value) is values.NumpyScalar:
        return msgpack.ExtType(values.NUMPY_SCALAR, values.pack(list(value)))
    if type(value) is tuple:
        return msgpack.ExtType(values.TUPLE, values.pack([repacked(item) for item in value]))
    return value if type(value) is not int else values.encode(value, "forged")


@pytest.mark.parametrize("cut", ["optimizer", "model"])
def test_a_slot_to_which_no_root_leads(trained, cut):
    path, program = trained
    resealed(path, lambda top: top["roots"].pop(cut))
    for read in (lambda: Checkpoint(**program()).restore(path, mode="overlap"), lambda: gx.checkpoint.read(path)):
        with pytest.raises(CorruptMetadata, match="no root leads to its optimizer, or to its variable"):
            read()


def test_a_forged_random_state(trained):
    path, program = trained
    gx.set_random_seed(3)
    resealed(path, lambda top: top["random"].update(seed="text"))
    ours = program()
    ours["model"].variables[0].assign(np.full((1, 2), 9, "float32"))
    with pytest.raises(StateError, match=r"skip=\"gx.random\""):
        Checkpoint(**ours).restore(path)
    assert gx.random.get_random_seed() == 3
    assert ours["model"].variables[0].numpy().tolist() == [[9, 9]]
    Checkpoint(**ours).restore(path, skip="gx.random").assert_consumed()


ODD = [None, True, -1, 0, 1, 3, 2**40, 2**70, 1.5, "", "a", "get_state()", b"", [], {}, [0], [0, 1], {"a": 1}, (1,)]


def mangled(value, chance, draw):
    """The value with some of its parts replaced."""
    if draw.random() < chance:
        return draw.choice(ODD)
    if type(value) is dict:
        return {key: mangled(item, chance, draw) for key, item in value.items()}
    if type(value) is list:
        items = [mangled(item, chance, draw) for item in value]
        if items and draw.random() < chance:
            items[draw.randrange(len(items))] = draw.choice(items)
        return items
    if type(value) is int and draw.random() < chance * 4:
        return draw.choice([value + 1, value - 1, draw.randrange(12)])
    return value


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("rounds", [20, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("part", ["nodes", "slots", "roots", "tensors", "meta", "random", "files"])
def test_mangled_indexes_are_told_by_name(trained, part, rounds, capsys, monkeypatch):
    monkeypatch.setattr(outline, "_PART", 0.5)
    monkeypatch.setattr(partial_restore, "_PART", 0)
    monkeypatch.setattr(partial_restore, "_FEWEST", 0)
    path, program = trained
    whole = (path / GRAPH).read_bytes()
    draw = random.Random(part)
    ours = program()
    checkpoint = Checkpoint(**ours)
    reads = [
        lambda: checkpoint.restore(path, mode="overlap"),
        lambda: checkpoint.restore(path, only="**/kernel", map={"model/layers/0/kernel": "model/layers/0/bias"}),
        lambda: checkpoint.restore(path, only="model/layers/0/**"),
        lambda: dict(gx.checkpoint.read(path)),
        lambda: command.main(["ckpt", "show", str(path)]),
    ]
    for _ in range(rounds):
        (path / GRAPH).write_bytes(whole)
        resealed(path, lambda top: top.__setitem__(part, mangled(top[part], 0.03, draw)))
        for read in reads:
            with suppress(CheckpointError, SelectorError, StateError):
                read()
    capsys.readouterr()
