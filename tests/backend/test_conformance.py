"""The backends of graftax keep the contract that everybody's must keep."""

import pytest

from graftax.backend.base import GROUPS
from graftax.backend.testing import Conformance


@pytest.mark.optimized
class TestJax(Conformance):
    backend = "jax"
    groups = GROUPS


class TestNumpy(Conformance):
    backend = "numpy"
    groups = ("arrays", "random", "devices")
