"""A character transformer learns Python from the standard library, and then English from a LoRA adapter.

The base is trained on the library's own sources. Then low-rank adapters (Hu et al. 2021, "LoRA", arXiv:2106.09685) are
grafted behind every kernel of the blocks, layers that know nothing of this, and alone are trained on the pages of
Python's own documentation. The adapter is a file of its own; switched off, the model is its base again, bit for bit;
merged, it is a plain model. The output layer is tied to the embedding by `gx.reparam.Shared`.

    python examples/lora_transformer.py

takes about a minute on two cores.
"""

import os
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from pydoc_data import topics

import numpy as np

import graftax as gx
from graftax import layers, ops
from graftax.reparam import LoRA, Shared

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
SIZE, HEADS, BLOCKS, LENGTH, BATCH, RANK = (16, 2, 1, 16, 4, 1) if FAST else (96, 4, 3, 96, 16, 8)
STEPS, TUNING_STEPS = (2, 2) if FAST else (400, 150)
CHARACTERS = 128


class Block(gx.Layer):
    """Attention to what came before, then a small network for each character; both add to what flows past."""

    def __init__(self):
        super().__init__()
        self.before, self.between = layers.LayerNormalization(), layers.LayerNormalization()
        self.attention = layers.MultiHeadAttention(HEADS, SIZE // HEADS, rotary_base=10_000, use_bias=False)
        self.widen, self.narrow = layers.Dense(4 * SIZE, activation="gelu"), layers.Dense(SIZE)

    def call(self, x):
        x = x + self.attention(self.before(x), use_causal_mask=True)
        return x + self.narrow(self.widen(self.between(x)))


class CharacterTransformer(gx.Layer):
    """Scores for the next character at each position."""

    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(CHARACTERS, SIZE)
        self.blocks = [Block() for _ in range(BLOCKS)]
        self.norm = layers.LayerNormalization()
        self.output = layers.Dense(CHARACTERS, use_bias=False)

    def call(self, ids):
        x = self.embedding(ids) * SIZE**0.5
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        with gx.variable_creator_scope(Shared(self.embedding.embeddings, transpose=True)):  # counts when it is built
            return self.output(x)


def encoded(text):
    """Characters as numbers; what is not ASCII becomes a question mark."""
    return np.frombuffer(text.encode("ascii", "replace"), "uint8").astype("int32")


def corpora():
    """Sources of the standard library, and the pages of its documentation; each with a tenth at the end held out."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    sources = "\n".join(path.read_text("utf-8", "replace") for path in files)
    pages = "\n".join(topics.topics[name] for name in sorted(topics.topics))
    return [(text[: len(text) * 9 // 10], text[len(text) * 9 // 10 :]) for text in map(encoded, (sources, pages))]


def windows(text, rng, count):
    starts = rng.integers(len(text) - LENGTH - 1, size=count)
    return text[starts[:, None] + np.arange(LENGTH + 1)]


def loss_of(model, batch):
    logits = model(batch[:, :-1])
    scores = ops.take_along_axis(ops.log_softmax(logits), batch[:, 1:, None], axis=-1)
    return -ops.mean(scores)


def train(model, text, steps, rate):
    optimizer = gx.optimizers.AdamW(gx.optimizers.schedules.CosineDecay(rate, steps), weight_decay=0.01)
    variables = model.trainable_variables

    @gx.jit
    def step(batch):
        loss, gradients = gx.value_and_grad(lambda: loss_of(model, batch), wrt=variables)()
        optimizer.apply(gradients, variables)
        return loss

    rng, started = np.random.default_rng(0), time.perf_counter()
    for _ in range(steps):
        loss = step(windows(text, rng, BATCH))
    return f"{steps} steps in {time.perf_counter() - started:.0f} s, last loss {float(loss):.2f}"


def evaluate(model, text):
    """Nats per character of text that nobody trained on."""
    measure = gx.jit(lambda batch: loss_of(model, batch))
    rng = np.random.default_rng(1)
    return float(np.mean([float(measure(windows(text, rng, BATCH))) for _ in range(1 if FAST else 10)]))


def size(folder):
    return sum(file.stat().st_size for file in Path(folder).iterdir())


def main():
    gx.set_random_seed(0)
    (sources, held_sources), (pages, held_pages) = corpora()
    print(f"sources of the library: {len(sources):,} characters; pages of its documentation: {len(pages):,}")
    sample = held_pages[None, :LENGTH]
    model = CharacterTransformer()
    model(sample)
    base = sum(v.size for v in model.variables)
    print(f"base: {base:,} parameters, output and embedding one matrix; {train(model, sources, STEPS, 3e-3)}")
    before = np.asarray(model(sample))
    rows = {"base": (evaluate(model, held_sources), evaluate(model, held_pages))}
    folder = Path(tempfile.mkdtemp())
    gx.Checkpoint(model=model).save(folder / "base")

    adapters = LoRA(RANK, alpha=2 * RANK, name="pages")
    chosen = gx.select("blocks/**/kernel")
    gx.graft(model, adapters, where=chosen)
    model.freeze(~gx.is_adapter)
    trained = sum(v.size for v in model.trainable_variables)
    print(f"adapter: {trained:,} parameters, {trained / base:.1%}; {train(model, pages, TUNING_STEPS, 1e-2)}")
    rows["with the adapter"] = (evaluate(model, held_sources), evaluate(model, held_pages))
    after = np.asarray(model(sample))
    gx.Checkpoint(model=model).save(folder / "pages", only=gx.is_adapter)
    on_disk = [size(folder / name) for name in ("base", "pages")]
    print(f"on disk: base {on_disk[0]:,} bytes, adapter {on_disk[1]:,} bytes, {on_disk[1] / on_disk[0]:.1%}")

    with gx.adapters.disabled(model):
        exactly = bool((np.asarray(model(sample)) == before).all())
        rows["adapter off"] = (evaluate(model, held_sources), evaluate(model, held_pages))
    gx.adapters.merge(model, "pages")
    rows["merged"] = (evaluate(model, held_sources), evaluate(model, held_pages))
    merged = float(np.abs(np.asarray(model(sample)) - after).max())

    with gx.variable_creator_scope(adapters, where=chosen):  # a program that declares the graft, and has no values yet
        fresh = CharacterTransformer()
        reports = [
            gx.Checkpoint(model=fresh).restore(folder / "base"),
            gx.Checkpoint(model=fresh).restore(folder / "pages", only=gx.is_adapter),
        ]
        # weights are the same bits; a program that gets them in other arrays may round its sums differently
        restored = bool(np.allclose(np.asarray(fresh(sample)), after, atol=1e-6))
    for report in reports:
        report.assert_consumed()

    print(f"\n{'nats per character':20}{'sources':>10}{'pages':>10}")
    for name, losses in rows.items():
        print(f"{name:20}{losses[0]:10.3f}{losses[1]:10.3f}")
    print(f"\nswitched off, the base exactly: {exactly}; merged, scores differ by at most {merged:.1g}")
    print(f"base file and adapter file in a fresh model, the same scores: {restored}")
    better = FAST or rows["with the adapter"][1] < rows["base"][1]
    if not (exactly and restored and merged < 1e-3 and better):
        sys.exit("that should not be")


if __name__ == "__main__":
    main()
