"""Print the table of speed: ``python -m benchmarks``; ``--write`` puts it into docs/benchmarks.md."""

import argparse

from benchmarks import report
from benchmarks.harness import measure


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="the rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=11, help="rounds of each row (default: 11)")
    parser.add_argument("--write", action="store_true", help=f"put the table into {report.PAGE.name}")
    arguments = parser.parse_args()
    works = [work for work in report.WORKS if arguments.only in work.name]
    if not works:
        parser.error(
            f"no row has {arguments.only!r} in its name; there are:\n" + "\n".join(w.name for w in report.WORKS)
        )
    if arguments.write and arguments.only:
        parser.error("--write needs all rows: leave --only out")
    lines = ["", report.machine(), report.missing(), "", report.HEADER, report.RULE]
    print("\n".join(lines), flush=True)
    for work in works:
        lines.append(report.row(work, measure(work, report.installed(), rounds=arguments.rounds)))
        print(lines[-1], flush=True)
    if arguments.write:
        report.PAGE.write_text(report.page_with([*lines, ""], report.PAGE.read_text()))
        print("written to", report.PAGE)


if __name__ == "__main__":
    main()
