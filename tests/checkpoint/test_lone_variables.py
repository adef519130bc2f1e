"""What hangs on a Variable that no Module holds is saved and restored with it: its regularizer, its constraint."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops

ROOTS = {
    "a root": lambda w: {"w": w},
    "in a list": lambda w: {"w": [w]},
    "deep in containers": lambda w: {"w": {"a": (w, w)}},
    "beside a Module that has it": lambda w: {"w": w, "m": Holder(w)},
}
KINDS = ("regularizer", "constraint")
table = pytest.mark.parametrize(("roots", "kind"), [(roots, kind) for roots in ROOTS for kind in KINDS])


class Holder(gx.Module):
    def __init__(self, w):
        self.w = w


class Pull(gx.Module):
    """A penalty, or a limit, that is a Variable."""

    def __init__(self, s=0.5):
        super().__init__()
        self.s = gx.Variable(s)

    def __call__(self, value):
        return self.s * value


def make(kind, s=0.5):
    return gx.Variable([1.0, 2.0], **{kind: Pull(s)})


def plain():
    return gx.Variable([1.0, 2.0])


@table
def test_it_comes_back(roots, kind, tmp_path):
    old, new = make(kind, 3.0), make(kind)
    checkpoint = gx.Checkpoint(**ROOTS[roots](old))
    assert checkpoint.save(tmp_path / "c").arrays == 2
    report = gx.Checkpoint(**ROOTS[roots](new)).restore(tmp_path / "c")
    report.assert_consumed()
    assert float(getattr(new, kind).s) == 3.0
    assert len(report.restored) == 2


@table
def test_what_only_one_side_has_is_told_of(roots, kind, tmp_path):
    new = make(kind)
    gx.Checkpoint(**ROOTS[roots](plain())).save(tmp_path / "without")
    gx.Checkpoint(**ROOTS[roots](make(kind))).save(tmp_path / "with")
    with pytest.raises(gx.errors.MissingInCheckpoint, match=rf"{kind}/s: has no value"):
        gx.Checkpoint(**ROOTS[roots](new)).restore(tmp_path / "without")
    with pytest.raises(gx.errors.UnusedInCheckpoint, match=rf"{kind}/s: is in the checkpoint"):
        gx.Checkpoint(**ROOTS[roots](plain())).restore(tmp_path / "with")
    for one, path in ((new, "without"), (plain(), "with")):
        gx.Checkpoint(**ROOTS[roots](one)).restore(tmp_path / path, mode="overlap")


def test_what_is_set_between_two_saves_counts(tmp_path):
    w = plain()
    checkpoint = gx.Checkpoint(w=w)
    assert checkpoint.save(tmp_path / "a").arrays == 1
    w.regularizer = Pull()
    assert checkpoint.save(tmp_path / "b").arrays == 2


def test_a_part_is_restored_by_its_path(tmp_path):
    gx.Checkpoint(w=make("regularizer", 3.0)).save(tmp_path / "c")
    new = make("regularizer")
    new.assign([0.0, 0.0])
    gx.Checkpoint(w=new).restore(tmp_path / "c", only="w.regularizer/**")
    assert (float(new.regularizer.s), new.numpy().tolist()) == (3.0, [0.0, 0.0])
    gx.Checkpoint(w=new).restore(tmp_path / "c", only="w")
    np.testing.assert_array_equal(new.numpy(), [1.0, 2.0])


def test_a_manager_keeps_it(tmp_path):
    w = make("regularizer", 3.0)
    gx.CheckpointManager(tmp_path, w=w).save(step=1)
    again = make("regularizer")
    gx.CheckpointManager(tmp_path, w=again).restore_latest()
    assert float(again.regularizer.s) == 3.0
    assert float(ops.sum(again)) == 3.0


def test_an_expression_that_nobody_holds_has_it_too(tmp_path):
    def expression(s):
        holder = Holder(gx.Variable([[1.0, 2.0]]))
        gx.graft(holder, gx.reparam.LoRA(rank=1))
        holder.w.regularizer = Pull(s)
        return holder.w

    gx.Checkpoint(w=expression(3.0)).save(tmp_path / "c")
    new = expression(0.5)
    gx.Checkpoint(w=new).restore(tmp_path / "c").assert_consumed()
    assert float(new.regularizer.s) == 3.0
