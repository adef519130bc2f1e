"""Losses of overlap, of embeddings and of likelihoods, whose shapes are others than those of the common rows."""

import copy
import math

import numpy as np
import pytest

import graftax as gx
from graftax import losses, ops
from graftax.backend.registry import use
from graftax.core.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError

RNG = np.random.default_rng(2)
PIXELS = RNG.integers(0, 2, (3, 4, 5, 2)).astype("float32")
SHARES = RNG.uniform(0.05, 0.95, (3, 4, 5, 2)).astype("float32")
LABELS = np.array([0, 1, 0, 2, 1, 0], "int32")
EMBEDDINGS = RNG.normal(size=(6, 4)).astype("float32")
UNITS = EMBEDDINGS / np.linalg.norm(EMBEDDINGS, axis=1, keepdims=True)
SEQUENCES = np.array([[1, 2, 2], [3, 1, 0]], "int32")
LOGITS = RNG.normal(size=(2, 7, 4)).astype("float32")


def tversky(y, p, alpha, beta, axes):
    y, p = y.astype("float64"), p.astype("float64")
    both = (y * p).sum(axes)
    found = 1 - both / (both + alpha * ((1 - y) * p).sum(axes) + beta * (y * (1 - p)).sum(axes))
    return found.reshape(len(y), -1).mean(1)


def nt_xent(labels, e, temperature):
    unit = e / np.linalg.norm(e, axis=1, keepdims=True)
    powers = np.exp(unit @ unit.T / temperature)
    found = []
    for i, label in enumerate(labels):
        against = sum(powers[i, k] for k in range(len(e)) if labels[k] != label)
        mine = [j for j in range(len(e)) if j != i and labels[j] == label]
        found.append(np.mean([-math.log(powers[i, j] / (powers[i, j] + against)) for j in mine]) if mine else 0.0)
    return np.array(found)


def triplet(labels, e, margin):
    d = ((e[:, None] - e[None]) ** 2).sum(-1)
    found = []
    for i, label in enumerate(labels):
        others = [d[i, k] for k in range(len(e)) if labels[k] != label]
        costs = []
        for j in range(len(e)):
            if j != i and labels[j] == label:
                farther = [one for one in others if one > d[i, j]]
                costs.append(max(d[i, j] - (min(farther) if farther else max(others)) + margin, 0))
        found.append(np.mean(costs) if costs else 0.0)
    return np.array(found)


def circle(labels, e, gamma, margin):
    d = np.maximum(1 - e.astype("float64") @ e.T.astype("float64"), 0)
    found = []
    for i, label in enumerate(labels):
        mine = [d[i, j] for j in range(len(e)) if j != i and labels[j] == label]
        others = [d[i, k] for k in range(len(e)) if labels[k] != label]
        near = sum(math.exp(gamma * (one + margin) * (one - margin)) for one in mine)
        far = sum(math.exp(gamma * max(1 + margin - one, 0) * (1 - margin - one)) for one in others)
        found.append(math.log1p(near * far))
    return np.array(found)


def gaussian(y, p):
    mean, log_variance = np.split(p.astype("float64"), 2, -1)
    return ((log_variance + (y - mean) ** 2 / np.exp(log_variance)) / 2).mean(-1)


def ctc(y, p):
    found = []
    for labels, logits in zip(y, p.astype("float64"), strict=True):
        labels = labels[labels != 0]
        shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        states = [0, *(s for label in labels for s in (label, 0))]
        here = [shares[0, s] if k < 2 else 0.0 for k, s in enumerate(states)]
        for step in shares[1:]:
            before = here
            here = []
            for k, s in enumerate(states):
                total = before[k] + (before[k - 1] if k else 0)
                if k > 1 and s and s != states[k - 2]:
                    total += before[k - 2]
                here.append(total * step[s])
        found.append(-math.log(here[-1] + here[-2]))
    return np.array(found)


