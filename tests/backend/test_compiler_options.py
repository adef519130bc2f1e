"""Options of the compiler: set before it starts, refused after; what was in the environment stays there."""

import os
import subprocess
import sys

import pytest

import graftax as gx
from graftax.backend.jax import compiler_options, tracing
from graftax.errors import ArgumentTypeError, BackendCapabilityError, BackendError

FLAG = "--xla_backend_extra_options="
FUSED = "xla_cpu_use_multi_output_fusion=true"


@pytest.fixture
def fresh(monkeypatch):
    """JAX as if it had not started."""
    monkeypatch.setattr(tracing, "is_initialized", lambda: False)
    monkeypatch.setenv("XLA_FLAGS", "")
    return monkeypatch


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", FLAG + FUSED),
        ("--xla_dump_to=/x", f"--xla_dump_to=/x {FLAG}{FUSED}"),
        (f"{FLAG}a=b,c", f"{FLAG}a=b,c,{FUSED}"),
        (f"{FLAG}a --xla_dump_to=/x {FLAG}b", f"--xla_dump_to=/x {FLAG}b,{FUSED}"),
        (f"{FLAG}xla_cpu_use_multi_output_fusion=false,c", f"{FLAG}c,{FUSED}"),
    ],
)
def test_the_environment_keeps_what_else_it_says(before, after, fresh):
    fresh.setenv("XLA_FLAGS", before)
    assert gx.backend.options() == {"multi_output_fusion": False}
    assert gx.backend.options(multi_output_fusion=True) == {"multi_output_fusion": True}
    assert os.environ["XLA_FLAGS"] == after
    assert gx.backend.options(multi_output_fusion=True) == {"multi_output_fusion": True}
    assert os.environ["XLA_FLAGS"] == after
    assert gx.backend.options(multi_output_fusion=False) == {"multi_output_fusion": False}
    assert FUSED not in os.environ["XLA_FLAGS"]


def test_too_late(monkeypatch):
    monkeypatch.setattr(tracing, "is_initialized", lambda: True)
    now = gx.backend.options()["multi_output_fusion"]
    before = os.environ.get("XLA_FLAGS")
    with pytest.raises(BackendError, match="(?s)after JAX has started.*once.*XLA_FLAGS="):
        gx.backend.options(multi_output_fusion=not now)
    assert os.environ.get("XLA_FLAGS") == before
    assert gx.backend.options(multi_output_fusion=now)["multi_output_fusion"] == now


def test_what_is_no_truth_value():
    with pytest.raises(ArgumentTypeError, match="multi_output_fusion=1"):
        gx.backend.options(multi_output_fusion=1)


def test_a_backend_without_options():
    with gx.backend.use("numpy"):
        assert gx.backend.options() == {}
        with pytest.raises(BackendCapabilityError, match="(?s)'numpy' has no option.*none"):
            gx.backend.options(multi_output_fusion=True)


def test_an_option_that_there_is_not():
    with pytest.raises(BackendCapabilityError, match="(?s)'jax' has no option 'speed'.*multi_output_fusion"):
        gx.backend.current().set_option("speed", True)
    assert compiler_options.options().keys() == {"multi_output_fusion"}


PROGRAM = """
import jax, jax.numpy as jnp, graftax as gx
gx.backend.options(multi_output_fusion={})
@jax.jit
def step(w, m, v, g):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return w - m / (jnp.sqrt(v) + 1e-7), m, v
print(step.lower(*[jnp.ones((64, 64))] * 4).compile().as_text().count(" fusion("))
"""


@pytest.mark.slow
def test_it_does_what_it_says():
    counts = []
    for value in (False, True):
        environment = {**os.environ, "XLA_FLAGS": "", "JAX_ENABLE_COMPILATION_CACHE": "false"}
        command = [sys.executable, "-c", PROGRAM.format(value)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        counts.append(int(done.stdout))
    assert counts[1] < counts[0]
