"""Each line of the porting tables of docs/optimizers.md is a program that agrees with what it is about."""

import os
import re
from pathlib import Path

import pytest

from tests.optimizers.porting.from_keras import KERAS_2, KERAS_3
from tests.optimizers.porting.from_optax import OPTAX
from tests.optimizers.porting.from_torch import TORCH

pytestmark = pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up, and scaled by hand or not at all

os.environ.setdefault("KERAS_BACKEND", "jax")
PAGE = Path(__file__).parents[3] / "docs" / "optimizers.md"
TABLES = {
    "From a subclass in Keras 2 or TensorFlow": KERAS_2,
    "From Keras 3": KERAS_3,
    "From torch": TORCH,
    "From optax": OPTAX,
}
PACKAGES = {"From Keras 3": "keras", "From torch": "torch", "From optax": "optax"}
ROWS = [
    pytest.param(title, claim, marks=[pytest.mark.references] if title in PACKAGES else [])
    for title, table in TABLES.items()
    for claim in table
]
NAMES = [f"{title.split()[-1]}: {claim}" for title, table in TABLES.items() for claim in table]


def lines_of(title):
    section = PAGE.read_text().split(f"### {title}\n", 1)[1].split("\n#", 1)[0]
    return [row for row in re.findall(r"^\| (.*?) \| .* \|$", section, re.MULTILINE) if row not in ("there", "---")]


@pytest.mark.parametrize("title", TABLES)
def test_o3_every_line_of_the_tables_has_a_program(title):
    assert lines_of(title) == list(TABLES[title])


@pytest.mark.parametrize(("title", "claim"), ROWS, ids=NAMES)
def test_o3_a_line_of_the_tables_is_right(title, claim):
    if title in PACKAGES:
        pytest.importorskip(PACKAGES[title])
    TABLES[title][claim]()
