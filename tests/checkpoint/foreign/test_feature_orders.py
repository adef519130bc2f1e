"""Weights behind a Flatten, and before a Reshape to an image: torch has channels first, whatever the way between."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

torch = pytest.importorskip("torch")
nn = torch.nn
L = layers

DRAW = np.random.default_rng(0)
IMAGE = DRAW.normal(size=(5, 4, 5, 3)).astype("float32")
STEPS = DRAW.normal(size=(4, 7, 5)).astype("float32")
FRAMES = DRAW.normal(size=(2, 3, 4, 5, 3)).astype("float32")
CODE = DRAW.normal(size=(5, 6)).astype("float32")
CODE_THERE = torch.tensor(CODE)
IDS = DRAW.integers(0, 9, (4, 3, 3))


def theirs(parts, forward):
    """A module of torch with these parts, and this function of them and the input."""

    class Theirs(nn.Module):
        def __init__(self):
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

        def forward(self, *x):
            return forward(self, *x)

    return Theirs()


def ours(parts, call):
    class Ours(gx.Model):
        def __init__(self):
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

        def call(self, x):
            return call(self, x)

    return Ours()


def conv():
    return nn.Conv2d(3, 4, 3, padding=1)


def same(filters=4, **options):
    return L.Conv2D(filters, 3, padding="same", **options)


def first(x):
    """An image, or images, with channels first."""
    return torch.tensor(x).movedim(-1, -3)


def two_heads():
    parts = {"c": conv(), "mean": nn.Linear(80, 2), "log_var": nn.Linear(80, 2)}
    net = theirs(parts, lambda s, x: torch.cat([s.mean(s.c(x).flatten(1)), s.log_var(s.c(x).flatten(1))], 1))
    parts = {"c": same(), "flatten": L.Flatten(), "mean": L.Dense(2), "log_var": L.Dense(2)}
    call = lambda s, x: ops.concatenate([s.mean(s.flatten(s.c(x))), s.log_var(s.flatten(s.c(x)))], axis=1)  # noqa: E731
    return net, ours(parts, call), IMAGE, first(IMAGE)


def two_heads_of_a_graph():
    net = two_heads()[0]
    given = gx.Input((4, 5, 3))
    flat = L.Flatten(name="f")(same(name="c")(given))
    joined = L.Concatenate()([L.Dense(2, name="mean")(flat), L.Dense(2, name="log_var")(flat)])
    return net, gx.Model(given, joined), IMAGE, first(IMAGE)


def a_dense_defined_between():
    parts = {"c": conv(), "side": nn.Linear(5, 7), "out": nn.Linear(80, 7)}
    net = theirs(parts, lambda s, x: s.out(s.c(x).flatten(1)) + s.side(x[:, 0, 0]))
    parts = {"c": same(), "flatten": L.Flatten(), "side": L.Dense(7), "out": L.Dense(7)}
    call = lambda s, x: s.out(s.flatten(s.c(x))) + s.side(x[:, 0, :, 0])  # noqa: E731
    return net, ours(parts, call), IMAGE, first(IMAGE)


def one_flatten_of_two_sizes():
    parts = {"c": conv(), "a": nn.Linear(80, 4), "b": nn.Linear(16, 4)}
    pooled = nn.functional.max_pool2d
    net = theirs(parts, lambda s, x: s.a(s.c(x).flatten(1)) + s.b(pooled(s.c(x), 2).flatten(1)))
    parts = {"c": same(), "p": L.MaxPooling2D(2), "f": L.Flatten(), "a": L.Dense(4), "b": L.Dense(4)}
    return net, ours(parts, lambda s, x: s.a(s.f(s.c(x))) + s.b(s.f(s.p(s.c(x))))), IMAGE, first(IMAGE)


def between(theirs_between, ours_between):
    net = nn.Sequential(conv(), nn.Flatten(), *theirs_between, nn.Linear(80, 4))
    return net, gx.Sequential([same(), L.Flatten(), *ours_between, L.Dense(4)]), IMAGE, first(IMAGE)


def reshaped_by_an_op():
    net = nn.Sequential(conv(), nn.ReLU(), nn.Flatten(), nn.Linear(80, 5), nn.Tanh(), nn.Linear(5, 2))
    parts = {"c": same(), "o": L.Dense(5), "last": L.Dense(2)}

    def call(self, x):
        features = ops.relu(self.c(x))
        features = ops.reshape(features, (features.shape[0], -1)) * 1.0
        return self.last(ops.tanh(self.o(features)))

    return net, ours(parts, call), IMAGE, first(IMAGE)


def frames():
    parts = {"c": nn.Conv2d(3, 2, 3, padding=1), "l": nn.LSTM(40, 4, batch_first=True)}
    net = theirs(parts, lambda s, v: s.l(s.c(v.flatten(0, 1)).flatten(1).view(*v.shape[:2], -1))[0][:, -1])
    each = L.TimeDistributed
    return net, gx.Sequential([each(same(2)), each(L.Flatten()), L.LSTM(4)]), FRAMES, first(FRAMES)


def frames_both_ways():
    parts = {"c": nn.Conv2d(3, 2, 3, padding=1), "l": nn.GRU(40, 4, batch_first=True, bidirectional=True)}
    net = theirs(parts, lambda s, v: s.l(s.c(v.flatten(0, 1)).flatten(1).view(*v.shape[:2], -1))[0])
    each, both = L.TimeDistributed, L.Bidirectional(L.GRU(4, return_sequences=True))
    return net, gx.Sequential([each(same(2)), each(L.Flatten()), both]), FRAMES, first(FRAMES)


def frames_of_a_model():
    net = frames()[0]
    inner = gx.Sequential([same(2), L.Flatten()])
    return net, gx.Sequential([L.TimeDistributed(inner), L.LSTM(4)]), FRAMES, first(FRAMES)


def frames_folded():
    parts = {"c": same(2), "l": L.LSTM(4)}

    def call(self, x):
        rows, steps = x.shape[:2]
        found = self.c(ops.reshape(x, (rows * steps, *x.shape[2:])))
        return self.l(ops.reshape(found, (rows, steps, -1)))

    return frames()[0], ours(parts, call), FRAMES, first(FRAMES)


def steps_after_a_dense():
    parts = {"a": nn.Conv1d(5, 6, 3, padding=1), "b": nn.Linear(6, 4), "c": nn.Linear(28, 4)}
    net = theirs(parts, lambda s, x: s.c(s.b(s.a(x.transpose(1, 2)).transpose(1, 2)).flatten(1)))
    model = gx.Sequential([L.Conv1D(6, 3, padding="same"), L.Dense(4), L.Flatten(), L.Dense(4)])
    return net, model, STEPS, torch.tensor(STEPS)


def a_grid_of_ids():
    net = nn.Sequential(nn.Embedding(9, 6), nn.Flatten(), nn.Linear(54, 4))
    return net, gx.Sequential([L.Embedding(9, 6), L.Flatten(), L.Dense(4)]), IDS, torch.tensor(IDS)


def patches():
    parts = {"a": nn.Conv2d(3, 6, 2, stride=2), "b": nn.Linear(6, 5), "c": nn.Linear(20, 4)}
    net = theirs(parts, lambda s, x: s.c(torch.relu(s.b(s.a(x).flatten(2).transpose(1, 2))).flatten(1)))
    rest = [L.Reshape((-1, 6)), L.Dense(5, activation="relu"), L.Flatten(), L.Dense(4)]
    return net, gx.Sequential([L.Conv2D(6, 2, strides=2), *rest]), IMAGE[:, :4, :4], first(IMAGE[:, :4, :4])


def joined_with_a_vector():
    parts = {"c": conv(), "o": nn.Linear(85, 4)}
    net = theirs(parts, lambda s, x: s.o(torch.cat([s.c(x).flatten(1), x[:, 0, 0]], 1)))
    parts = {"c": same(), "f": L.Flatten(), "join": L.Concatenate(), "o": L.Dense(4)}
    return net, ours(parts, lambda s, x: s.o(s.join([s.f(s.c(x)), x[:, 0, :, 0]]))), IMAGE, first(IMAGE)


def images_joined():
    parts = {"a": conv(), "b": conv(), "o": nn.Linear(160, 4)}
    net = theirs(parts, lambda s, x: s.o(torch.cat([s.a(x).flatten(1), s.b(x).flatten(1)], 1)))
    parts = {"a": same(), "b": same(), "f": L.Flatten(), "o": L.Dense(4)}
    call = lambda s, x: s.o(ops.concatenate([s.f(s.a(x)), s.f(s.b(x))], axis=-1))  # noqa: E731
    return net, ours(parts, call), IMAGE, first(IMAGE)


def in_blocks():
    """Flatten and Dense each inside of other layers, called through two of them."""

    class Body(gx.Layer):
        def __init__(self):
            super().__init__()
            self.c, self.f = same(), L.Flatten()

        def call(self, x):
            return self.f(ops.relu(self.c(x)))

    class Head(gx.Layer):
        def __init__(self):
            super().__init__()
            self.drop, self.o = L.Dropout(0.1), L.Dense(4)

        def call(self, x):
            return self.o(self.drop(x))

    net = nn.Sequential(nn.Sequential(conv(), nn.ReLU(), nn.Flatten()), nn.Sequential(nn.Linear(80, 4)))
    return net, gx.Sequential([Body(), Head()]), IMAGE, first(IMAGE)


def height_and_width_exchanged():
    parts = {"c": conv(), "o": nn.Linear(80, 2)}
    net = theirs(parts, lambda s, x: s.o(s.c(x).transpose(2, 3).flatten(1)))
    parts = {"c": same(), "f": L.Flatten(), "o": L.Dense(2)}
    return net, ours(parts, lambda s, x: s.o(s.f(ops.transpose(s.c(x), (0, 2, 1, 3))))), IMAGE, first(IMAGE)


def generator():
    net = nn.Sequential(nn.Linear(6, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Unflatten(1, (3, 4, 4)))
    net.append(nn.ConvTranspose2d(3, 2, 2, stride=2))
    first_layers = [L.Dense(48), L.BatchNormalization(epsilon=1e-5), L.ReLU()]
    model = gx.Sequential([*first_layers, L.Reshape((4, 4, 3)), L.Conv2DTranspose(2, 2, strides=2)])
    return theirs({"net": net}, lambda s, x: s.net(x).movedim(1, -1)), model, CODE, torch.tensor(CODE)


def tokens_of_features():
    net = theirs({"a": nn.Linear(6, 12), "b": nn.Linear(3, 4)}, lambda s, x: s.b(s.a(x).view(-1, 4, 3)))
    return net, gx.Sequential([L.Dense(12), L.Reshape((4, 3)), L.Dense(4)]), CODE, torch.tensor(CODE)


def norm_of_a_whole_image():
    cube = DRAW.normal(size=(5, 4, 4, 4)).astype("float32")
    net = theirs({"n": nn.LayerNorm([4, 4, 4])}, lambda s, x: s.n(x).movedim(1, -1))
    return net, gx.Sequential([L.LayerNormalization(axis=(1, 2, 3), epsilon=1e-5)]), cube, first(cube)


def pooled():
    parts = {"c": conv(), "o": nn.Linear(4, 2)}
    net = theirs(parts, lambda s, x: s.o(s.c(x).mean((2, 3))))
    return net, gx.Sequential([same(), L.GlobalAveragePooling2D(), L.Dense(2)]), IMAGE, first(IMAGE)


def decoder(*behind):
    """Features that become an image, after a Flatten of another."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(60, 5), nn.Linear(5, 12), nn.Unflatten(1, (3, 2, 2)))
    given = [L.Flatten(), L.Dense(5), L.Dense(12), L.Reshape((2, 2, 3))]
    for theirs_behind, ours_behind in behind:
        net.append(theirs_behind)
        given.append(ours_behind)
    return theirs({"net": net}, lambda s, x: s.net(x).movedim(1, -1)), gx.Sequential(given), IMAGE, first(IMAGE)


