"""What compiled steps need of the devices: as much as a step written by hand in JAX, and no more."""

from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from benchmarks import large_mesh
from graftax import distribution as gd
from graftax.backend.jax.lowering import collectives_in
from tests.distribution.eight.by_hand import BLOCKS, HEADS, INNER, LENGTH, ROWS, SIZE, VOCABULARY, compiled_step

pytestmark = pytest.mark.slow


class Block(gx.Layer):
    """The block of the reference."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = gx.layers.RMSNormalization(), gx.layers.RMSNormalization()
        self.attention = gx.layers.MultiHeadAttention(HEADS, SIZE // HEADS, use_bias=False)
        self.up = gx.layers.Dense(INNER, activation="gelu", use_bias=False)
        self.down = gx.layers.Dense(SIZE, use_bias=False)

    def call(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x), use_causal_mask=True)
        return x + self.down(self.up(self.norm2(x)))


class Transformer(gx.Model):
    """The model of the reference."""

    def __init__(self, looped: bool = False) -> None:
        super().__init__()
        self.embed = gx.layers.Embedding(VOCABULARY, SIZE)
        self.blocks = [gx.stack(Block(), BLOCKS, remat=True)] if looped else [Block() for _ in range(BLOCKS)]
        self.head = gx.layers.Dense(VOCABULARY, use_bias=False)

    def call(self, x: Any) -> Any:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


RULES = [*gd.tensor_parallel(), ("head/kernel", (None, "model")), ("embed/embeddings", ("model", None))]
KINDS = {
    "data": lambda: gd.DataParallel(gd.mesh(data=8)),
    "sharded": lambda: gd.FullyShardedDataParallel(gd.mesh(data=8), min_size=1024),
    "tensor": lambda: gd.ModelParallel(gd.mesh(data=4, model=2), RULES),
    "both": lambda: gd.FullyShardedDataParallel(gd.mesh(data=4, model=2), RULES, min_size=1024),
}


def lowered_step(distribution: gd.Distribution, looped: bool = False) -> Any:
    """Lower a step of Adam."""
    gx.set_random_seed(0)
    with distribution.scope():
        model = Transformer(looped)
    optimizer = gx.optimizers.Adam(1e-3)
    loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)

    @gx.jit
    def step(x: Any, y: Any) -> Any:
        return optimizer.minimize(lambda: loss(y, model(x)), model.trainable_variables)

    x = np.zeros((ROWS, LENGTH), "int32")
    model.build_for(x)
    return step.lower(*distribution.shard((x, x)))


@pytest.mark.parametrize("looped", [False, True], ids=["in a row", "in a loop"])
@pytest.mark.parametrize("kind", KINDS)
def test_f8_a_step_needs_what_one_written_by_hand_does(kind: str, looped: bool) -> None:
    mine, by_hand = lowered_step(KINDS[kind](), looped), compiled_step(kind, looped)
    wanted: dict[str, tuple[int, int]] = {}
    for name, size, runs in collectives_in(by_hand.as_text()):
        count, total = wanted.get(name, (0, 0))
        wanted[name] = count + runs, total + runs * size
    assert set(mine.collectives) == set(wanted)
    for name, (count, size) in wanted.items():
        assert abs(mine.collectives[name].count - count) <= 2
        assert mine.collectives[name].bytes == pytest.approx(size, rel=0.01, abs=64)
    assert mine.memory.arguments == pytest.approx(by_hand.memory_analysis().argument_size_in_bytes, rel=0.01, abs=64)


def test_arguments_of_a_fully_sharded_step_are_an_eighth_of_those_of_one_device() -> None:
    whole = lowered_step(gd.DataParallel(gd.mesh(data=1)))
    assert whole.collectives == {}
    split = lowered_step(gd.FullyShardedDataParallel(gd.mesh(data=8), min_size=32))
    assert split.memory.arguments <= 1.05 / 8 * whole.memory.arguments
    assert split.memory.donated <= 1.05 / 8 * whole.memory.donated
    assert "between devices" in str(split)


@pytest.mark.parametrize("kind", ["sharded", "both"])
def test_a_stack_gathers_the_weights_of_one_layer_at_a_time(kind: str) -> None:
    gx.set_random_seed(0)
    distribution = STACKED[kind]()
    with distribution.scope():
        model = gx.stack(gx.layers.TransformerEncoder(INNER, num_heads=HEADS), 6, remat=True)
    optimizer = gx.optimizers.SGD(1e-2)

    @gx.jit
    def step(x: Any) -> Any:
        return optimizer.minimize(lambda: gx.ops.mean(model(x)[..., 0] ** 3), model.trainable_variables)

    x = np.random.default_rng(0).normal(size=(ROWS, 4, SIZE)).astype("float32")
    wanted = float(gx.ops.mean(model(x)[..., 0] ** 3))  # eager: one layer after another
    looped = step.lower(distribution.shard(x)).collectives
    assert set(looped) <= {"all-gather", "all-reduce"}  # nothing changes its place
    gathers, share = looped["all-gather"], 2 if kind == "both" else 1
    assert gathers.count == 6 * gathers.written  # of one layer forward, and again backward
    weights = sum(v.size * 4 for v in model.trainable_variables)
    assert gathers.bytes == pytest.approx(2 * weights / share, rel=0.02)
    np.testing.assert_allclose(step(distribution.shard(x)), wanted, rtol=1e-5)


STACKED = {
    "sharded": lambda: gd.FullyShardedDataParallel(gd.mesh(data=8), min_size=16),
    "both": lambda: gd.FullyShardedDataParallel(gd.mesh(data=4, model=2), gd.tensor_parallel(), min_size=16),
}


@pytest.mark.parametrize("layout", ["tensor, data=32, model=8", "fully sharded, data=256"])
def test_the_table_of_a_large_transformer_is_what_arithmetic_says(layout: str) -> None:
    sizes = large_mesh.Sizes(blocks=3, width=256, inner=512, heads=8, vocabulary=512, length=16, rows=16)
    count, lowered = large_mesh.lowered_step(sizes, large_mesh.LAYOUTS[layout](jax.devices()))
    kernels, ends = 3 * (4 * 256 * 256 + 2 * 256 * 512), 2 * 512 * 256
    assert count == kernels + ends + 7 * 256  # and the scales of norms
    assert lowered.memory.arguments == pytest.approx(12 * count / 8, rel=0.03)
    found = lowered.collectives
    if layout.startswith("tensor"):
        assert set(found) == {"all-reduce"}
        return
    assert found["all-gather"].count == 2 * 3 * 6 + 2  # each kernel of a block forward and backward; the ends once
    assert found["all-gather"].bytes == 4 * (2 * kernels + ends)
    assert found["all-reduce"].bytes == pytest.approx(4 * count, rel=0.001)  # gradients; the norm, the loss
