"""`fit` as a whole: an epoch of 64 batches in host memory, the mean loss and one metric, no bar, no shuffling."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, KERAS, TORCH, Run, Work
from benchmarks.nets import TINY, Net, data, graftax_net, keras_net
from benchmarks.training_step import NETS, hand_written, torch_step

STEPS = 64


def rows(net: Net) -> list[np.ndarray]:
    """The same batch 64 times."""
    return [np.tile(np.asarray(part), (STEPS, 1)) for part in data(net)]


def loop_of_steps(net: Net) -> Run:
    """The hand-written step in a Python loop; no metric."""
    step = hand_written(net)
    return lambda: jnp.stack([step() for _ in range(STEPS)]).mean()


def fit(net: Net, steps_per_execution: int) -> Run:
    (x, y), model = rows(net), graftax_net(net)
    model.compile(gx.optimizers.Adam(1e-3), "mse", ["mae"], steps_per_execution=steps_per_execution)
    return lambda: model.fit(x, y, batch_size=net.batch, shuffle=False, verbose=0).history["loss"][-1]


def keras_fit(net: Net, steps_per_execution: int) -> Run:
    (x, y), model = rows(net), keras_net(net)
    model.compile("adam", "mse", metrics=["mae"], steps_per_execution=steps_per_execution)
    return lambda: model.fit(x, y, batch_size=net.batch, shuffle=False, verbose=0).history["loss"][-1]


def torch_loop(net: Net) -> Run:
    """Its step in a Python loop; no metric."""
    step = torch_step(net)

    def run() -> Any:
        losses = [step() for _ in range(STEPS)]
        return sum(float(loss.detach()) for loss in losses) / STEPS

    return run


def sized(make: Callable[..., Run], *options: int) -> Callable[[bool], Run]:
    """A contestant for the tiny MLP, or a tinier one."""
    return lambda tiny: make(TINY if tiny else next(iter(NETS.values())), *options)


WORKS = [
    Work(
        f"an epoch of `fit` of {STEPS} steps, {next(iter(NETS))}: {how}",
        "compiled, a loop of steps",
        {
            "reference": sized(loop_of_steps),
            GRAFTAX: sized(fit, size),
            KERAS: sized(keras_fit, size),
            TORCH: sized(torch_loop),
        },
    )
    for how, size in {"one by one": 1, "`steps_per_execution=16`": 16}.items()
]
