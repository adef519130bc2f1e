"""`fit` as a whole: an epoch of 64 batches in host memory, the mean loss and one metric, no bar, no shuffling."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, KERAS, TORCH, Run, Work
from benchmarks.nets import TINY, Net, data, forward, graftax_net, keras_net, squared_error, weights
from benchmarks.training_step import NETS, hand_written, torch_step

STEPS = 64
EVALUATED = 32  # after 2,048 batches, graftax takes several at once


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


def one_batch(net: Net) -> Run:
    """What a call of `fit` costs beside its steps: there is one."""
    (x, y), model = data(net), graftax_net(net)
    model.compile(gx.optimizers.Adam(1e-3), "mse")
    x, y = np.asarray(x), np.asarray(y)
    return lambda: model.fit(x, y, batch_size=net.batch, shuffle=False, verbose=0).history["loss"][-1]


def keras_one_batch(net: Net) -> Run:
    (x, y), model = data(net), keras_net(net)
    model.compile("adam", "mse")
    x, y = np.asarray(x), np.asarray(y)
    return lambda: model.fit(x, y, batch_size=net.batch, shuffle=False, verbose=0).history["loss"][-1]


def loop_of_losses(net: Net) -> Run:
    """The hand-written loss of each batch in a Python loop."""
    (x, y), start, loss = data(net), weights(net), jax.jit(squared_error)
    return lambda: jnp.stack([loss(start, x, y) for _ in range(STEPS)]).mean()


def loop_of_outputs(net: Net) -> Run:
    """The hand-written net on each batch in a Python loop."""
    (x, _), start, run = data(net), weights(net), jax.jit(forward)
    return lambda: np.concatenate([np.asarray(run(start, x)) for _ in range(STEPS)])


def evaluate(make: Callable[[Net], Any], before: int = 0) -> Callable[[Net], Run]:
    """Evaluations, after so many others, as after as many epochs with a validation."""

    def setup(net: Net) -> Run:
        (x, y), model = rows(net), make(net)
        model.compile("adam", "mse")
        for _ in range(before):
            model.evaluate(x, y, batch_size=net.batch, verbose=0)

        def run() -> Any:
            found = model.evaluate(x, y, batch_size=net.batch, verbose=0)
            return found["loss"] if isinstance(found, dict) else found

        return run

    return setup


def predict(make: Callable[[Net], Any]) -> Callable[[Net], Run]:
    def setup(net: Net) -> Run:
        (x, _), model = rows(net), make(net)
        return lambda: model.predict(x, batch_size=net.batch, verbose=0)

    return setup


TINY_MLP, MANY_SMALL = list(NETS)[:2]


def sized(make: Callable[..., Run], *options: int, net: str = TINY_MLP) -> Callable[[bool], Run]:
    """A contestant for one of the nets, or a tinier one."""
    return lambda tiny: make(TINY if tiny else NETS[net], *options)


WORKS = [
    Work(
        f"an epoch of `fit` of {STEPS} steps, {TINY_MLP}: {how}",
        "compiled, a loop of steps",
        {
            "reference": sized(loop_of_steps),
            GRAFTAX: sized(fit, size),
            KERAS: sized(keras_fit, size),
            TORCH: sized(torch_loop),
        },
    )
    for how, size in {"one by one": 1, "`steps_per_execution=16`": 16}.items()
] + [
    Work(
        f"a call of `fit` with one batch, {MANY_SMALL}",
        "compiled, one step",
        {
            "reference": sized(hand_written, net=MANY_SMALL),
            GRAFTAX: sized(one_batch, net=MANY_SMALL),
            KERAS: sized(keras_one_batch, net=MANY_SMALL),
        },
    ),
    Work(
        f"`evaluate` of {STEPS} batches, {TINY_MLP}",
        "compiled, a loop of losses",
        {
            "reference": sized(loop_of_losses),
            GRAFTAX: sized(evaluate(graftax_net, EVALUATED)),
            KERAS: sized(evaluate(keras_net, EVALUATED)),
        },
    ),
    Work(
        f"`predict` of {STEPS} batches, {TINY_MLP}",
        "compiled, a loop",
        {
            "reference": sized(loop_of_outputs),
            GRAFTAX: sized(predict(graftax_net)),
            KERAS: sized(predict(keras_net)),
        },
    ),
]
