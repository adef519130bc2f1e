"""However a program changes between two saves, the second one writes what a first save of that program would write."""

import os
import random
import time
from contextlib import suppress

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import GraftaxError
from graftax.variables.graph.module import Module
from tests.checkpoint.random_programs import Box, Keeper, RandomProgram


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """The same moment and the same random numbers for each save."""
    monkeypatch.setattr(os, "urandom", lambda count: bytes(range(7, 7 + count)))
    monkeypatch.setattr(time, "time_ns", lambda: 12345)


def written(folder, checkpoint):
    """What a save writes, byte by byte, or what it raises."""
    path = folder / f"{len(os.listdir(folder))}"
    try:
        checkpoint.save(path)
    except GraftaxError as error:
        path.mkdir()
        return type(error).__name__, error.reason
    return {file.name: file.read_bytes() for file in path.iterdir()}


class Changes:
    """One change after the other of a program, drawn at random."""

    def __init__(self, program, seed):
        self._program = program
        self._draw = random.Random(seed)
        self._kinds = [
            self.assign, self.state, self.attribute, self.removed, self.trained, self.frozen, self.in_list,
            self.in_dict, self.slot, self.built, self.renamed,
        ]  # fmt: skip

    def one(self):
        """Make a change, or none where the program has nothing to change in that way; return what it was."""
        kind = self._draw.choice(self._kinds)
        with suppress(GraftaxError):  # it is refused, such as to freeze a part without weights
            kind()
        return kind.__name__

    def _some(self, kind):
        found, waiting, seen = [], list(self._program.roots.values()), set()
        while waiting:
            thing = waiting.pop()
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            found += [thing] if isinstance(thing, kind) else []
            if isinstance(thing, (Module, dict)):
                waiting += (thing if isinstance(thing, dict) else vars(thing)).values()
            elif isinstance(thing, (list, tuple)):
                waiting += thing
        return self._draw.choice(found) if found else None

    def _thing(self):
        return self._draw.choice([
            lambda: gx.Variable(np.ones(self._draw.choice(((), (3,), (16,))), self._draw.choice(("float32", "int32")))),
            lambda: 5,
            lambda: [gx.Variable(2.0), gx.Variable(3.0)],
            Box,
            lambda: self._some(gx.Variable),
            lambda: self._some(Box),
        ])()  # fmt: skip

    def assign(self):
        if (variable := self._some(gx.Variable)) is not None:
            variable.assign(np.full(variable.shape, self._draw.randrange(100)).astype(variable.dtype))

    def state(self):
        for box in self._program._boxes:
            if hasattr(box, "position"):
                box.position = self._draw.choice((1, "text", b"bytes", (1, 2), np.ones(self._draw.randint(1, 3))))

    def attribute(self):
        setattr(self._some(Box), self._draw.choice("abcdefg"), self._thing())

    def removed(self):
        box = self._some(Box)
        names = [name for name in vars(box) if name in "abcdefg"]
        if names:
            delattr(box, self._draw.choice(names))

    def trained(self):
        if (variable := self._some(gx.Variable)) is not None and variable.role == "weight":
            variable.trainable = not variable.trainable

    def frozen(self):
        box = self._some(Box)
        (box.unfreeze if box._gx_frozen else box.freeze)()

    def in_list(self):
        held = self._some(list)
        if held and all(isinstance(item, (gx.Variable, Box, list, dict)) for item in held):
            self._draw.choice([held.reverse, lambda: held.append(self._thing()), lambda: held and held.pop()])()

    def in_dict(self):
        held = self._some(dict)
        if held and {*held} <= {*"abcdefg"}:
            held[self._draw.choice("abcdefg")] = held.pop(self._draw.choice([*held]))

    def slot(self):
        keeper, variable = self._some(Keeper), self._some(gx.Variable)
        if keeper is not None and variable is not None:
            keeper._gx_ensure_slot(self._draw.choice(("momentum", "velocity")), variable)

    def built(self):
        for layer in self._program.late[:1]:
            layer(np.ones((1, 3), "float32"))

    def renamed(self):
        box = self._some(Box)
        names = [name for name in vars(box) if name in "abcdefg"]
        if names:
            thing = getattr(box, names[0])
            delattr(box, names[0])
            setattr(box, self._draw.choice("abcdefg"), thing)


def rounds(folder, seeds, count=12):
    kept = made = 0
    for seed in seeds:
        program = RandomProgram(seed)
        checkpoint = Checkpoint(**program.roots)
        here = folder / f"{seed}"
        here.mkdir()
        written(here, checkpoint)
        changes = Changes(program, seed)
        for _ in range(count):
            before = checkpoint._preparation._sketch
            what = changes.one()
            found = written(here, checkpoint)
            assert found == written(here, Checkpoint(**program.roots)), (seed, what)
            made += 1
            kept += before is not None and before is checkpoint._preparation._sketch
    return kept / made


@pytest.mark.broad
def test_after_other_adapters_are_used(tmp_path):
    layer = gx.layers.Dense(2)
    layer.build((2,))
    for name in "ab":
        gx.graft(layer, gx.reparam.LoRA(rank=1, name=name), where="kernel")
    checkpoint = Checkpoint(layer=layer)
    seen = []
    for names in (("a", "b"), ("b",), ("b", "a"), ()):
        gx.adapters.use(layer, *names)
        seen.append(written(tmp_path, checkpoint))
        assert seen[-1] == written(tmp_path, Checkpoint(layer=layer))
    assert len({one["graph.msgpack"] for one in seen}) == 4


LOST = "ignore:the save of .* leaves out all slots:UserWarning"  # a random program may save an optimizer alone


@pytest.mark.broad
@pytest.mark.filterwarnings(LOST)
def test_after_any_change_of_some_programs(tmp_path):
    assert 0.2 < rounds(tmp_path, range(8)) < 0.8


@pytest.mark.slow
@pytest.mark.filterwarnings(LOST)
def test_after_any_change_of_many_programs(tmp_path):
    assert 0.2 < rounds(tmp_path, range(8, 150)) < 0.8
