"""The global seed and its stream are state: a new process that sets no seed goes on with the same numbers."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.extract import extract
from graftax.checkpoint.subset import Subset
from graftax.core.errors import StateError


@pytest.fixture(autouse=True)
def seeded():
    yield
    gx.set_random_seed(0)


def drawn(shape=(3,)):
    return gx.random.normal(shape).tolist()


@pytest.mark.parametrize("draws", [0, 2])
def test_the_stream_goes_on_where_it_was(saved, toys, draws):
    gx.set_random_seed(7)
    for _ in range(draws):
        drawn()
    path = saved(v=toys.number(1))
    expected = [drawn(), drawn()]
    gx.set_random_seed(99)
    drawn()
    report = Checkpoint(v=toys.number(0)).restore(path).assert_consumed()
    assert report.random is True
    assert gx.random.get_random_seed() == 7
    assert [drawn(), drawn()] == expected


@pytest.mark.broad
def test_weights_that_a_model_makes_later_are_the_same(saved):
    def program(seed):
        gx.set_random_seed(seed)
        gx.SeedGenerator().next()  # another root, which draws first
        model = gx.Sequential([gx.layers.Dense(2)])
        model(np.ones((1, 3), "float32"))
        return model

    def grown(model):
        model.add(gx.layers.Dense(2))
        model(np.ones((1, 3), "float32"))
        return model.layers[-1].kernel.numpy().tolist()

    model = program(5)
    path = saved(model=model)
    expected = grown(model)
    other = program(6)
    Checkpoint(model=other).restore(path).assert_consumed()
    assert grown(other) == expected


def test_the_seed_stays_where_only_a_part_comes(saved, toys):
    gx.set_random_seed(7)
    path = saved(v=toys.number(1), w=toys.number(2))
    gx.set_random_seed(8)
    for choice in ({"only": "v"}, {"mode": "cover"}, {"mode": "overlap"}, {"skip": "gx.random"}):
        report = Checkpoint(v=toys.number(0), w=toys.number(0)).restore(path, **choice)
        assert (report.random, gx.random.get_random_seed()) == (False, 8)
        assert "gx.random" in str(report)
    for chosen in (["v", "gx.random"], "role:seed"):
        Checkpoint(v=toys.number(0), w=toys.number(0)).restore(path, only=chosen, mode="overlap")
        assert gx.random.get_random_seed() == 7
        gx.set_random_seed(8)
    part = saved(v=toys.number(1))
    assert Checkpoint(v=toys.number(0)).restore(part).random is True
    Checkpoint(v=toys.number(1), w=toys.number(2)).save(path.parent / "part", only="v")
    assert Checkpoint(v=toys.number(0)).restore(path.parent / "part").random is None


def test_no_root_has_its_name(toys):
    with pytest.raises(gx.errors.ArgumentError, match="a root called 'gx.random'"):
        Checkpoint(**{"gx.random": toys.number(0)})


@pytest.mark.parametrize(
    "state", [3, {}, {"seed": -1, "roots": {}, "stream": None}, {"seed": 1, "roots": {}, "stream": [1, 2]}]
)
def test_a_forged_state_is_refused(state, toys):
    random = gx.variables.random_state.RandomState({"v": toys.number(1)})
    with pytest.raises(StateError, match="it is not what a save writes"):
        random.set_state(state)


def test_a_failed_restore_leaves_the_seed(saved, toys):
    class Picky(toys.Position):
        def set_state(self, state):
            raise ValueError("no")

    gx.set_random_seed(7)
    path = saved(v=toys.number(1), p=toys.Position(1))
    gx.set_random_seed(8)
    drawn()
    with pytest.raises(ValueError, match="no"):
        Checkpoint(v=toys.number(0), p=Picky(0)).restore(path)
    after = drawn()
    gx.set_random_seed(8)
    drawn()
    assert drawn() == after


def test_an_extract_of_a_whole_checkpoint_has_it(saved, toys, tmp_path):
    gx.set_random_seed(7)
    path = saved(v=toys.number(1), w=toys.number(2))
    extract(path, tmp_path / "whole")
    extract(path, tmp_path / "part", Subset("v"))
    gx.set_random_seed(8)
    assert Checkpoint(v=toys.number(0)).restore(tmp_path / "part").random is None
    assert Checkpoint(v=toys.number(0), w=toys.number(0)).restore(tmp_path / "whole").random is True
    assert gx.random.get_random_seed() == 7
