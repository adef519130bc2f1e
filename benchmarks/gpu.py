"""What is worth measuring on a GPU: work that fills one, beside work whose cost is the way there."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks import (
    call_overhead,
    eager_call,
    first_call,
    fit,
    formulations,
    op_by_op,
    optimizer_update,
    realistic_step,
    training_step,
)
from benchmarks.harness import GRAFTAX, TORCH, Run, Work
from benchmarks.nets import torch_array
from benchmarks.realistic_step import Convolutions, Transformer, row
from graftax import ops

BEGIN = "<!-- begin: what python -m benchmarks --gpu prints -->"
LARGE = Transformer(vocabulary=8192, width=1024, heads=16, blocks=4, length=512, batch=16)
IMAGES = Convolutions(size=64, filters=128, hidden=512, classes=100, batch=256)
TINY_NET = Transformer(7, 8, 2, 1, 3, 2)
HEADS, TINY_HEADS = (8, 2048, 16, 64), (2, 3, 2, 4)


def in_bfloat16(make: Callable[[Any], Run]) -> Callable[[Any], Run]:
    """The same, made under a policy that computes in bfloat16."""

    def setup(net: Any) -> Run:
        gx.set_dtype_policy("mixed_bfloat16")
        try:
            return make(net)
        finally:
            gx.set_dtype_policy("float32")

    return setup


def half_by_hand(net: Transformer) -> Run:
    """Weights in float32, cast for a step that computes in bfloat16; the loss in float32."""

    def loss(weights: Any, x: Any, y: Any) -> Any:
        halves = jax.tree.map(lambda w: w.astype(jnp.bfloat16), weights)
        return realistic_step.transformer_loss(halves, x, y, net).astype(jnp.float32)

    start = realistic_step.transformer_weights(net)
    return realistic_step.adam_step(loss, start, realistic_step.tokens(net))


def half_by_torch(net: Transformer) -> Run:
    import torch

    step = realistic_step.torch_transformer(net)

    def run() -> Any:
        kind = "cpu" if jax.default_backend() == "cpu" else "cuda"
        with torch.autocast(kind, torch.bfloat16):
            return step()

    return run


def heads(tiny: bool) -> list[Any]:
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.normal(size=TINY_HEADS if tiny else HEADS), jnp.bfloat16) for _ in range(3)]


def attention_by_library(tiny: bool) -> Run:
    """The one that JAX takes from cuDNN, where it can."""
    given = heads(tiny)
    kind = "xla" if tiny or jax.default_backend() == "cpu" else "cudnn"
    function = jax.jit(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, implementation=kind))
    return lambda: function(*given).astype(jnp.float32)


def attention_by_graftax(tiny: bool) -> Run:
    given, function = heads(tiny), gx.jit(ops.dot_product_attention)
    return lambda: ops.cast(function(*given), "float32")


def attention_by_torch(tiny: bool) -> Run:
    import torch

    q, k, v = (torch_array(one.astype(jnp.float32)).to(torch.bfloat16).transpose(1, 2) for one in heads(tiny))
    return torch.no_grad()(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v).float())


def only(works: list[Work], *names: str) -> list[Work]:
    """Those with one of these in their names."""
    found = [work for work in works if any(name in work.name for name in names)]
    assert len(found) >= len(names), names
    return found


LARGE_STEPS = [
    row(
        f"training step, transformer, {LARGE.blocks} blocks of {LARGE.width}, {LARGE.batch} × {LARGE.length} tokens",
        LARGE,
        TINY_NET,
        realistic_step.transformer_by_hand,
        realistic_step.graftax_transformer,
        realistic_step.torch_transformer,
    ),
    row(
        f"training step, convolutional net, {IMAGES.batch} × ({IMAGES.size}, {IMAGES.size}, 3)",
        IMAGES,
        Convolutions(4, 3, 8, 3, 4),
        realistic_step.convolutions_by_hand,
        realistic_step.graftax_convolutions,
        realistic_step.torch_convolutions,
    ),
]
HALF = Work(
    "the step of the transformer in bfloat16",
    "compiled",
    {
        "reference": lambda tiny: half_by_hand(TINY_NET if tiny else LARGE),
        GRAFTAX: lambda tiny: in_bfloat16(realistic_step.graftax_transformer)(TINY_NET if tiny else LARGE),
        TORCH: lambda tiny: half_by_torch(TINY_NET if tiny else LARGE),
    },
)
ATTENTION = Work(
    f"attention in bfloat16, {HEADS}",
    "compiled, `jax.nn.dot_product_attention`",
    {"reference": attention_by_library, GRAFTAX: attention_by_graftax, TORCH: attention_by_torch},
)
WORKS = [
    *training_step.WORKS,
    *fit.WORKS,
    *LARGE_STEPS,
    HALF,
    ATTENTION,
    *optimizer_update.WORKS,
    *only(first_call.WORKS, "tiny MLP"),
    *only(eager_call.WORKS, "Dense(64), 32 × 64"),
    *call_overhead.WORKS,
    *formulations.WORKS,
    *only(op_by_op.WORKS, "silly", "derivative"),
]


def memory() -> str:
    """What the steps held at most, as the device says; nothing on a CPU."""
    found = jax.devices()[0].memory_stats() or {}
    peak = found.get("peak_bytes_in_use")
    return "" if peak is None else f"Device memory in use at the peak: {peak / 2**30:.2f} GiB."
