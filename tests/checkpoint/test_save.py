"""What of a program is saved, and under which paths."""

import copy
import pickle

import jax
import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.paths import node_paths
from graftax.checkpoint.reader import Reader
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    DestinationExists,
    SelectorError,
    StaleReadError,
    StateError,
    UnsupportedValue,
)


def saved(path):
    """Paths of the values in a checkpoint."""
    with Reader(path) as reader:
        index = reader.index
    return sorted(p for node, p in node_paths(index).items() if index.nodes[node].kind.is_leaf)


def test_paths_are_edges(tmp_path, toys):
    model = toys.Stack(4, 2, inputs=3)
    report = Checkpoint(model=model, step=toys.number(1)).save(tmp_path / "c", step=7, meta={"note": [1, (2,)]})
    assert saved(tmp_path / "c") == [
        "model/layers/0/bias",
        "model/layers/0/kernel",
        "model/layers/1/bias",
        "model/layers/1/kernel",
        "step",
    ]
    assert (report.arrays, report.step, report.left_out) == (5, 7, ())
    assert "saved 5 arrays" in str(report)


def test_ck2_exactly_that_path_and_no_other_file(tmp_path, toys):
    Checkpoint(v=toys.number(1)).save(tmp_path / "c")
    assert [p.name for p in tmp_path.iterdir()] == ["c"]
    with pytest.raises(DestinationExists):
        Checkpoint(v=toys.number(1)).save(tmp_path / "c")
    Checkpoint(v=toys.number(2)).save(tmp_path / "c", overwrite=True)


def test_ck9_a_shared_variable_is_saved_once_under_its_shortest_path(tmp_path, toys):
    v = toys.number(3)
    report = Checkpoint(deep=toys.Box(inner=toys.Box(v=v)), a=v).save(tmp_path / "c")
    assert report.arrays == 1
    assert saved(tmp_path / "c") == ["a"]


@pytest.mark.parametrize("value", [3, 2.5, "text", None, np.zeros(2), print])
def test_ck25_roots_are_modules_variables_and_containers(value):
    with pytest.raises(ArgumentTypeError, match="x="):
        Checkpoint(x=value)
    with pytest.raises(ArgumentError):
        Checkpoint()


def test_ck28_saving_inside_a_compiled_function_is_refused(tmp_path, toys):
    v = toys.number(1)

    @gx.jit
    def step():
        v.assign_add(1.0)
        Checkpoint(v=v).save(tmp_path / "c")
        return v.value

    with pytest.raises(StateError, match="traced"):
        step()
    with pytest.raises(StaleReadError):
        jax.jit(lambda x: (Checkpoint(v=v).save(tmp_path / "c"), x)[1])(1.0)
    assert list(tmp_path.iterdir()) == []


def test_cl1_cl3_cl6_containers_are_saved_as_they_are_now(tmp_path, toys):
    box = toys.Box(items=[toys.number(0), toys.number(1)], table={"a": toys.number(2), "b": toys.number(3)})
    box.items.append(toys.number(4))
    box.items.pop(0)
    del box.table["a"]
    box.items.reverse()
    Checkpoint(box=box).save(tmp_path / "c")
    assert saved(tmp_path / "c") == ["box/items/0", "box/items/1", "box/table/b"]
    box.items.reverse()
    Checkpoint(box=box).restore(tmp_path / "c").assert_consumed()
    assert [float(v.value) for v in box.items] == [4.0, 1.0]


def test_cl5_cl7_cl8_keys_and_tuples(tmp_path, toys):
    box = toys.Box(table={"a/b": toys.number(1), "": toys.number(2), 7: toys.number(3)}, pair=(toys.number(4), 5))
    Checkpoint(box=box).save(tmp_path / "c")
    assert saved(tmp_path / "c") == ["box/pair/0", "box/table/%", "box/table/7", "box/table/a%2Fb"]
    for v in box.variables:
        v.assign(np.float32(0))
    Checkpoint(box=box).restore(tmp_path / "c").assert_consumed()
    assert [float(v.value) for v in box.variables] == [1, 2, 3, 4]
    with pytest.raises(UnsupportedValue, match="both read 7"):
        Checkpoint(table={7: toys.number(1), "7": toys.number(2)})


def test_roots_can_be_containers_and_odd_names(tmp_path, toys):
    roots = {"__metadata__": toys.number(1), "nets": [toys.Box(v=toys.number(2)), {"w": toys.number(3)}]}
    Checkpoint(**roots).save(tmp_path / "c")
    assert saved(tmp_path / "c") == ["__metadata__", "nets/0/v", "nets/1/w"]
    roots["__metadata__"].assign(np.float32(0))
    Checkpoint(**roots).restore(tmp_path / "c").assert_consumed()
    assert float(roots["__metadata__"].value) == 1


def test_cycles_end(tmp_path, toys):
    box = toys.Box(v=toys.number(1))
    box.child = toys.Box(parent=box)
    assert Checkpoint(box=box).save(tmp_path / "c").arrays == 1


