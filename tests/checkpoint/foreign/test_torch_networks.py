"""Networks of torch, their state dicts loaded in one line, give what torch gives."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

torch = pytest.importorskip("torch")
nn = torch.nn
nn_functional = torch.nn.functional


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def trained(module):
    """Numbers of its own everywhere, moving statistics included."""
    torch.manual_seed(1)
    with torch.no_grad():
        for tensor in module.state_dict().values():
            if tensor.is_floating_point():
                tensor.copy_(torch.rand_like(tensor) * 0.5 + 0.1 if tensor.ndim < 2 else torch.randn_like(tensor) * 0.2)
    return module.eval()


def saved(module, tmp_path, kind):
    path = str(tmp_path / f"net.{kind}")
    if kind == "pt":
        torch.save(module.state_dict(), path)
    else:
        from safetensors.torch import save_model

        save_model(module, path)
    return path


def compare(module, model, x, tmp_path, kind="pt", names=None, channels_first=True, tolerance=2e-5):
    path = saved(trained(module), tmp_path, kind)
    model(x)
    report = gx.checkpoint.load_foreign(path, model, names=names)
    given = np.moveaxis(x, -1, 1) if channels_first and x.ndim > 2 and x.dtype == np.float32 else x
    with torch.no_grad():
        expected = module(torch.tensor(np.ascontiguousarray(given)))
    out = expected[0] if isinstance(expected, tuple) else expected
    np.testing.assert_allclose(model(x), out.numpy(), rtol=tolerance, atol=tolerance)
    return report


@pytest.mark.parametrize("kind", ["pt", "safetensors"])
def test_mlp(tmp_path, kind):
    module = nn.Sequential(
        nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 8), nn.Linear(8, 3)
    )
    model = gx.Sequential(
        [
            layers.Dense(8),
            layers.BatchNormalization(epsilon=1e-5),
            layers.ReLU(),
            layers.Dense(8),
            layers.Dense(3),
        ]
    )
    report = compare(module, model, draw(4, 5), tmp_path, kind)
    assert [one.name for one in report.left_out] == ["1.num_batches_tracked"]
    assert [setting.name for setting in report.settings] == ["momentum", "unbiased_moving_variance"]


@pytest.mark.parametrize("kind", ["pt", "safetensors"])
def test_cnn(tmp_path, kind):
    module = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, (3, 1), stride=2, groups=4),
        nn.Conv2d(8, 8, 2, padding=1, groups=8),
        nn.ConvTranspose2d(8, 6, 3),
        nn.PReLU(6),
        nn.GroupNorm(2, 6),
        nn.Flatten(),
        nn.BatchNorm1d(6 * 4 * 5),
        nn.Linear(6 * 4 * 5, 5),
    )
    model = gx.Sequential(
        [
            layers.Conv2D(4, 3, padding=1, use_bias=False),
            layers.BatchNormalization(epsilon=1e-5),
            layers.ReLU(),
            layers.MaxPooling2D(2),
            layers.Conv2D(8, (3, 1), strides=2, groups=4),
            layers.DepthwiseConv2D(2, padding=1),
            layers.Conv2DTranspose(6, 3),
            layers.PReLU(shared_axes=(1, 2)),
            layers.GroupNormalization(2, epsilon=1e-5),
            layers.Flatten(),
            layers.BatchNormalization(epsilon=1e-5),
            layers.Dense(5),
        ]
    )
    compare(module, model, draw(2, 6, 6, 2), tmp_path, kind)


def test_one_axis_of_space(tmp_path):
    module = nn.Sequential(nn.Conv1d(3, 4, 2), nn.Flatten(), nn.Linear(20, 2))
    model = gx.Sequential([layers.Conv1D(4, 2), layers.Flatten(), layers.Dense(2)])
    compare(module, model, draw(2, 6, 3), tmp_path)


class Recurrent(nn.Module):
    def __init__(self, kind, layers=1, bidirectional=False):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.rnn = kind(6, 5, layers, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(10 if bidirectional else 5, 3)

    def forward(self, x):
        return self.head(self.rnn(self.embedding(x))[0])


class OurRecurrent(gx.Model):
    def __init__(self, *rnns):
        super().__init__()
        self.embedding = layers.Embedding(11, 6)
        self.rnns = list(rnns)
        self.head = layers.Dense(3)

    def call(self, x):
        x = self.embedding(x)
        for rnn in self.rnns:
            x = rnn(x)
        return self.head(x)


TOKENS = np.random.default_rng(0).integers(0, 11, (2, 7))


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_recurrent(tmp_path, name):
    kind = layers.SimpleRNN if name == "RNN" else getattr(layers, name)
    module, model = Recurrent(getattr(nn, name)), OurRecurrent(kind(5, return_sequences=True))
    report = compare(module, model, TOKENS, tmp_path)
    assert "bias_ih" in str(report)


def test_layers_and_directions_of_a_recurrent_network(tmp_path):
    ours = [layers.Bidirectional(layers.LSTM(5, return_sequences=True)) for _ in range(2)]
    compare(Recurrent(nn.LSTM, 2, bidirectional=True), OurRecurrent(*ours), TOKENS, tmp_path)
    ours = [layers.Bidirectional(layers.GRU(5, return_sequences=True)) for _ in range(2)]
    module = Recurrent(nn.GRU, 2, bidirectional=True)
    compare(module, OurRecurrent(*ours), TOKENS, tmp_path, "safetensors")


class Block(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(size)
        self.attn = nn.MultiheadAttention(size, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        y = self.ln_1(x)
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        x = x + self.attn(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, size=8, heads=2, depth=3, words=11, length=16):
        super().__init__()
        self.wte = nn.Embedding(words, size)
        self.wpe = nn.Embedding(length, size)
        self.h = nn.ModuleList([Block(size, heads) for _ in range(depth)])
        self.ln_f = nn.LayerNorm(size)
        self.lm_head = nn.Linear(size, words, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class OurBlock(gx.Layer):
    def __init__(self, size, heads):
        super().__init__()
        self.norm_1 = layers.LayerNormalization(epsilon=1e-5)
        self.attention = layers.MultiHeadAttention(heads, size // heads)
        self.norm_2 = layers.LayerNormalization(epsilon=1e-5)
        self.mlp = gx.Sequential(
            [layers.Dense(4 * size, activation=lambda x: ops.gelu(x, approximate=False)), layers.Dense(size)]
        )

    def call(self, x):
        x = x + self.attention(self.norm_1(x), use_causal_mask=True)
        return x + self.mlp(self.norm_2(x))


class OurGpt(gx.Model):
    """The words' embeddings are the kernel of the output, too."""

    def __init__(self, size=8, heads=2, depth=3, words=11, length=16):
        super().__init__()
        self.words = layers.Embedding(words, size)
        self.positions = layers.PositionEmbedding(length)
        self.blocks = [OurBlock(size, heads) for _ in range(depth)]
        self.norm = layers.LayerNormalization(epsilon=1e-5)

    def call(self, tokens):
        x = self.words(tokens)
        x = x + self.positions(x)
        for block in self.blocks:
            x = block(x)
        return ops.matmul(self.norm(x), ops.transpose(self.words.embeddings))


