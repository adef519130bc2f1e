"""What metrics start from: new arrays, so that a step may write to the memory of each."""

import jax
import numpy as np

import graftax as gx
from graftax.backend import registry
from graftax.metrics.start_values import new_array


def test_each_has_memory_of_its_own_however_many_are_asked_for():
    value, backend = np.array([1.5, -2.0], "float32"), registry.current()
    found = [new_array(value, backend) for _ in range(40)]
    assert len({one.unsafe_buffer_pointer() for one in found}) == 40
    taken = jax.jit(lambda x: x + 1, donate_argnums=0)
    for one in found[::2]:
        assert taken(one).tolist() == [2.5, -1.0]
    assert all(one.tolist() == [1.5, -2.0] for one in found[1::2])


def test_a_metric_starts_over_again_and_again_between_compiled_updates():
    total = gx.metrics.Sum()
    update = gx.jit(lambda x: total.update(x) or total.result())
    for i in range(40):
        total.reset()
        assert float(total.result()) == 0.0
        assert float(update(gx.ops.full((2,), float(i)))) == 2.0 * i