def test_only_and_skip(tmp_path, toys):
    model, optimizer = toys.Stack(4, 2, inputs=3), toys.Optimizer()
    for v in model.variables:
        optimizer._gx_ensure_slot("momentum", v)
    checkpoint = Checkpoint(model=model, optimizer=optimizer)
    checkpoint.save(tmp_path / "a", only="model/layers/0/**")
    assert saved(tmp_path / "a") == ["model/layers/0/bias", "model/layers/0/kernel"]
    checkpoint.save(tmp_path / "b", only=["**/kernel", "role:counter"], skip="model/layers/1/**")
    assert saved(tmp_path / "b") == [
        "model/layers/0/kernel",
        "optimizer/iterations",
        "optimizer/slots(momentum)/model/layers/0/kernel",
    ]
    checkpoint.save(tmp_path / "c", skip="role:slot")
    assert len(saved(tmp_path / "c")) == 5
    for wrong in ({"only": "modle/**"}, {"skip": ["**/kernel", "nothing"]}):
        with pytest.raises(SelectorError):
            checkpoint.save(tmp_path / "d", **wrong)
    with pytest.raises(ArgumentError, match="leave nothing"):
        checkpoint.save(tmp_path / "d", only="role:counter", skip="optimizer/iterations")


def test_nothing_to_save_is_an_error(tmp_path, toys):
    with pytest.raises(ArgumentError, match="no Variables"):
        Checkpoint(model=toys.Stack(3)).save(tmp_path / "c")


def test_sl1_slots_belong_to_optimizer_and_variable(tmp_path, toys):
    model, optimizer = toys.Stack(2, inputs=1), toys.Optimizer("m", "v")
    for v in model.variables:
        optimizer._gx_ensure_slot("m", v), optimizer._gx_ensure_slot("v", v)
    Checkpoint(model=model, o=optimizer).save(tmp_path / "c")
    assert saved(tmp_path / "c") == [
        "model/layers/0/bias",
        "model/layers/0/kernel",
        "o/iterations",
        "o/slots(m)/model/layers/0/bias",
        "o/slots(m)/model/layers/0/kernel",
        "o/slots(v)/model/layers/0/bias",
        "o/slots(v)/model/layers/0/kernel",
    ]


def test_sl2_slots_of_unreachable_variables_are_listed(tmp_path, toys):
    box, optimizer = toys.Box(w=toys.number(1)), toys.Optimizer()
    optimizer._gx_ensure_slot("momentum", box.w)
    with pytest.warns(UserWarning, match="leaves out all slots of Optimizer"):
        report = Checkpoint(o=optimizer).save(tmp_path / "c")
    assert report.left_out == ("o/slots(momentum)/w",)
    assert "left out o/slots(momentum)/w: its variable was not saved" in str(report)
    assert saved(tmp_path / "c") == ["o/iterations"]


@pytest.mark.parametrize("state", [{"epoch": (1, 2.5)}, b"short", b"x" * 100_000])
def test_ck27_python_state(tmp_path, toys, state):
    Checkpoint(data=toys.Position(state), v=toys.number(1)).save(tmp_path / "c")
    fresh = toys.Position(None)
    Checkpoint(data=fresh, v=toys.number(0)).restore(tmp_path / "c").assert_consumed()
    assert fresh.position == state
    assert type(fresh.position) is type(state)


def test_state_that_cannot_be_saved_names_its_place(tmp_path, toys):
    with pytest.raises(UnsupportedValue, match=r"data/get_state\(\)\['f'\]"):
        Checkpoint(data=toys.Position({"f": print}), v=toys.number(1)).save(tmp_path / "c")
    with pytest.raises(UnsupportedValue, match="meta"):
        Checkpoint(v=toys.number(1)).save(tmp_path / "c", meta={"f": print})
    with pytest.raises(ArgumentError, match="step"):
        Checkpoint(v=toys.number(1)).save(tmp_path / "c", step=1.5)
    assert list(tmp_path.iterdir()) == []


def test_ck26_roots_added_later_are_saved(tmp_path, toys):
    checkpoint = Checkpoint(a=toys.number(1))
    checkpoint.roots["b"] = toys.number(2)
    checkpoint.save(tmp_path / "c")
    assert saved(tmp_path / "c") == ["a", "b"]


def test_factorised_weights_are_saved_by_their_parts(tmp_path):
    def halves(next_creator, spec):
        return gx.reparam.LowRank(rank=1)(next_creator, spec)

    with gx.variable_creator_scope(halves):
        w = gx.Variable(np.ones((3, 2), "float32"))
    Checkpoint(w=w).save(tmp_path / "c")
    assert saved(tmp_path / "c") == ["w/left", "w/right"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["copy", "pickle"])
def test_copies_after_a_save_are_of_the_copied_program(tmp_path, copied):
    w = gx.Variable([1.0])
    manager = gx.CheckpointManager(tmp_path / "run", w=w)
    manager.save(1, async_=True)
    manager.wait()
    checkpoint = gx.Checkpoint(w=w)
    checkpoint.save(tmp_path / "one")
    v, again, other = copied((w, checkpoint, manager))
    v.assign([2.0])
    again.save(tmp_path / "two")
    other.save(2)
    for path in (tmp_path / "two", tmp_path / "run" / "step-2"):
        with gx.checkpoint.read(path) as arrays:
            assert arrays["w"].tolist() == [2.0]
    assert w.numpy().tolist() == [1.0]
