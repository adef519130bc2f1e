"""``autocast=False``: a layer of mixed precision reads the weight as it is stored; averages in half precision."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentTypeError, AssignmentError
from graftax.reparam import LoRA

MIXED = ["mixed_bfloat16", "mixed_float16"]
X = np.ones((5, 3), "float32")


class Seen(gx.Layer):
    """Gives the dtypes in which its call sees its weights."""

    def build(self, shape):
        self.kept = self.add_weight((2, 3), name="kept", autocast=False)
        self.cast = self.add_weight((2, 3), name="cast")
        self.own = gx.Variable([1.0], name="own", autocast=False)

    def call(self, x):
        return {name: ops.asarray(getattr(self, name)) for name in ("kept", "cast", "own")}


def dtypes(found):
    return [str(found[name].dtype) for name in ("kept", "cast", "own")]


@pytest.mark.parametrize("policy", MIXED)
def test_it_is_read_as_it_is_stored(policy):
    layer = Seen(dtype=policy)
    half = layer.compute_dtype
    with registry.use("numpy"):
        assert dtypes(layer(X)) == ["float32", half, "float32"]
        assert (layer.kept.autocast, layer.cast.autocast) == (False, True)
        layer.kept.autocast = True
        assert dtypes(layer(X)) == [half, half, "float32"]


@pytest.mark.broad
@pytest.mark.parametrize("policy", MIXED)
def test_compiled_code_follows_it(policy):
    layer = Seen(dtype=policy)
    half = layer.compute_dtype
    step = gx.jit(lambda: layer(X))
    assert dtypes(step()) == ["float32", half, "float32"]
    layer.cast.autocast = False
    assert dtypes(step()) == ["float32"] * 3
    layer.cast.autocast = True
    assert dtypes(step()) == ["float32", half, "float32"]


def rounded(layer):
    return [name for name in ("kept", "cast", "own") if str(layer(X)[name].dtype) == "bfloat16"]


@pytest.mark.broad
def test_copies_pickles_and_checkpoints_keep_it(tmp_path):
    with registry.use("numpy"):
        layer = Seen(dtype="mixed_bfloat16")
        layer(X)
        assert rounded(copy.deepcopy(layer)) == ["cast"]
        assert not pickle.loads(pickle.dumps(layer.kept)).autocast
        gx.Checkpoint(layer=layer).save(tmp_path / "saved")
        twin = Seen(dtype="mixed_bfloat16")
        gx.Checkpoint(layer=twin).restore(tmp_path / "saved")
        assert rounded(twin) == ["cast"]


def test_expressions_parts_and_what_they_leave_keep_it():
    with registry.use("numpy"):
        layer = Seen(dtype="mixed_bfloat16")
        layer(X)
        gx.graft(layer, LoRA(rank=1), where=["kept", "cast"])
        assert rounded(layer) == ["cast"]
        assert not layer.kept.autocast
        assert not layer.kept.base.autocast
        gx.ungraft(layer)
        assert rounded(layer) == ["cast"]
        gx.graft(layer, gx.reparam.LowRank(2), where=["kept"])
        gx.ungraft(layer)  # into a new Variable
        assert rounded(layer) == ["cast"]


def test_a_creator_can_ask_for_it():
    def kept(next_creator, spec):
        return next_creator(spec.replace(autocast=False))

    with registry.use("numpy"), gx.variable_creator_scope(kept, where="cast"):
        assert rounded(Seen(dtype="mixed_bfloat16")) == []


@pytest.mark.parametrize(
    "make", [lambda v: gx.Variable(1.0, autocast=v), lambda v: gx.Layer().add_weight((), autocast=v)]
)
def test_it_is_a_flag(make):
    with pytest.raises(ArgumentTypeError, match="autocast='no'"):
        make("no")


class Average(gx.Layer):
    """An average in the call, such as those of codes that are in use."""

    def __init__(self, how, **settings):
        super().__init__(**settings)
        self.how = how

    def build(self, shape):
        kinds = {"state": {"role": "state"}, "kept": {"autocast": False}, "plain": {}, "added": {}}
        self.e = self.add_weight((3,), "ones", name="e", trainable=False, **kinds[self.how])

    def call(self, x):
        n = ops.sum(x, axis=0)
        if self.how == "plain":
            self.e.assign(ops.cast(0.999 * self.e + 0.001 * n, self.compute_dtype))
        elif self.how == "added":
            self.e.assign_add(ops.cast(0.001 * (n - self.e), "float32"))
        else:
            self.e.assign(0.999 * self.e + 0.001 * ops.cast(n, "float32"))
        return x


@pytest.mark.parametrize("policy", MIXED)
@pytest.mark.parametrize("how", ["state", "kept", "added"])
def test_an_average_moves_in_the_ways_that_the_message_names(how, policy):
    with registry.use("numpy"):
        layer = Average(how, dtype=policy)
        for _ in range(100):
            layer(X)
        np.testing.assert_allclose(layer.e.numpy(), 5 - 4 * 0.999**100, rtol=2e-3 if how == "added" else 1e-5)


@pytest.mark.parametrize("policy", MIXED)
def test_an_average_of_rounded_values_is_refused_with_the_ways_out(policy):
    layer = Average("plain", dtype=policy)
    with registry.use("numpy"), pytest.raises(AssignmentError) as caught:
        layer(X)
    told = str(caught.value)
    assert all(
        part in told for part in ('role="state"', "autocast=False", "assign_add(ops.cast(change", "stops moving")
    )
    np.testing.assert_array_equal(layer.e.numpy(), 1)


class Moved(Average):
    def call(self, x):
        self.e.assign_add(ops.cast(0.001 * ops.sum(x, axis=0), self.compute_dtype))
        return x


def test_a_term_in_half_precision_says_so_too():
    with registry.use("numpy"), pytest.raises(AssignmentError, match="assign_add"):
        Moved("plain", dtype="mixed_bfloat16")(X)


def test_state_that_is_given_half_precision_is_told_to_cast_it():
    class Means(gx.Layer):
        def build(self, shape):
            self.mean = self.add_weight((3,), "zeros", name="mean", role="state", trainable=False)

        def call(self, x):
            self.mean.assign(ops.mean(x, axis=0))
            return x

    with registry.use("numpy"), pytest.raises(AssignmentError, match=r'ops.cast\(value, "float32"\)') as caught:
        Means(dtype="mixed_bfloat16")(X)
    assert "stops moving" not in str(caught.value)
