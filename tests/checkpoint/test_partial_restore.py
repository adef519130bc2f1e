"""A restore of a part looks at that part alone, and does what one does that looks at everything."""

import copy
import pickle
import random
import shutil
from contextlib import suppress

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint import outline, partial_restore, restore
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.graph import Graph
from graftax.checkpoint.lazy_records import LazyRecords
from graftax.checkpoint.paths import node_paths
from graftax.checkpoint.reader import Reader
from graftax.core.errors import CorruptMetadata, GraftaxError, SelectorError
from tests.checkpoint.random_programs import RandomProgram
from tests.checkpoint.test_hostile_restore import resealed


@pytest.fixture
def looks(monkeypatch):
    """Lets restores look at parts, however large, or at everything; counts those that had to look again."""
    counts = {"parts": 0, "again": 0}
    narrowed, is_small_part = restore.find_affected_part, restore.is_small_part
    monkeypatch.setattr(outline, "_PART", 0.5)
    monkeypatch.setattr(partial_restore, "_PART", 0)
    monkeypatch.setattr(partial_restore, "_FEWEST", 0)

    class NeedsFullRestore(partial_restore.NeedsFullRestore):
        def __init__(self):
            counts["again"] += 1

    monkeypatch.setattr(partial_restore, "NeedsFullRestore", NeedsFullRestore)

    def choose(is_part):
        def of_part(*args):
            found = narrowed(*args) if is_part else None
            counts["parts"] += found is not None
            return found

        monkeypatch.setattr(restore, "find_affected_part", of_part)
        monkeypatch.setattr(restore, "is_small_part", is_small_part if is_part else lambda *args: False)
        return counts

    return choose


def selectors(draw, paths):
    """Something to restore: paths, beginnings of paths, with stars, combined."""

    def one():
        parts = draw.choice(paths).split("/")
        kind = draw.random()
        if kind < 0.5:
            return "/".join([*parts[: draw.randint(1, len(parts))], "**"])
        if kind < 0.6:
            parts[draw.randrange(len(parts))] = draw.choice("*abcde")
        if kind > 0.95:
            parts[0] = "**"
        return "/".join(parts)

    found = [one() for _ in range(draw.choice((1, 1, 2, 3)))]
    if draw.random() < 0.1:
        return gx.select(found) & one()
    return gx.select(found) & ~gx.select(one()) if draw.random() < 0.1 else found


def arguments(draw, path, program):
    with Reader(path) as reader:
        saved = list(node_paths(reader.index).values())
    here = [place.path for place in Graph(program.roots).places]
    given = {"mode": draw.choice(("exact", "cover", "overlap")), "trainable": draw.choice((None, "saved", "program"))}
    if draw.random() < 0.9:
        given["only"] = selectors(draw, [*saved, *here, *here])
    if draw.random() < 0.1:
        given["skip"] = selectors(draw, [*saved, *here])
    if draw.random() < 0.1:
        given["map"] = {draw.choice(here): draw.choice(saved)}
    if given["trainable"] is None:
        given["trainable"] = "program" if "only" in given else "saved"  # nothing to be warned of
    return given


def told(program, path, given, copied):
    """What a restore does, and says of it, and leaves."""
    roots = dict(program.roots)
    try:
        report = Checkpoint(**roots).restore(path, **given)
    except GraftaxError as error:
        return type(error), str(error), getattr(getattr(error, "report", None), "as_dict", lambda: None)()
    if copied:  # what waits goes along
        copy.deepcopy(roots)
    before = report.as_dict()
    return before, program.outcome(), report.as_dict()


def compare(seed, folder, looks):
    draw = random.Random(seed)
    path = folder / "saved"
    is_same = draw.random() < 0.6
    Checkpoint(**RandomProgram(seed).roots).save(path, overwrite=True)
    given = arguments(draw, path, RandomProgram(seed, None if is_same else seed, 1000))
    outcomes = []
    for is_part in (False, True):
        looks(is_part)
        program = RandomProgram(seed, None if is_same else seed, 1000)
        if seed % 5 == 0:  # an earlier one still waits
            with suppress(GraftaxError):
                Checkpoint(**program.roots).restore(path, mode="overlap", trainable="program")
        outcomes.append(told(program, path, given, seed % 3 == 0))
    assert outcomes[0] == outcomes[1], given
    return not isinstance(outcomes[0][0], type)


@pytest.mark.broad
def test_parts_of_random_programs(tmp_path, looks):
    went_well = sum(compare(seed, tmp_path, looks) for seed in range(12))
    assert went_well >= 2
    assert looks(True)["parts"] >= 4


