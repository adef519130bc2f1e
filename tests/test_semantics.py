"""Every case of the semantics is a test of that name, or a difference that the documentation states with its reason."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent

CASES = {
    "creators": "VC1-VC15 VC17-VC19 VC21 FV1-FV10",
    "modules": "MO1-MO19",
    "tapes": "GT1-GT34",
    "custom gradients": "CG1-CG16",
    "gradients as functions": "FG1-FG12",
    "rows": "VM1-VM11",
    "compiled functions": "FN1-FN23",
    "Python inside programs": "PF1-PF6",
    "templates and devices": "TP1-TP5 DV1-DV4",
    "optimizers": "OP1-OP24",
    "checkpoints": "CK1-CK19 CK21-CK28 CK32 CL1-CL9 SL1-SL7",
}


def expanded(ranges: str) -> list[str]:
    """The ids of ``GT1-GT3 VM2``."""
    found = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        numbers = range(int(first[2:]), int((last or first)[2:]) + 1)
        found += [f"{first[:2]}{number}" for number in numbers]
    return found


def ids_of_tests() -> set[str]:
    """The ids in names of tests."""
    names = [
        name
        for path in HERE.rglob("test_*.py")
        for name in re.findall(r"^ *def test_(\w+)\(", path.read_text(), re.MULTILINE)
    ]
    return {part.upper() for name in names for part in name.split("_") if re.fullmatch(r"[a-z]{2}\d+", part)}


def stated() -> set[str]:
    """The ids in the last column of the differences, whose other columns say what and why."""
    rows = re.findall(r"^\| .*", (HERE.parent / "docs" / "differences.md").read_text(), re.MULTILINE)
    return {case for row in rows for case in re.findall(r"[A-Z]{2}\d+", row.rstrip(" |").rpartition("|")[2])}


@pytest.mark.parametrize("section", CASES)
def test_every_case_is_tested_or_stated_as_a_difference(section: str) -> None:
    missing = set(expanded(CASES[section])) - ids_of_tests() - stated()
    assert not missing, f"no test and no row of docs/differences.md is named after {sorted(missing)}"


def test_differences_have_a_reason_and_cases_that_exist() -> None:
    known = {case for ranges in CASES.values() for case in expanded(ranges)}
    families = {case[:2] for case in known}
    rows = re.findall(r"^\| (?!elsewhere)(.*) \|$", (HERE.parent / "docs" / "differences.md").read_text(), re.MULTILINE)
    for row in rows:
        *told, cases = [cell.strip() for cell in row.split(" |")]
        assert len(told) == 3, row
        assert all(told), f"what is elsewhere, what is here, why: {row}"
        named = re.findall(r"[A-Z]{2}\d+", cases)
        assert all(case in known or case[:2] not in families for case in named), row
