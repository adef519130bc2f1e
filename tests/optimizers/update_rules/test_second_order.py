"""Shampoo, SOAP and Sophia: transcriptions in float64 from the papers."""

import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.optimizers import SOAP, Adam, Shampoo, Sophia
from graftax.optimizers.engine.matrix_power import damped_power

RNG = np.random.default_rng(0)
START = RNG.normal(size=(4, 3))
GRADIENTS = [RNG.normal(size=(4, 3)) * scale for scale in (1.0, 3.0, 0.2, 1.0, 0.5)]


def moved(optimizer, start=START, gradients=GRADIENTS, run=lambda f: f):
    w = gx.Variable(start.astype("float32"))
    step = run(lambda g: optimizer.apply([g], [w]))
    for g in gradients:
        step(g.astype("float32"))
    return w.numpy()


def power(matrix, p):
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(values**p) @ vectors.T


def shampoo(w, gs, every=1):
    """Algorithm 1."""
    left, right = 0.1 * np.eye(4), 0.1 * np.eye(3)
    for t, g in enumerate(gs):
        left, right = left + g @ g.T, right + g.T @ g
        if t % every == 0:
            roots = power(left, -0.25), power(right, -0.25)
        w = w - 0.2 * roots[0] @ g @ roots[1]
    return w


def soap(w, gs, every):
    """Algorithm 3, with the bases of the first gradient."""
    left, right, m, v = 0.1 * gs[0] @ gs[0].T, 0.1 * gs[0].T @ gs[0], 0, 0
    p, q = np.linalg.eigh(left)[1][:, ::-1], np.linalg.eigh(right)[1][:, ::-1]
    for t, g in enumerate(gs, 1):
        m = 0.8 * m + 0.2 * g
        v = 0.9 * v + 0.1 * (p.T @ g @ q) ** 2
        n = (p.T @ m @ q) / (1 - 0.8**t) / np.sqrt(v / (1 - 0.9**t) + 1e-3)
        w = w * (1 - 0.1 * 0.2) - 0.1 * p @ n @ q.T
        if t > 1:
            left, right = 0.9 * left + 0.1 * g @ g.T, 0.9 * right + 0.1 * g.T @ g
        if t % every == 0:
            p, q = np.linalg.qr(left @ p)[0], np.linalg.qr(right @ q)[0]
    return w


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("every", "run"), [(1, lambda f: f), (2, lambda f: f), (2, gx.jit)], ids=["each", "second", "second, jit"]
)
def test_shampoo_as_the_paper_says(every, run):
    found = moved(Shampoo(0.2, epsilon=0.1, update_every=every), run=run)
    np.testing.assert_allclose(found, shampoo(START, GRADIENTS, every), rtol=2e-4, atol=2e-5)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("every", "run"), [(1, lambda f: f), (2, lambda f: f), (2, gx.jit)], ids=["each", "second", "second, jit"]
)
def test_soap_as_the_paper_says(every, run):
    optimizer = SOAP(0.1, 0.8, 0.9, 1e-3, update_every=every, weight_decay=0.2)
    np.testing.assert_allclose(moved(optimizer, run=run), soap(START, GRADIENTS, every), rtol=5e-4, atol=1e-4)


@pytest.mark.broad
def test_shampoo_of_three_axes():
    """Algorithm 2: along each axis, to the power of -1/6."""
    start, gradients = START.reshape(2, 2, 3), [g.reshape(2, 2, 3) for g in GRADIENTS]
    w, sums = start, [0.1 * np.eye(2), 0.1 * np.eye(2), 0.1 * np.eye(3)]
    for g in gradients:
        sums = [h + np.tensordot(g, g, axes=[[a for a in range(3) if a != i]] * 2) for i, h in enumerate(sums)]
        w = w - 0.2 * np.einsum("abc,ai,bj,ck->ijk", g, *(power(h, -1 / 6) for h in sums))
    np.testing.assert_allclose(moved(Shampoo(0.2, epsilon=0.1), start, gradients), w, rtol=2e-4, atol=2e-5)


