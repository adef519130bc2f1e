"""Cost against the number of variables, of layers, of rows: ``python -m benchmarks.scaling``; ``--write`` draws it."""

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx
from benchmarks import drawing, report
from benchmarks.harness import Moment, Run, finish, seconds
from benchmarks.nets import Net, data
from benchmarks.training_step import hand_written, own_loop
from graftax import layers, ops

BEGIN = "<!-- begin: what python -m benchmarks.scaling prints -->"
PICTURE = report.PAGE.parent / "scaling.svg"


class Curve(NamedTuple):
    """Seconds of processor time at each size."""

    chart: str
    name: str
    points: list[tuple[int, float]]


class Kind(NamedTuple):
    """A chart: what grows, its sizes, and for each curve a function that gives the seconds at a size."""

    chart: str
    grows: str
    sizes: tuple[int, ...]
    curves: dict[str, Callable[[int], float]]


def first(make: Callable[[], Run]) -> float:
    """Seconds of the first call, which traces and compiles: twice, the lesser."""
    return min(seconds(make(), 1).cpu for _ in range(2))


def later(make: Callable[[], Run], rounds: int = 7) -> float:
    """Seconds of a call after the first ones."""
    run = make()
    for _ in range(3):
        finish(run())
    calls = max(1, int(0.02 / max(seconds(run, 1).wall, 1e-6)))
    found: list[Moment] = [seconds(run, calls) for _ in range(rounds)]
    return min(one.cpu for one in found)