def image_with_batch_norm():
    return decoder((nn.BatchNorm2d(3), L.BatchNormalization(epsilon=1e-5)))


def image_with_group_norm():
    return decoder((nn.Tanh(), L.Activation("tanh")), (nn.GroupNorm(3, 3), L.GroupNormalization(3, epsilon=1e-5)))


def image_with_slopes():
    return decoder((nn.PReLU(3), L.PReLU(shared_axes=(1, 2))))


def image_with_whole_norm():
    return decoder((nn.LayerNorm([3, 2, 2]), L.LayerNormalization(axis=(1, 2, 3), epsilon=1e-5)))


def image_that_grows():
    return decoder((nn.Upsample(scale_factor=2), L.UpSampling2D(2)))


def image_across_blocks():
    parts = {"a": nn.Linear(6, 48), "c": nn.ConvTranspose2d(3, 2, 2, stride=2)}
    net = theirs(parts, lambda s, x: s.c(s.a(x).relu().view(-1, 3, 4, 4)).movedim(1, -1))
    head = gx.Sequential([L.Dense(48, activation="relu"), L.Dropout(0.1)])
    return (
        net,
        gx.Sequential([head, gx.Sequential([L.Reshape((4, 4, 3)), L.Conv2DTranspose(2, 2, strides=2)])]),
        CODE,
        CODE_THERE,
    )


