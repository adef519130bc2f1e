"""Print the table of speed: ``python -m benchmarks``; ``--write`` puts it into docs/benchmarks.md."""

import argparse
import sys
import time

import jax

from benchmarks import gpu, report
from benchmarks.harness import Result, Work, measure


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="the rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=11, help="rounds of each row (default: 11)")
    parser.add_argument("--write", action="store_true", help=f"put the table into {report.PAGE.name}")
    parser.add_argument("--gpu", action="store_true", help="the rows for a GPU; without one, tiny sizes, to try it")
    arguments = parser.parse_args()
    tiny = arguments.gpu and jax.default_backend() == "cpu"
    works = [work for work in (gpu.WORKS if arguments.gpu else report.WORKS) if arguments.only in work.name]
    if not works:
        parser.error(
            f"no row has {arguments.only!r} in its name; there are:\n" + "\n".join(w.name for w in report.WORKS)
        )
    if arguments.write and (arguments.only or tiny):
        parser.error("--write needs all rows, and --gpu a GPU: leave it out")
    if tiny:
        print("There is no GPU: tiny sizes on the CPU, to see that each row runs.", file=sys.stderr)
    lines = ["", report.machine(), report.missing(), "", report.HEADER, report.RULE]
    print("\n".join(lines), flush=True)
    start = time.perf_counter()
    for number, work in enumerate(works, 1):
        minutes = (time.perf_counter() - start) / 60
        print(f"{number} of {len(works)}, after {minutes:.1f} minutes: {work.name}", file=sys.stderr, flush=True)
        lines.append(report.row(work, measured(work, tiny, arguments.rounds)))
        print(lines[-1], flush=True)
    if arguments.gpu and (held := gpu.memory()):
        lines += ["", held]
        print(held)
    if arguments.write:
        begin = gpu.BEGIN if arguments.gpu else report.BEGIN
        report.PAGE.write_text(report.page_with([*lines, ""], report.PAGE.read_text(), begin))
        print("written to", report.PAGE)


def measured(work: Work, tiny: bool, rounds: int) -> Result:
    return measure(work, report.installed(), tiny, 1 if tiny else rounds)


if __name__ == "__main__":
    main()