def variables(count: int) -> Net:
    """A net of so many weights."""
    return Net((16,) * (count // 2), 16, 32)


def stacked(depth: int) -> Run:
    """A training step of `gx.stack`."""
    model = gx.Sequential([gx.stack(layers.Dense(64, activation="tanh"), depth)])
    return step_of(model)


def sequence(depth: int) -> Run:
    """A training step of as many layers one by one."""
    return step_of(gx.Sequential([layers.Dense(64, activation="tanh") for _ in range(depth)]))


def step_of(model: Any) -> Run:
    x, y = data(Net((64,), 64, 32))
    model.build_for(x)
    optimizer, trained = gx.optimizers.Adam(1e-3), model.trainable_variables

    @gx.jit
    def step(x: Any, y: Any) -> Any:
        loss, gradients = gx.value_and_grad(lambda: ops.mean((model(x) - y) ** 2), wrt=trained)()
        optimizer.apply(gradients, trained)
        return loss

    return lambda: step(x, y)


def scanned(depth: int) -> Run:
    """A training step of the same layers in `lax.scan`, as one writes it in bare JAX."""
    x, y = data(Net((64,), 64, 32))
    rng = np.random.default_rng(0)
    weights = (jnp.asarray(rng.normal(size=(depth, 64, 64)) / 8, "float32"), jnp.zeros((depth, 64)))

    def loss(weights: Any, x: Any, y: Any) -> Any:
        out, _ = jax.lax.scan(lambda h, row: (jnp.tanh(h @ row[0] + row[1]), None), x, weights)
        return jnp.mean((out - y) ** 2)

    def step(state: Any, x: Any, y: Any) -> Any:
        weights, m, v, t = state
        t, (value, gradients) = t + 1, jax.value_and_grad(loss)(weights, x, y)
        m = [0.9 * a + 0.1 * g for a, g in zip(m, gradients, strict=True)]
        v = [0.999 * a + 0.001 * g * g for a, g in zip(v, gradients, strict=True)]
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        weights = [w - rate * a / (jnp.sqrt(b) + 1e-7) for w, a, b in zip(weights, m, v, strict=True)]
        return (weights, m, v, t), value

    zeros = [[jnp.zeros_like(w) for w in weights] for _ in range(2)]
    state, compiled = [(list(weights), *zeros, jnp.float32(0))], jax.jit(step, donate_argnums=0)

    def run() -> Any:
        state[0], value = compiled(state[0], x, y)
        return value

    return run


def rows(shuffled: bool) -> Callable[[int], Run]:
    """An epoch of `fit` over so many rows of four numbers, in batches of 4096."""

    def make(count: int) -> Run:
        x = np.ones((count, 4), "float32")
        model = gx.Sequential([layers.Dense(1)])
        model.compile(gx.optimizers.SGD(1e-3), "mse", steps_per_execution=16)
        options = {"batch_size": 4096, "shuffle": shuffled, "verbose": 0}
        return lambda: model.fit(x, x[:, :1], **options).history["loss"][-1]

    return make


def of_first(make: Callable[[int], Run]) -> Callable[[int], float]:
    return lambda size: first(lambda: make(size))


def of_later(make: Callable[[int], Run], rounds: int = 7) -> Callable[[int], float]:
    return lambda size: later(lambda: make(size), rounds)


def by_hand(count: int) -> Run:
    return hand_written(variables(count))


def by_graftax(count: int) -> Run:
    return own_loop(variables(count))


COUNTS, DEPTHS, ROWS = (10, 30, 100, 300, 1000), (4, 16, 64), (10_000, 100_000, 1_000_000, 10_000_000)
KINDS = [
    Kind(
        "first call of a step, seconds",
        "variables",
        COUNTS,
        {"hand-written": of_first(by_hand), "graftax": of_first(by_graftax)},
    ),
    Kind("a step, seconds", "variables", COUNTS, {"hand-written": of_later(by_hand), "graftax": of_later(by_graftax)}),
    Kind(
        "first call of a step, seconds",
        "layers",
        DEPTHS,
        {"`lax.scan`": of_first(scanned), "`gx.stack`": of_first(stacked), "`Sequential`": of_first(sequence)},
    ),
    Kind(
        "a step, seconds",
        "layers",
        DEPTHS,
        {"`lax.scan`": of_later(scanned), "`gx.stack`": of_later(stacked), "`Sequential`": of_later(sequence)},
    ),
    Kind(
        "an epoch of `fit`, seconds",
        "rows",
        ROWS,
        {"in order": of_later(rows(False), 2), "shuffled": of_later(rows(True), 2)},
    ),
]


def measured(kind: Kind, sizes: tuple[int, ...]) -> list[Curve]:
    title = f"{kind.chart}, against {kind.grows}"
    return [Curve(title, name, [(size, cost(size)) for size in sizes]) for name, cost in kind.curves.items()]


def table(curves: list[Curve]) -> Iterator[str]:
    """The curves of one chart as a table."""
    sizes = [size for size, _ in curves[0].points]
    yield from ("", f"| {curves[0].chart} | {' | '.join(f'{size:,}' for size in sizes)} |")
    yield "|---|" + "---:|" * len(sizes)
    for curve in curves:
        yield f"| {curve.name} | {' | '.join(f'{cost:.3g}' for _, cost in curve.points)} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="what grows: variables, layers or rows")
    parser.add_argument("--largest", type=int, default=10**9, help="sizes up to this one")
    parser.add_argument("--write", action="store_true", help=f"put it into {report.PAGE.name} and {PICTURE.name}")
    arguments = parser.parse_args()
    kinds = [kind for kind in KINDS if arguments.only in kind.grows]
    if not kinds:
        parser.error(f"nothing grows that is called {arguments.only!r}: there are variables, layers and rows")
    if arguments.write and (arguments.only or arguments.largest < 10**9):
        parser.error("--write needs all of it: leave --only and --largest out")
    jax.config.update("jax_enable_compilation_cache", False)  # a first call compiles
    lines, charts = ["", report.machine(), "", "Processor time, the least of a few runs."], []
    for kind in kinds:
        sizes = tuple(size for size in kind.sizes if size <= arguments.largest)
        if not sizes:
            continue
        print(f"{kind.chart}, against {kind.grows} ...", file=sys.stderr, flush=True)
        charts.append(measured(kind, sizes))
        lines += table(charts[-1])
        print("\n".join(table(charts[-1])), flush=True)
    if arguments.write:
        picture = drawing.charts([(one[0].chart, {curve.name: curve.points for curve in one}) for one in charts])
        PICTURE.write_text(picture)
        lines += ["", f"![the same, drawn]({PICTURE.name})"]
        report.PAGE.write_text(report.page_with([*lines, ""], report.PAGE.read_text(), BEGIN))
        print("written to", report.PAGE, "and", PICTURE)


if __name__ == "__main__":
    main()
