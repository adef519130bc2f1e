"""Break checkpoints in every way that the tests know, and write what came of it: ``python tools/make_faults_table.py``.

Runs the tests in ``tests/checkpoint`` that note what they did (the fixture ``attack``), adds it up, and writes the
table into ``docs/checkpoints_on_disk.md``; takes some minutes. With ``--check`` nothing is written; the exit code is 1
where the page has other rows, or something was lost. How often differs a little from run to run.
"""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.checkpoint.attacks import MISSING, ROWS  # noqa: E402 - found by the line above

PAGE = ROOT / "docs" / "checkpoints_on_disk.md"
HEAD = "| attack | how often | lost, torn or accepted |\n|---|---|---|\n"
FILES = "crash crash_deletions failing_calls commit kill decode chunk_tables reader beside_others".split()
_TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")
_COUNTS = re.compile(r"\| [^|]*\d[^|]* (?=\| (?:0|all caught|in \d+ tests) \|)")

Notes = Iterable[tuple[str, object]]


class Noting:
    """A plugin of pytest that adds up what tests note, and counts those that fail."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.failed: dict[str, int] = defaultdict(int)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test did."""
        if report.when == "call":
            self.add(report.user_properties, failed=report.failed)

    def add(self, notes: Notes, failed: bool = False) -> None:
        """Add what one test noted."""
        attacks = [value for name, value in notes if name == "attack"]
        for attack in attacks:
            row, unit, count = attack  # type: ignore[misc]
            self.counts[row][unit] += count
        for row in {attack[0] for attack in attacks}:  # type: ignore[index]
            self.failed[row] += failed


def table(noted: Noting) -> str:
    """Return the table.

    Raises:
        ValueError: tests note a row that it has not, or do not note one that it has.
    """
    if wrong := set(ROWS) ^ set(noted.counts):
        raise ValueError(f"rows and notes differ in {sorted(wrong)}; ROWS is in tests/checkpoint/attacks.py")
    lines = []
    for row in ROWS:
        often = ", ".join(f"{count:,} {unit}" for unit, count in noted.counts[row].items())
        good = "all caught" if row == MISSING else "0"
        failed = noted.failed[row]
        lines.append(f"| {row} | {often} | {f'in {failed} tests' if failed else good} |\n")
    return HEAD + "".join(lines)


def main(arguments: list[str]) -> int:
    """Run the tests; write or compare the table."""
    noted = Noting()
    files = [str(ROOT / "tests" / "checkpoint" / f"test_{name}.py") for name in FILES]
    options = ["-q", "-m", "", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    code = pytest.main([*options, "--rootdir", str(ROOT), *files], plugins=[noted])
    page = PAGE.read_text(encoding="utf-8")
    new = _TABLE.sub(lambda _: table(noted), page)
    print(table(noted))
    if "--check" in arguments:
        return int(code) or int(_COUNTS.sub("", new) != _COUNTS.sub("", page))
    PAGE.write_text(new, encoding="utf-8")
    return int(code)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
