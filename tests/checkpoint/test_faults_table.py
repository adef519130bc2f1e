"""The table of faults in docs/checkpoints_on_disk.md is what tools/make_faults_table.py writes."""

import re

import pytest

from tests.checkpoint.attacks import MISSING, ROWS, SAVE
from tools.make_faults_table import HEAD, PAGE, Noting, table


def noted():
    found = Noting()
    for row in ROWS:
        found.add([("attack", [row, "states", 1000]), ("other", 1)])
    return found


def test_what_tests_note_is_added_up():
    found = noted()
    found.add([("attack", [SAVE, "states", 234]), ("attack", [SAVE, "cuts", 1])])
    lines = table(found).splitlines()
    assert lines[2] == f"| {SAVE} | 1,234 states, 1 cuts | 0 |"
    assert next(line for line in lines if MISSING in line).endswith("| all caught |")
    found.add([("attack", [SAVE, "states", 1])], failed=True)
    assert table(found).splitlines()[2].endswith("| in 1 tests |")


def test_rows_without_notes_and_notes_without_rows_are_told():
    found = noted()
    del found.counts[SAVE]
    with pytest.raises(ValueError, match="power loss in a save"):
        table(found)
    found = noted()
    found.add([("attack", ["a new one", "states", 1])])
    with pytest.raises(ValueError, match="a new one"):
        table(found)


def test_the_page_has_every_row_and_nothing_lost():
    found = re.search(re.escape(HEAD) + r"((?:\|.*\n)*)", PAGE.read_text(encoding="utf-8"))
    rows = [line.strip("|").split(" | ") for line in found[1].splitlines()]
    assert [row[0].strip() for row in rows] == list(ROWS)
    assert {row[2].strip(" |") for row in rows} == {"0", "all caught"}
