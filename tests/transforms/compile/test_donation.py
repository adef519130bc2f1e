"""Which buffers a compiled function gives away, and which never."""

import jax.numpy as jnp
import numpy as np

from graftax.transforms.compile.jit import jit
from graftax.variables.variable import Variable

# --- donation -------------------------------------------------------------------------------------------------------


def test_exactly_the_written_ones_are_donated():
    written, read, only_written = (Variable(np.ones(4, "float32")) for _ in range(3))

    @jit
    def f(x):
        written.assign(written * x)
        only_written.assign(read * x)

    f(2.0)
    ((entry,),) = f._entries.values()
    assert [s.user is written for s in entry.donated] == [True]
    assert [s.user is read for s in entry.read_only] == [True]
    assert [s.user is v for s, v in zip(entry.written, (written, only_written), strict=True)] == [True, True]
    given = []
    real = entry.program

    class Spy:
        def run_donating(self, donated, kept, leaves):
            results = real.run_donating(donated, kept, leaves)
            given.extend(a.is_deleted() for a in (*donated, *kept))
            return results

    entry.program = Spy()
    f(2.0)
    assert given == [True, False]


def test_a_donated_buffer_is_used_for_the_new_value():
    v = Variable(np.ones(100_000, "float32"))

    @jit
    def f(x):
        v.assign(v * x)

    f(2.0)
    f(2.0)
    pointers = set()
    for _ in range(6):
        f(1.0)
        pointers.add(v._storage.buffer.unsafe_buffer_pointer())
    assert len(pointers) == 1


def test_a_value_read_before_stays_readable():
    v = Variable([1.0, 2.0])
    f = jit(lambda: v.assign(v * 2).value)
    f()
    kept = [v.value]
    for _ in range(4):
        f()
        kept.append(v.value)
    assert [k.tolist() for k in kept] == [[2.0**n, 2.0 ** (n + 1)] for n in range(1, 6)]


def test_numpy_views_stay_as_they_were():
    v = Variable(np.zeros(10_000, "float32"))
    f = jit(lambda: v.assign(v + 1).value.sum())
    f()
    views = []
    for _ in range(4):
        views.append(v.numpy())
        f()
    assert [view[0] for view in views] == [1.0, 2.0, 3.0, 4.0]


def test_two_variables_with_one_array():
    shared = jnp.ones(3)
    a, b = Variable(shared), Variable(shared)
    a.assign(shared)
    b.assign(shared)
    f = jit(lambda: (a.assign(a * 2).value, b.assign(b * 3).value))
    f()
    f()
    assert (a.numpy().tolist(), b.numpy().tolist(), shared.tolist()) == ([4.0] * 3, [9.0] * 3, [1.0] * 3)


def test_one_of_two_variables_with_one_array_is_only_read():
    a, b = Variable(np.ones(3, "f4")), Variable(np.ones(3, "f4"))
    b.assign(a.value)
    f = jit(lambda: a.assign(a + b).value)
    f()
    assert f().tolist() == [3.0] * 3
    assert b.numpy().tolist() == [1.0] * 3


def test_a_variables_value_as_an_argument():
    v = Variable([1.0, 2.0])
    f = jit(lambda x: v.assign(v + x).value)
    for n in (2.0, 4.0, 8.0):
        assert f(v.value).tolist() == [n, 2 * n]


def test_an_argument_that_becomes_the_value():
    v = Variable([0.0, 0.0])
    f = jit(lambda x: v.assign(x).value)
    g = jit(lambda: v.assign(v * 2).value)
    x = jnp.ones(2)
    f(x)
    g()
    assert (x.tolist(), v.numpy().tolist()) == ([1.0, 1.0], [2.0, 2.0])


def test_a_value_returned_by_the_step_stays_readable():
    v = Variable([1.0, 2.0])
    f = jit(lambda: v.assign(v * 2))
    outs = [f() for _ in range(4)]
    assert [o.tolist() for o in outs] == [[2.0**n, 2.0 ** (n + 1)] for n in range(1, 5)]
