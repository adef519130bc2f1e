"""What `gx.backend.options` does to each kind of work: ``python -m benchmarks.options``; ``--write`` keeps it.

A compiler reads its options once, so each setting has a process of its own, one after the other, several times. Other
interpreters with other versions of JAX go into columns of their own: ``--python .venv-3.13/bin/python``.
"""

import argparse
import json
import os
import subprocess
import sys
from typing import NamedTuple

import jax

import graftax as gx
from benchmarks import report
from benchmarks.harness import GRAFTAX, finish, seconds

BEGIN = "<!-- begin: what python -m benchmarks.options prints -->"
ROWS = (
    "training step, tiny MLP, 32 × (16, 32, 32, 1): own loop",
    "training step, 200 small weights, 100 × Dense(16): own loop",
    "training step, big dense layers, 256 × (1024, 1024, 1024, 10): own loop",
    "training step, transformer, 2 blocks of 128, 16 × 64 tokens",
    "training step, convolutional net, 64 × (32, 32, 3)",
    "update by Adam of 500 × (64, 64)",
    "update by Adam of 4 × (2048, 2048)",
    "gradient of max-pool 2×2, (64, 32, 32, 32)",
    "gradient of a depthwise convolution 3×3, (16, 32, 32, 64)",
    "gradient of attention, (4, 256, 8, 32)",
    "silly activation, 256 × 1024, in `gx.jit`",
    "its derivative, in `gx.jit`",
)
ROUNDS, CALLS = 3, 9


class Cost(NamedTuple):
    """The least seconds of a call and of its processor time."""

    wall: float
    cpu: float


def here(tiny: bool) -> dict[str, dict[str, Cost]]:
    """Measure hand-written JAX and graftax in this process."""
    found: dict[str, dict[str, Cost]] = {}
    for work in (work for work in report.WORKS if work.name in ROWS):
        for who in ("reference", GRAFTAX):
            run = work.contestants[who](tiny)
            for _ in range(3):
                finish(run())
            calls = max(1, int(0.01 / seconds(run, 1).wall))
            runs = [seconds(run, calls) for _ in range(2 if tiny else CALLS)]
            found.setdefault(work.name, {})[who] = Cost(min(r.wall for r in runs), min(r.cpu for r in runs))
    return found


def elsewhere(python: str, fused: bool, tiny: bool) -> tuple[str, dict[str, dict[str, Cost]]]:
    """Measure in a process of its own; also the version of JAX there."""
    command = [
        python,
        "-m",
        "benchmarks.options",
        "--here",
        "fused" if fused else "plain",
        *(["--tiny"] if tiny else []),
    ]
    environment = {**os.environ, "XLA_FLAGS": ""}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    version, costs = json.loads(done.stdout.splitlines()[-1])
    return version, {name: {who: Cost(*cost) for who, cost in row.items()} for name, row in costs.items()}


def compared(python: str, tiny: bool) -> tuple[str, dict[str, dict[str, Cost]]]:
    """Return the version of JAX of an interpreter, and the ratios of fused to plain."""
    runs: dict[bool, list[dict[str, dict[str, Cost]]]] = {False: [], True: []}
    version = ""
    for _ in range(1 if tiny else ROUNDS):
        for fused, found in runs.items():
            print(f"{python}, {'fused' if fused else 'plain'} ...", file=sys.stderr, flush=True)
            version, costs = elsewhere(python, fused, tiny)
            found.append(costs)

    def best(fused: bool, name: str, who: str, place: int) -> float:
        return min(costs[name][who][place] for costs in runs[fused])

    def ratio(name: str, who: str) -> Cost:
        wall, cpu = (best(True, name, who, i) / max(best(False, name, who, i), 1e-9) for i in (0, 1))
        return Cost(wall, cpu)

    return version, {name: {who: ratio(name, who) for who in row} for name, row in runs[False][0].items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.options", description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", default=[], help="one more interpreter, with graftax in it")
    parser.add_argument("--write", action="store_true", help=f"put the table into {report.PAGE.name}")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--here", choices=("plain", "fused"), help="measure in this process, and print the costs")
    arguments = parser.parse_args()
    if arguments.here:
        gx.backend.options(multi_output_fusion=arguments.here == "fused")
        print(json.dumps([jax.__version__, here(arguments.tiny)]))
        return
    if arguments.write and arguments.tiny:
        parser.error("--write needs the sizes of the table: leave --tiny out")
    columns = dict(compared(python, arguments.tiny) for python in (sys.executable, *arguments.python))
    heads = [f"{who}, jax {version}" for version in columns for who in ("hand-written", "graftax")]
    lines = ["", f"| with `multi_output_fusion` | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for name in ROWS:
        cells = [f"{c.wall:.2f} ({c.cpu:.2f})" for found in columns.values() for c in found[name].values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    print("\n".join(lines))
    if arguments.write:
        report.PAGE.write_text(report.page_with([*lines, ""], report.PAGE.read_text(), BEGIN))
        print("written to", report.PAGE)


if __name__ == "__main__":
    main()
