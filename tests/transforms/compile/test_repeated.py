"""A call like the one before it takes a short way, which must see all that the long one sees."""

import gc
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.transforms.compile import repeated


@pytest.fixture
def taken(monkeypatch):
    """Which of the calls took the short way."""
    found = []
    run = repeated.Repeated.run

    def noted(self, args):
        out = run(self, args)
        found.append(out is not repeated.MISSED)
        return out

    monkeypatch.setattr(repeated.Repeated, "run", noted)
    return found


def warm(fn, *args, **kwargs):
    for _ in range(3):
        fn(*args, **kwargs)


def test_the_third_call_alike_takes_it_and_state_goes_on(taken):
    total = gx.Variable(0.0)

    @gx.jit
    def add(x):
        total.assign_add(ops.sum(x))
        return {"double": total * 2, "x": x}

    found = [float(add(jnp.ones(2))["double"]) for _ in range(4)]
    assert found == [4.0, 8.0, 12.0, 16.0]
    assert taken == [True, True]
    assert add.trace_count == 1


OTHERS = {
    "shape": jnp.ones(3),
    "dtype": jnp.ones(2, "int32"),
    "weak": jnp.asarray(1.0) * 1.0,
    "number": 2.0,
    "host": np.full(2, 3.0, "float32"),
    "list": [jnp.ones(2), jnp.ones(2)],
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", OTHERS)
def test_another_kind_of_argument_is_seen(name, taken):
    @gx.jit
    def double(x):
        return [2 * one for one in x] if isinstance(x, list) else 2 * x

    warm(double, jnp.ones(2))
    other = OTHERS[name]
    found = double(other)
    np.testing.assert_array_equal(np.asarray(found), 2 * np.asarray(other))
    assert taken[-1] is False
    assert np.asarray(double(jnp.ones(2))).tolist() == [2.0, 2.0]


def test_number_of_arguments_and_keywords_are_seen():
    scaled = gx.jit(lambda x, by=2.0: x * by)
    warm(scaled, jnp.ones(1))
    assert float(scaled(jnp.ones(1), jnp.full(1, 5.0))[0]) == 5.0
    assert float(scaled(jnp.ones(1), by=3.0)[0]) == 3.0
    assert float(scaled(jnp.ones(1))[0]) == 2.0
    with pytest.raises(TypeError):
        scaled(jnp.ones(1), jnp.ones(1), jnp.ones(1))


class Scale(gx.Module):
    def __init__(self):
        self.by, self.more = 2.0, []

    @gx.jit
    def __call__(self, x):
        return x * self.by + len(self.more)


def test_attributes_and_containers_are_seen():
    scale, x = Scale(), jnp.ones(())
    warm(scale, x)
    scale.by = 3.0
    assert float(scale(x)) == 3.0
    warm(scale, x)
    scale.more.append(1)
    assert float(scale(x)) == 4.0


def test_settings_scopes_and_frames_are_seen(taken):
    seen = []
    w = gx.Variable(2.0)
    f = gx.jit(lambda x: seen.append(1) or x * w)
    x = jnp.ones(())
    warm(f, x)
    with gx.run_eagerly():
        f(x)
    assert len(seen) == 2
    assert float(f(x)) == 2.0
    assert float(gx.grad(lambda: f(x), wrt=w)()) == 1.0
    assert float(gx.jit(lambda y: f(y) + 1)(x)) == 3.0
    assert np.asarray(gx.vectorized_map(f, jnp.ones(2))).tolist() == [2.0, 2.0]
    with gx.backend.use("numpy"), pytest.raises(gx.errors.BackendCapabilityError):
        f(x)
    assert float(f(x)) == 2.0


@pytest.mark.broad
def test_masks_are_seen():
    x = jnp.ones((1, 3, 2))
    f = gx.jit(gx.layers.GlobalAveragePooling1D())
    warm(f, x)
    masked = gx.layers.Masking()(jnp.array([[[1.0, 1.0], [3.0, 3.0], [0.0, 0.0]]]))
    np.testing.assert_allclose(f(masked), [[2.0, 2.0]], rtol=1e-6)


@pytest.mark.broad
def test_a_batch_of_the_host_takes_it_and_may_be_written_over(taken):
    total = gx.Variable(jnp.zeros(2))

    @gx.jit
    def step(batch):
        x, y = batch
        total.assign_add(x * y)
        return {"x": ops.sum(x), "y": ops.sum(y)}

    x, y = np.ones(2, "float32"), np.full(2, 3.0, "float32")
    for i in range(4):
        found = step((x, y))
        assert (list(found), float(found["x"]), float(found["y"])) == (["x", "y"], 2.0 * (i + 1), 6.0)
        x += 1.0
    assert total.numpy().tolist() == [30.0, 30.0]
    assert taken == [True, True]
    assert float(step((x.astype("float64"), y))["x"]) == 10.0
    assert float(step((x, y[:1]))["y"]) == 3.0
    with pytest.raises(ValueError, match="unpack"):
        step((x, y, y))


def test_a_result_that_comes_twice_and_nested_ones(taken):
    @gx.jit
    def same(x):
        y = x + 1
        return {"a": y, "b": y}, [y, {"c": x * 2}]

    for _ in range(4):
        (pair, (one, other)) = same(jnp.ones(()))
        assert (float(pair["a"]), float(pair["b"]), float(one), float(other["c"])) == (2.0, 2.0, 2.0, 2.0)
    assert taken == [True, True]


def test_settings_of_the_library_and_of_another_thread_are_seen(taken):
    double = gx.jit(lambda x: x * 2)
    warm(double, jnp.ones(1))
    with jax.numpy_dtype_promotion("strict"):
        assert double(jnp.ones(1)).tolist() == [2.0]
    assert (taken[-1], double.trace_count) == (False, 2)
    found = []
    with jax.default_matmul_precision("float32"):
        thread = threading.Thread(target=lambda: found.append(double(jnp.ones(1)).tolist()))
        thread.start()
        thread.join()
    assert found == [[2.0]]
    assert double.trace_count == 2


def test_nothing_is_traced_for_a_call_that_would_be_repeated(taken):
    double = gx.jit(lambda x: x * 2)
    warm(double, jnp.ones(1))
    double.trace(jnp.ones(1))
    double.trace(jnp.ones(2))
    assert double.trace_count == 2


def test_shapes_that_go_to_and_fro_take_the_long_way(taken):
    double = gx.jit(lambda x: 2 * x)
    for _ in range(3):
        double(jnp.ones(2))
        double(jnp.ones(3))
    assert taken == []


def test_arguments_are_not_kept_alive():
    x = jnp.ones(2)
    double = gx.jit(lambda x: 2 * x)
    warm(double, x)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


@pytest.mark.broad
def test_a_failure_is_told_as_ever_and_forgetting_forgets():
    w = gx.Variable(jnp.ones(2))

    @gx.jit(checked=True)
    def take(i):
        w.assign_add(jnp.ones(2))
        return ops.take(w, i)

    warm(take, jnp.array(1))
    with pytest.raises(gx.errors.IndexRangeError):
        take(jnp.array(7))
    assert w.numpy().tolist() == [4.0, 4.0]
    take.forget()
    assert float(take(jnp.array(0))) == 5.0
    assert take.trace_count == 1
