"""Tests, the page of cases and the differences name the same cases."""

import re
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"


def rows(page: str) -> list[list[str]]:
    """The cells of the rows of the tables of a page, without those that say what the columns are."""
    lines = re.findall(r"^\| (?!elsewhere|case)(.*) \|$", (DOCS / page).read_text(), re.MULTILINE)
    return [[cell.strip() for cell in line.split(" |")] for line in lines]


def listed() -> list[str]:
    """The cases of the page, in its order."""
    return [row[0] for row in rows("cases.md")]


def cases_of(name: str) -> list[str]:
    """The cases that the name of a test begins with: ``kl21_and_kl22_shapes``."""
    found = []
    for word in name.split("_"):
        if re.fullmatch(r"[a-z]{1,2}\d+|need\d+", word):
            found.append(word.upper())
        elif word != "and":
            break
    return found


def cited() -> dict[str, str]:
    """The cases in names of tests, each with one such name."""
    names = [
        name
        for path in sorted(HERE.rglob("test_*.py"))
        for name in re.findall(r"^ *def test_(\w+)\(", path.read_text(), re.MULTILINE)
    ]
    return {case: f"test_{name}" for name in names for case in cases_of(name)}


def stated() -> set[str]:
    """The cases in the last column of the differences, whose other columns say what and why."""
    return {case for row in rows("differences.md") for case in re.findall(r"[A-Z]+\d+", row[-1])}


def test_the_names_of_tests_cite_what_is_on_the_page() -> None:
    known = set(listed())
    unknown = {name: case for case, name in cited().items() if case not in known}
    assert not unknown, f"docs/cases.md says nothing of {unknown}"


def test_every_case_is_tested_or_stated_as_a_difference() -> None:
    shown = cited().keys() | stated()
    missing = [case for case in listed() if case not in shown]
    assert not missing, f"no test and no row of docs/differences.md is named after {missing}"


def test_every_case_is_there_once_and_says_something() -> None:
    cases = listed()
    assert len(cases) > 250
    assert len(set(cases)) == len(cases), sorted(case for case in cases if cases.count(case) > 1)
    for row in rows("cases.md"):
        assert len(row) == 2, row
        assert row[1].endswith("."), row
    told = [row[1] for row in rows("cases.md")]
    assert len(set(told)) == len(told), sorted(text for text in told if told.count(text) > 1)


def test_differences_have_a_reason_and_cases_that_exist() -> None:
    for row in rows("differences.md"):
        assert len(row) == 4, row
        assert all(row[:3]), f"what is elsewhere, what is here, why: {row}"
    unknown = stated() - set(listed())
    assert not unknown, f"docs/cases.md says nothing of {sorted(unknown)}"


def test_the_cases_at_the_start_of_a_name_are_read() -> None:
    assert cases_of("kl21_and_kl22_shapes") == ["KL21", "KL22"]
    assert cases_of("ck12_ck13_ck15_delivered_once") == ["CK12", "CK13", "CK15"]
    assert cases_of("need14_assigning") == ["NEED14"]
    assert cases_of("explain_shows_l2_only") == cases_of("bfloat16_weights") == []
