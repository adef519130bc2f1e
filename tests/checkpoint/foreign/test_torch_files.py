"""Files of torch that hold more than the arrays of one model: averages, tied weights, views; and packed projections."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers

torch = pytest.importorskip("torch")
nn = torch.nn
X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")


def saved(content, tmp_path):
    path = str(tmp_path / "net.pt")
    torch.save(content, path)
    return path


def there(module, x):
    with torch.no_grad():
        return module(torch.tensor(x)).numpy()


def model():
    found = gx.Sequential([layers.Dense(4)])
    found(X)
    return found


@pytest.mark.parametrize("first", ["model", "net", "state_dict"])
def test_an_average_beside_the_weights_is_not_lost(first, tmp_path):
    net, average = nn.Sequential(nn.Linear(4, 4)), nn.Sequential(nn.Linear(4, 4))
    path = saved({first: net.state_dict(), "model_ema": average.state_dict(), "epoch": 3}, tmp_path)
    with pytest.raises(
        gx.errors.MissingInCheckpoint, match=rf"(?s)several fit.*names=\{{'': '{first}'\}}, mode='cover'|\"cover\""
    ):
        gx.checkpoint.load_foreign(path, model())
    for name, meant in ((first, net), ("model_ema", average)):
        ours = model()
        report = gx.checkpoint.load_foreign(path, ours, names={"": name}, mode="cover")
        assert len(report.unused) == 2
        np.testing.assert_allclose(ours(X), there(meant, X), rtol=1e-5, atol=1e-6)


def test_another_part_beside_the_weights_is_not_lost(tmp_path):
    net, head = nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 2)
    path = saved({"model": net.state_dict(), "head": head.state_dict()}, tmp_path)
    with pytest.raises(gx.errors.UnusedInCheckpoint, match="head"):
        gx.checkpoint.load_foreign(path, model())


def test_the_state_of_a_training_loop_is_left_and_noted(tmp_path):
    net = nn.Sequential(nn.Linear(4, 4))
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.tensor(X)).sum().backward()
    optimizer.step()
    content = {
        "model": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "optimizer_states": [optimizer.state_dict()],
        "lr_scheduler": {"last_lr": torch.ones(3)},
        "rng_state": torch.get_rng_state(),
        "best": torch.tensor(0.5),
    }
    ours = model()
    report = gx.checkpoint.load_foreign(saved(content, tmp_path), ours)
    assert "took 'model'" in report.notes[0]
    np.testing.assert_allclose(ours(X), there(net, X), rtol=1e-5, atol=1e-6)


class Tied(gx.Model):
    def __init__(self, tied=True):
        super().__init__()
        self.embedding, self.out, self.tied = layers.Embedding(6, 4), layers.Dense(6), tied

    def call(self, x):
        x = self.embedding(x)
        if not self.tied:
            return self.out(x)
        shared = gx.reparam.Shared(self.embedding.embeddings, transpose=True)
        with gx.variable_creator_scope(shared, where="**/kernel"):
            return self.out(x)


@pytest.mark.parametrize("tied", [True, False])
def test_a_tied_kernel_beside_a_bias_of_its_own(tied, tmp_path):
    class Theirs(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.out = nn.Embedding(6, 4), nn.Linear(4, 6)
            self.out.weight = self.embedding.weight

        def forward(self, x):
            return self.out(self.embedding(x))

    net, ours, tokens = Theirs(), Tied(tied), np.array([[0, 3, 5]])
    ours(tokens)
    gx.checkpoint.load_foreign(saved(net.state_dict(), tmp_path), ours)
    np.testing.assert_allclose(ours(tokens), there(net, tokens), rtol=1e-5, atol=1e-6)


def test_a_module_under_two_names_has_biases_too(tmp_path):
    linear, dense = nn.Linear(4, 4), layers.Dense(4)
    net = nn.ModuleDict({"blocks": nn.ModuleList([linear, linear])})

    class Ours(gx.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [dense, dense]

        def call(self, x):
            return self.blocks[1](self.blocks[0](x))

    ours = Ours()
    ours(X)
    gx.checkpoint.load_foreign(saved(net.state_dict(), tmp_path), ours)
    np.testing.assert_allclose(ours(X), there(nn.Sequential(linear, linear), X), rtol=1e-5, atol=1e-6)


def test_an_expanded_tensor(tmp_path):
    content = {"0.weight": torch.ones(4, 4), "0.bias": torch.tensor([2.0]).expand(4)}
    ours = model()
    gx.checkpoint.load_foreign(saved(content, tmp_path), ours)
    np.testing.assert_array_equal(ours.layers[0].bias, np.full(4, 2.0))


def test_a_forged_size_of_an_expanded_tensor_is_refused(tmp_path):
    content = {"0.weight": torch.ones(4, 4), "0.bias": torch.tensor([2.0]).expand(1 << 40)}
    with pytest.raises(gx.errors.CorruptCheckpoint, match="storage has only 1 elements"):
        gx.checkpoint.load_foreign(saved(content, tmp_path), model())


def test_attention_with_widths_of_its_own(tmp_path):
    net, ours = nn.MultiheadAttention(8, 2, kdim=6, vdim=5, batch_first=True).eval(), layers.MultiHeadAttention(2, 4)
    rng = np.random.default_rng(1)
    query, key, value = (rng.normal(size=(2, 3, n)).astype("float32") for n in (8, 6, 5))
    nn.init.normal_(net.in_proj_bias)
    ours(query, value, key)
    gx.checkpoint.load_foreign(saved(net.state_dict(), tmp_path), ours)
    with torch.no_grad():
        expected = net(*(torch.tensor(x) for x in (query, key, value)))[0].numpy()
    np.testing.assert_allclose(ours(query, value, key), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["layers", "blocks"])
def test_a_decoder_in_a_list_of_any_name(name, tmp_path):
    """The norms of torch are in another order than those here."""
    net = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, dropout=0.0), 2).eval()
    for tensor in net.state_dict().values():
        nn.init.normal_(tensor, std=0.5)

    class Ours(gx.Model):
        def __init__(self):
            super().__init__()
            setattr(self, name, [layers.TransformerDecoder(16, 2) for _ in range(2)])

        def call(self, x, context):
            for layer in getattr(self, name):
                x = layer(x, context)
            return x

    rng, ours = np.random.default_rng(1), Ours()
    x, context = rng.normal(size=(2, 5, 8)).astype("float32"), rng.normal(size=(2, 4, 8)).astype("float32")
    ours(x, context)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gx.checkpoint.load_foreign(saved(net.state_dict(), tmp_path), ours)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    with torch.no_grad():
        expected = net(torch.tensor(x), torch.tensor(context), tgt_mask=mask).numpy()
    np.testing.assert_allclose(ours(x, context), expected, rtol=1e-4, atol=1e-5)
