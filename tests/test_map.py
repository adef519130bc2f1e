"""The map of CONTRIBUTING.md: every path is there, floors are those of the plan, and each folder is on it."""

import re
from pathlib import Path

import pytest

from tests.architecture.plan import FLOORS, PACKAGE

PAGE = (PACKAGE.parent / "CONTRIBUTING.md").read_text()


def entries(page: str) -> list[tuple[str, list[Path]]]:
    """The floor of each row, and its paths; a name without a folder lies beside the path before it."""
    table = page.partition("## The map\n")[2].partition("\n## ")[0]
    floor, found = "", []
    for row in re.findall(r"^\| (?!floor)(.*) \|$", table, re.MULTILINE):
        first, _, where = (cell.strip() for cell in row.split("|"))
        floor, paths = first or floor, list[Path]()
        for name in re.findall(r"`([^`]+)`", where):
            beside = paths[-1].parent if paths else PACKAGE
            paths.append(beside / name if "/" not in name else PACKAGE / name)
        found.append((floor, paths))
    return found


def test_every_path_of_the_map_is_there() -> None:
    missing = [str(path.relative_to(PACKAGE)) for _, paths in entries(PAGE) for path in paths if not path.exists()]
    assert not missing


def test_floors_are_those_of_the_plan() -> None:
    shown: dict[str, set[str]] = {}
    for floor, paths in entries(PAGE):
        shown.setdefault(floor, set()).update(path.relative_to(PACKAGE).parts[0] for path in paths)
    planned = {name: set(folders.split()) for name, folders in reversed(FLOORS)}
    assert list(shown) == list(planned)
    planned["doors"], shown["doors"] = planned["doors"] & {"cli"}, shown["doors"] & {"cli"}
    assert shown == planned


def test_every_folder_of_the_package_is_on_the_map() -> None:
    shown = {path if path.is_dir() else path.parent for _, paths in entries(PAGE) for path in paths} - {PACKAGE}
    doors = {PACKAGE / name for name in dict(FLOORS)["doors"].split()} | {PACKAGE}
    folders = {path.parent for path in PACKAGE.rglob("*.py")} - doors
    assert not {str(one.relative_to(PACKAGE)) for one in folders if not {one, *one.parents} & shown}


@pytest.mark.parametrize("name", ["ops/nowhere.py", "nowhere/"])
def test_a_path_that_is_not_there_is_found(name: str) -> None:
    page = PAGE.replace("`training/spread.py`", f"`{name}`")
    assert any(not path.exists() for _, paths in entries(page) for path in paths)
