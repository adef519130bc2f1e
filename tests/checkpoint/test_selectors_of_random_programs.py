"""``only=``, ``skip=``, ``--only`` and ``--skip`` select what the docs say, in programs drawn at random.

Each Variable has a number of its own, by which it is found again: in a file, and in a program after a restore.
"""

import random
import shutil

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.checkpoint.graph import Graph
from graftax.checkpoint.paths import node_paths
from graftax.checkpoint.reader import Reader
from graftax.cli.main import main
from tests.checkpoint.drawn_selectors import Contents, draw_selector
from tests.checkpoint.random_programs import Box, Keeper, Kept, RandomProgram

EXPRESSIONS = {"Adapted", "Halved", "SharedWeight"}
X = np.ones((1, 3), "float32")


class Halved(gx.reparam.Reparam):
    """An expression of a user's, without settings."""

    def __init__(self, spec, half):
        super().__init__(spec)
        self.half = half

    def forward(self):
        return self.half.value * 2


def halved(next_creator, spec):
    return Halved(spec, next_creator(spec.replace(name="half")))


class Program(RandomProgram):
    """One whose layers hold plain weights, weights with adapters, a user's expressions, and tables of others."""

    kinds = (Box, Kept, Box)
    chance_of_name = 0.0

    def _thing(self, depth, box):
        made = super()._thing(depth, box)
        if isinstance(made, layers.Dense):
            made._gx_name = None
        is_plain = isinstance(made, layers.Dense) and made.built and isinstance(made.kernel, gx.Variable)
        if is_plain and self._draw.random() < 0.5:
            made = layers.Dense(2)
            tables = [v for v in self._variables if tuple(v.shape) == (2, 3)]
            is_table = bool(tables) and self._draw.random() < 0.6
            made.creator = gx.reparam.Shared(self._draw.choice(tables), transpose=True) if is_table else halved
            self._build(made)
            self.late.append(made)
        return made

    @staticmethod
    def _build(layer):
        with gx.variable_creator_scope(layer.creator, where="**/kernel"):
            layer(X)

    def variables(self):
        slots = [r.slot for root in self.roots.values() if isinstance(root, Keeper) for r in root._gx_slot_records()]
        return [*(p.thing for p in Graph(self.roots).places if isinstance(p.thing, gx.Variable)), *slots]

    def number(self, first):
        """Give all Variables other numbers."""
        for i, variable in enumerate(self.variables()):
            variable.assign(np.full(variable.shape, first + i).astype(variable.dtype))
        return self

    def numbers(self):
        return {int(np.ravel(variable.numpy())[0]) for variable in self.variables()}

    def unbuild(self):
        """Put new layers in the place of those whose weights nothing else has."""
        held = [id(v) for box in self._boxes for thing in vars(box).values() for v in _variables_in(thing)]
        held += [id(v) for root in self.roots.values() if isinstance(root, Keeper) for v, _ in root.made.values()]
        new = {}
        for layer in self.late:
            kernel = layer.__dict__.get("kernel")
            own = [layer.bias] if hasattr(kernel, "source") else layer.variables  # a table is another's
            if own and not any(id(v) in held for v in own):
                new[id(layer)] = layers.Dense(2)
                grafted = gx.reparam.LoRA(rank=1, name="poet") if hasattr(kernel, "adapters") else _plain
                new[id(layer)].creator = layer.__dict__.get("creator", grafted)
        for box in self._boxes:
            for name, thing in list(vars(box).items()):
                if not name.startswith("_gx") and isinstance(thing, gx.Module | list | tuple | dict):
                    setattr(box, name, _replaced(thing, new))
        self.new = list(new.values())
        return self

    def build(self):
        for layer in self.new:
            self._build(layer)
        return self


def _plain(next_creator, spec):
    return next_creator(spec)


def _variables_in(thing):
    if isinstance(thing, dict | list | tuple):
        return [v for one in (thing.values() if isinstance(thing, dict) else thing) for v in _variables_in(one)]
    return [thing] if isinstance(thing, gx.Variable) else []


def _replaced(thing, new):
    if isinstance(thing, list | tuple):
        return type(thing)([_replaced(one, new) for one in thing])
    if isinstance(thing, dict):
        return {name: _replaced(one, new) for name, one in thing.items()}
    return new.get(id(thing), thing)


def numbers_in(path):
    with gx.checkpoint.read(path) as arrays:
        return {int(np.ravel(np.array(arrays[name]))[0]) for name in arrays}


def check(seed, folder):
    """Compare all ways with what a search of all paths finds; return how many selections there were."""
    draw = random.Random(seed)
    program, path = Program(seed).number(5000), folder / "saved"
    gx.Checkpoint(**program.roots).save(path, overwrite=True)
    with Reader(path) as reader, gx.checkpoint.read(path) as arrays:
        contents, names = Contents(reader.index, EXPRESSIONS), node_paths(reader.index)
        number = {n: int(np.ravel(np.array(arrays[names[n]]))[0]) for n in contents.paths if names[n] in arrays}
    checked = 0
    for _ in range(4):
        selectors = [draw_selector(draw, contents.all_paths) for _ in range(draw.choice((1, 1, 2)))]
        how = draw.choice(("only", "skip"))
        saved, restored = (
            {number[n] for n in contents.select(how, selectors, saves) if n in number} for saves in (True, False)
        )
        if not contents.fits(selectors) or not saved:
            continue
        told = seed, how, selectors
        gx.Checkpoint(**program.roots).save(folder / "part", overwrite=True, **{how: selectors})
        assert numbers_in(folder / "part") == saved, told
        shutil.rmtree(folder / "shell", ignore_errors=True)
        words = [word for one in selectors for word in (f"--{how}", one)]
        assert main(["ckpt", "extract", str(path), "--to", str(folder / "shell"), *words]) == 0
        assert numbers_in(folder / "shell") == saved, told
        for mode in ("exact", "overlap"):
            for other in (Program(seed).number(20000), Program(seed).number(20000).unbuild()):
                later = getattr(other, "new", ())
                gx.Checkpoint(**other.roots).restore(path, mode=mode, trainable="program", **{how: selectors})
                found = (other.build() if later else other).numbers() & set(number.values())
                assert found == restored, (*told, mode, len(later))
        checked += 1
    return checked


pytestmark = pytest.mark.filterwarnings("ignore:the save of .opt. leaves out all slots")


@pytest.mark.broad
def test_random_programs(tmp_path, capsys):
    assert sum(check(seed, tmp_path) for seed in range(12)) > 12


@pytest.mark.slow
def test_many_random_programs(tmp_path, capsys):
    assert sum(check(seed, tmp_path) for seed in range(12, 150)) > 150