CASES = {
    "dice": (losses.Dice, PIXELS, SHARES, lambda y, p: tversky(y, p, 0.5, 0.5, (1, 2, 3))),
    "dice of channels": (
        lambda **o: losses.Dice(axis=(1, 2), **o),
        PIXELS,
        SHARES,
        lambda y, p: tversky(y, p, 0.5, 0.5, (1, 2)),
    ),
    "tversky": (
        lambda **o: losses.Tversky(0.3, 0.7, **o),
        PIXELS,
        SHARES,
        lambda y, p: tversky(y, p, 0.3, 0.7, (1, 2, 3)),
    ),
    "nt_xent": (lambda **o: losses.NTXent(0.7, **o), LABELS, EMBEDDINGS, lambda y, p: nt_xent(y, p, 0.7)),
    "circle": (lambda **o: losses.Circle(3.0, 0.3, **o), LABELS, UNITS, lambda y, p: circle(y, p, 3.0, 0.3)),
    "triplet": (lambda **o: losses.TripletSemiHard(2.0, **o), LABELS, EMBEDDINGS, lambda y, p: triplet(y, p, 2.0)),
    "gaussian": (losses.GaussianNLL, SHARES[..., :1], PIXELS - SHARES, gaussian),
    "ctc": (losses.CTC, SEQUENCES, LOGITS, ctc),
}
each = pytest.mark.parametrize(("make", "y", "p", "formula"), CASES.values(), ids=CASES.keys())