def two_that_make_one_image():
    parts = {"a": nn.Linear(6, 48), "b": nn.Linear(6, 48), "c": nn.Conv2d(3, 2, 1)}
    image = lambda x: x.view(-1, 3, 4, 4)  # noqa: E731
    net = theirs(parts, lambda s, x: s.c(image(s.a(x)) * image(s.b(x).sigmoid())).movedim(1, -1))
    parts = {"a": L.Dense(48), "b": L.Dense(48), "c": L.Conv2D(2, 1), "r": L.Reshape((4, 4, 3))}
    return net, ours(parts, lambda s, x: s.c(s.r(s.a(x)) * s.r(ops.sigmoid(s.b(x))))), CODE, CODE_THERE


def two_added_before_they_are_one():
    parts = {"a": nn.Linear(6, 48), "b": nn.Linear(6, 48), "c": nn.Conv2d(3, 2, 1)}
    net = theirs(parts, lambda s, x: s.c((s.a(x) + s.b(x)).view(-1, 3, 4, 4)).movedim(1, -1))
    parts = {"a": L.Dense(48), "b": L.Dense(48), "c": L.Conv2D(2, 1)}
    return net, ours(parts, lambda s, x: s.c(ops.reshape(s.a(x) + s.b(x), (-1, 4, 4, 3)))), CODE, CODE_THERE


