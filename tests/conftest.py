"""What every test runs under: one platform, reproducible examples, and no state left over from the test before."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before anything imports JAX

from collections.abc import Iterator

import pytest
from hypothesis import settings

from graftax.backend import registry
from graftax.variables import random

# Examples are the same in every run, and a slow machine is no failure.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def fresh_state() -> Iterator[None]:
    """The same random numbers for every test, whatever ran before it, and the backend put back."""
    chosen = list(registry._default)
    random.set_random_seed(0)
    yield
    registry._default[:] = chosen
