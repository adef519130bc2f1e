"""The backends of graftax keep the contract that everybody's must keep."""

from typing import Any

import pytest

from graftax.backend.base import GROUPS
from graftax.backend.testing import Conformance


def is_repeated(row: str) -> bool:
    """Whether another quick test looks at the same.

    The first case of an op stands for its others, and `tests/conformance/test_op_gradients.py` has the gradients of all
    ops, in float64; the rows of the kit for them run in the slow lane, and with the comparisons.
    """
    return row.startswith("gradients/ops/") or (row.startswith("ops/") and not row.endswith("/0"))


@pytest.mark.optimized
@pytest.mark.in_turn(4)
class TestJax(Conformance):
    backend = "jax"
    groups = GROUPS

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Give pytest the rows, those slow that are repeated."""
        if "row" in metafunc.fixturenames:
            names = [check.name for check in self.checks()]
            slow = pytest.mark.slow
            metafunc.parametrize("row", [pytest.param(n, marks=slow) if is_repeated(n) else n for n in names])


class TestNumpy(Conformance):
    backend = "numpy"
    groups = ("arrays", "random", "devices")
