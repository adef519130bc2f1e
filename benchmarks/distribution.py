"""Speed over eight devices beside hand-written JAX: ``python -m benchmarks.distribution``.

Eight devices that the CPU is divided into show the work of Python and of the compiler, not the speed of a network. Each
number is the least of several rounds, in which the contestants take turns.

First calls are in processor time: many threads compile. Of small Variables, the first call takes longer than by hand:
sixteen share a buffer, which the program takes apart and puts together again, and with which every later call passes
fewer arrays. Large ones have a buffer each. Nearly all of it is the compiler's: a weight that has a buffer of its own
has the same loops as the next one, which are compiled once; in a shared one each begins elsewhere, unless the compiler
cannot know where (`graftax/backend/jax/row_parts.py`). Sharing stays: a call is repeated, a compilation is not.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

if "jax" not in sys.modules:
    os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import graftax as gx
from graftax import distribution as gd
from graftax import ops

COUNT, SMALL, LARGE = 100, 16, 136


class Row(NamedTuple):
    """A comparison with what is written by hand."""

    name: str
    by_hand: float
    graftax: float
    target: float

    @property
    def ratio(self) -> float:
        return self.graftax / self.by_hand


def least(
    rounds: int, calls: int, *contestants: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The least time of a call of each, in seconds."""
    found = [float("inf")] * len(contestants)
    for run in contestants:
        jax.block_until_ready(run())
    for _ in range(rounds):
        for i, run in enumerate(contestants):
            start = clock()
            for _ in range(calls):
                last = run()
            jax.block_until_ready(last)
            found[i] = min(found[i], (clock() - start) / calls)
    return found


def mesh() -> Any:
    return jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))


def hand_step(size: int = SMALL) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A step of SGD over weights that each device has, and what compiles it."""
    whole = NamedSharding(mesh(), P())
    weights = jax.device_put([np.ones((size, size), "float32") for _ in range(COUNT)], whole)
    x = jax.device_put(np.ones((8, size), "float32"), NamedSharding(mesh(), P("data")))

    def loss(weights: Any, x: Any) -> Any:
        return sum(jnp.mean((x @ w) ** 2) for w in weights)

    def step(weights: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, x)
        return value, [w - 1e-3 * g for w, g in zip(weights, gradients, strict=True)]

    def compiled() -> Any:
        # a function of its own, which JAX has not compiled before
        return jax.jit(lambda *given: step(*given), donate_argnums=0, out_shardings=(whole, [whole] * COUNT))

    function, state = compiled(), [weights]

    def run() -> Any:
        value, state[0] = function(state[0], x)
        return value

    return run, lambda: compiled().lower(state[0], x).compile()


def our_step(size: int = SMALL) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The same with Variables."""
    d = gd.DataParallel(gd.mesh(data=8))
    with d.scope():
        weights = [gx.Variable(np.ones((size, size), "float32"), name=f"w{i}") for i in range(COUNT)]
        optimizer = gx.optimizers.SGD(1e-3)
    x = d.shard(np.ones((8, size), "float32"))

    def step(x: Any) -> Any:
        return optimizer.minimize(lambda: sum(ops.mean((x @ w) ** 2) for w in weights), weights)

    function = gx.jit(step)
    return lambda: function(x), lambda: gx.jit(lambda x: step(x)).lower(x).memory


def rows(rounds: int = 11) -> list[Row]:
    """Everything that is compared."""
    (hand, hand_compiles), (ours, ours_compiles) = hand_step(), our_step()
    found = [Row(f"step, {COUNT} Variables, time of a call", *least(rounds, 20, hand, ours), 1.0)]
    cpu = time.process_time  # many threads compile, and wait for other programs
    found.append(Row("small ones, first call", *least(3, 1, hand_compiles, ours_compiles, clock=cpu), 1.15))
    (_, hand_compiles), (_, ours_compiles) = hand_step(LARGE), our_step(LARGE)
    found.append(Row("large ones, first call", *least(2, 1, hand_compiles, ours_compiles, clock=cpu), 1.15))
    batch = np.ones((1024, 64), "float32")
    spread = NamedSharding(mesh(), P("data"))
    d = gd.DataParallel(gd.mesh(data=8))
    pair = least(rounds, 50, lambda: jax.make_array_from_process_local_data(spread, batch), lambda: d.shard(batch))
    found.append(Row("shard(batch), 256 KiB", *pair, 1.1))
    return found


def main() -> None:
    if len(jax.devices()) < 8:
        raise SystemExit('eight devices are needed: XLA_FLAGS="--xla_force_host_platform_device_count=8"')
    print(f"JAX {jax.__version__}, {len(jax.devices())} devices of the kind {jax.devices()[0].platform}")
    print("| | by hand, ms | graftax, ms | ratio | target |\n|---|---|---|---|---|")
    for row in rows():
        print(f"| {row.name} | {row.by_hand * 1e3:.3f} | {row.graftax * 1e3:.3f} | {row.ratio:.2f} | {row.target} |")


if __name__ == "__main__":
    main()
