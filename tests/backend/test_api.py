"""What authors of backends are given is whole: every function that is called, every protocol, every op."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import graftax as gx
from graftax.backend import api
from graftax.backend.base import GROUPS
from graftax.backend.namespace_names import NAMES
from graftax.backend.testing.conformance import CHECKS
from graftax.ops.signatures import NUMPY
from graftax.ops.table import OPS

PACKAGE = Path(gx.__file__).parent
CALLED = re.compile(r"(?:\b(?:a|arrays|current\(\)\.arrays)\.numpy|(?<![.\w])numpy)\.((?:linalg\.|fft\.)?[a-z_0-9]+)\(")
TAKEN_APART = ("linalg.", "fft.")  # ops.inv and its like are compositions around a function that is looked up by name


def called() -> Iterator[str]:
    for op in OPS.values():
        if op.home == NUMPY:
            yield op.name
    for path in PACKAGE.rglob("*.py"):
        if not {"jax", "numpy", "testing"} & set(path.relative_to(PACKAGE).parts):
            yield from CALLED.findall(path.read_text())


@pytest.mark.broad
def test_the_functions_that_a_namespace_must_have_are_those_that_are_called() -> None:
    assert set(called()) - set(NAMES) == set()
    looked_up = {name for name in NAMES if name.startswith(TAKEN_APART)}
    assert {name.partition(".")[2] for name in looked_up} <= set(OPS)
    for name in set(NAMES) - looked_up:
        wanted = re.compile(rf"\bnumpy\.{name}\b")
        assert name in OPS or any(wanted.search(path.read_text()) for path in PACKAGE.rglob("*.py")), name


def test_each_group_has_rows_and_each_row_a_group_and_a_name_of_its_own() -> None:
    assert {check.group for check in CHECKS} == {*GROUPS, "backend"}
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert {check.name.split("/")[1] for check in CHECKS if check.name.startswith("ops/")} == set(OPS)


def test_protocols_of_all_groups_are_public() -> None:
    camel = {"".join(part.title() for part in group.split("_")) for group in GROUPS}
    assert camel <= set(api.__all__)
    assert gx.backend.api is api
    assert "NAMES" in dir(gx.backend.api)