def test_shampoo_keeps_the_diagonal_of_a_long_axis():
    w, rows, right = START, np.full(4, 0.1), 0.1 * np.eye(3)
    for g in GRADIENTS:
        rows, right = rows + (g * g).sum(1), right + g.T @ g
        w = w - 0.2 * rows[:, None] ** -0.25 * g @ power(right, -0.25)
    np.testing.assert_allclose(moved(Shampoo(0.2, epsilon=0.1, largest=3)), w, rtol=2e-4, atol=2e-5)


@pytest.mark.in_turn(12, 1)
@pytest.mark.parametrize("make", [Shampoo, SOAP, lambda rate: Shampoo(rate, largest=1)])
@pytest.mark.parametrize("shape", [(0, 3), (3,), (), (2, 1, 3)])
def test_any_shape(make, shape):
    w, optimizer = gx.Variable(np.ones(shape, "float32")), make(0.1)
    optimizer.apply([np.ones(shape, "float32")], [w])
    assert w.shape == shape
    assert np.all(w.numpy() < 1)


def test_shampoo_takes_the_length_of_another():
    bare = START - moved(Shampoo(1.0), gradients=GRADIENTS[:1])
    for graft, length in (
        ("sgd", np.linalg.norm(GRADIENTS[0])),
        ("adagrad", np.linalg.norm(GRADIENTS[0] / np.sqrt(GRADIENTS[0] ** 2 + 1e-4))),
    ):
        step = START - moved(Shampoo(1.0, graft=graft), gradients=GRADIENTS[:1])
        np.testing.assert_allclose(step, bare * length / np.linalg.norm(bare), rtol=1e-3, atol=1e-4)


def test_soap_takes_the_step_of_adam_for_a_vector():
    gradients = [g[0] for g in GRADIENTS]
    adam = moved(Adam(0.1, 0.8, 0.9, 1e-12), START[0], gradients)
    np.testing.assert_allclose(moved(SOAP(0.1, 0.8, 0.9, 1e-12), START[0], gradients), adam, rtol=1e-5)


def test_soap_leaves_a_long_side_unturned():
    w, optimizer = gx.Variable(START.astype("float32")), SOAP(largest=3)
    optimizer.apply([GRADIENTS[0].astype("float32")], [w])
    assert [r.name for r in optimizer.slots()] == ["momentum", "velocity", "right", "right_basis"]


def sophia(w, gs, hs):
    """Algorithm 3, with a curvature in each step."""
    m = h = 0
    for g, estimate in zip(gs, hs, strict=True):
        m = 0.9 * m + 0.1 * g
        h = 0.8 * h + 0.2 * estimate
        w = w - 0.1 * 0.2 * w
        w = w - 0.1 * np.clip(m / np.maximum(0.5 * h, 1e-12), -1, 1)
    return w


CURVATURE = np.array([0.5, 2.0, -1.0, 8.0])


class Bowl(gx.Module):
    """Its Hessian is diagonal: an estimate is the curvature times the square of the noise."""

    def __init__(self):
        super().__init__()
        self.w, self.b = gx.Variable([1.0, -2.0, 0.5, 0.1]), gx.Variable([3.0])

    def loss(self):
        return 0.5 * ops.sum(CURVATURE.astype("float32") * self.w**2) + ops.sum(self.b**4)


