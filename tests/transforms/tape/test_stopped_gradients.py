"""What a target depends on through operations without a derivative only: its gradient is None, by each way there is."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import GradientError
from graftax.transforms.tape import replay

STOPPED = {
    "stop_gradient": ops.stop_gradient,
    "stop_gradient of jax": jax.lax.stop_gradient,
    "stop_gradient of a structure": lambda x: gx.stop_gradient({"x": x})["x"],
    "compiled": gx.jit(lambda x: 2 * ops.stop_gradient(x)),
    "compiled by jax": jax.jit(lambda x: 2 * jax.lax.stop_gradient(x)),
    "round": ops.round,
    "floor": ops.floor,
    "sign": ops.sign,
    "cast": lambda x: ops.cast(ops.cast(x, "int32"), "float32"),
    "compared": lambda x: ops.cast(x > 2, "float32"),
    "argmax": lambda x: ops.one_hot(ops.argmax(x), 3),
    "detour": lambda x: ops.stop_gradient(ops.exp(x)) + ops.tanh(ops.round(x)),
}
WAYS = ["whole", "whole, compiled", "by operations", "by operations, compiled"]
BOUNDS = {"remembered": 1024, "most": 128}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Let replays go one way, however few come."""
    times = 1 if "compiled" in request.param else 10**9
    monkeypatch.setattr(replay, "_replays", replay._Compiler(at=times if "whole" in request.param else 10**9, **BOUNDS))
    monkeypatch.setattr(replay, "_operations", replay._Compiler(at=times, **BOUNDS))
    monkeypatch.setattr(replay, "_MANY", 10**9 if "whole" in request.param else -1)
    return request.param


def make_sources():
    """Return two Variables and an array."""
    return gx.Variable([1.0, 2.0, 3.0]), gx.Variable([3.0, 1.0, 2.0]), ops.asarray([1.0, 2.5, 3.0])


def recorded(stop, moving, stopped, array):
    """Return a tape and its target, which the first Variable moves only."""
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(array)
        target = ops.square(moving.value) * stop(stopped.value) + stop(array) * moving
    return tape, target


@pytest.mark.parametrize("name", STOPPED)
def test_gradient(name, way):
    stop = STOPPED[name]
    for _ in range(2):
        moving, stopped, array = make_sources()
        tape, target = recorded(stop, moving, stopped, array)
        gradients = tape.gradient(target, [moving, stopped, array])
        np.testing.assert_allclose(gradients[0], 2 * moving.value * stop(stopped.value) + stop(array), rtol=1e-6)
        assert gradients[1:] == [None, None]
        zeros = tape.gradient(target, [stopped, array], unconnected_gradients="zero")
        assert [zero.tolist() for zero in zeros] == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("name", STOPPED)
def test_compiled_with_the_tape_inside(name):
    moving, stopped, array = make_sources()

    def run():
        tape, target = recorded(STOPPED[name], moving, stopped, array)
        return tape.gradient(target, [moving, stopped, array])

    gradients = gx.jit(run)()
    assert gradients[0].shape == (3,)
    assert gradients[1:] == [None, None]


@pytest.mark.parametrize("chunk_size", [None, 1, 2])
@pytest.mark.parametrize("name", STOPPED)
def test_jacobian(name, chunk_size):
    moving, stopped, array = make_sources()
    tape, target = recorded(STOPPED[name], moving, stopped, array)
    found = tape.jacobian(target, [moving, stopped, array], chunk_size=chunk_size)
    row = 2 * moving.value * STOPPED[name](stopped.value) + STOPPED[name](array)
    np.testing.assert_allclose(found[0], np.diag(np.asarray(row)), rtol=1e-6)
    assert found[1:] == [None, None]
    assert tape.jacobian(target, stopped, "zero", chunk_size).tolist() == np.zeros((3, 3)).tolist()


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_batch_jacobian(chunk_size):
    x, y = ops.ones((2, 3)), ops.full((2, 3), 2.0)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        target = x * ops.stop_gradient(y)
    np.testing.assert_allclose(tape.batch_jacobian(target, x, chunk_size=chunk_size), 2 * np.stack([np.eye(3)] * 2))
    assert tape.batch_jacobian(target, y, chunk_size=chunk_size) is None
    assert tape.batch_jacobian(target, y, chunk_size=chunk_size, check=True) is None


def test_a_result_that_is_not_asked_for_says_nothing(way):
    both = gx.jit(lambda a, b: (a * 2, b * 3))
    a, b = gx.Variable([1.0]), gx.Variable([2.0])
    with gx.GradientTape(persistent=True) as tape:
        first, second = both(a.value, b.value)
    for _ in range(2):
        assert [None if g is None else g.tolist() for g in tape.gradient(first, [a, b])] == [[2.0], None]
        assert [None if g is None else g.tolist() for g in tape.gradient(second, [a, b])] == [None, [3.0]]
        assert [g.tolist() for g in tape.gradient([first, second], [a, b])] == [[2.0], [3.0]]


def test_a_gradient_that_is_stopped_in_another_tape():
    x = gx.Variable(3.0)
    with gx.GradientTape() as outer:
        with gx.GradientTape() as inner:
            y = x**3
        slope = ops.stop_gradient(inner.gradient(y, x))
    assert outer.gradient(slope, x) is None


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", STOPPED)
def test_apply_leaves_it(name, compiled):
    """As torch leaves what was detached: neither decay nor momentum moves it."""
    moving, stopped = gx.Variable([1.0, 2.0, 3.0]), gx.Variable([3.0, 1.0, 2.0])
    optimizer = gx.optimizers.AdamW(0.1, weight_decay=0.5)

    def step(runs):
        with gx.GradientTape() as tape:
            loss = ops.sum(ops.square(moving - 5.0))
            loss = loss + (ops.sum(ops.square(stopped.value)) if runs else ops.sum(STOPPED[name](stopped.value)))
        variables = [moving, stopped]
        optimizer.apply(tape.gradient(loss, variables), variables)

    wrap = gx.jit if compiled else lambda function: function
    wrap(lambda: step(True))()  # with momentum from a step that reached it
    before = stopped.numpy().copy(), moving.numpy().copy()
    with pytest.warns(UserWarning, match="not updated"):
        wrap(lambda: step(False))()
    assert stopped.numpy().tolist() == before[0].tolist()
    assert moving.numpy().tolist() != before[1].tolist()


def test_apply_refuses_a_loss_that_moves_nothing():
    stopped, optimizer = gx.Variable([3.0, 1.0]), gx.optimizers.AdamW(0.1)
    with gx.GradientTape() as tape:
        loss = ops.sum(ops.stop_gradient(stopped))
    with pytest.raises(GradientError):
        optimizer.apply(tape.gradient(loss, [stopped]), [stopped])
