"""Masks over the axes of space and time: poolings leave out what they hide, paddings and croppings move them."""

import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import layers as L
from graftax import ops
from graftax.layers.call_context import call_context

RNG = np.random.default_rng(0)
SPACES = {1: (7,), 2: (6, 5), 3: (4, 5, 3)}


def inputs(space, hidden=np.nan):
    """Random values, a mask of them, and the values with something else where it hides."""
    shape = (2, *SPACES[space], 2)
    x = RNG.normal(size=shape).astype("float32") - 3  # below 0, so that a 0 in a maximum shows
    mask = RNG.uniform(size=shape[:-1]) < 0.5
    mask[0, :4] = False  # windows without anything
    mask[1, -1] = True
    return x, mask, np.where(mask[..., None], x, np.float32(hidden))


def windows(sizes, pool, strides, padding):
    """The places of each window: of one that stands out, those inside."""
    along = []
    for n, w, s in zip(sizes, pool, strides, strict=True):
        out = -(-n // s) if padding == "same" else (n - w) // s + 1
        before = max((out - 1) * s + w - n, 0) // 2 if padding == "same" else 0
        along.append([(max(i * s - before, 0), min(i * s - before + w, n)) for i in range(out)])
    return along


def adaptive(sizes, output):
    return [[(i * n // m, -(-(i + 1) * n // m)) for i in range(m)] for n, m in zip(sizes, output, strict=True)]


def pooled(x, mask, along, reduce):
    """Every window by itself, of what is seen in it; 0 and no mask where nothing is."""
    shape = tuple(len(one) for one in along)
    out, seen = np.zeros((len(x), *shape, x.shape[-1])), np.zeros((len(x), *shape), bool)
    for place in itertools.product(range(len(x)), *(range(n) for n in shape)):
        box = tuple(slice(*one[i]) for one, i in zip(along, place[1:], strict=True))
        values = x[place[0]][box][mask[place[0]][box]]
        if len(values):
            out[place], seen[place] = reduce(values, axis=0), True
    return out, seen


def check(layer, x, mask, hidden, expected, left):
    """The numbers, eagerly and compiled, given and carried; the mask; gradients."""
    for run in (layer, gx.jit(lambda x, mask=None: layer(x, mask=mask))):
        np.testing.assert_allclose(run(hidden, mask=mask), expected, rtol=1e-4, atol=1e-5)
    with call_context() as context:
        context.set_mask(hidden, mask)
        out = layer(hidden)
        found = context.mask_of(out)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    if left is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, left)
    slope = np.asarray(gx.grad(lambda x: ops.sum(layer(x, mask=mask)))(ops.asarray(hidden)))
    assert np.isfinite(slope).all()
    assert not slope[~mask].any()
    assert slope[mask].any()


def later(*values):
    """Leave cases to the slow lane."""
    return [pytest.param(value, marks=pytest.mark.slow, id=str(value)) for value in values]


@pytest.mark.broad
@pytest.mark.parametrize("case", [("same", 3, 2), *later(("valid", 2, None), ("same", 2, 1))], ids=str)
@pytest.mark.parametrize("kind", ["Max", "Average"])
@pytest.mark.parametrize("space", [1, *later(2, 3)])
def test_windows_pool_what_is_seen(space, kind, case):
    padding, pool, strides = case
    layer = getattr(L, f"{kind}Pooling{space}D")(pool, strides, padding)
    x, mask, hidden = inputs(space)
    along = windows(SPACES[space], [pool] * space, [strides or pool] * space, padding)
    check(layer, x, mask, hidden, *pooled(x, mask, along, np.max if kind == "Max" else np.mean))


@pytest.mark.broad
@pytest.mark.parametrize("size", [3, *later(2)])
@pytest.mark.parametrize("kind", ["Max", "Average"])
@pytest.mark.parametrize("space", [1, *later(2, 3)])
def test_adaptive_windows_pool_what_is_seen(space, kind, size):
    layer = getattr(L, f"Adaptive{kind}Pooling{space}D")(size)
    x, mask, hidden = inputs(space)
    along = adaptive(SPACES[space], [size] * space)
    check(layer, x, mask, hidden, *pooled(x, mask, along, np.max if kind == "Max" else np.mean))


@pytest.mark.broad
@pytest.mark.parametrize("kind", ["Max", "Average"])
@pytest.mark.parametrize("space", [2, *later(1, 3)])
def test_global_poolings_pool_what_is_seen(space, kind):
    x, mask, hidden = inputs(space)
    mask[0] = False
    expected, _ = pooled(x, mask, [[(0, n)] for n in SPACES[space]], np.max if kind == "Max" else np.mean)
    layer = getattr(L, f"Global{kind}Pooling{space}D")(keepdims=True)
    check(layer, x, mask, hidden, expected, None)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("make", [L.GlobalMaxPooling2D, lambda: L.MaxPooling2D(2), lambda: L.AdaptiveMaxPooling2D(2)])
def test_masks_of_fewer_axes(make):
    x, _, _ = inputs(2)
    rows = np.arange(6) < np.array([[3], [5]])
    whole = np.broadcast_to(rows[:, :, None, None], x.shape)
    layer = make()
    expected = np.asarray(layer(np.where(whole, x, -np.inf)))
    for mask in (rows, whole[..., 0]):
        np.testing.assert_array_equal(layer(x, mask=mask), np.where(np.isfinite(expected), expected, 0))
    for wrong in (rows[:, :4], whole, np.array([3, 5])):
        with pytest.raises(gx.errors.ShapeError, match="a mask has the first sizes"):
            layer(x, mask=wrong)


@pytest.mark.broad
def test_integers_and_values_that_are_infinite():
    counts = np.array([[[-5], [-2], [9]]], "int32")
    mask = np.array([[True, True, False]])
    assert L.GlobalMaxPooling1D(dtype="float32")(counts, mask=mask).tolist() == [[-2]]
    low = np.float32([[[-np.inf], [-np.inf], [1]]])
    assert L.GlobalMaxPooling1D()(low, mask=mask).tolist() == [[-np.inf]]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (L.ZeroPadding1D((1, 2)), [0, 1, 0, 1, 1, 0, 0]),
        (L.Cropping1D((1, 0)), [0, 1, 1]),
        (L.UpSampling1D(2), [1, 1, 0, 0, 1, 1, 1, 1]),
    ],
    ids=["pad", "crop", "repeat"],
)
def test_masks_move_with_the_values(layer, expected):
    x = np.float32([1, np.nan, 3, 4]).reshape(1, 4, 1)
    mask = np.array([[True, False, True, True]])
    read = L.Lambda(lambda x, mask=None: mask, mask=lambda x, mask: None)
    for run in (lambda x: layer(x, mask=mask), gx.jit(lambda x: layer(x, mask=mask))):
        out = run(x)
        assert np.asarray(read(out)).astype(int).tolist() == [expected]
        assert np.isfinite(np.asarray(out)[np.array([expected], bool)]).all()
    with call_context() as context:
        context.set_mask(x, np.array([True]))
        assert context.mask_of(layer(x)).tolist() == [True]  # whole rows stay as they are
    images = np.ones((2, 4, 5, 1), "float32")
    seen = RNG.uniform(size=(2, 4, 5)) < 0.5
    with call_context() as context:
        context.set_mask(images, seen)
        padded = context.mask_of(L.ZeroPadding2D(((1, 0), (0, 2)))(images))
        np.testing.assert_array_equal(padded, np.pad(seen, ((0, 0), (1, 0), (0, 2))))
        cropped = context.mask_of(L.Cropping2D(((1, 0), (0, 2)))(images))
        np.testing.assert_array_equal(cropped, seen[:, 1:, :-2])


@pytest.mark.slow
def test_a_model_of_padded_text_sees_no_padding():
    gx.set_random_seed(0)
    tokens = np.array([[4, 2, 7, 1, 0, 0], [1, 5, 3, 6, 2, 0]])
    for parts in (
        [L.GlobalMaxPooling1D()],
        [L.MaxPooling1D(2), L.GlobalMaxPooling1D()],
        [L.MaxPooling1D(2), L.LSTM(3)],
    ):
        model = gx.Sequential([L.Embedding(9, 3, mask_zero=True), *parts, L.Dense(1)])
        np.testing.assert_allclose(model(tokens)[:1], model(tokens[:1, :4]), rtol=1e-4, atol=1e-6)


@pytest.mark.broad
@pytest.mark.parametrize(
    ("make", "space"), [(lambda: L.MaxPooling1D(2), 1), (lambda: L.GlobalAveragePooling2D(), 2)], ids=["1d", "2d"]
)
def test_a_mask_of_samples_is_told_how_to_become_one_of_their_places(make, space):
    x, _, _ = inputs(space)
    samples = np.array([True, False])
    with pytest.raises(gx.errors.ShapeError, match=r"mask of shape \(2,\)") as caught:
        make()(x, mask=samples)
    line = str(caught.value).split("for example ")[1]
    mask = eval(line, {"ops": ops, "mask": samples})
    out = make()(x, mask=mask)
    assert (np.asarray(out[1]) == 0).all()
    assert (np.asarray(out[0]) != 0).any()
