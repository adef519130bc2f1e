"""Layers with state of Python, restored before they are built: state and weights arrive, also in a subclass of ours."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.ones((2, 4), "float32")


class Counts:
    """State of Python beside whatever else a class has."""

    seen = 0

    def get_state(self):
        return {"seen": self.seen}

    def set_state(self, state):
        self.seen = state["seen"]


class Scale(Counts, gx.Layer):
    def build(self, input_shape):
        self.w = self.add_weight((input_shape[-1],), "ones", name="w")

    def call(self, x):
        return x * self.w


class Counted(Counts, layers.Dense):
    """A layer of ours."""


class Around(Counts, gx.Layer):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x):
        return self.dense(x)


class Whole(Around, gx.Model):
    """A model."""


MADE = {
    "own": lambda: gx.Sequential([Scale()]),
    "subclass": lambda: gx.Sequential([Counted(3)]),
    "around": lambda: gx.Sequential([Around()]),
    "model": Whole,
    "several": lambda: gx.Sequential([layers.Dense(4), Counted(2), Scale()]),
}


@pytest.mark.parametrize("way", ["restore", "cover", "load_weights", "twice"])
@pytest.mark.parametrize("name", MADE)
def test_both_arrive(name, way, tmp_path):
    saved, other = MADE[name](), MADE[name]()
    saved(X)
    for variable in saved.variables:
        variable.assign(np.full(variable.shape, 3, "float32"))
    counting = [part for part in (saved, *saved.submodules) if isinstance(part, Counts)]
    for part in counting:
        part.seen = 7
    if way == "load_weights":
        saved.save_weights(tmp_path / "w")
        other.load_weights(tmp_path / "w")
    else:
        gx.Checkpoint(a=saved).save(tmp_path / "w")
        for _ in range(2 if way == "twice" else 1):
            report = gx.Checkpoint(a=other).restore(tmp_path / "w", mode="cover" if way == "cover" else "exact")
    np.testing.assert_array_equal(other(X), saved(X))
    for variable in other.variables:
        assert (variable.numpy() == 3).all()
    if way != "load_weights":
        report.assert_consumed()
        assert [part.seen for part in (other, *other.submodules) if isinstance(part, Counts)] == [7] * len(counting)


def test_a_layer_as_a_root(tmp_path):
    saved, other = Scale(), Scale()
    saved(X)
    saved.w.assign(np.full(4, 3, "float32"))
    saved.seen = 7
    gx.Checkpoint(a=saved).save(tmp_path / "w")
    gx.Checkpoint(a=other).restore(tmp_path / "w")
    np.testing.assert_array_equal(other(X), saved(X))
    assert other.seen == 7
