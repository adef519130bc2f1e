"""Frames of the transforms, and functional state under bare JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax import ops
from graftax.backend import registry
from graftax.transforms.compile.jit import jit
from graftax.transforms.lifting.frames import Abstract, CompileFrame, Substitution
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import frames, touch
from graftax.variables.variable import Variable


@pytest.fixture
def v():
    return Variable([1.0, 2.0])


def test_substitution_gives_and_keeps_inside(v):
    other = Variable(5.0)
    frame = Substitution(None, [(v._storage, jnp.zeros(2))], registry.current().tracing.level())
    with frames.entered(frame):
        assert v.numpy().tolist() == [0.0, 0.0]
        assert float(other) == 5.0
        v.assign([7.0, 7.0])
        other.assign(6.0)
        assert (v.numpy().tolist(), float(other)) == ([7.0, 7.0], 6.0)
    assert set(frame.written) == {v._storage, other._storage}
    assert (v.numpy().tolist(), float(other)) == ([1.0, 2.0], 5.0)


def test_substitutions_nest(v):
    level = registry.current().tracing.level()
    outer = Substitution(None, [(v._storage, jnp.zeros(2))], level)
    with frames.entered(outer):
        inner = Substitution(outer, (), level)
        with frames.entered(inner):
            v.assign_add([1.0, 1.0])
        assert v.numpy().tolist() == [0.0, 0.0]
        assert inner.written[v._storage].tolist() == [1.0, 1.0]


def test_abstract_leads_nowhere(v):
    def look(x):
        with frames.entered(Abstract(None, registry.current().tracing.level())):
            v.assign(v * x)
            return v.value

    assert jax.eval_shape(look, 2.0).shape == (2,)
    assert v.numpy().tolist() == [1.0, 2.0]


def test_a_compile_frame_notes_owners_and_what_is_touched(v):
    root, plain, found = Module(), Module(), []
    root.sub = Module()
    root.sub.v = v

    def body(x):
        touch(plain)
        v.assign(v * x)
        v.assign(v + 1)
        found.append(frames.top)
        return v.value

    jit(body)(2.0)
    (frame,) = found
    assert isinstance(frame, CompileFrame)
    assert [node for node in frame.touched.values() if isinstance(node, Module)] == [plain, root.sub, root]
    assert [storage is v._storage for storage, _ in frame.last_values()] == [True]


def test_only_arguments_have_a_first_value():
    seen = []

    def body(x, y):
        frame = frames.top
        seen.extend([frame.first_value(x), frame.first_value(y), frame.first_value(x + y)])
        return x

    jit(body)(np.float32(3), 4.0)
    assert seen == [3.0, 4.0, None]


def test_reads_of_one_variable_are_one_input():
    v, w = Variable([1.0, 2.0]), Variable(3.0)
    f = jit(lambda x: ops.sum(v * v * x) + jax.vmap(lambda y: y * w.value * w.value)(jnp.ones(2)).sum())
    f(1.0)
    ((entry,),) = f._entries.values()
    assert [s.user is u for s, u in zip(entry.read_only, (v, w), strict=True)] == [True, True]
    assert entry.donated == entry.written == []
