"""Whatever a tape does, nothing of it stays behind."""

import pytest

from graftax.backend import registry
from graftax.variables.state.storage import frames


@pytest.fixture(autouse=True)
def _everything_is_put_back():
    yield
    assert registry.load("jax").tracing.eager()
    assert frames.top is None
