"""LBFGS and its line search: Nocedal and Wright in NumPy, torch and SciPy, and losses that make it hard."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, GradientError
from graftax.optimizers import LBFGS
from graftax.optimizers.lbfgs.line_search import Point, strong_wolfe

START = [-1.2, 1.0]
FIVE = np.array([1.0, -0.5, 2.0, 0.3, 0.7], "float32")  # shapes are alike below, so that little is compiled
CURVATURE = np.logspace(0, 3, 20)


def rosenbrock(w):
    return (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2


def bowl(w):
    return 0.5 * (CURVATURE.astype(str(w.dtype)) * w * w).sum()


def descend(loss, start, dtype="float64", run=gx.jit, calls=1, **options):
    """The weights, the last loss and the optimizer."""
    with jax.enable_x64(dtype == "float64"):
        w = gx.Variable(np.asarray(start, dtype), dtype=dtype)
        optimizer = LBFGS(**options)
        step = run(lambda: optimizer.minimize(lambda: loss(w.value), [w]))
        for _ in range(calls):
            value = float(step())
        return w.numpy(), value, optimizer


# --- how far, in how many evaluations ---------------------------------------------------------------------------------


def evaluations_of_torch(loss, start, goal):
    torch = pytest.importorskip("torch")
    w = torch.tensor(np.asarray(start), requires_grad=True)
    count = 0

    def closure():
        nonlocal count
        count += 1
        optimizer.zero_grad()
        value = loss(w)
        value.backward()
        return value

    optimizer = torch.optim.LBFGS([w], history_size=10, max_iter=1, max_eval=100, line_search_fn="strong_wolfe")
    for _ in range(300):
        if optimizer.step(closure) <= goal:
            break
    return count - optimizer.state[w]["n_iter"]  # what `step` evaluates again at its start


def test_rosenbrock_in_float64_as_torch_and_scipy():
    w, loss, optimizer = descend(rosenbrock, START, max_iterations=100)
    assert np.abs(w - 1).max() < 1e-8
    assert loss < 1e-15
    assert int(optimizer.evaluations) <= 1.1 * evaluations_of_torch(rosenbrock, START, 1e-15)
    scipy = pytest.importorskip("scipy.optimize")
    theirs = scipy.minimize(scipy.rosen, START, jac=scipy.rosen_der, method="L-BFGS-B", options={"ftol": 0})
    assert int(optimizer.evaluations) <= 1.1 * theirs.nfev


@pytest.mark.slow
def test_rosenbrock_to_the_limits_of_float32():
    w, loss, _ = descend(rosenbrock, START, "float32", max_iterations=100)
    assert np.abs(w - 1).max() < 1e-5
    assert loss < 1e-11


@pytest.mark.slow
def test_an_ill_conditioned_bowl_as_torch():
    torch = pytest.importorskip("torch")
    curvature = torch.tensor(CURVATURE)
    theirs = evaluations_of_torch(lambda w: 0.5 * (curvature * w * w).sum(), np.ones(20), 1e-8)
    _, loss, optimizer = descend(bowl, np.ones(20), max_iterations=200, tolerance_change=0.0, tolerance_gradient=1e-4)
    assert loss < 1e-8
    assert int(optimizer.evaluations) <= 1.2 * theirs


@pytest.mark.slow
def test_compiled_as_eager_and_one_step_a_call():
    eager = descend(rosenbrock, START, run=lambda f: f, max_iterations=8)
    for options in ({"max_iterations": 8}, {"max_iterations": 1, "calls": 8}):
        found = descend(rosenbrock, START, **options)
        np.testing.assert_allclose(found[0], eager[0], rtol=1e-10)
        assert found[1] == pytest.approx(eager[1], rel=1e-10)
        assert int(found[2].iterations) == 8


# --- the direction ----------------------------------------------------------------------------------------------------


class Net(gx.Module):
    """Two variables, and a loss with curvature between them."""

    def __init__(self, dtype="float32"):
        super().__init__()
        self.w, self.b = gx.Variable([1.0, -0.5, 2.0], dtype=dtype), gx.Variable([[0.3], [0.7]], dtype=dtype)

    def loss(self):
        w, b = ops.cast(self.w, "float32"), ops.cast(self.b, "float32")
        return ops.sum(w**4) + ops.sum(b**2) + 0.1 * ops.sum(w) * ops.sum(b)

    def numpy(self):
        return np.concatenate([self.w.numpy().ravel(), self.b.numpy().ravel()]).astype("float64")


def inverse_hessian(pairs):
    """(7.16) and (7.17), from (7.20) on: the matrix itself."""
    s, y = pairs[-1]
    matrix = np.eye(len(s)) * (s @ y) / (y @ y)
    for s, y in pairs:
        left = np.eye(len(s)) - np.outer(s, y) / (y @ s)
        matrix = left @ matrix @ left.T + np.outer(s, s) / (y @ s)
    return matrix


def gradient_of(net):
    gradients = gx.grad(net.loss, wrt=[net.w, net.b])()
    return np.concatenate([np.ravel(g) for g in gradients]).astype("float64")


@pytest.mark.slow
def test_compiled_as_eager():
    nets, optimizers = [Net(), Net()], [LBFGS(3, max_iterations=5), LBFGS(3, max_iterations=5)]
    eager = optimizers[0].minimize(nets[0].loss, nets[0])
    step = gx.jit(lambda: optimizers[1].minimize(nets[1].loss, nets[1]))
    assert float(step()) == pytest.approx(float(eager), rel=1e-5)
    np.testing.assert_allclose(nets[1].numpy(), nets[0].numpy(), rtol=1e-4)
    assert int(optimizers[0].evaluations) == int(optimizers[1].evaluations)
    step()
    assert step.trace_count == 1
    assert int(optimizers[1].iterations) == 10


@pytest.mark.broad
def test_the_direction_is_that_of_the_matrix_of_the_last_pairs():
    net, optimizer = Net(), LBFGS(3, max_iterations=1)
    points, gradients = [net.numpy()], [gradient_of(net)]
    for _ in range(5):
        optimizer.minimize(net.loss, net)
        points.append(net.numpy())
        gradients.append(gradient_of(net))
    assert int(optimizer.pairs) == 5
    pairs = list(zip(np.diff(points, axis=0)[1:4], np.diff(gradients, axis=0)[1:4], strict=True))
    expected = -inverse_hessian(pairs) @ gradients[4]
    moved = points[5] - points[4]
    np.testing.assert_allclose(moved / np.linalg.norm(moved), expected / np.linalg.norm(expected), atol=1e-3)


@pytest.mark.broad
def test_without_curvature_a_pair_is_left_out():
    w, optimizer = gx.Variable(FIVE), LBFGS(3, max_iterations=1)
    optimizer.minimize(lambda: ops.sum(w), [w])  # as straight as can be: no search finds the end
    assert int(optimizer.pairs) == 0
    assert np.all(w.numpy() < FIVE - 1)


# --- the line search --------------------------------------------------------------------------------------------------


# Functions and their slopes: the first two of Moré and Thuente 1994, and one that ends at a wall.
LINES = {
    "one bend": (lambda a: -a / (a * a + 2), lambda a: (a * a - 2) / (a * a + 2) ** 2),
    "steep": (lambda a: (a + 0.004) ** 5 - 2 * (a + 0.004) ** 4, lambda a: 5 * (a + 0.004) ** 4 - 8 * (a + 0.004) ** 3),
    "bowl": (lambda a: (a - 3) ** 2, lambda a: 2 * (a - 3)),
    "wall": (lambda a: -np.log(max(2 - a, 0)) - 3 * a, lambda a: 1 / (2 - a) - 3 if a < 2 else np.nan),
}


def searched(name, first, **options):
    """In float64: one of them falls by less than float32 can tell."""
    function, slope = LINES[name]

    def at(step):
        a = float(step)
        with np.errstate(divide="ignore"):
            values = (a, function(a), slope(a))
        return Point(*(ops.asarray(v, dtype="float64") for v in values)), ops.zeros(1)

    with jax.enable_x64(True):
        start = at(0.0)[0]
        options = {"max_evaluations": 40, "narrowest": 0.0, **options}
        return start, strong_wolfe(at, start, ops.zeros(1), ops.asarray(first, dtype="float64"), 1e-3, 0.1, **options)


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("first", [1e-3, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("name", LINES)
def test_a_step_of_the_strong_wolfe_conditions(name, first):
    start, search = searched(name, first)
    low = search.low
    assert bool(search.found), search
    assert float(low.value) <= float(start.value) + 1e-3 * float(low.step) * float(start.slope)
    assert abs(float(low.slope)) <= 0.1 * abs(float(start.slope))
    assert int(search.evaluations) <= 16


def test_a_search_that_may_not_look_further_gives_the_best_it_saw():
    _, search = searched("bowl", 1e-3, max_evaluations=2)
    assert not bool(search.found)
    assert 1e-3 < float(search.low.step) < 1
    start, search = searched("bowl", 1e3, max_evaluations=2)
    assert (float(search.low.step), float(search.low.value)) == (0.0, float(start.value))
    assert int(searched("bowl", 1e3, narrowest=1e4)[1].evaluations) == 1


# --- what makes it hard -----------------------------------------------------------------------------------------------


@pytest.mark.broad
def test_a_loss_that_is_not_finite_is_a_place_not_to_go_to():
    """The first steps would lead to the logarithm of negative numbers."""
    w, optimizer = gx.Variable(np.abs(FIVE) * 0.5), LBFGS(3)
    loss = optimizer.minimize(lambda: ops.sum(w**2 - ops.log(w) * 1e-2), [w])
    np.testing.assert_allclose(w.numpy(), np.sqrt(5e-3), rtol=1e-3)
    assert np.isfinite(float(loss))


def test_from_where_the_loss_is_nan_nothing_moves():
    w, optimizer = gx.Variable(FIVE), LBFGS(3)
    assert np.isnan(float(optimizer.minimize(lambda: ops.sum(ops.log(w)), [w])))
    np.testing.assert_array_equal(w.numpy(), FIVE)
    assert (int(optimizer.iterations), int(optimizer.evaluations)) == (0, 1)


@pytest.mark.broad
def test_a_gradient_that_lies_moves_nothing_and_drops_the_history():
    @gx.custom_gradient
    def lying(x):
        return x, lambda upstream: -upstream

    net, optimizer = Net(), LBFGS(3, max_iterations=2)
    optimizer.minimize(net.loss, net)
    assert int(optimizer.pairs) == 2
    before, iterations = [v.numpy() for v in net.variables], int(optimizer.iterations)
    loss = optimizer.minimize(lambda: lying(net.loss()), net)
    assert float(loss) == float(net.loss())
    assert int(optimizer.pairs) == 0
    assert int(optimizer.iterations) - iterations == 2  # along the history, and along the gradient
    for variable, value in zip(net.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


@pytest.mark.slow
def test_the_loss_never_rises():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16, 3)).astype("float32"), rng.normal(size=(16, 2)).astype("float32")
    gx.set_random_seed(0)
    model = gx.Sequential([gx.layers.Dense(4, activation="relu"), gx.layers.Dense(2)])
    model(x)
    optimizer = LBFGS(max_iterations=1, max_evaluations=2, history_size=3)
    step = gx.jit(lambda: optimizer.minimize(lambda: ops.mean((model(x) - y) ** 2), model))
    losses = [float(ops.mean((model(x) - y) ** 2)), *(float(step()) for _ in range(40))]
    assert step.trace_count == 1
    assert np.all(np.diff(losses) <= 1e-6 * np.array(losses[1:]))
    assert losses[-1] < 0.5 * losses[0]
    assert losses[-1] == pytest.approx(float(ops.mean((model(x) - y) ** 2)), rel=1e-5)  # that of where it is


@pytest.mark.broad
def test_weights_of_16_bits():
    net, optimizer = Net("bfloat16"), LBFGS(3)
    optimizer.minimize(net.loss, net)
    assert float(net.loss()) < 0.01
    assert optimizer.slot(net.w, "steps").dtype == "float32"


# --- variables and state ----------------------------------------------------------------------------------------------


@pytest.mark.broad
def test_what_is_frozen_stays_and_joins_again_later():
    net, optimizer = Net(), LBFGS(3, max_iterations=1)
    optimizer.minimize(net.loss, net)
    net.b.trainable = False
    b = net.b.numpy()
    loss = float(optimizer.minimize(net.loss, net))
    np.testing.assert_array_equal(net.b.numpy(), b)
    steps = optimizer.slot(net.b, "steps").numpy()
    assert [bool(np.all(row == 0)) for row in steps] == [False, True, True]
    net.b.trainable = True
    assert float(optimizer.minimize(net.loss, net)) < loss
    net.trainable = False
    with pytest.raises(GradientError):
        optimizer.minimize(net.loss, [net.w])


@pytest.mark.slow
def test_a_variable_that_comes_later():
    net, optimizer = Net(), LBFGS(3, max_iterations=2)
    optimizer.minimize(net.loss, net)
    net.extra = gx.Variable([1.0])
    optimizer.minimize(lambda: net.loss() + ops.sum((net.extra - 3.0) ** 2), net)
    assert 1 < net.extra.numpy()[0] < 4


@pytest.mark.broad
def test_a_checkpoint_in_mid_training(tmp_path):
    net, optimizer = Net(), LBFGS(3, max_iterations=2)
    optimizer.minimize(net.loss, net)
    path = gx.Checkpoint(net=net, optimizer=optimizer).save(tmp_path / "it").path
    other, fresh = Net(), LBFGS(3, max_iterations=2)
    gx.Checkpoint(net=other, optimizer=fresh).restore(path)
    assert float(optimizer.minimize(net.loss, net)) == float(fresh.minimize(other.loss, other))
    np.testing.assert_array_equal(net.numpy(), other.numpy())
    assert int(fresh.iterations) == int(optimizer.iterations) == 4


@pytest.mark.broad
def test_a_loss_that_fails_leaves_the_weights_as_they_were():
    net, calls = Net(), []

    def loss():
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("third")
        return net.loss()

    before = net.numpy()
    with pytest.raises(RuntimeError):
        LBFGS(3).minimize(loss, net)
    np.testing.assert_array_equal(net.numpy(), before)


@pytest.mark.parametrize(
    "wrong",
    [{"history_size": 0}, {"max_iterations": 1.5}, {"tolerance_change": -1.0}, {"c1": 0.5, "c2": 0.1}, {"c2": 1.0}],
)
def test_wrong_arguments(wrong):
    with pytest.raises(ArgumentError):
        LBFGS(**wrong)


def test_repr():
    assert repr(LBFGS(history_size=5)) == "LBFGS(history_size=5)"


@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_a_constraint_is_refused_before_anything_moves(run):
    free, bound = gx.Variable([1.0, 2.0]), gx.Variable([1.0, 2.0], constraint="non_neg", name="bound")
    optimizer = LBFGS()
    step = run(lambda: optimizer.minimize(lambda: ops.sum((free + bound + 3.0) ** 2), [free, bound]))
    with pytest.raises(ArgumentError, match="LBFGS got the variable 'bound' with NonNeg"):
        step()
    assert free.numpy().tolist() == bound.numpy().tolist() == [1.0, 2.0]
    assert not list(optimizer.slots())
