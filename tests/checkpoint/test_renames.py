"""``map=``: what is given away is gone from its old place; globs, slots, misspelt paths, aliases of classes."""

from typing import ClassVar

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import ArgumentError, ArgumentTypeError, MissingInCheckpoint, RenameConflict, ShapeMismatch
from graftax.variables.graph.module import Module


def value(variable):
    return variable.numpy().tolist()


@pytest.fixture
def numbers(toys):
    """A root ``m`` with a list of layers that hold one number each."""

    def make(*values, **more):
        return toys.Box(layers=[toys.Box(w=toys.number(v)) for v in values], **more)

    return make


def test_a_layer_put_in_the_middle_does_not_get_what_was_moved_away(saved, numbers):
    path = saved(m=numbers(1, 2, 3))
    m = numbers(0, 0, 0, 0)
    moved = {"m/layers/2": "m/layers/1", "m/layers/3": "m/layers/2"}
    with pytest.raises(
        MissingInCheckpoint, match="m/layers/1/w: has no value: map= gives the saved value of this path to 'm/l"
    ):
        Checkpoint(m=m).restore(path, map=moved)
    assert [value(v) for v in m.variables] == [0, 0, 0, 0]
    report = Checkpoint(m=m).restore(path, map=moved, skip="m/layers/1/**").assert_consumed()
    assert [value(v) for v in m.variables] == [1, 0, 2, 3]
    assert report.unshared == ()


def test_other_shapes_in_the_old_place_do_not_matter(saved, toys):
    path = saved(m=toys.Box(a=gx.Variable(np.ones(2, "float32"))))
    m = toys.Box(a=gx.Variable(np.zeros(3, "float32")), b=gx.Variable(np.zeros(2, "float32")))
    report = Checkpoint(m=m).restore(path, map={"m/b": "m/a"}, mode="overlap")
    assert (value(m.a), value(m.b), report.missing) == ([0, 0, 0], [1, 1], ("m/a",))


@pytest.mark.broad
def test_names_of_layers_stand_for_their_places_in_the_program(tmp_path):
    def network(*layers):
        net = gx.Sequential([gx.layers.Dense(2, name=name) for name in layers])
        net(np.ones((1, 2), "float32"))
        return net

    old, new = network("a", "b"), network("a", "x", "b")
    Checkpoint(net=old).save(tmp_path / "saved")
    Checkpoint(net=new).restore(tmp_path / "saved", map={"net/layers/b": "net/layers/1"}, skip="net/layers/x/**")
    assert (new.layers[2].kernel.numpy() == old.layers[1].kernel.numpy()).all()
    assert (new.layers[0].kernel.numpy() == old.layers[0].kernel.numpy()).all()
    with pytest.raises(ArgumentError, match="map= names 'net/layers/c'"):
        Checkpoint(net=new).restore(tmp_path / "saved", map={"net/layers/c": "net/layers/1"})


def test_a_value_is_taken_twice_where_both_places_are_named(saved, numbers):
    path = saved(m=numbers(1, 2))
    m = numbers(0, 0, 0)
    Checkpoint(m=m).restore(path, map={"m/layers/1": "m/layers/1", "m/layers/2": "m/layers/1"}).assert_consumed()
    assert [value(v) for v in m.variables] == [1, 2, 2]


def test_what_is_given_away_below_a_moved_object_is_not_its_either(saved, toys):
    path = saved(m=toys.Box(old=toys.Box(a=toys.number(1), b=toys.number(2))))
    m = toys.Box(new=toys.Box(a=toys.number(0)), b=toys.number(0))
    Checkpoint(m=m).restore(path, map={"m/new": "m/old", "m/b": "m/old/b"}).assert_consumed()
    assert (value(m.new.a), value(m.b)) == (1, 2)


