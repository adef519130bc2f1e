"""What tests of random numbers compare with."""

from importlib import import_module

import pytest


@pytest.fixture(scope="session")
def stats():
    """The laws and tests of scipy, which takes a second to import: not while tests are collected."""
    return import_module("scipy.stats")
