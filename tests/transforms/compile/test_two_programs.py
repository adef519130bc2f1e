"""Two compiled functions that change the same Variables, one after the other."""

import numpy as np

import graftax as gx


def test_memory_is_reused_by_functions_that_take_the_same_variables_in_turn():
    a, b, c = (gx.Variable(np.full((64, 64), value, "float32")) for value in (1.0, 2.0, 3.0))

    @gx.jit
    def both():
        a.assign_add(a * 0 + 1)
        b.assign_add(b * 0 + 1)

    @gx.jit
    def other():
        b.assign_add(b * 0 + 1)
        c.assign_add(c * 0 + 1)

    for _ in range(6):  # after which no list holds the buffers of either
        both()
        other()
    before = [v.value.unsafe_buffer_pointer() for v in (a, b)]
    both()
    assert [v.value.unsafe_buffer_pointer() for v in (a, b)] == before
    assert [float(v.value[0, 0]) for v in (a, b, c)] == [8.0, 15.0, 9.0]
