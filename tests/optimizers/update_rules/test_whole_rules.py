"""Rules that look at a whole variable: transcriptions in float64 from the papers, and other libraries."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, SelectorError
from graftax.optimizers import LAMB, LARS, SM3, Adafactor, AdamW, Muon, Novograd

RNG = np.random.default_rng(0)
START = RNG.normal(size=(4, 3))
GRADIENTS = [RNG.normal(size=(4, 3)) * scale for scale in (1.0, 3.0, 0.2, 1.0)]


def moved(optimizer, start=START, gradients=GRADIENTS, run=lambda f: f):
    w = gx.Variable(start.astype("float32"))
    step = run(lambda g: optimizer.apply([g], [w]))
    for g in gradients:
        step(g.astype("float32"))
    return w.numpy()


def lamb(w, gs):
    m = v = 0
    for t, g in enumerate(gs, 1):
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        r = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.99**t)) + 1e-3) + 0.2 * w
        w = w - 0.1 * np.linalg.norm(w) / np.linalg.norm(r) * r
    return w


def lars(w, gs):
    v = 0
    for g in gs:
        local = 0.5 * np.linalg.norm(w) / (np.linalg.norm(g) + 0.2 * np.linalg.norm(w))
        v = 0.9 * v + 0.1 * local * (g + 0.2 * w)
        w = w - v
    return w


def novograd(w, gs):
    v, m = np.sum(gs[0] ** 2), 0
    for t, g in enumerate(gs):
        v = 0.9 * v + 0.1 * np.sum(g**2) if t else v
        m = 0.8 * m + g / (np.sqrt(v) + 1e-3) + 0.2 * w
        w = w - 0.1 * m
    return w


def sm3(w, gs):
    rows, columns, m = np.zeros(4), np.zeros(3), 0
    for g in gs:
        nu = np.array([[min(rows[i], columns[j]) + g[i, j] ** 2 for j in range(3)] for i in range(4)])
        rows, columns = nu.max(1), nu.max(0)
        m = 0.9 * m + 0.1 * g / np.sqrt(nu)
        w = w - 0.1 * m
    return w


def adafactor(w, gs):
    r, c = np.zeros(4), np.zeros(3)
    for t, g in enumerate(gs, 1):
        b = 1 - t**-0.8
        r = b * r + (1 - b) * (g**2).sum(1)  # sums, as the paper writes them
        c = b * c + (1 - b) * (g**2).sum(0)
        u = g / np.sqrt(np.outer(r, c) / r.sum())
        u = u / max(1, np.sqrt(np.mean(u**2)))
        w = w - max(1e-3, np.sqrt(np.mean(w**2))) * min(0.6, 1 / np.sqrt(t)) * u
    return w


def muon(w, gs):
    m = 0
    for g in gs:
        m = 0.95 * m + 0.05 * g
        u, s, vh = np.linalg.svd(0.95 * m + 0.05 * g, full_matrices=False)
        s = s / np.linalg.norm(s)
        for _ in range(5):
            s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
        w = w * (1 - 0.1 * 0.2) - 0.1 * 0.2 * np.sqrt(4) * u @ np.diag(s) @ vh
    return w


PAPERS = {
    "lamb": (lamb, lambda: LAMB(0.1, beta_2=0.99, epsilon=1e-3, weight_decay=0.2)),
    "lars": (lars, lambda: LARS(0.1, trust=0.5, weight_decay=0.2)),
    "novograd": (novograd, lambda: Novograd(0.1, 0.8, 0.9, 1e-3, weight_decay=0.2)),
    "sm3": (sm3, lambda: SM3(0.1)),
    "adafactor": (adafactor, lambda: Adafactor(0.6)),
    "muon": (muon, lambda: Muon(0.1, weight_decay=0.2)),
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", PAPERS)
def test_as_the_paper_says(name):
    paper, make = PAPERS[name]
    np.testing.assert_allclose(moved(make()), paper(START, GRADIENTS), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    ("make", "theirs"),
    [
        (lambda: LAMB(0.1, epsilon=1e-6, weight_decay=0.2), lambda o: o.lamb(0.1, weight_decay=0.2)),
        (lambda: Novograd(0.1, 0.9, 0.25, weight_decay=0.2), lambda o: o.novograd(0.1, weight_decay=0.2)),
        (lambda: SM3(0.1), lambda o: o.sm3(0.1)),
        (lambda: LARS(0.1, trust=0.5), lambda o: o.lars(0.1, trust_coefficient=0.5)),  # whose decay is in the norm
    ],
    ids=["lamb", "novograd", "sm3", "lars"],
)
def test_as_optax(make, theirs):
    optax = pytest.importorskip("optax")
    import jax.numpy as jnp

    tx, w = theirs(optax), jnp.asarray(START, "float32")
    state = tx.init(w)
    for g in GRADIENTS:
        updates, state = tx.update(jnp.asarray(g, "float32"), state, w)
        w = optax.apply_updates(w, updates)
    np.testing.assert_allclose(moved(make()), w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "name", "options"),
    [
        (lambda: LAMB(0.1), "Lamb", {}),
        (lambda: Adafactor(0.6), "Adafactor", {}),
        (lambda: Muon(0.1), "Muon", {"weight_decay": None}),
    ],
    ids=["lamb", "adafactor", "muon"],
)
def test_as_keras(make, name, options, against_keras):
    rate = float(make().learning_rate)
    theirs = against_keras(name, START, GRADIENTS, learning_rate=rate, **options)
    np.testing.assert_allclose(moved(make()), theirs, rtol=1e-5, atol=1e-6)


def test_adafactor_as_torch():
    torch = pytest.importorskip("torch")
    w = torch.nn.Parameter(torch.tensor(START, dtype=torch.float32))
    theirs = torch.optim.Adafactor([w], lr=0.6)
    for g in GRADIENTS:
        w.grad = torch.tensor(g, dtype=torch.float32)
        theirs.step()
    np.testing.assert_allclose(moved(Adafactor(0.6)), w.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", ["shape", "adamw"])
def test_muon_as_torch(scale):
    """Their kernels are transposed, their Newton-Schulz in bfloat16."""
    torch = pytest.importorskip("torch")
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this torch has no Muon")
    w = torch.nn.Parameter(torch.tensor(START.T.copy(), dtype=torch.float32))
    adjust = {"shape": "original", "adamw": "match_rms_adamw"}[scale]
    theirs = torch.optim.Muon([w], lr=0.1, weight_decay=0.2, adjust_lr_fn=adjust)
    for g in GRADIENTS:
        w.grad = torch.tensor(g.T.copy(), dtype=torch.float32)
        theirs.step()
    np.testing.assert_allclose(moved(Muon(0.1, scale=scale, weight_decay=0.2)), w.detach().numpy().T, atol=0.02)


def test_muon_leaves_vectors_and_what_is_selected_to_adamw():
    class Net(gx.Module):
        def __init__(self):
            super().__init__()
            self.embeddings, self.kernel = gx.Variable(START), gx.Variable(START)
            self.bias = gx.Variable(START[0])

    net, twin = Net(), Net()
    both = Muon(0.1, adamw=["embeddings"], weight_decay=0.2), AdamW(0.1, weight_decay=0.2, epsilon=1e-8)
    for optimizer, model in zip(both, (net, twin), strict=True):
        for g in GRADIENTS:
            optimizer.apply([g, g, g[0]], [model.embeddings, model.kernel, model.bias])
    for name in ("embeddings", "bias"):
        np.testing.assert_allclose(getattr(net, name).numpy(), getattr(twin, name).numpy(), rtol=1e-4, atol=1e-6)
    assert np.abs(net.kernel.numpy() - twin.kernel.numpy()).max() > 0.01
    assert [r.name for r in both[0].slots() if r.variable is net.kernel] == ["momentum"]


def test_muon_selector_that_selects_nothing():
    with pytest.raises(SelectorError):
        moved(Muon(0.1, adamw=["**/nothing"]))


def test_a_rule_sets_the_decay_inside_of_the_ratio():
    whole = moved(LAMB(0.1, weight_decay=0.2))
    np.testing.assert_array_equal(moved(LAMB(0.1, rules=[("*", {"weight_decay": 0.2})])), whole)
    assert not np.allclose(moved(LAMB(0.1)), whole)


def test_adafactor_keeps_no_second_moment_of_a_matrix():
    w, optimizer = gx.Variable(np.ones((2, 50, 40), "float32")), Adafactor()
    optimizer.build([w])
    assert sum(record.slot.size for record in optimizer.slots()) == 2 * (50 + 40)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: LAMB(beta_1=1.0),
        lambda: LARS(trust=0.0),
        lambda: Novograd(beta_2=-0.1),
        lambda: SM3(momentum=1.0),
        lambda: Adafactor(clip=0.0),
        lambda: Muon(scale="torch"),
    ],
)
def test_wrong_arguments(wrong):
    with pytest.raises(ArgumentError):
        wrong()