def test_sophia_as_the_paper_says():
    optimizer = Sophia(0.1, 0.9, 0.8, 0.5, weight_decay=0.2)
    w, hs = gx.Variable(START.astype("float32")), [g * 2 for g in reversed(GRADIENTS)]
    for g, h in zip(GRADIENTS, hs, strict=True):
        slot = optimizer.slot(w, "hessian")
        slot.assign((0.8 * slot.numpy() + 0.2 * h).astype("float32"))
        optimizer.apply([g.astype("float32")], [w])
    np.testing.assert_allclose(w.numpy(), sophia(START, GRADIENTS, hs), rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_sophia_estimates_the_diagonal_of_the_hessian():
    net, optimizer = Bowl(), Sophia(beta_2=0.999)
    estimate = gx.jit(lambda: optimizer.update_hessian(net.loss, net))
    for _ in range(2000):
        estimate()
    kept = 1 - 0.999**2000
    np.testing.assert_allclose(optimizer.slot(net.w, "hessian").numpy() / kept, CURVATURE, rtol=0.2)
    np.testing.assert_allclose(optimizer.slot(net.b, "hessian").numpy() / kept, [12 * 9.0], rtol=0.2)
    assert net.w.numpy().tolist() == Bowl().w.numpy().tolist()


@pytest.mark.broad
@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("accumulation", [1, 2])
def test_sophia_estimates_when_it_is_due(run, accumulation):
    net, optimizer = Bowl(), Sophia(0.1, beta_2=0.5, update_every=2, accumulation_steps=accumulation)
    net.b.trainable = False
    step = run(lambda: optimizer.minimize(net.loss, net))
    seen = []
    for _ in range(4 * accumulation):
        step()
        seen.append(tuple(optimizer.slot(net.w, "hessian").numpy().tolist()))
    assert [a != b for a, b in itertools.pairwise(seen)] == (
        [False, True, False] if accumulation == 1 else [False, False, False, True, False, False, False]
    )
    assert np.all(np.sign(seen[0]) == np.sign(CURVATURE))
    assert net.b.numpy().tolist() == [3.0]
    assert not [r for r in optimizer.slots() if r.variable is net.b]


class Net(gx.Module):
    def __init__(self):
        super().__init__()
        self.kernel, self.bias = gx.Variable(START.astype("float32")), gx.Variable([1.0, 2.0, 3.0])

    def loss(self):
        return ops.sum(ops.tanh(self.kernel + self.bias) ** 2)


@pytest.mark.broad
@pytest.mark.parametrize("make", [Shampoo, SOAP, Sophia])
def test_a_checkpoint_in_mid_training(make, tmp_path):
    """Between two of what is done every so often."""
    net, optimizer = Net(), make(0.1, update_every=3)
    for _ in range(2):
        optimizer.minimize(net.loss, net)
    path = gx.Checkpoint(net=net, optimizer=optimizer).save(tmp_path / "it").path
    other, fresh = Net(), make(0.1, update_every=3)
    gx.Checkpoint(net=other, optimizer=fresh).restore(path)
    for _ in range(2):
        optimizer.minimize(net.loss, net)
        fresh.minimize(other.loss, other)
    np.testing.assert_array_equal(net.kernel.numpy(), other.kernel.numpy())
    np.testing.assert_array_equal(net.bias.numpy(), other.bias.numpy())


@pytest.mark.parametrize("make", [lambda: Shampoo(0.1, update_every=5), lambda: SOAP(0.1, update_every=5)])
def test_a_variable_that_comes_later_gets_its_own_start(make):
    """Not the roots or bases of nothing, which would not move it, or too far."""
    first, later, optimizer = gx.Variable(START), gx.Variable(START), make()
    gradient = GRADIENTS[0]
    optimizer.apply([gradient], [first])
    fresh, alone = gx.Variable(START), make()
    alone.iterations.assign(1)
    alone.apply([gradient], [fresh])
    optimizer.apply([gradient, gradient], [first, later])
    np.testing.assert_allclose(later.numpy(), fresh.numpy())
    assert np.abs(later.numpy() - START).max() > 1e-3


@pytest.mark.parametrize("make", [Shampoo, SOAP, Sophia])
def test_a_gradient_of_zero_moves_nothing(make):
    w, zero = gx.Variable(START.astype("float32")), np.zeros((4, 3), "float32")
    optimizer = make(0.1)
    optimizer.apply([zero], [w])
    np.testing.assert_array_equal(w.numpy(), START.astype("float32"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Shampoo(epsilon=0.0),
        lambda: Shampoo(decay=1.5),
        lambda: Shampoo(graft="adam"),
        lambda: SOAP(beta_1=1.0),
        lambda: SOAP(update_every=0),
        lambda: Sophia(gamma=0.0),
        lambda: Sophia(beta_2=1.0),
    ],
)
def test_wrong_arguments(wrong):
    with pytest.raises(ArgumentError):
        wrong()


@pytest.mark.broad
def test_curvatures_of_variables_of_several_dtypes():
    variables = [gx.Variable([1.0, -2.0], dtype=dtype) for dtype in ("float32", "float16", "bfloat16")]
    sophia = Sophia(0.1, beta_2=0.0)
    sophia.update_hessian(lambda: sum(ops.sum(ops.cast(v, "float32") ** 2) for v in variables), variables)
    for variable in variables:  # 2 * u**2, whatever u is
        assert (sophia.slot(variable, "hessian").numpy() > 0).all()


def differences(f, x, step=1e-2):
    """The slope of a function along each element, by differences."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[place] += step
        behind[place] -= step
        found[place] = (float(f(ahead)) - float(f(behind))) / (2 * step)
    return found


@pytest.mark.broad
@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "gradient",
    [np.eye(3) * 2, np.diag([2.0, 2.0, 1.0]), np.float32([[1, 2, 3], [0, 1, 0], [2, 0, 1]]), np.diag([1.0, 1.001, 4])],
    ids=["equal", "two_equal", "apart", "near"],
)
def test_a_gradient_through_shampoo_is_that_of_differences(gradient):
    w = gx.Variable(np.zeros((3, 3), "float32"), name="w")
    optimizer = Shampoo(1.0, epsilon=0.1)
    state, mix = optimizer.pure_state([w]), RNG.normal(size=(3, 3)).astype("float32")

    def total(gradient):
        values, after = optimizer.pure_update({"w": gradient}, state, {"w": w.value})
        values, _ = optimizer.pure_update({"w": gradient}, after, values)
        return ops.sum(values["w"] * mix)

    gradient = gradient.astype("float32")
    found = gx.jit(gx.grad(total))(gradient)
    np.testing.assert_allclose(found, differences(gx.jit(total), gradient), rtol=2e-2, atol=5e-3)
    _, forwards = gx.jit(lambda x: gx.jvp(total, (x,), (mix,)))(gradient)
    np.testing.assert_allclose(forwards, (found * mix).sum(), rtol=1e-3, atol=1e-4)


@pytest.mark.broad
def test_a_power_has_the_slope_of_its_damping():
    x = np.float32([[2.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 2.0]])
    mix = RNG.normal(size=(3, 3)).astype("float32")

    def total(epsilon):
        return ops.sum(damped_power(x, epsilon, -0.25) * mix)

    step = 1e-2
    slope = (float(total(0.3 + step)) - float(total(0.3 - step))) / (2 * step)
    assert float(gx.grad(total)(0.3)) == pytest.approx(slope, rel=1e-2)
    assert float(gx.jvp(total, (0.3,), (1.0,))[1]) == pytest.approx(slope, rel=1e-2)
    np.testing.assert_allclose(damped_power(x, 0.3, -0.25), power(x + 0.3 * np.eye(3), -0.25), rtol=1e-5)


@pytest.mark.broad
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_power_of_a_matrix_in_half(dtype):
    """Computed in 32 bits: NumPy does not know how precise bfloat16 is, which a derivative asked for."""
    x = np.float32([[2.0, 0.5], [0.5, 1.0]])
    given = ops.asarray(x, dtype)
    found = gx.grad(lambda x: ops.sum(damped_power(x, 0.25, -0.25)[0]))(given)
    expected = gx.grad(lambda x: ops.sum(damped_power(x, 0.25, -0.25)[0]))(x)
    assert str(damped_power(given, 0.25, -0.25).dtype) == str(found.dtype) == dtype
    np.testing.assert_allclose(np.asarray(found, "float32"), expected, atol=3e-3)


@pytest.mark.broad
def test_a_gradient_through_soap_takes_the_bases_as_constants():
    """A gradient of more rows than columns, whose eigenvalues of 0 are equal: it was nan."""
    w = gx.Variable(np.zeros((4, 2), "float32"), name="w")
    optimizer = SOAP(1.0, 0.0, 0.0, 1.0)
    state, g = optimizer.pure_state([w]), np.float32([[1, 2], [0, 1], [1, 0], [2, 2]])
    u, _, vh = np.linalg.svd(g)

    def total(gradient):
        return ops.sum(optimizer.pure_update({"w": gradient}, state, {"w": w.value})[0]["w"])

    def fixed(gradient):
        """The step with the bases of `g`."""
        turned = u.T @ gradient @ vh.T
        return -(u @ (turned / np.sqrt(turned**2 + 1)) @ vh).sum()

    np.testing.assert_allclose(gx.grad(total)(g), differences(fixed, g, 1e-3), rtol=2e-2, atol=2e-3)