@pytest.mark.in_turn(8)
@each
@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_values_are_those_of_the_formula(backend, make, y, p, formula):
    expected = formula(y, p)
    with use(backend):
        np.testing.assert_allclose(make(reduction="none")(y, p), expected, rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(make()(y, p), expected.mean(), rtol=2e-5)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@each
def test_gradients_are_differences_and_compiled_is_eager(make, y, p, formula):
    loss = make()
    value, slope = gx.jit(lambda y, p: gx.value_and_gradients_function(lambda x: loss(y, x))(p))(y, ops.asarray(p))
    np.testing.assert_allclose(value, loss(y, p), rtol=1e-6)
    way = RNG.normal(size=p.shape)
    step = 1e-5
    wide = p.astype("float64")
    expected = (formula(y, wide + step * way).mean() - formula(y, wide - step * way).mean()) / (2 * step)
    np.testing.assert_allclose((np.asarray(slope[0]) * way).sum(), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@each
def test_hidden_samples_leave_no_trace(make, y, p, formula):
    keep = np.ones(len(y), bool)
    keep[1] = False
    bad_y, bad_p = y.copy(), p.copy()
    bad_p[1] = np.nan
    bad_y[1] = 99 if y.dtype.kind == "i" else np.nan
    wanted = make(reduction="sum")(y[keep], p[keep])
    for given in ({"mask": keep}, {"sample_weight": keep.astype("float32")}):
        if given.get("sample_weight") is not None and y.dtype.kind == "i":
            continue  # a label that is no class is one for each loss to name
        value, slope = gx.value_and_gradients_function(lambda x, given=given: make(reduction="sum")(bad_y, x, **given))(
            ops.asarray(bad_p)
        )
        np.testing.assert_allclose(value, wanted, rtol=1e-5)
        assert np.isfinite(slope[0]).all()
        assert not np.asarray(slope[0])[1].any()


@pytest.mark.in_turn(4)
@each
def test_copies_and_half_precision(make, y, p, formula):
    loss = make()
    assert repr(copy.deepcopy(loss)) == repr(loss)
    assert str(loss(y, ops.cast(p, "bfloat16")).dtype) == "float32"


@pytest.mark.broad
def test_a_weight_of_0_takes_a_sample_out_of_comparisons():
    for make in (losses.NTXent, losses.TripletSemiHard):
        keep = np.array([1, 1, 1, 0, 1, 1], "float32")
        wanted = make(reduction="sum")(LABELS[keep > 0], EMBEDDINGS[keep > 0])
        np.testing.assert_allclose(make(reduction="sum")(LABELS, EMBEDDINGS, keep), wanted, rtol=1e-6)


def test_single_pixels_are_hidden_from_the_overlap():
    keep = RNG.integers(0, 2, PIXELS.shape[:3]).astype(bool)
    y, p = (np.where(keep[..., None], one, 0) for one in (PIXELS, SHARES))
    for loss in (losses.Dice(), losses.Tversky(0.3, 0.7)):
        found = loss(np.where(keep[..., None], PIXELS, np.nan), np.where(keep[..., None], SHARES, np.nan), mask=keep)
        np.testing.assert_allclose(found, loss(y.astype("float32"), p.astype("float32")), rtol=1e-5)


@pytest.mark.broad
def test_a_sample_alone_with_its_label_costs_nothing():
    for loss in (losses.NTXent(reduction="none"), losses.TripletSemiHard(reduction="none")):
        assert float(loss(LABELS, EMBEDDINGS)[3]) == 0
        assert loss([0, 0], EMBEDDINGS[:2]).shape == (2,)
        assert np.isfinite(loss([0, 0], EMBEDDINGS[:2])).all()


@pytest.mark.broad
def test_what_does_not_fit_is_told():
    with pytest.raises(ArgumentError, match="logits"):
        losses.Dice()(PIXELS, 5 * SHARES)
    with pytest.raises(ArgumentError, match="axis"):
        losses.Dice(axis=-4)(PIXELS, SHARES)
    with pytest.raises(ShapeError):
        losses.Dice()(PIXELS, SHARES, sample_weight=np.ones((3, 4)))
    with pytest.raises(ShapeError):
        losses.NTXent()(LABELS[:5], EMBEDDINGS)
    with pytest.raises(DTypeError):
        losses.NTXent()(EMBEDDINGS[:, 0], EMBEDDINGS)
    with pytest.raises(ShapeError):
        losses.GaussianNLL()(PIXELS, SHARES)
    with pytest.raises(ArgumentError, match="variance"):
        losses.GaussianNLL(False)([[0.0]], [[0.0, -1.0]])
    with pytest.raises(IndexRangeError):
        losses.CTC()(SEQUENCES + 2, LOGITS)
    with pytest.raises(ArgumentError, match="the blank, 0, pads"):
        losses.CTC()([[0, 1]], LOGITS[:1])
    with pytest.raises(ShapeError):
        losses.CTC()(SEQUENCES, LOGITS, mask=np.ones((2, LOGITS.shape[1] + 1), bool))
    with pytest.raises(ShapeError, match="class_weight"):
        losses.CategoricalCrossentropy(class_weight=[1.0, 2.0])([[1.0, 0, 0]], [[0.2, 0.5, 0.3]])
    with pytest.raises(ArgumentError, match=r"class_weight=\[1.0, 3.0\]"):
        losses.SparseCategoricalCrossentropy(class_weight={1: 3.0})


@pytest.mark.parametrize("name", ["mean_squared_error", "binary_focal_crossentropy", "dice", "hinge"])
def test_a_function_stands_for_its_class(name):
    assert losses.get(getattr(losses, name)).name == name
    y, p = PIXELS, SHARES
    values = getattr(losses, name)(y, p)
    np.testing.assert_allclose(ops.mean(values), losses.get(name)(y, p), rtol=1e-6)


@pytest.mark.broad
def test_ctc_and_likelihoods_train():
    gx.set_random_seed(0)
    model = gx.Sequential([gx.layers.Dense(8, activation="relu"), gx.layers.Dense(4)])
    model.compile(optimizer=gx.optimizers.Adam(0.1), loss="ctc")
    history = model.fit(RNG.normal(size=(2, 7, 3)).astype("float32"), SEQUENCES, epochs=15, verbose=0).history
    assert history["loss"][-1] < history["loss"][0] / 2


def test_circle_is_that_of_keras():
    keras = pytest.importorskip("keras")
    labels = np.array([0, 1, 2, 0, 1, 2])
    for options in ({}, {"gamma": 5.0, "margin": 0.2}):
        theirs = keras.losses.Circle(**options)(labels, UNITS)
        np.testing.assert_allclose(losses.Circle(**options)(labels, UNITS), theirs, rtol=1e-4)


def test_generalized_crossentropy_is_that_of_keras():
    keras = pytest.importorskip("keras")
    shares = np.abs(EMBEDDINGS) / np.abs(EMBEDDINGS).sum(1, keepdims=True)
    for q in (0.2, 0.9):
        theirs = keras.losses.CategoricalGeneralizedCrossEntropy(q)(LABELS, shares)
        np.testing.assert_allclose(losses.CategoricalGeneralizedCrossEntropy(q)(LABELS, shares), theirs, rtol=1e-5)


def test_ntxent_is_that_of_optax():
    optax = pytest.importorskip("optax")
    labels = np.array([0, 1, 2, 0, 1, 2])
    theirs = optax.losses.ntxent(EMBEDDINGS, labels, temperature=0.3)
    np.testing.assert_allclose(losses.NTXent(0.3)(labels, EMBEDDINGS), theirs, rtol=1e-5)


def test_likelihoods_and_weights_are_those_of_torch():
    torch = pytest.importorskip("torch")
    f = torch.nn.functional
    y, p, v = (torch.tensor(one) for one in (SHARES[..., 0], PIXELS[..., 0], SHARES[..., 1]))
    both = np.concatenate([PIXELS[..., 0], SHARES[..., 1]], -1)
    np.testing.assert_allclose(
        losses.GaussianNLL(False, full=True)(SHARES[..., 0], both), f.gaussian_nll_loss(p, y, v, full=True), rtol=1e-5
    )
    weight = np.array([3.0, 0.5], "float32")
    ours = losses.BinaryCrossentropy(True, pos_weight=weight.tolist())(PIXELS, SHARES)
    theirs = f.binary_cross_entropy_with_logits(
        torch.tensor(SHARES), torch.tensor(PIXELS), pos_weight=torch.tensor(weight)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    each = [1.0, 2.0, 0.5, 3.0]
    ours = losses.SparseCategoricalCrossentropy(True, class_weight=each, reduction="none")(LABELS, EMBEDDINGS)
    theirs = f.cross_entropy(
        torch.tensor(EMBEDDINGS), torch.tensor(LABELS).long(), weight=torch.tensor(each), reduction="none"
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "options", "y", "p"),
    [
        ("BinaryFocalCrossentropy", {"apply_class_balancing": True}, PIXELS, SHARES),
        ("BinaryFocalCrossentropy", {"from_logits": True, "gamma": 3.0}, PIXELS, SHARES),
        ("CategoricalFocalCrossentropy", {"from_logits": True}, np.eye(4, dtype="float32")[LABELS % 4], EMBEDDINGS),
        ("CategoricalHinge", {}, np.eye(4, dtype="float32")[LABELS % 4], EMBEDDINGS),
        ("Dice", {"axis": (1, 2, 3)}, PIXELS, SHARES),
        ("Tversky", {"axis": (1, 2, 3), "alpha": 0.3, "beta": 0.7}, PIXELS, SHARES),
        ("CTC", {}, SEQUENCES, LOGITS),
    ],
)
def test_numbers_are_those_of_keras(name, options, y, p, keras):
    swapped = {**options, "alpha": 0.7, "beta": 0.3} if name == "Tversky" else options  # Keras has them the other way
    theirs = getattr(keras.losses, name)(**swapped)(y, p)
    np.testing.assert_allclose(getattr(losses, name)(**options)(y, p), np.asarray(theirs), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [4, (1, 7), -5])
@pytest.mark.parametrize("kind", [losses.Dice, losses.Tversky])
def test_an_axis_that_there_is_not_is_refused(kind, axis):
    with pytest.raises(ShapeError, match="an array with 4 axes"):  # counted round, 5 would be the second one
        kind(axis=axis)(PIXELS, SHARES)