def test_gpt_in_the_order_of_definition(tmp_path):
    report = compare(Gpt(), OurGpt(), TOKENS, tmp_path)
    assert ("lm_head.weight", "equal to wte.weight, with which it is tied") in report.left_out


def test_gpt_by_names(tmp_path):
    """A file of safetensors has no order: names say what cannot be told."""
    names = {
        "words": "lm_head",  # which of two names of one tensor is kept safetensors chooses
        "positions": "wpe",
        "norm": "ln_f",
        "blocks": "h",
        "blocks/*/norm_1": "h.*.ln_1",
        "blocks/*/norm_2": "h.*.ln_2",
        "blocks/*/attention": "h.*.attn",
    }
    path = saved(trained(Gpt()), tmp_path, "safetensors")
    model = OurGpt()
    model(TOKENS)
    with pytest.raises(gx.errors.MatchError):
        gx.checkpoint.load_foreign(path, model)
    compare(Gpt(), model, TOKENS, tmp_path, "safetensors", names)


class Residual(nn.Module):
    def __init__(self, before, filters, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, filters, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(filters)
        self.downsample = None
        if stride != 1 or before != filters:
            self.downsample = nn.Sequential(nn.Conv2d(before, filters, 1, stride, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """ResNet-18, as torchvision names and orders its parts, with few filters."""

    def __init__(self, sizes=(4, 8, 12, 16)):
        super().__init__()
        self.conv1 = nn.Conv2d(3, sizes[0], 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(sizes[0])
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        before = sizes[0]
        for i, filters in enumerate(sizes):
            stride = 1 if i == 0 else 2
            setattr(
                self, f"layer{i + 1}", nn.Sequential(Residual(before, filters, stride), Residual(filters, filters, 1))
            )
            before = filters
        self.fc = nn.Linear(before, 10)

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        for i in range(4):
            x = getattr(self, f"layer{i + 1}")(x)
        return self.fc(x.mean((2, 3)))


def norm():
    return layers.BatchNormalization(epsilon=1e-5)


class OurResidual(gx.Layer):
    def __init__(self, before, filters, stride):
        super().__init__()
        self.conv1 = layers.Conv2D(filters, 3, stride, padding=1, use_bias=False)
        self.bn1 = norm()
        self.conv2 = layers.Conv2D(filters, 3, padding=1, use_bias=False)
        self.bn2 = norm()
        self.downsample = None
        if stride != 1 or before != filters:
            self.downsample = gx.Sequential([layers.Conv2D(filters, 1, stride, use_bias=False), norm()])

    def call(self, x):
        y = self.bn2(self.conv2(ops.relu(self.bn1(self.conv1(x)))))
        return ops.relu(y + (x if self.downsample is None else self.downsample(x)))


class OurResNet(gx.Model):
    def __init__(self, sizes=(4, 8, 12, 16)):
        super().__init__()
        self.conv1 = layers.Conv2D(sizes[0], 7, 2, padding=3, use_bias=False)
        self.bn1 = norm()
        self.pool = layers.MaxPooling2D(3, 2, padding=1)
        befores = (sizes[0], *sizes)
        self.layer1, self.layer2, self.layer3, self.layer4 = (
            gx.Sequential([OurResidual(befores[i], n, 1 if i == 0 else 2), OurResidual(n, n, 1)])
            for i, n in enumerate(sizes)
        )
        self.fc = layers.Dense(10)

    def call(self, x):
        x = self.pool(ops.relu(self.bn1(self.conv1(x))))
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = layer(x)
        return self.fc(ops.mean(x, axis=(1, 2)))


@pytest.mark.parametrize("kind", ["pt", "safetensors"])
def test_resnet_18(tmp_path, kind):
    report = compare(ResNet(), OurResNet(), draw(1, 32, 32, 3), tmp_path, kind, tolerance=1e-4)
    assert len(report.restored) == 20 * 5 + 2


def test_a_transformer_block_of_ours(tmp_path):
    block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="relu")
    ours = layers.TransformerEncoder(16, 2)
    for kind in ("pt", "safetensors"):
        compare(block, ours, draw(2, 5, 8), tmp_path, kind, channels_first=False)


def test_a_whole_training_checkpoint(tmp_path):
    module = trained(nn.Linear(3, 2))
    optimizer = torch.optim.Adam(module.parameters())
    path = tmp_path / "epoch.pt"
    torch.save({"epoch": 3, "state_dict": module.state_dict(), "optimizer": optimizer.state_dict()}, path)
    dense = layers.Dense(2)
    dense.build((None, 3))
    report = gx.checkpoint.load_foreign(path, dense)
    assert "took 'state_dict'" in report.notes[0]
    np.testing.assert_array_equal(dense.kernel.numpy(), module.weight.detach().numpy().T)


def test_strides_offsets_and_dtypes(tmp_path):
    whole = torch.arange(24.0).reshape(4, 6)
    tensors = {"a": whole[1:, ::2].T, "b": whole[2].to(torch.bfloat16), "c": torch.tensor([True, False])}
    torch.save(tensors, tmp_path / "x.pt")
    module = gx.Module()
    module.a = gx.Variable(np.zeros((3, 3), "float32"))
    module.b, module.c = (
        gx.Variable(np.zeros(6), dtype="bfloat16"),
        gx.Variable(np.array([False, False]), trainable=False),
    )
    gx.checkpoint.load_foreign(tmp_path / "x.pt", module)
    np.testing.assert_array_equal(module.a.numpy(), tensors["a"].numpy())
    assert module.b.numpy().astype("float32").tolist() == whole[2].tolist()
    assert module.c.numpy().tolist() == [
        True,
        False,
    ]


def test_a_separable_convolution_by_names_of_arrays(tmp_path):
    theirs = nn.Sequential(nn.Conv2d(4, 4, 3, groups=4, bias=False), nn.Conv2d(4, 6, 1)).eval()
    torch.save(theirs.state_dict(), tmp_path / "net.pt")
    ours = gx.Sequential([gx.layers.SeparableConv2D(6, 3)])
    x = np.random.default_rng(0).normal(size=(2, 6, 6, 4)).astype("float32")
    ours(x)
    names = {"depthwise_kernel": "0.weight", "pointwise_kernel": "1.weight", "bias": "1.bias"}
    gx.checkpoint.load_foreign(
        tmp_path / "net.pt", ours, names={f"layers/0/{here}": there for here, there in names.items()}
    )
    expected = theirs(torch.tensor(x).movedim(-1, 1)).movedim(1, -1).detach().numpy()
    np.testing.assert_allclose(np.asarray(ours(x)), expected, rtol=1e-4, atol=1e-5)
