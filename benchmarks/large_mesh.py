"""What a large transformer would need of many devices, none of which is here: ``python -m benchmarks.large_mesh``.

The step is compiled ahead of time, and neither weights nor slots take memory. The blocks are a `gx.stack`, so compiled
code has one of them, in a loop; what is done together there counts as often as the loop goes round. It takes minutes,
and seconds with ``--blocks 2``. Without more, the compiler is that of the CPU, divided into as many devices;
``--topology v5e:16x16`` takes the compiler for a TPU pod, which the package libtpu brings, without a TPU.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

if "jax" not in sys.modules:
    os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=256")

import jax
import numpy as np

import graftax as gx
from graftax import distribution as gd
from graftax import layers
from graftax.variables.state.unallocated import allocate_nothing

GIB = 2**30


class Sizes(NamedTuple):
    """A transformer and its batch: 6.7 billion parameters, unless told."""

    blocks: int = 32
    width: int = 4096
    inner: int = 16384
    heads: int = 32
    vocabulary: int = 32_000
    length: int = 2048
    rows: int = 256


class Block(layers.Layer):
    """Attention and a small network, each added to what it got."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.norm1, self.norm2 = layers.RMSNormalization(), layers.RMSNormalization()
        self.attention = layers.MultiHeadAttention(
            sizes.heads, sizes.width // sizes.heads, use_bias=False, rotary_base=10_000
        )
        self.up = layers.Dense(sizes.inner, activation="gelu", use_bias=False)
        self.down = layers.Dense(sizes.width, use_bias=False)

    def call(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x), use_causal_mask=True)
        return x + self.down(self.up(self.norm2(x)))


class Transformer(gx.Model):
    """A decoder of text."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.embed = layers.Embedding(sizes.vocabulary, sizes.width)
        self.blocks = gx.stack(Block(sizes), sizes.blocks, remat=True)
        self.norm = layers.RMSNormalization()
        self.head = layers.Dense(sizes.vocabulary, use_bias=False)

    def call(self, x: Any) -> Any:
        x = gd.constrain(self.embed(x), ("data", None, None))
        return self.head(self.norm(self.blocks(x)))


RULES = [*gd.tensor_parallel(), ("head/kernel", (None, "model")), ("embed/embeddings", ("model", None))]
LAYOUTS: dict[str, Callable[[Sequence[Any]], gd.Distribution]] = {
    "tensor, data=32, model=8": lambda devices: gd.ModelParallel(gd.mesh(devices=devices, data=-1, model=8), RULES),
    "fully sharded, data=256": lambda devices: gd.FullyShardedDataParallel(gd.mesh(devices=devices, data=-1)),
    "both, data=32, model=8": lambda devices: gd.FullyShardedDataParallel(
        gd.mesh(devices=devices, data=-1, model=8), RULES
    ),
}


def lowered_step(sizes: Sizes, distribution: gd.Distribution) -> tuple[int, Any]:
    """Lower a step of AdamW; return the number of parameters, and the program."""
    with distribution.scope():
        model = Transformer(sizes)
    spec = gx.ArraySpec((sizes.rows, sizes.length), "int32")
    with allocate_nothing():
        optimizer = gx.optimizers.AdamW(3e-4, global_clipnorm=1.0)
        abstract = gx.build_abstract(model, spec)
        gx.set_dtype_policy("mixed_bfloat16", abstract)
        loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)

        @gx.jit
        def step(x: Any, y: Any) -> Any:
            x, y = gd.constrain(x, ("data", None)), gd.constrain(y, ("data", None))
            return optimizer.minimize(lambda: loss(y, abstract(x)), abstract.trainable_variables)

        batch = np.zeros((sizes.rows, sizes.length), "int32")
        return abstract.count_params(), step.lower(batch, batch)


def devices_of(topology: str | None) -> Sequence[Any]:
    """The devices to compile for."""
    if topology is None:
        return jax.devices()
    from jax.experimental import topologies  # only where it is asked for

    devices: Sequence[Any] = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
    return devices


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", help="such as v5e:16x16; needs the package libtpu")
    parser.add_argument("--blocks", type=int, default=32)
    parser.add_argument("--layout", choices=LAYOUTS, action="append", help="which; all of them unless told")
    given = parser.parse_args()
    devices, sizes = devices_of(given.topology), Sizes(blocks=given.blocks)
    print(f"JAX {jax.__version__}, compiled for {len(devices)} devices of the kind {devices[0].device_kind}")
    for name in given.layout or LAYOUTS:
        start = time.perf_counter()
        count, lowered = lowered_step(sizes, LAYOUTS[name](devices))
        traced = time.perf_counter()
        memory = lowered.memory
        took = f"traced in {traced - start:.0f} s, compiled in {time.perf_counter() - traced:.0f} s"
        print(f"\n{name}: {count / 1e9:.2f} billion parameters, {took}")
        print("| | on each device, GiB |\n|---|---|")
        print(f"| weights, slots, batch | {memory.arguments / GIB:.3f} |")
        print(f"| held in between | {memory.temporary / GIB:.2f} |")
        for kind, collective in sorted(lowered.collectives.items()):
            print(f"| {collective.count} × {kind} | {collective.bytes / GIB:.2f} |", flush=True)


if __name__ == "__main__":
    main()
