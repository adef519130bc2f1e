"""One row for each optimizer; `test_optimizers.py` says what all of them promise."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from graftax.optimizers import SGD, Adam, AdamW, Optimizer


@dataclass(frozen=True)
class Row:
    """An optimizer and the promises of the table that it cannot make.

    Args:
        make: The optimizer, with the given options of the base class.
        stops_at_rate_zero: Whether nothing moves at a rate of zero; not so where slots remember earlier rates.
        quick: Whether it is tried in the quick suite; the others only with the slow tests.
    """

    make: Callable[..., Optimizer]
    stops_at_rate_zero: bool = True
    quick: bool = False


BASIC = {
    "sgd": Row(lambda **o: SGD(0.1, **o), quick=True),
    "sgd momentum": Row(lambda **o: SGD(0.05, momentum=0.9, **o), stops_at_rate_zero=False, quick=True),
    "sgd nesterov": Row(lambda **o: SGD(0.05, momentum=0.9, nesterov=True, **o), stops_at_rate_zero=False),
    "adam": Row(lambda **o: Adam(0.1, **o), quick=True),
    "adam torch": Row(lambda **o: Adam(0.1, epsilon=1e-3, epsilon_form="torch", **o)),
    "amsgrad": Row(lambda **o: Adam(0.1, amsgrad=True, **o)),
    "adamw": Row(lambda **o: AdamW(0.1, **{"weight_decay": 0.01, **o}), quick=True),
}
# Rules that treat each element alone.
ELEMENTWISE: dict[str, Row] = {}
# Rules that look at a whole variable, at several, or at the loss.
WHOLE: dict[str, Row] = {}

ROWS = BASIC | ELEMENTWISE | WHOLE


def param(name: str, row: Row):
    return pytest.param(row, id=name, marks=() if row.quick else pytest.mark.slow)


every_row = pytest.mark.parametrize("row", [param(name, row) for name, row in ROWS.items()])