def test_unbuilt_layers_do_not_get_what_was_moved_away(saved, toys):
    old = toys.Stack(2, 2, inputs=2)
    for i, layer in enumerate(old.layers):
        layer.bias.assign(np.full(2, i + 1, "float32"))
    path = saved(m=old)
    m = toys.Stack(2, 2, 2)
    moved = {f"m/layers/2/{name}": f"m/layers/1/{name}" for name in ("kernel", "bias")}
    report = Checkpoint(m=m).restore(path, map=moved)
    m.build(2)
    report.assert_consumed()
    assert [value(layer.bias) for layer in m.layers] == [[1, 1], [0, 0], [2, 2]]


def test_an_unbuilt_layer_takes_what_was_saved_under_another_name(saved, toys):
    old = toys.Box(dense=toys.Box(weight=gx.Variable(np.full((3, 2), 7, "float32")), bias=gx.Variable([1.0, 2.0])))
    path = saved(m=old)
    m = toys.Box(dense=gx.layers.Dense(2))
    report = Checkpoint(m=m).restore(path, map={"m/dense/kernel": "m/dense/weight"})
    assert set(report.deferred) == {"m/dense/kernel", "m/dense/bias"}
    m.dense(np.ones((1, 3), "float32"))
    report.assert_consumed()
    assert (value(m.dense.kernel), value(m.dense.bias)) == ([[7, 7]] * 3, [1, 2])


def test_globs_move_many(saved, toys):
    old = toys.Box(blocks=[toys.Box(weight=toys.number(i), b=toys.number(10 + i)) for i in range(3)])
    path = saved(body=old)
    new = toys.Box(layers=[toys.Box(kernel=toys.number(-1), b=toys.number(-1)) for _ in range(3)])
    report = Checkpoint(model=new).restore(
        path, map={"model/layers/*/kernel": "body/blocks/*/weight", "model/layers/*/b": "body/blocks/*/b"}
    )
    report.assert_consumed()
    assert [value(v) for v in new.variables] == [0, 10, 1, 11, 2, 12]
    for v in new.variables:
        v.assign(np.float32(-1))
    Checkpoint(m=toys.Box(inner=toys.Box(blocks=old.blocks))).restore(path, map={"m/inner/**": "body/**"})
    with pytest.raises(ArgumentError, match="each star of one side"):
        Checkpoint(m=new).restore(path, map={"m/layers/*/kernel": "body/**/w*"})
    with pytest.raises(ArgumentError, match="nothing in the checkpoint fits the glob"):
        Checkpoint(m=new).restore(path, map={"m/layers/*/kernel": "body/block/*/weight"})


def test_an_entry_that_is_written_out_wins_over_a_glob(saved, numbers):
    path = saved(m=numbers(1, 2, 3))
    m = numbers(0, 0, 0)
    moved = {"m/layers/*/w": "m/layers/*/w", "m/layers/0/w": "m/layers/2/w", "m/layers/2/w": "m/layers/0/w"}
    Checkpoint(m=m).restore(path, map=moved).assert_consumed()
    assert [value(v) for v in m.variables] == [3, 2, 1]


def test_paths_of_slots_as_show_prints_them(saved, toys):
    w, optimizer = toys.number(1), toys.Optimizer("m")
    optimizer._gx_ensure_slot("m", w).assign(np.float32(5))
    path = saved(model=toys.Box(w=w), optimizer=optimizer)
    v, other = toys.number(0), toys.Optimizer("momentum")
    roots = {"model": toys.Box(w=v), "optimizer": other}
    moved = {"optimizer/slots(momentum)/model/w": "optimizer/slots(m)/model/w"}
    Checkpoint(**roots).restore(path, map=moved).assert_consumed()
    assert value(other._gx_ensure_slot("momentum", v)) == 5
    average = toys.Box(w=toys.number(0))
    mapped = {"average/w": "optimizer/slots(m)/model/w"}
    Checkpoint(average=average).restore(path, map=mapped).assert_consumed()
    assert value(average.w) == 5
    with pytest.raises(MissingInCheckpoint, match=r"nearest: optimizer/slots\(m\)/model/w"):
        Checkpoint(average=average).restore(path, map={"average/w": "optimizer/slots(n)/model/w"})


