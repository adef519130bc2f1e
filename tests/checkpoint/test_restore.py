"""Matching a program with a checkpoint: what goes where, what is refused, and that a refusal changes nothing."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.reader import GRAPH
from graftax.core.errors import (
    AmbiguousSharing,
    ArgumentError,
    CorruptData,
    DTypeMismatch,
    KindMismatch,
    MatchError,
    MissingInCheckpoint,
    RenameConflict,
    SelectorError,
    ShapeMismatch,
    StateError,
    UnusedInCheckpoint,
)


def value(variable):
    return variable.numpy().tolist()


def test_ck5_names_do_not_matter(saved):
    path = saved(m=gx.Variable(np.float32(4), name="foo"))
    v = gx.Variable(np.float32(0), name="other")
    report = Checkpoint(m=v).restore(path)
    assert report.assert_consumed() is report  # CK29
    assert value(v) == 4
    assert (report.step, report.meta) == (3, {"note": (1, np.float32(2))})


def test_ck6_a_renamed_edge_is_refused_with_the_nearest_candidate(saved, toys):
    path = saved(box=toys.Box(first_kernel=gx.Variable(np.ones((2, 3), "float32")), scale=toys.number(1)))
    v = gx.Variable(np.zeros((2, 3), "float32"))
    box = toys.Box(first_weight=v, scale=toys.number(0))
    with pytest.raises(MatchError, match="nearest of its shape: box/first_kernel") as caught:
        Checkpoint(box=box).restore(path)
    assert type(caught.value) is MissingInCheckpoint
    assert caught.value.report.missing == ("box/first_weight",)
    assert caught.value.report.unused == ("box/first_kernel",)
    assert value(box.scale) == 0
    mapped = {"box/first_weight": "box/first_kernel"}
    Checkpoint(box=box).restore(path, map=mapped).assert_consumed()
    assert value(v) == [[1] * 3] * 2


def test_ck7_extra_values_in_the_checkpoint(saved, toys):
    path = saved(box=toys.Box(a=toys.number(1), b=toys.number(2)))
    box = toys.Box(a=toys.number(0))
    with pytest.raises(UnusedInCheckpoint, match="box/b"):
        Checkpoint(box=box).restore(path)
    assert value(box.a) == 0
    for mode in ("cover", "overlap"):
        report = Checkpoint(box=box).restore(path, mode=mode)
        assert value(box.a) == 1
        with pytest.raises(UnusedInCheckpoint, match="box/b"):
            report.assert_consumed()
    Checkpoint(box=box).restore(path, skip="box/b").assert_consumed()


def test_ck8_extra_variables_in_the_program(saved, toys):
    path = saved(box=toys.Box(a=toys.number(1)))
    box = toys.Box(a=toys.number(0), b=toys.number(0))
    for mode in ("exact", "cover"):
        with pytest.raises(MissingInCheckpoint, match="box/b"):
            Checkpoint(box=box).restore(path, mode=mode)
    assert value(box.a) == 0
    assert Checkpoint(box=box).restore(path, mode="overlap").missing == ("box/b",)
    assert value(box.a) == 1


def test_ck9_shared_into_shared(saved, toys):
    v, w = toys.number(3), toys.number(0)
    path = saved(a=v, b=toys.Box(v=v))
    Checkpoint(a=w, b=toys.Box(v=w)).restore(path).assert_consumed()
    assert value(w) == 3


def test_ck10_one_object_that_is_now_two(saved, toys):
    v = toys.number(3)
    path = saved(a=v, b=v)
    a, b = toys.number(0), toys.number(0)
    report = Checkpoint(a=a, b=b).restore(path)
    assert (value(a), value(b)) == (3, 3)
    assert report.unshared == (("a", ("a", "b")),)
    with pytest.raises(AmbiguousSharing, match="was one object, is now 2: a, b"):
        report.assert_consumed()
    Checkpoint(a=a, b=b).restore(path, mode="cover").assert_consumed()


def test_ck10_taking_one_value_twice_on_purpose_is_no_unsharing(saved, toys):
    path = saved(online=toys.Box(v=toys.number(3)))
    online, target = toys.Box(v=toys.number(0)), toys.Box(v=toys.number(0))
    with pytest.raises(
        MissingInCheckpoint, match="online/v: has no value: map= gives the saved value of this path to 'target'"
    ):
        Checkpoint(online=online, target=target).restore(path, map={"target": "online"})
    assert (value(online.v), value(target.v)) == (0, 0)
    report = Checkpoint(online=online, target=target).restore(path, map={"target": "online", "online": "online"})
    report.assert_consumed()
    assert (value(online.v), value(target.v)) == (3, 3)


def test_ck11_two_values_for_one_object(saved, toys):
    path = saved(a=toys.number(1), b=toys.number(2))
    v = toys.number(0)
    with pytest.raises(AmbiguousSharing, match="for it: a, b"):
        Checkpoint(a=v, b=v).restore(path)
    assert value(v) == 0
    Checkpoint(a=v, b=v).restore(saved(a=toys.number(5), b=toys.number(5))).assert_consumed()
    assert value(v) == 5


def test_ck18_a_shape_that_differs_changes_nothing(saved, toys):
    path = saved(a=toys.number(1), b=gx.Variable(np.zeros(2, "float32")), c=gx.Variable(np.zeros(5, "float32")))
    a, b, c = toys.number(0), gx.Variable(np.ones(3, "float32")), gx.Variable(np.ones(4, "float32"))
    with pytest.raises(ShapeMismatch) as caught:
        Checkpoint(a=a, b=b, c=c).restore(path)
    for text in ("(2,) saved", "(3,) in the program", "(5,) saved", "(4,) in the program", "nothing was changed"):
        assert text in str(caught.value)
    assert [conflict.path for conflict in caught.value.report.conflicts] == ["b", "c"]
    assert (value(a), value(b)) == (0, [1, 1, 1])
    Checkpoint(a=a, b=b, c=c).restore(path, skip=["b", "c"]).assert_consumed()
    assert value(a) == 1


def test_ck19_a_dtype_that_differs_needs_a_cast(saved):
    path = saved(v=gx.Variable(np.full(2, 1.5, "float16")))
    v = gx.Variable(np.zeros(2, "float32"))
    with pytest.raises(DTypeMismatch, match="float16 saved, dtype float32"):
        Checkpoint(v=v).restore(path)
    Checkpoint(v=v).restore(path, cast="safe").assert_consumed()
    assert value(v) == [1.5, 1.5]
    narrow = gx.Variable(np.zeros(2, "int32"))
    with pytest.raises(DTypeMismatch):
        Checkpoint(v=narrow).restore(path, cast="safe")
    Checkpoint(v=narrow).restore(path, cast="any")
    assert value(narrow) == [1, 1]


def test_ck21_restore_in_place(saved, toys):
    v = toys.number(1)
    path = saved(v=v)
    v.assign(np.float32(9))
    Checkpoint(v=v).restore(path)
    assert value(v) == 1


def test_ck23_restoring_none(toys):
    report = Checkpoint(v=toys.number(1)).restore(None)
    assert str(report) == "nothing is being restored"
    with pytest.raises(StateError, match="nothing is being restored"):
        report.assert_consumed()


@pytest.mark.broad
def test_fv9_a_leaf_on_one_side_and_a_node_on_the_other(saved, toys):
    """An expression takes a plain value through its inverse; a plain Variable takes no parts of an expression."""
    value = np.outer([1, 2, 3], [1, -1]).astype("float32")
    path = saved(m=toys.Box(w=gx.Variable(value)))
    with gx.variable_creator_scope(gx.reparam.LowRank(rank=1)):
        box = toys.Box(w=gx.Variable(np.zeros((3, 2), "float32")))
    (one,) = Checkpoint(m=box).restore(path).assert_consumed().restored
    np.testing.assert_allclose(box.w.numpy(), value, atol=1e-6)
    assert one.note.startswith("by the inverse of LowRankMatrix")
    before = [v.numpy() for v in box.variables]
    with pytest.raises(KindMismatch, match="m/w: LowRankMatrix cannot have the saved value"):
        Checkpoint(m=box).restore(saved(m=toys.Box(w=gx.Variable(np.eye(3, 2, dtype="float32")))))
    assert all(np.array_equal(v.numpy(), old) for v, old in zip(box.variables, before, strict=True))
    plain = toys.Box(w=gx.Variable(value))
    with pytest.raises(KindMismatch, match="a node with the children left, right at m/w, the program has a leaf"):
        Checkpoint(m=plain).restore(saved(m=box))


def test_fv9_an_expression_without_an_inverse(saved, toys):
    class Opaque(gx.Reparam):
        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.part = next_creator(spec.replace(name="part"))

    path = saved(m=toys.Box(w=gx.Variable([1.0])))
    with gx.variable_creator_scope(Opaque):
        box = toys.Box(w=gx.Variable([1.0]))
    with pytest.raises(KindMismatch, match="Opaque here has neither a base nor an inverse"):
        Checkpoint(m=box).restore(path)
    with pytest.raises(KindMismatch, match="a leaf at m/w, the program has a node with the children a, b"):
        Checkpoint(m=toys.Box(w=toys.Box(a=toys.number(1), b=toys.number(2)))).restore(path)


def test_all_conflicts_are_told_at_once(saved, toys):
    path = saved(a=toys.number(1), b=gx.Variable(np.zeros(2, "int32")), c=toys.Box(x=toys.number(1)))
    roots = {"a": gx.Variable(np.zeros(3, "float32")), "b": gx.Variable(np.zeros(2, "float32")), "c": toys.number(0)}
    with pytest.raises(KindMismatch) as caught:
        Checkpoint(**roots).restore(path)
    kinds = {conflict.path: conflict.error for conflict in caught.value.report.conflicts}
    assert kinds == {"a": ShapeMismatch, "b": DTypeMismatch, "c": KindMismatch}
    assert all(f"\n    {name}: " in str(caught.value) for name in "abc")


def test_a_root_that_matches_nothing_is_an_error_in_every_mode(saved, toys):
    path = saved(model=toys.Box(v=toys.number(1)), step=toys.number(2))
    for mode in ("exact", "cover", "overlap"):
        with pytest.raises(MissingInCheckpoint, match="roots of the checkpoint are: model, step"):
            Checkpoint(body=toys.Box(v=toys.number(0)), step=toys.number(0)).restore(path, mode=mode)


def test_what_is_outside_the_parts_asked_for_is_not_unused(saved, toys):
    path = saved(model=toys.Stack(4, 2, inputs=3), other=toys.number(1))
    model = toys.Stack(4, 2, inputs=3)
    Checkpoint(model=model).restore(path).assert_consumed()
    report = Checkpoint(model=model).restore(path, only="model/layers/1/**").assert_consumed()
    assert [r.path for r in report.restored] == ["model/layers/1/kernel", "model/layers/1/bias"]
    report = Checkpoint(first=model.layers[0]).restore(path, map={"first": "model/layers/0"}).assert_consumed()
    assert [r.source for r in report.restored] == ["model/layers/0/kernel", "model/layers/0/bias"]


def test_selectors_and_map_must_be_used(saved, toys):
    path = saved(box=toys.Box(v=toys.number(1)))
    checkpoint = Checkpoint(box=toys.Box(v=toys.number(0)))
    for wrong in ({"only": "box/w"}, {"skip": ["**/nothing"]}):
        with pytest.raises(SelectorError):
            checkpoint.restore(path, **wrong)
    with pytest.raises(ArgumentError, match="nearest: box/v"):
        checkpoint.restore(path, map={"bax/v": "box/v"})
    with pytest.raises(MissingInCheckpoint, match="nearest: box/v"):
        checkpoint.restore(path, map={"box/v": "box/w"})
    with pytest.raises(ArgumentError, match="overlap"):
        checkpoint.restore(path, mode="strict")
    with pytest.raises(ArgumentError, match="cast="):
        checkpoint.restore(path, cast="yes")


def test_two_map_entries_for_one_object_conflict(saved, toys):
    path = saved(x=toys.number(1), y=toys.number(1))
    v = toys.number(0)
    with pytest.raises(RenameConflict, match="'x' and 'y'"):
        Checkpoint(a=v, b=v).restore(path, map={"a": "x", "b": "y"})
    Checkpoint(a=v, b=v).restore(path, map={"a": "x"}).assert_consumed()
    assert value(v) == 1


def test_map_takes_whole_components_and_wins_over_edges(saved, toys):
    path = saved(layers=[toys.number(0), toys.number(1), toys.number(2)])
    layers = [toys.number(9), toys.number(9), toys.number(9)]
    Checkpoint(layers=layers).restore(path, map={"layers/0": "layers/2", "layers/2": "layers/0"}).assert_consumed()
    assert [value(v) for v in layers] == [2, 1, 0]


def test_damaged_data_changes_nothing(saved, toys):
    path = saved(a=toys.number(1), b=gx.Variable(np.arange(1000, dtype="float32")))
    file = next(p for p in path.iterdir() if p.name != GRAPH)
    data = bytearray(file.read_bytes())
    data[5000] ^= 1
    file.write_bytes(data)
    a, b = toys.number(0), gx.Variable(np.zeros(1000, "float32"))
    with pytest.raises(CorruptData, match="b: checksum"):
        Checkpoint(a=a, b=b).restore(path)
    assert value(a) == 0
    Checkpoint(a=a, b=b).restore(path, skip="b").assert_consumed()
    assert value(a) == 1


def test_a_state_that_is_refused_changes_nothing(saved, toys):
    class Picky(toys.Position):
        def set_state(self, state):
            if state == 2:
                raise ValueError("not 2")
            self.position = state

    path = saved(v=toys.number(1), first=toys.Position(1), second=toys.Position(2))
    v, first, second = toys.number(0), toys.Position(10), Picky(20)
    with pytest.raises(ValueError, match="not 2"):
        Checkpoint(v=v, first=first, second=second).restore(path)
    assert (value(v), first.position, second.position) == (0, 10, 20)


def test_restoring_inside_a_compiled_function_is_refused(saved, toys):
    v = toys.number(1)
    path = saved(v=v)

    @gx.jit
    def step():
        Checkpoint(v=v).restore(path)
        return v.value

    with pytest.raises(StateError, match="compiled"):
        step()


def test_ck27_seeds_replay(saved):
    generator = gx.SeedGenerator(seed=1)
    generator.next()
    path = saved(g=generator)
    after = generator.next().tolist()
    fresh = gx.SeedGenerator(seed=2)
    fresh.next()
    Checkpoint(g=fresh).restore(path).assert_consumed()
    assert fresh.next().tolist() == after
    unused = gx.SeedGenerator(seed=3)  # has no state before its first draw
    report = Checkpoint(g=unused).restore(path)
    assert unused.next().tolist() == after
    report.assert_consumed()


def test_the_report_is_a_readable_table(saved, toys):
    path = saved(box=toys.Box(a=toys.number(1), b=toys.number(2)), data=toys.Position(1))
    report = Checkpoint(box=toys.Box(a=toys.number(0)), data=toys.Position(0)).restore(path, mode="cover")
    lines = str(report).splitlines()
    assert lines[0].endswith("2 restored, 1 deferred (mode cover)")
    assert [line.split() for line in lines[1:]] == [
        ["restored", "box/a", "float32", "()"],
        ["restored", "data/get_state()", "Python", "state"],
        ["kept", "gx.random", "the", "global", "seed", "and", "its", "stream", "stay"],
        ["deferred", "box/b", "waits", "for", "its", "Variable"],
    ]
    assert repr(report) == str(report)
    assert set(report.as_dict()) >= {"restored", "missing", "unused", "deferred", "conflicts"}


def test_other_roots_do_not_disturb_stateless_ones(saved, toys):
    path = saved(v=toys.number(1), loss=toys.Box(reduction="mean"))
    Checkpoint(v=toys.number(0), loss=toys.Box(reduction="mean")).restore(path).assert_consumed()


def test_what_one_backend_saved_another_restores(saved, toys):
    with gx.backend.use("numpy"):
        path = saved(m=toys.Stack(4, 2, inputs=3))
        m = toys.Stack(4, 2, inputs=3)
        m.variables[0].assign(np.zeros((3, 4), "float32"))
        Checkpoint(m=m).restore(path).assert_consumed()
        assert value(m.variables[0]) == [[0.5] * 4] * 3
    m = toys.Stack(4, 2)
    report = Checkpoint(m=m).restore(path)
    m.build(3)
    report.assert_consumed()
    assert value(m.variables[0]) == [[0.5] * 4] * 3


def test_a_root_with_another_name_is_told_with_a_map(tmp_path):
    Checkpoint(model=gx.Variable([1.0]), other=gx.Variable([2.0])).save(tmp_path / "c")
    weight = gx.Variable([0.0])
    with pytest.raises(MissingInCheckpoint) as caught:
        Checkpoint(net=weight).restore(tmp_path / "c")
    assert caught.value.instead.startswith("map={'net': 'model'}")
    Checkpoint(net=weight).restore(tmp_path / "c", map={"net": "model"})
    assert float(weight[0]) == 1.0
