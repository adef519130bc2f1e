"""Lifted: run in a frame, carry out what was assigned, commit."""

import jax
import numpy as np
import pytest

from graftax import ops
from graftax.backend import registry
from graftax.transforms.lifting.frames import Substitution
from graftax.transforms.lifting.lifted import Lifted, assign
from graftax.variables import masks
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable


def frame(given=()):
    return Substitution(frames.top, given, registry.current().tracing.level())


def test_nothing_is_assigned_before_the_commit():
    v = Variable([1.0, 2.0])
    lifted = Lifted()
    outcome = lifted(frame([(v._storage, ops.asarray([5.0, 5.0]))]), lambda: {"z": v.assign_add([1.0, 1.0]), "a": 3})
    assert v.numpy().tolist() == [1, 2]
    assert lifted.written == [v._storage]
    made = lifted.commit(outcome)
    assert v.numpy().tolist() == [6, 6]
    assert list(made) == ["z", "a"]
    assert made["z"].tolist() == [6, 6]


def test_what_comes_out_are_arrays_that_a_transform_carries():
    v = Variable(1.0)
    lifted = Lifted()
    start = frame

    def pure(x):
        return lifted(start(), lambda: (v.assign(x * 2) + v, masked(x)))

    def masked(x):
        result = ops.stack([x, x])
        masks.set_mask(result, ops.asarray([True, False]))
        return result

    outcome = jax.jit(pure)(3.0)
    total, result = lifted.commit(outcome)
    assert (float(total), float(v)) == (12, 6)
    assert np.asarray(masks.mask_of(result)).tolist() == [True, False]


def test_a_run_that_raises_leaves_variables_as_they_were():
    v = Variable(1.0)
    with pytest.raises(ZeroDivisionError):
        Lifted()(frame(), lambda: v.assign(2.0) / (1 // 0))
    assert float(v) == 1


def test_leaves_may_be_made_in_another_way_where_variables_are_what_they_became():
    v = Variable(1.0)
    lifted = Lifted(lambda made: ([v.value, *made], "structure"))
    assert [float(leaf) for leaf in lifted.run(frame(), lambda: [v.assign(7.0) * 1])] == [7, 7]
    assert lifted.structure == "structure"


def test_a_frame_commits_by_itself_where_python_runs_on_the_values_at_hand():
    v, w = Variable(1.0), Variable(1.0)
    inside = frame()
    with frames.entered(inside):
        v.assign(2.0)
        w.assign(3.0)
    inside.commit(but={w._storage})
    assert (float(v), float(w)) == (2, 1)


def test_there_is_one_value_for_each_variable():
    v = Variable(1.0)
    with pytest.raises(ValueError, match="zip"):
        assign([v._storage], [])