@pytest.mark.parametrize("wrong", ["m/dense/kernl", "m/layer/0", "n/dense", "m/dense/bias/x"])
def test_a_misspelt_path_of_the_program_is_noticed(saved, toys, wrong):
    path = saved(m=toys.Box(dense=toys.Box(w=toys.number(1), bias=toys.number(2))))
    m = toys.Box(dense=toys.Box(kernel=toys.number(0), bias=toys.number(0)))
    with pytest.raises(ArgumentError, match="the program has no such path"):
        Checkpoint(m=m).restore(path, map={wrong: "m/dense/w"})


def test_entries_of_what_is_left_out_and_entries_that_are_none(saved, numbers):
    path = saved(m=numbers(1, 2))
    checkpoint = Checkpoint(m=numbers(0, 0))
    for choice in ({"only": "m/layers/0/**"}, {"skip": "m/layers/1/**"}):
        with pytest.raises(ArgumentError, match="map= names 'm/layers/1/w', which only= or skip= leaves out"):
            checkpoint.restore(path, map={"m/layers/1/w": "m/layers/0/w"}, **choice)
    with pytest.raises(ArgumentTypeError, match="as text"):
        checkpoint.restore(path, map={"m/layers/1/w": 3})
    with pytest.raises(ArgumentTypeError, match="map="):
        checkpoint.restore(path, map=["m"])
    shared = numbers(0, 0)
    shared.layers[1] = shared.layers[0]
    entries = {"m/layers/0": "m/layers/1", "m/layers/1": "m/layers/0"}
    with pytest.raises(RenameConflict):
        Checkpoint(m=shared).restore(path, map=entries)


class Block(Module):
    checkpoint_aliases: ClassVar[dict[str, str]] = {"attn": "attention"}

    def __init__(self, v):
        self.attention = v


class Wider(Block):
    checkpoint_aliases: ClassVar[dict[str, str]] = {"ff": "mlp"}

    def __init__(self, v, w):
        super().__init__(v)
        self.mlp = w


def test_a_class_says_what_its_attributes_were_called(saved, toys):
    path = saved(m=toys.Box(attn=toys.number(1), ff=toys.number(2)))
    m = Wider(toys.number(0), toys.number(0))
    report = Checkpoint(m=m).restore(path).assert_consumed()
    assert (value(m.attention), value(m.mlp)) == (1, 2)
    assert [(r.path, r.source) for r in report.restored] == [("m/attention", "m/attn"), ("m/mlp", "m/ff")]
    late = Wider(None, None)
    report = Checkpoint(m=late).restore(path)
    late.attention, late.mlp = toys.number(0), toys.number(0)
    report.assert_consumed()
    assert (value(late.attention), value(late.mlp)) == (1, 2)
    new = Wider(toys.number(3), toys.number(4))
    Checkpoint(m=m).restore(saved(m=new)).assert_consumed()
    assert (value(m.attention), value(m.mlp)) == (3, 4)


@pytest.mark.parametrize("mode", ["exact", "overlap"])
def test_a_former_name_may_still_be_used(saved, toys, mode):
    """As in a subclass from before the new name, beside one of after it."""

    class Older(Block):
        def __init__(self, v):
            self.attn = v

    path = saved(m=[Older(toys.number(1)), Block(toys.number(2))])
    m = [Older(toys.number(0)), Block(toys.number(0))]
    Checkpoint(m=m).restore(path, mode=mode).assert_consumed()
    assert (value(m[0].attn), value(m[1].attention)) == (1, 2)


def test_aliases_are_a_mapping_of_names(saved, toys):
    class Wrong(Module):
        checkpoint_aliases = ("attn", "attention")

        def __init__(self):
            self.attention = toys.number(0)

    path = saved(m=toys.Box(attn=toys.number(1)))
    with pytest.raises(ArgumentTypeError, match="Wrong.checkpoint_aliases"):
        Checkpoint(m=Wrong()).restore(path)


def test_shapes_under_a_moved_path_are_checked(saved, toys):
    path = saved(a=gx.Variable(np.ones(2, "float32")))
    with pytest.raises(ShapeMismatch, match="from a"):
        Checkpoint(b=gx.Variable(np.ones(3, "float32"))).restore(path, map={"b": "a"})
