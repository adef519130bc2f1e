"""What every test runs under: one platform, reproducible examples, and no state left over from the test before."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

# Before anything imports JAX: one platform, and what is compiled is kept for the other workers and for the next run.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import pytest
from hypothesis import settings

from graftax.backend import registry
from graftax.variables import random

# Examples are the same in every run, and a slow machine is no failure. `make test-all` asks for the thorough profile.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("suite")


@pytest.fixture(scope="module", autouse=True)
def small_heap() -> Iterator[None]:
    """What libraries keep in their caches is no longer looked through by every collection of garbage after it."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def fresh_state() -> Iterator[None]:
    """The same random numbers for every test, whatever ran before it, and the backend put back."""
    chosen = list(registry._default)
    random.set_random_seed(0)
    yield
    registry._default[:] = chosen


@pytest.fixture(scope="session")
def keras(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Keras on JAX, as an independent source of numbers; a test that asks for it is skipped where it is absent."""
    os.environ["KERAS_BACKEND"] = "jax"
    os.environ["KERAS_HOME"] = str(tmp_path_factory.mktemp("keras"))
    return pytest.importorskip("keras")


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """PyTorch, as an independent source of numbers."""
    return pytest.importorskip("torch")