def features_used_twice():
    """As an image, and as they are by another Dense."""
    parts = {"a": nn.Linear(6, 48), "c": nn.Conv2d(3, 2, 1), "o": nn.Linear(48, 2)}
    net = theirs(parts, lambda s, x: s.c(s.a(x).view(-1, 3, 4, 4)).mean((2, 3)) + s.o(s.a(x)))
    parts = {"a": L.Dense(48), "c": L.Conv2D(2, 1), "o": L.Dense(2)}
    call = lambda s, x: ops.mean(s.c(ops.reshape(s.a(x), (-1, 4, 4, 3))), axis=(1, 2)) + s.o(s.a(x))  # noqa: E731
    return net, ours(parts, call), CODE, CODE_THERE


def added_to_an_image():
    parts = {"a": nn.Linear(3, 60), "c": nn.Conv2d(3, 3, 1)}
    net = theirs(parts, lambda s, x: (s.c(x) + s.a(x.mean((2, 3))).view(-1, 3, 4, 5)).movedim(1, -1))
    parts = {"a": L.Dense(60), "c": L.Conv2D(3, 1)}
    call = lambda s, x: s.c(x) + ops.reshape(s.a(ops.mean(x, axis=(1, 2))), (-1, 4, 5, 3))  # noqa: E731
    return net, ours(parts, call), IMAGE, first(IMAGE)


def flattened_as_torch_does():
    net = nn.Sequential(conv(), nn.Flatten(), nn.Linear(80, 2))
    return net, gx.Sequential([same(), L.Permute((3, 1, 2)), L.Flatten(), L.Dense(2)]), IMAGE, first(IMAGE)


def made_an_image_as_torch_does():
    net = nn.Sequential(nn.Linear(6, 12), nn.Unflatten(1, (3, 2, 2)))
    model = gx.Sequential([L.Dense(12), L.Reshape((3, 2, 2)), L.Permute((2, 3, 1))])
    return theirs({"net": net}, lambda s, x: s.net(x).movedim(1, -1)), model, CODE, CODE_THERE


