"""Slots of optimizers in a restore: they follow their variables, and what does not fit is refused."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import (
    ShapeMismatch,
    UnusedInCheckpoint,
)


def value(variable):
    return variable.numpy().tolist()


def test_roles_select(saved, toys):
    path = saved(model=toys.Stack(2, inputs=1), optimizer=toys.Optimizer())
    model, optimizer = toys.Stack(2, inputs=1), toys.Optimizer()
    report = Checkpoint(model=model, optimizer=optimizer).restore(path, only="role:counter").assert_consumed()
    assert [r.path for r in report.restored] == ["optimizer/iterations"]


def test_sl3_sl4_a_fresh_optimizer_gets_its_moments_at_once(saved, toys):
    model, optimizer = toys.Stack(2, inputs=1), toys.Optimizer()
    for i, v in enumerate(model.variables):
        optimizer._gx_ensure_slot("momentum", v).assign(np.full(v.shape, i + 1, "float32"))
    path = saved(model=model, optimizer=optimizer)
    fresh, other = toys.Stack(2, inputs=1), toys.Optimizer()
    Checkpoint(model=fresh, optimizer=other).restore(path).assert_consumed()
    assert [value(record.slot) for record in other.slots()] == [[[1, 1]], [2, 2]]


def test_sl1_moved_and_renamed_variables_keep_their_moments(saved, toys):
    a, b, optimizer = toys.number(1), toys.number(2), toys.Optimizer()
    for v in (a, b):
        optimizer._gx_ensure_slot("momentum", v).assign(v.value * 10)
    path = saved(net=toys.Box(a=a, b=b), optimizer=optimizer)
    x, y, other = toys.number(0), toys.number(0), toys.Optimizer()
    mapped = {"net/inner": "net/b", "net/outer/v": "net/a"}
    box = toys.Box(inner=x, outer=toys.Box(v=y))
    Checkpoint(net=box, optimizer=other).restore(path, map=mapped).assert_consumed()
    assert value(other._gx_ensure_slot("momentum", x)) == 20
    assert value(other._gx_ensure_slot("momentum", y)) == 10


def test_sl2_slots_without_their_variable_are_unused(saved, toys):
    w, optimizer = toys.number(1), toys.Optimizer()
    optimizer._gx_ensure_slot("momentum", w)
    path = saved(w=w, optimizer=optimizer)
    with pytest.raises(UnusedInCheckpoint, match=r"optimizer/slots\(momentum\)/w"):
        Checkpoint(optimizer=toys.Optimizer()).restore(path)
    Checkpoint(optimizer=toys.Optimizer()).restore(path, skip="role:slot").assert_consumed()
    Checkpoint(w=toys.number(0)).restore(path).assert_consumed()


def test_sl6_another_kind_of_optimizer(saved, toys):
    w, optimizer = toys.number(1), toys.Optimizer("m")
    optimizer._gx_ensure_slot("m", w)
    path = saved(w=w, optimizer=optimizer)
    other = toys.Optimizer("velocity")
    v = toys.number(0)
    other._gx_ensure_slot("velocity", v)
    with pytest.raises(UnusedInCheckpoint, match=r"optimizer/slots\(m\)/w"):
        Checkpoint(w=v, optimizer=other).restore(path)
    assert value(v) == 0
    report = Checkpoint(w=v, optimizer=other).restore(path, mode="cover")
    assert value(v) == 1
    assert report.unused == ("optimizer/slots(m)/w",)
    assert report.fresh == ("optimizer/slots(velocity)/w",)


def test_sl7_slots_of_newly_unfrozen_variables_start_fresh(saved, toys):
    model, optimizer = toys.Stack(1, 1, inputs=1), toys.Optimizer()
    optimizer._gx_ensure_slot("momentum", model.layers[1].kernel).assign(np.full((1, 1), 7, "float32"))
    path = saved(model=model, optimizer=optimizer)
    fresh, other = toys.Stack(1, 1, inputs=1), toys.Optimizer()
    for v in fresh.variables:
        other._gx_ensure_slot("momentum", v)
    report = Checkpoint(model=fresh, optimizer=other).restore(path).assert_consumed()
    assert value(other._gx_ensure_slot("momentum", fresh.layers[1].kernel)) == [[7]]
    assert len(report.fresh) == 3


def test_slot_shapes_are_checked_too(saved, toys):
    w, optimizer = toys.number(1), toys.Optimizer()
    optimizer.made["momentum", id(w)] = (w, gx.Variable(np.zeros(4, "float32"), role="slot"))
    path = saved(w=w, optimizer=optimizer)
    v = toys.number(0)
    with pytest.raises(ShapeMismatch, match=r"slots\(momentum\)/w"):
        Checkpoint(w=v, optimizer=toys.Optimizer()).restore(path)
    assert value(v) == 0


def test_skipping_a_variable_skips_its_slots(saved, toys):
    model, optimizer = toys.Stack(2, 2, inputs=1), toys.Optimizer()
    for v in model.variables:
        optimizer._gx_ensure_slot("momentum", v).assign(np.full(v.shape, 5, "float32"))
    path = saved(model=model, optimizer=optimizer)
    fresh, other = toys.Stack(2, 3, inputs=1), toys.Optimizer()  # another head
    Checkpoint(model=fresh, optimizer=other).restore(path, skip="model/layers/1/**").assert_consumed()
    head = fresh.layers[1].bias
    assert value(other._gx_ensure_slot("momentum", head)) == [0, 0, 0]
    assert value(other._gx_ensure_slot("momentum", fresh.layers[0].bias)) == [5, 5]
    body, other = toys.Stack(2, inputs=1), toys.Optimizer()  # none
    Checkpoint(model=body, optimizer=other).restore(path, skip="model/layers/1/**").assert_consumed()
    late, other = toys.Stack(2, 3), toys.Optimizer()  # not built
    report = Checkpoint(model=late, optimizer=other).restore(path, skip="model/layers/1/**")
    late.build(1)
    report.assert_consumed()
    assert value(other._gx_ensure_slot("momentum", late.layers[1].bias)) == [0, 0, 0]


@pytest.mark.parametrize(("before", "after"), [("Lion", "SGD"), ("Adam", "Yogi"), ("Adam", "NAdam")])
def test_slots_belong_to_a_class_of_optimizers(saved, before, after):
    def program(name):
        w = gx.Variable([1.0, 2.0])
        kinds = {"SGD": lambda: gx.optimizers.SGD(0.1, momentum=0.9), "NAdam": lambda: gx.optimizers.Nadam(0.1)}
        optimizer = kinds.get(name, lambda: getattr(gx.optimizers, name)(0.1))()
        optimizer.apply([np.ones(2, "float32")], [w])
        return {"w": w, "optimizer": optimizer}

    path = saved(**program(before))
    new = program(after)
    kept = [value(v) for v in new["optimizer"].variables]
    with pytest.raises(UnusedInCheckpoint, match=f"is a slot of {before}, and the program has"):
        Checkpoint(**new).restore(path)
    assert [value(v) for v in new["optimizer"].variables] == kept
    report = Checkpoint(**new).restore(path, mode="cover")
    assert report.unused
    assert len(report.reset) == len(report.unused)
    Checkpoint(**program(before)).restore(path).assert_consumed()


def test_a_class_of_optimizers_says_what_it_was_called(saved):
    class Old(gx.optimizers.SGD):
        pass

    class New(gx.optimizers.SGD):
        checkpoint_aliases = {"Old": "New"}  # noqa: RUF012

    def program(kind):
        w, optimizer = gx.Variable([1.0]), kind(0.1, momentum=0.9)
        optimizer.apply([np.ones(1, "float32")], [w])
        return {"w": w, "optimizer": optimizer}

    path = saved(**program(Old))
    Checkpoint(**program(New)).restore(path).assert_consumed()


def test_what_every_optimizer_keeps_survives_another_class(saved):
    def program(kind, **more):
        w, optimizer = gx.Variable([1.0]), kind(0.1, ema_momentum=0.9, **more)
        optimizer.apply([np.ones(1, "float32")], [w])
        return {"w": w, "optimizer": optimizer}

    path = saved(**program(gx.optimizers.SGD))
    report = Checkpoint(**program(gx.optimizers.Adam)).restore(path, mode="cover")
    assert [r.path for r in report.restored if "slots(" in r.path] == ["optimizer/slots(moving_average)/w"]


def test_only_biases_beside_an_optimizer(saved, toys):
    model, optimizer = toys.Stack(2, inputs=1), toys.Optimizer()
    for v in model.variables:
        optimizer._gx_ensure_slot("momentum", v)
    path = saved(model=model, optimizer=optimizer)
    fresh, other = toys.Stack(2, inputs=1), toys.Optimizer()
    report = Checkpoint(model=fresh, optimizer=other).restore(path, only="**/bias").assert_consumed()
    assert [r.path for r in report.restored] == [
        "model/layers/0/bias",
        "optimizer/slots(momentum)/model/layers/0/bias",
    ]
    path = saved(model=model, optimizer=toys.Optimizer())  # without slots: nothing of it was asked for
    Checkpoint(model=fresh, optimizer=toys.Optimizer()).restore(path, only="**/bias").assert_consumed()