@pytest.mark.slow
def test_parts_of_many_random_programs(tmp_path, looks):
    went_well = sum(compare(seed, tmp_path, looks) for seed in range(12, 400))
    assert went_well > 90
    assert looks(True)["parts"] > 140


# --- what is looked at ------------------------------------------------------------------------------------------------


class Many(gx.Layer):
    """Layers of two weights."""

    def __init__(self, first):
        super().__init__()
        self.blocks = [Pair(first + i) for i in range(400)]


class Pair(gx.Layer):
    def __init__(self, value):
        super().__init__()
        self.a, self.b = gx.Variable(np.float32(value)), gx.Variable(np.float32(-value))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "saved"
    Checkpoint(net=Many(0)).save(path)
    return path, Many(1000)


@pytest.fixture
def decoded(monkeypatch):
    """The numbers of the nodes that were decoded."""
    found = []
    original = LazyRecords.__getitem__
    monkeypatch.setattr(LazyRecords, "__getitem__", lambda self, i: (found.append(i), original(self, i))[1])
    monkeypatch.setattr("graftax.checkpoint.reader.decode", None)
    return found


@pytest.mark.broad
def test_a_part_by_selector(many, decoded):
    path, net = many
    report = Checkpoint(net=net).restore(path, only=["net/blocks/7/**", "net/blocks/300/a"])
    assert len(set(decoded)) < 30
    assert [(r.path, r.source) for r in report.restored] == [
        (name, name) for name in ("net/blocks/7/a", "net/blocks/7/b", "net/blocks/300/a")
    ]
    assert [float(v) for v in (net.blocks[7].a, net.blocks[7].b, net.blocks[300].a)] == [7, -7, 300]
    assert [float(v) for v in (net.blocks[6].a, net.blocks[300].b)] == [1006, -1300]
    report.assert_consumed()


@pytest.mark.broad
def test_a_part_by_root(many, decoded):
    path, net = many
    report = Checkpoint(block=net.blocks[9]).restore(path, map={"block": "net/blocks/9"}).assert_consumed()
    assert len(set(decoded)) < 30
    assert [float(v) for v in net.blocks[9].variables] == [9, -9]
    assert [r.source for r in report.restored] == ["net/blocks/9/a", "net/blocks/9/b"]


@pytest.mark.broad
def test_a_report_and_what_waits_can_be_pickled(many):
    path, _ = many
    net = Many(0)
    net.blocks[3] = gx.Sequential([gx.layers.Dense(1, name="late")])
    report = Checkpoint(net=net).restore(path, only=["net/blocks/3/**", "net/blocks/5/a"], mode="overlap")
    assert pickle.loads(pickle.dumps(report)).restored == report.restored
    copy.deepcopy(net)
    pickle.loads(pickle.dumps(net))


def test_two_arrays_that_share_bytes_are_refused_in_a_part(many, tmp_path):
    path, net = many
    forged = tmp_path / "forged"
    shutil.copytree(path, forged)
    resealed(forged, lambda top: top["tensors"][15][3][0].__setitem__(1, top["tensors"][14][3][0][1]))
    with pytest.raises(CorruptMetadata, match="it shares bytes of data-00000-00000.safetensors with another"):
        Checkpoint(net=net).restore(forged, only="net/blocks/7/**")
    with pytest.raises(CorruptMetadata, match="its arrays overlap"):
        Checkpoint(net=net).restore(forged)


@pytest.mark.broad
def test_what_does_not_fit_is_told_as_ever(many, looks):
    path, net = many
    for given in ({"only": "net/blocks/7/c"}, {"only": ["net/blocks/7/**", "net/blocks/401/**"]}):
        errors = []
        for is_part in (False, True):
            looks(is_part)
            with pytest.raises(SelectorError) as caught:
                Checkpoint(net=net).restore(path, **given)
            errors.append(str(caught.value))
        assert errors[0] == errors[1]


def test_what_was_appended_is_taken_in(tmp_path, looks):
    def program(value):
        box = Pair(value)
        box.rest = []
        box.rest += [Pair(value + i) for i in range(9)]
        return box

    Checkpoint(net=program(0)).save(tmp_path / "saved")
    looks(True)
    net = program(100)
    Checkpoint(net=net).restore(tmp_path / "saved", only="net/rest/4/**")
    assert [float(pair.a) for pair in net.rest] == [100, 101, 102, 103, 4, 105, 106, 107, 108]
    assert net.rest[4].path == "rest/4"
