"""The start-up check of the names that jax does not promise to keep."""

import re
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

from graftax.backend.jax import tracing
from graftax.core.errors import BackendError


def without(*names):
    """A stand-in for the package jax that lacks some names."""

    def copy(thing, place):
        kept = {n: getattr(thing, n) for n in dir(thing) if not n.startswith("__") and f"{place}.{n}" not in names}
        return SimpleNamespace(**kept)

    root = copy(jax, "jax")
    names_of = ("api", "clusters", "core", "config", "distributed", "interpreters", "pjit", "xla_bridge")
    private = {name: copy(getattr(jax._src, name), f"jax._src.{name}") for name in names_of}
    root._src = SimpleNamespace(**private)
    root.extend = SimpleNamespace(core=copy(jax.extend.core, "jax.extend.core"))
    root.__version__ = "0.99"
    return root


def test_this_jax_has_everything():
    tracing.check(jax)
    assert tracing.missing_names(without()) == []


def test_what_is_missing_is_named():
    unknown = without(
        "jax._src.core.trace_ctx", "jax.extend.core.set_current_trace", "jax._src.pjit._infer_params_cached"
    )
    with pytest.raises(BackendError) as caught:
        tracing.check(unknown)
    text = str(caught.value)
    assert "graftax knows jax 0.10 to 0.12; this is 0.99" in text
    assert "jax._src.core.trace_ctx" in text
    assert "jax._src.pjit._infer_params_cached" in text
    assert "jax.extend.core.set_current_trace" in text
    assert "pip install" in text


def test_every_private_name_in_use_is_checked():
    used = set(re.findall(r"\bprivate\.(\w+)", Path(tracing.__file__).read_text()))
    checked = {name for place, names in tracing._NEEDED if place == "jax._src.core" for name in names.split()}
    assert used == checked