CASES = [
    image_with_batch_norm, image_with_group_norm, image_with_slopes, image_with_whole_norm, image_that_grows,
    image_across_blocks, two_that_make_one_image, two_added_before_they_are_one, features_used_twice,
    added_to_an_image, flattened_as_torch_does, made_an_image_as_torch_does,
    two_heads, two_heads_of_a_graph, a_dense_defined_between, one_flatten_of_two_sizes, reshaped_by_an_op, frames,
    frames_both_ways, frames_of_a_model, frames_folded, steps_after_a_dense,
    a_grid_of_ids, patches, joined_with_a_vector, images_joined, in_blocks,
    height_and_width_exchanged,    generator, tokens_of_features, norm_of_a_whole_image, pooled,
]  # fmt: skip


def test_a_call_with_several_arguments(tmp_path):
    parts = {"c": conv(), "o": nn.Linear(85, 4)}
    net = theirs(parts, lambda s, x, e: s.o(torch.cat([s.c(x).flatten(1), e], 1)))

    class Ours(gx.Model):
        def __init__(self):
            super().__init__()
            self.c, self.f, self.join, self.o = same(), L.Flatten(), L.Concatenate(), L.Dense(4)

        def call(self, x, e, training=False):
            return self.o(self.join([self.f(self.c(x)), e]))

    model, vector = Ours(), DRAW.normal(size=(5, 5)).astype("float32")
    torch.save(net.state_dict(), tmp_path / "net.pt")
    model(IMAGE, vector)
    gx.checkpoint.load_foreign(tmp_path / "net.pt", model)
    with torch.no_grad():
        expected = net.eval()(first(IMAGE), torch.tensor(vector)).numpy()
    np.testing.assert_allclose(model(IMAGE, vector), expected, rtol=1e-4, atol=1e-4)


BETWEEN = {
    "nothing": lambda: between([], []),
    "dropout": lambda: between([nn.Dropout(0.5)], [L.Dropout(0.5)]),
    "activation": lambda: between([nn.GELU()], [L.GELU()]),
    "batch norm": lambda: between([nn.BatchNorm1d(80)], [L.BatchNormalization(epsilon=1e-5)]),
    "layer norm": lambda: between([nn.LayerNorm(80)], [L.LayerNormalization(epsilon=1e-5)]),
    "prelu": lambda: between([nn.PReLU(80)], [L.PReLU()]),
}


def compare(case, tmp_path):
    net, model, x, given = case()
    for tensor in (*net.parameters(), *(b for n, b in net.named_buffers() if "running" in n)):
        tensor.data = torch.tensor(DRAW.random(tensor.shape), dtype=torch.float32) + 0.1
    torch.save(net.state_dict(), tmp_path / "net.pt")
    model(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gx.checkpoint.load_foreign(tmp_path / "net.pt", model)
    with torch.no_grad():
        expected = net.eval()(given).numpy()
    np.testing.assert_allclose(model(x), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_weights_have_the_order_of_their_features(case, tmp_path):
    compare(case, tmp_path)


@pytest.mark.parametrize("grid", [False, True], ids=["result", "in cells"])
def test_an_image_of_which_nothing_tells_the_channels_is_warned_of(grid, tmp_path):
    """Torch may have the channels first, as in images, or last, as in the cells of a detector."""
    net = nn.Sequential(nn.Linear(6, 12))
    model = ours({"a": L.Dense(12)}, lambda s, x: ops.reshape(s.a(x), (-1, 2, 2, 3))[..., : 1 if grid else 3])
    torch.save(net.state_dict(), tmp_path / "net.pt")
    model(CODE)
    with pytest.warns(
        UserWarning, match=r"(?s)a: a Reshape makes an image.*compare the outputs.*Permute\(\(2, 3, 1\)\)"
    ):
        gx.checkpoint.load_foreign(tmp_path / "net.pt", model)
    np.testing.assert_array_equal(model.a.kernel, net[0].weight.detach().numpy().T)


@pytest.mark.parametrize("name", BETWEEN)
def test_whatever_is_between(name, tmp_path):
    compare(BETWEEN[name], tmp_path)
