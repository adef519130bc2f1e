"""A training step of a small transformer and of a small convolutional net, forward, backward and Adam."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import COMPILED, GRAFTAX, TORCH, Run, Work
from benchmarks.nets import on_device, torch_array
from graftax import layers

Weights = dict[str, Any]


class Transformer(NamedTuple):
    """Blocks of causal attention and a net of two dense layers, each behind a layer norm."""

    vocabulary: int = 128
    width: int = 128
    heads: int = 4
    blocks: int = 2
    length: int = 64
    batch: int = 16


class Convolutions(NamedTuple):
    """Two convolutions 3×3, each with a max-pool 2×2 behind it, and two dense layers."""

    size: int = 32
    filters: int = 32
    hidden: int = 128
    classes: int = 10
    batch: int = 64


# --- hand-written ---------------------------------------------------------------------------------------------------


def adam_step(loss: Callable[..., Any], start: Weights, batch: tuple[Any, ...]) -> Run:
    """A step as one writes it in bare JAX."""

    def step(state: Any, *batch: Any) -> Any:
        weights, m, v, t = state
        t = t + 1
        value, gradients = jax.value_and_grad(loss)(weights, *batch)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, gradients)
        v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, gradients)
        weights = jax.tree.map(lambda w, a, b: w - rate * a / (jnp.sqrt(b) + 1e-7), weights, m, v)
        return (weights, m, v, t), value

    compiled = jax.jit(step, donate_argnums=0)
    zeros = [jax.tree.map(jnp.zeros_like, start) for _ in range(2)]
    state = [(start, *zeros, jnp.float32(0))]

    def run() -> Any:
        state[0], value = compiled(state[0], *batch)
        return value

    return run


def cross_entropy(logits: Any, labels: Any) -> Any:
    rows = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(rows, labels[..., None], -1))


def norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-3) * gamma + beta


def attention(x: Any, w: Weights, at: str) -> Any:
    q, k, v = (jnp.einsum("btd,dhk->bthk", x, w[f"{at}/{one}"]) + w[f"{at}/{one}_bias"] for one in "qkv")
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k) / np.sqrt(q.shape[-1])
    keep = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(keep, scores, -1e30))
    found = jnp.einsum("bhqt,bthk->bqhk", weights, v)
    return jnp.einsum("bqhk,hkd->bqd", found, w[f"{at}/out"]) + w[f"{at}/out_bias"]


def transformer_loss(w: Weights, x: Any, y: Any, net: Transformer) -> Any:
    h = w["embedding"][x] + w["positions"]
    for i in range(net.blocks):
        h = h + attention(norm(h, w[f"{i}/a_gamma"], w[f"{i}/a_beta"]), w, str(i))
        z = norm(h, w[f"{i}/m_gamma"], w[f"{i}/m_beta"])
        h = h + jax.nn.gelu(z @ w[f"{i}/up"] + w[f"{i}/up_bias"], False) @ w[f"{i}/down"] + w[f"{i}/down_bias"]
    return cross_entropy(norm(h, w["gamma"], w["beta"]) @ w["head"] + w["head_bias"], y)


def pool(x: Any) -> Any:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def convolution(x: Any, kernel: Any) -> Any:
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def convolutions_loss(w: Weights, x: Any, y: Any) -> Any:
    for i in range(2):
        x = pool(jax.nn.relu(convolution(x, w[f"conv{i}"]) + w[f"conv{i}_bias"]))
    x = jax.nn.relu(x.reshape(len(x), -1) @ w["hidden"] + w["hidden_bias"])
    return cross_entropy(x @ w["out"] + w["out_bias"], y)


# --- weights and data -----------------------------------------------------------------------------------------------


def transformer_weights(net: Transformer) -> Weights:
    d, heads, key = net.width, net.heads, net.width // net.heads
    shapes: dict[str, tuple[int, ...]] = {"embedding": (net.vocabulary, d), "positions": (net.length, d)}
    for i in range(net.blocks):
        shapes |= {f"{i}/a_gamma": (d,), f"{i}/a_beta": (d,)}
        for one in "qkv":
            shapes |= {f"{i}/{one}": (d, heads, key), f"{i}/{one}_bias": (heads, key)}
        shapes |= {f"{i}/out": (heads, key, d), f"{i}/out_bias": (d,)}
        shapes |= {f"{i}/m_gamma": (d,), f"{i}/m_beta": (d,), f"{i}/up": (d, 4 * d), f"{i}/up_bias": (4 * d,)}
        shapes |= {f"{i}/down": (4 * d, d), f"{i}/down_bias": (d,)}
    shapes |= {"gamma": (d,), "beta": (d,), "head": (d, net.vocabulary), "head_bias": (net.vocabulary,)}
    return filled(shapes)


def convolutions_weights(net: Convolutions) -> Weights:
    f, flat = net.filters, (net.size // 4) ** 2 * net.filters
    shapes = {"conv0": (3, 3, 3, f), "conv0_bias": (f,), "conv1": (3, 3, f, f), "conv1_bias": (f,)}
    shapes |= {"hidden": (flat, net.hidden), "hidden_bias": (net.hidden,)}
    return filled(shapes | {"out": (net.hidden, net.classes), "out_bias": (net.classes,)})


def filled(shapes: dict[str, tuple[int, ...]]) -> Weights:
    rng = np.random.default_rng(0)
    found = {name: rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1])) for name, shape in shapes.items()}
    found |= {name: np.ones(shape) for name, shape in shapes.items() if name.endswith("gamma")}
    found |= {name: np.zeros(shape) for name, shape in shapes.items() if name.endswith(("bias", "beta"))}
    return {name: jnp.asarray(value, "float32") for name, value in found.items()}


def tokens(net: Transformer) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, net.vocabulary, (2, net.batch, net.length))
    return jnp.asarray(x, "int32"), jnp.asarray(y, "int32")


def images(net: Convolutions) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(net.batch, net.size, net.size, 3))
    return jnp.asarray(x, "float32"), jnp.asarray(rng.integers(0, net.classes, net.batch), "int32")


# --- graftax ----------------------------------------------------------------------------------------------------------


class Block(gx.Layer):
    """Attention, then two dense layers."""

    def __init__(self, net: Transformer) -> None:
        super().__init__()
        self.before = layers.LayerNormalization()
        self.attention = layers.MultiHeadAttention(net.heads, net.width // net.heads)
        self.between = layers.LayerNormalization()
        self.up = layers.Dense(4 * net.width, activation="gelu")
        self.down = layers.Dense(net.width)

    def call(self, x: Any) -> Any:
        z = self.before(x)
        x = x + self.attention(z, use_causal_mask=True)
        return x + self.down(self.up(self.between(x)))


class Decoder(gx.Layer):
    """Tokens to logits."""

    def __init__(self, net: Transformer) -> None:
        super().__init__()
        self.embedding = layers.Embedding(net.vocabulary, net.width)
        self.positions = gx.Variable(np.zeros((net.length, net.width), "float32"))
        self.blocks = [Block(net) for _ in range(net.blocks)]
        self.norm = layers.LayerNormalization()
        self.head = layers.Dense(net.vocabulary)

    def call(self, x: Any) -> Any:
        x = self.embedding(x) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def graftax_step(model: Any, start: Weights, batch: tuple[Any, Any]) -> Run:
    model(batch[0])
    for variable, value in zip(model.trainable_variables, start.values(), strict=True):
        variable.assign(value.reshape(variable.shape))
    optimizer, variables = gx.optimizers.Adam(1e-3), model.trainable_variables
    loss_of = gx.losses.SparseCategoricalCrossentropy(from_logits=True)

    @gx.jit
    def step(x: Any, y: Any) -> Any:
        loss, gradients = gx.value_and_grad(lambda: loss_of(y, model(x)), wrt=variables)()
        optimizer.apply(gradients, variables)
        return loss

    return lambda: step(*batch)


def graftax_transformer(net: Transformer) -> Run:
    return graftax_step(Decoder(net), transformer_weights(net), tokens(net))


def graftax_convolutions(net: Convolutions) -> Run:
    parts: list[Any] = []
    for _ in range(2):
        parts += [layers.Conv2D(net.filters, 3, padding="same", activation="relu"), layers.MaxPooling2D(2)]
    parts += [layers.Flatten(), layers.Dense(net.hidden, activation="relu"), layers.Dense(net.classes)]
    return graftax_step(gx.Sequential(parts), convolutions_weights(net), images(net))


# --- torch ------------------------------------------------------------------------------------------------------------


def torch_step(model: Any, batch: tuple[Any, Any], compiles: bool = False) -> Run:
    import torch

    x, y = (torch_array(a) for a in batch)
    model = on_device(model)
    if compiles:
        model = torch.compile(model)
    optimizer, y = torch.optim.Adam(model.parameters(), 1e-3, fused=True), y.long().ravel()

    def run() -> Any:
        optimizer.zero_grad()
        logits = model(x)
        loss = torch.nn.functional.cross_entropy(logits.reshape(len(y), -1), y)
        loss.backward()
        optimizer.step()
        return loss

    return run


def torch_transformer(net: Transformer, compiles: bool = False) -> Run:
    import torch

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(net.vocabulary, net.width)
            self.positions = torch.nn.Parameter(torch.zeros(net.length, net.width))
            kind, options = torch.nn.TransformerEncoderLayer, {"batch_first": True, "norm_first": True}
            block = kind(net.width, net.heads, 4 * net.width, 0.0, "gelu", **options)
            self.blocks = torch.nn.TransformerEncoder(block, net.blocks, torch.nn.LayerNorm(net.width), False)
            self.head = torch.nn.Linear(net.width, net.vocabulary)
            self.mask = torch.nn.Transformer.generate_square_subsequent_mask(net.length)

        def forward(self, x: Any) -> Any:
            return self.head(self.blocks(self.embedding(x) + self.positions, mask=self.mask, is_causal=True))

    return torch_step(Model(), tokens(net), compiles)


def torch_convolutions(net: Convolutions, compiles: bool = False) -> Run:
    import torch

    f, parts, channels = net.filters, [], 3
    for _ in range(2):
        parts += [torch.nn.Conv2d(channels, f, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
        channels = f
    flat = (net.size // 4) ** 2 * f
    parts += [torch.nn.Flatten(), torch.nn.Linear(flat, net.hidden), torch.nn.ReLU()]
    x, y = images(net)
    whole = torch.nn.Sequential(*parts, torch.nn.Linear(net.hidden, net.classes))
    return torch_step(whole, (x.transpose(0, 3, 1, 2), y), compiles)


def transformer_by_hand(net: Transformer) -> Run:
    return adam_step(lambda w, x, y: transformer_loss(w, x, y, net), transformer_weights(net), tokens(net))


def convolutions_by_hand(net: Convolutions) -> Run:
    return adam_step(convolutions_loss, convolutions_weights(net), images(net))


def sized(make: Callable[[Any], Run], net: Any, tiny_net: Any) -> Callable[[bool], Run]:
    return lambda tiny: make(tiny_net if tiny else net)


def row(name: str, net: Any, tiny_net: Any, hand: Any, graftax: Any, torch: Any) -> Work:
    makers = {"reference": hand, GRAFTAX: graftax, TORCH: torch, COMPILED: partial(torch, compiles=True)}
    return Work(name, "compiled", {column: sized(make, net, tiny_net) for column, make in makers.items()})


WORKS = [
    row(
        "training step, transformer, 2 blocks of 128, 16 × 64 tokens",
        Transformer(),
        Transformer(7, 8, 2, 1, 3, 2),
        transformer_by_hand,
        graftax_transformer,
        torch_transformer,
    ),
    row(
        "training step, convolutional net, 64 × (32, 32, 3)",
        Convolutions(),
        Convolutions(4, 3, 8, 3, 4),
        convolutions_by_hand,
        graftax_convolutions,
        torch_convolutions,
    ),
]
