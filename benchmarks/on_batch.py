"""Steps batch by batch in a loop of one's own, and epochs over rows in a new order."""

from collections.abc import Callable

import numpy as np

import graftax as gx
from benchmarks.harness import GRAFTAX, KERAS, Run, Work
from benchmarks.nets import TINY, Net, data, graftax_net, keras_net
from benchmarks.training_step import NETS, hand_written
from graftax.training.sources.array_source import ArraySource

STEPS = 64


def hand_written_loop(net: Net) -> Run:
    """The hand-written step, its loss read each time."""
    step = hand_written(net)
    return lambda: [float(step()) for _ in range(STEPS)][-1]


def on_batch(net: Net) -> Run:
    x, y = map(np.asarray, data(net))
    model = graftax_net(net)
    model.compile(gx.optimizers.Adam(1e-3), "mse")
    return lambda: [model.train_on_batch(x, y)["loss"] for _ in range(STEPS)][-1]


def keras_on_batch(net: Net) -> Run:
    x, y = map(np.asarray, data(net))
    model = keras_net(net)
    model.compile("adam", "mse")
    return lambda: [model.train_on_batch(x, y) for _ in range(STEPS)][-1]


def shuffled_by_hand(rows: int) -> Run:
    """Each row once, in a new order, 4,096 at a time."""
    x = np.ones((rows, 1), "float32")
    draw = np.random.default_rng(0)

    def run() -> float:
        order = draw.permutation(rows)
        return float(sum(x[order[i : i + 4096]].sum() for i in range(0, rows, 4096)))

    return run


def shuffled(rows: int) -> Run:
    """The same, by what `fit` takes its batches from."""
    source = ArraySource(np.ones((rows, 1), "float32"), None, None, 4096, True)
    return lambda: float(sum(batch[0].sum() for batch in source.epoch(0)))


def sized(make: Callable[[Net], Run]) -> Callable[[bool], Run]:
    return lambda tiny: make(TINY if tiny else next(iter(NETS.values())))


def counted(make: Callable[[int], Run]) -> Callable[[bool], Run]:
    return lambda tiny: make(100 if tiny else 1_000_000)


WORKS = [
    Work(
        f"{STEPS} × `train_on_batch`, {next(iter(NETS))}",
        "compiled, a loop of steps",
        {"reference": sized(hand_written_loop), GRAFTAX: sized(on_batch), KERAS: sized(keras_on_batch)},
    ),
    Work(
        "1,000,000 rows of `fit` in a new order, 4,096 at a time",
        "a permutation in NumPy",
        {"reference": counted(shuffled_by_hand), GRAFTAX: counted(shuffled)},
    ),
]
