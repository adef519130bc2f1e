"""Choosing a backend: lazily, by call, block, environment, or entry point."""

import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from graftax.backend import registry
from graftax.backend.base import BackendBase
from graftax.backend.registry import available, current, load, scope, use
from graftax.core.errors import BackendCapabilityError, BackendError


@pytest.fixture(autouse=True)
def _restore() -> Any:
    before, loaded = list(registry._default), dict(registry._loaded)
    yield
    registry._default[:] = before
    registry._loaded.clear()
    registry._loaded.update(loaded)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=False,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.broad
def test_nothing_is_imported_before_it_is_asked_for() -> None:
    done = run(
        "import sys, graftax.backend.registry as r; assert not {'jax', 'numpy'} & set(sys.modules), 'too early';"
        "r.load('numpy'); assert 'jax' not in sys.modules"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ["jax", "numpy"])
def test_environment_variable_chooses(name: str) -> None:
    done = run("from graftax.backend.registry import current; print(current().name)", GRAFTAX_BACKEND=name)
    assert done.stdout.strip() == name, done.stderr


@pytest.mark.broad
def test_environment_variable_with_a_typo() -> None:
    done = run("from graftax.backend.registry import current; current()", GRAFTAX_BACKEND="jx")
    assert "no backend is called 'jx'" in done.stderr
    assert "jax, numpy" in done.stderr


NO_JAX = "import sys; sys.modules['jax'] = None; sys.modules['jaxlib'] = None; sys.modules['ml_dtypes'] = None\n"


@pytest.mark.broad
def test_numpy_backend_runs_without_jax() -> None:
    code = NO_JAX + (
        "from graftax.backend.registry import use, load\n"
        "from graftax import ops\n"
        "use('numpy')\nb = load('numpy')\n"
        "assert ops.matmul(ops.ones((2, 3)), ops.ones((3, 4))).shape == (2, 4)\n"
        "assert ops.softmax([1.0, 2.0]).dtype == 'float32'\n"
        "assert ops.conv(ops.ones((1, 4, 4, 2)), ops.ones((2, 2, 2, 3))).shape == (1, 3, 3, 3)\n"
        "assert b.random.normal(b.random.key(0), (3,), 'float32').shape == (3,)\n"
        "try: ops.zeros((2,), 'bfloat16')\n"
        "except TypeError as error: assert 'ml_dtypes' in str(error), error\n"
        "else: raise SystemExit('bfloat16 without ml_dtypes')\n"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.broad
def test_jax_backend_without_jax_says_what_to_install() -> None:
    done = run(NO_JAX + "from graftax.backend.registry import load; load('jax')")
    assert "the backend 'jax' cannot be imported" in done.stderr
    assert "pip install jax" in done.stderr


def test_use_as_a_call_is_for_good_and_as_a_block_is_undone() -> None:
    use("jax")
    with use("numpy") as backend:
        assert backend is current()
        assert current().name == "numpy"
        with use("jax"):
            assert current().name == "jax"
        assert current().name == "numpy"
    assert current().name == "jax"
    use("numpy")
    assert current().name == "numpy"


def test_a_block_is_undone_by_an_error() -> None:
    use("jax")
    with pytest.raises(KeyError), use("numpy"):
        raise KeyError
    assert current().name == "jax"


def test_a_block_is_seen_by_its_thread_only() -> None:
    use("jax")
    seen: list[str] = []
    with use("numpy"):
        thread = threading.Thread(target=lambda: seen.append(current().name))
        thread.start()
        thread.join()
    assert seen == ["jax"]


def test_unknown_backend() -> None:
    with pytest.raises(BackendError, match="no backend is called 'torch'"):
        use("torch")


def test_backends_are_loaded_once() -> None:
    assert load("numpy") is load("numpy")


class Entry:
    name = "mine"

    def load(self) -> Any:
        return Mine


class Mine(BackendBase):
    name = "mine"
    groups = ("arrays",)

    def __init__(self) -> None:
        self.arrays = load("numpy").arrays


def test_installed_packages_register_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [Entry()] if group == "graftax.backends" else [])
    assert available() == ["jax", "numpy", "mine"]
    with use("mine"):
        assert current().name == "mine"
        assert current().has("arrays")
        assert not current().has("random")


def test_scope_takes_an_unregistered_object() -> None:
    mine: Any = Mine()
    with scope(mine) as backend:
        assert current() is backend is mine


def test_missing_capability_names_backend_capability_and_owner() -> None:
    backend = load("numpy")
    assert backend.has("random")
    assert not backend.has("gradients")
    with pytest.raises(BackendCapabilityError) as caught:
        _ = backend.gradients
    assert "'numpy' has no gradients" in str(caught.value)
    assert "offered by: jax" in str(caught.value)
    assert caught.value.instead == 'graftax.backend.use("jax")'
    assert load("jax").has("gradients")


@pytest.mark.parametrize("name", ["jax", "numpy"])
def test_a_backend_has_the_groups_that_it_says(name: str) -> None:
    backend: Any = load(name)
    for group in backend.groups:
        assert getattr(backend, group) is not None
