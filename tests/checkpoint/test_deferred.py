"""Restore on create: values that wait for their Variables, and come exactly once."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import DTypeMismatch, ShapeMismatch, UnusedInCheckpoint
from graftax.variables.graph.module import Module


def value(variable):
    return variable.numpy().tolist()


@pytest.fixture
def saved(tmp_path):
    def save(**roots):
        path = tmp_path / f"c{len(list(tmp_path.iterdir()))}"
        Checkpoint(**roots).save(path)
        return path

    return save


class Late(Module):
    """Says that its Variable comes later."""

    def __init__(self):
        self.v = None


@pytest.fixture
def four(saved, toys):
    return saved(m=toys.Box(v=toys.number(4)))


def test_ck12_a_value_arrives_with_the_assignment(four, toys):
    m = Late()
    report = Checkpoint(m=m).restore(four)
    assert report.deferred == ("m/v",)
    with pytest.raises(UnusedInCheckpoint, match="m/v: waits") as caught:
        report.assert_consumed()
    assert caught.value.report is report
    m.v = toys.number(0)
    assert value(m.v) == 4
    assert report.assert_consumed().deferred == ()
    assert [(r.path, r.source, r.dtype) for r in report.restored] == [("m/v", "m/v", "float32")]
    assert "1 restored" in str(report)


def test_ck12_a_plain_attribute_may_come_later_unless_the_match_must_be_exact(four, toys):
    m = toys.Box()
    with pytest.raises(UnusedInCheckpoint):
        Checkpoint(m=m).restore(four)
    report = Checkpoint(m=m).restore(four, mode="cover")
    m.v = toys.number(0)
    assert value(m.v) == 4
    report.assert_consumed()


def test_ck13_ck15_delivery_is_one_shot(four, toys):
    m = Late()
    Checkpoint(m=m).restore(four)
    m.v = toys.number(0)
    m.v.assign(np.float32(9))
    assert value(m.v) == 9
    m.v = toys.number(77)
    assert value(m.v) == 77
    del m.v
    m.v = toys.number(78)
    assert value(m.v) == 78


def test_ck14_the_later_restore_wins(four, saved, toys):
    m = Late()
    Checkpoint(m=m).restore(four)
    report = Checkpoint(m=m).restore(saved(m=toys.Box(v=toys.number(8))))
    m.v = toys.number(0)
    assert value(m.v) == 8
    report.assert_consumed()
    m.v = toys.number(77)
    assert value(m.v) == 77


def test_two_restores_of_different_parts_both_wait(saved, toys):
    path = saved(m=toys.Stack(4, 2, inputs=3))
    m = toys.Stack(4, 2)
    reports = [Checkpoint(m=m).restore(path, only=f"m/layers/{i}/**") for i in (0, 1)]
    m.build(3)
    for report in reports:
        report.assert_consumed()
    assert value(m.layers[0].kernel) == [[0.5] * 4] * 3


def test_ck16_an_unbuilt_layer_takes_its_weights_when_it_is_built(saved, toys):
    old = toys.Stack(4, 2, inputs=3)
    for i, v in enumerate(old.variables):
        v.assign(np.full(v.shape, i, "float32"))
    path = saved(m=old)
    new = toys.Stack(4, 2)
    report = Checkpoint(m=new).restore(path)
    assert len(report.deferred) == 4
    new.layers[0].build(3)
    assert len(report.deferred) == 2
    new.layers[1].build(4)
    report.assert_consumed()
    assert [value(v) for v in new.variables] == [value(v) for v in old.variables]


def test_ck16_later_randomness_is_that_of_a_fresh_model(saved, toys):
    def build():
        gx.set_random_seed(5)
        box = Late()
        later = gx.SeedGenerator()
        return box, later

    box, later = build()
    box.v = gx.Variable(shape=(3,), initializer="normal")
    drawn = later.next().tolist()
    path = saved(m=box)
    box, later = build()
    Checkpoint(m=box).restore(path)
    box.v = gx.Variable(shape=(3,), initializer="normal")
    assert later.next().tolist() == drawn


def test_ck17_a_layer_built_differently_is_refused_with_the_key(saved, toys):
    path = saved(m=toys.Stack(2, inputs=3))
    wrong = toys.Stack(5)
    Checkpoint(m=wrong).restore(path)
    with pytest.raises(ShapeMismatch) as caught:
        wrong.build(3)
    for text in ("(3, 2) saved", "(3, 5) in the program", "'m/layers/0/kernel' in the checkpoint"):
        assert text in str(caught.value)


def test_dtypes_are_checked_on_arrival(saved, toys):
    path = saved(m=toys.Box(v=gx.Variable(np.zeros(2, "float16"))))
    m = Late()
    Checkpoint(m=m).restore(path)
    with pytest.raises(DTypeMismatch):
        m.v = gx.Variable(np.zeros(2, "float32"))
    m = Late()
    Checkpoint(m=m).restore(path, cast="safe").deferred  # noqa: B018
    m.v = gx.Variable(np.ones(2, "float32"))
    assert value(m.v) == [0, 0]


def test_cl2_elements_appended_to_an_empty_list_are_restored(saved, toys):
    path = saved(m=toys.Box(items=[toys.number(1), toys.number(2)]))
    m = toys.Box(items=[])
    report = Checkpoint(m=m).restore(path)
    m.items.append(toys.number(0))
    assert [value(v) for v in m.variables] == [1]
    m.items.append(toys.number(0))
    assert [value(v) for v in m.variables] == [1, 2]
    report.assert_consumed()


def test_containers_and_modules_that_appear_later(saved, toys):
    inner = toys.Box(table={"a": toys.number(1), 7: [toys.number(2)]}, sub=toys.Stack(2, inputs=1))
    path = saved(m=toys.Box(inner=inner))
    m = Late()
    m.inner = None
    report = Checkpoint(m=m).restore(path)
    new = toys.Box(table={"a": toys.number(0), 7: [toys.number(0)]}, sub=toys.Stack(2))
    m.inner = new
    assert (value(new.table["a"]), value(new.table[7][0])) == (1, 2)
    new.sub.build(1)
    report.assert_consumed()
    assert value(new.sub.layers[0].kernel) == [[0.5, 0.5]]


def test_a_shared_variable_that_appears_twice_is_given_its_value_once(saved, toys):
    v = toys.number(3)
    path = saved(m=toys.Box(a=v, b=v))
    m = toys.Box(a=None, b=None)
    report = Checkpoint(m=m).restore(path)
    m.a = toys.number(0)
    report.assert_consumed()
    m.a.assign(np.float32(9))
    m.b = m.a
    assert value(m.b) == 9
    untied = toys.Box(a=None, b=None)
    Checkpoint(m=untied).restore(path)
    untied.a, untied.b = toys.number(0), toys.number(0)
    assert (value(untied.a), value(untied.b)) == (3, 3)


def test_sl3_slots_arrive_with_their_variables(saved, toys):
    model, optimizer = toys.Stack(2, inputs=1), toys.Optimizer()
    for i, v in enumerate(model.variables):
        optimizer._gx_ensure_slot("momentum", v).assign(np.full(v.shape, i + 1, "float32"))
    path = saved(model=model, optimizer=optimizer)
    fresh, other = toys.Stack(2), toys.Optimizer()
    report = Checkpoint(model=fresh, optimizer=other).restore(path)
    assert len(report.deferred) == 4
    fresh.build(1)
    report.assert_consumed()
    assert [value(record.slot) for record in other.slots()] == [[[1, 1]], [2, 2]]


def test_skip_and_map_reach_into_what_is_not_built(saved, toys):
    old = toys.Stack(2, 2, inputs=2)
    for i, v in enumerate(old.variables):
        v.assign(np.full(v.shape, i + 1, "float32"))
    path = saved(m=old)
    new = toys.Stack(2, 2)
    mapped = {f"m/layers/{i}/bias": "m/layers/0/bias" for i in (0, 1)}
    report = Checkpoint(m=new).restore(path, skip="m/layers/0/kernel", map=mapped)
    new.build(2)
    report.assert_consumed()
    assert [value(v) for v in new.variables] == [[[0.5] * 2] * 2, [2, 2], [[3, 3], [3, 3]], [2, 2]]


def test_layers_built_inside_a_compiled_step_keep_training(saved, toys):
    path = saved(m=toys.Stack(1, inputs=1))
    model = toys.Stack(1)
    report = Checkpoint(m=model).restore(path)

    @gx.jit
    def step():
        if not model.layers[0].built:
            model.build(1)
        model.layers[0].kernel.assign_add([[1.0]])
        return model.layers[0].kernel.value

    assert [step().tolist() for _ in range(3)] == [[[1.5]], [[2.5]], [[3.5]]]
    report.assert_consumed()
